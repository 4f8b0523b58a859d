import { isJsonObject, makeId } from '@poppyseed/protocol'
import { z } from 'zod'
import type { AgentContext } from '../context.ts'
import { AgentError } from '../errors.ts'
import { generateKey, type PrivateKeyJson, type ProofKeys, proofKeys, readPrivateKey } from '../identity/keys.ts'
import { type StoredValue, storeKey } from '../store/store.ts'

/** What is kept of Users, Sessions and Account Tokens. Records hold secrets; they live in the store and nowhere else. */

const tokenSchema = z.object({
  /** `dpop`, or `bearer` for one MCP server (4.3). */
  kind: z.enum(['dpop', 'bearer']),
  resource: z.string().nullable(),
  token: z.string(),
  scopes: z.array(z.string()),
  /** Unix time in milliseconds. */
  expiresAt: z.number(),
  lifetime: z.number(),
})
const sessionSchema = z.object({
  sessionId: z.string().nullable(),
  signedIn: z.boolean(),
  tokens: z.array(tokenSchema),
  /** What the User was asked for in this Session and did not give: each ask is not repeated (4.4). */
  declined: z.array(z.array(z.string())).default([]),
})
/** @see AccountRecord */
export const accountSchema = z.object({
  token: z.string(),
  scopes: z.array(z.string()),
  /** Unix time in milliseconds, or null when the Company didn't say. */
  expiresAt: z.number().nullable(),
})
/** One User at one Company, as it is kept. Holds a private key. */
export const userSchema = z.object({
  userId: z.string(),
  proofKey: z.unknown(),
  domain: z.string(),
  name: z.string(),
})

/** A Session Token as it is kept: a secret. */
export type TokenRecord = z.infer<typeof tokenSchema>
/** A Session as it is kept, with its newest tokens (4.3). */
export type SessionRecord = z.infer<typeof sessionSchema>
/** An Account Token as it is kept: a secret (4.8). */
export type AccountRecord = z.infer<typeof accountSchema>

/** Which Session: one User at one Company (its issuer), one of the User's accounts there, and a name. */
export interface SessionPlace {
  readonly userKey: string
  readonly issuer: string
  readonly account: string
  readonly session: string
}

/** A Session that hasn't begun. */
export const emptySession: SessionRecord = { sessionId: null, signedIn: false, tokens: [], declined: [] }

function sessionKey(place: SessionPlace): string {
  return storeKey('session', place.userKey, place.issuer, place.account, place.session)
}

function accountKey(place: SessionPlace): string {
  return storeKey('account', place.userKey, place.issuer, place.account)
}

/** A record as it should be, or undefined. */
export function read<T>(schema: z.ZodType<T>, value: StoredValue | undefined): T | undefined {
  const parsed = schema.safeParse(value)
  return parsed.success ? parsed.data : undefined
}

/** Reads and writes the records of one Session's place. */
export interface Records {
  readonly session: () => Promise<SessionRecord>
  readonly saveSession: (change: (before: SessionRecord) => SessionRecord) => Promise<SessionRecord>
  readonly forgetSession: () => Promise<void>
  readonly account: () => Promise<AccountRecord | undefined>
  /** Replaces the Account Token, if it is still the one that `was` says (undefined: whatever is there). */
  readonly saveAccount: (next: AccountRecord | undefined, was?: string) => Promise<void>
  /** 4.9: every Session of the account forgets its tokens and goes on signed out. */
  readonly signOutSessions: () => Promise<void>
}

/** The records of one Session and its account in the store. */
export function recordsOf({ store }: AgentContext, place: SessionPlace): Records {
  return {
    session: async () => read(sessionSchema, await store.get(sessionKey(place))) ?? emptySession,
    saveSession: async (change) => {
      const saved = await store.update(sessionKey(place), (before) =>
        change(read(sessionSchema, before) ?? emptySession),
      )
      return read(sessionSchema, saved) ?? emptySession
    },
    forgetSession: async () => {
      await store.update(sessionKey(place), () => undefined)
    },
    account: async () => read(accountSchema, await store.get(accountKey(place))),
    saveAccount: async (next, was) => {
      await store.update(accountKey(place), (before) => {
        const held = read(accountSchema, before)
        return was !== undefined && held?.token !== was ? before : next
      })
    },
    signOutSessions: async () => {
      const prefix = `${storeKey('session', place.userKey, place.issuer, place.account)}/`
      for (const key of await store.keys(prefix)) {
        await store.update(key, (before) => {
          const session = read(sessionSchema, before)
          return session && { ...session, signedIn: false, tokens: [] }
        })
      }
    },
  }
}

/** One User at one Company. */
export interface UserAtCompany {
  /** 4.2: random, one per User and issuer, derived from nothing. */
  readonly userId: string
  /** 4.3: the key pair of this User at this Company. Never one of the published keys. */
  readonly proofKeys: ProofKeys
}

/** Finds the User's ID and key at a Company, or makes them, once: two processes that both try end with the same. */
export async function userAtCompany(
  context: AgentContext,
  userKey: string,
  company: { readonly issuer: string; readonly domain: string; readonly name: string },
): Promise<UserAtCompany> {
  const key = storeKey('user', userKey, company.issuer)
  let record = read(userSchema, await context.store.get(key))
  if (!record) {
    const made = { userId: makeId('usr', context.random), proofKey: { ...(await generateKey()) } }
    const saved = await context.store.update(key, (before) =>
      before === undefined ? { ...made, domain: company.domain, name: company.name } : before,
    )
    record = read(userSchema, saved)
  }
  if (!record) throw new AgentError('misconfigured', 'The store holds a record of this User that can’t be read.')
  const proofKey: PrivateKeyJson = readPrivateKey(record.proofKey)
  return { userId: record.userId, proofKeys: await proofKeys(proofKey) }
}

/** A Company may change its name, and be met at another of its domains: what is known of it is what it said last. */
export async function noteCompany(
  { store }: AgentContext,
  userKey: string,
  company: { readonly issuer: string; readonly domain: string; readonly name: string },
): Promise<void> {
  const key = storeKey('user', userKey, company.issuer)
  const { domain, name } = company
  const isNews = (record: z.infer<typeof userSchema> | undefined) =>
    record !== undefined && (record.domain !== domain || record.name !== name)
  if (!isNews(read(userSchema, await store.get(key)))) return
  await store.update(key, (before) => {
    const record = read(userSchema, before)
    // What else stands in it stays: who the User is there must not change with a name.
    return isNews(record) && isJsonObject(before) ? { ...before, domain, name } : before
  })
}
