import { base64url, formatScope } from '@poppyseed/protocol'
import { z } from 'zod'
import type { AgentContext } from '../context.ts'
import type { FoundCompany } from '../discovery/discover.ts'
import { AgentError, type AgentErrorCode, agentErrors } from '../errors.ts'
import { cleanText } from '../net/text.ts'
import { type StoredValue, storeKey } from '../store/store.ts'
import type { SessionPlace } from './records.ts'
import { endOf, rememberDeclined, resultSchema, type SignInResult, scopesToAsk } from './sign-in-end.ts'
import type { SessionTokens, TokenSource } from './tokens.ts'

/**
 * Direct Sign-In (4.5). What is pending is kept in the store by its `state`, so the callback may arrive at another
 * process than the one that began, and several sign-ins may be under way at once.
 */

const placeSchema = z.object({ userKey: z.string(), issuer: z.string(), account: z.string(), session: z.string() })
const pendingSchema = z.object({
  status: z.literal('pending'),
  place: placeSchema,
  /** What the Company was asked for by: its domain, or its origin. */
  address: z.string(),
  scopes: z.array(z.string()),
  verifier: z.string(),
  redirectUri: z.string(),
  expiresAt: z.number(),
})
const finishedSchema = z.union([
  z.object({ status: z.literal('exchanging'), expiresAt: z.number() }),
  z.object({ status: z.literal('done'), result: resultSchema, expiresAt: z.number() }),
  z.object({
    status: z.literal('failed'),
    error: z.object({ code: z.string(), message: z.string(), companyCode: z.string().optional() }),
    expiresAt: z.number(),
  }),
])

type PendingRecord = z.infer<typeof pendingSchema>

/** A sign-in under way. */
export interface PendingSignIn {
  /** For the User's own browser. It holds no secret. */
  readonly url: string
  readonly state: string
  /** Ends when the User has approved or declined, or after 15 minutes. Waiting begins when it is first asked for. */
  readonly done: Promise<SignInResult>
}

/** How long the User may take. */
const lifetime = 15 * 60 * 1000
/** How long the end of a sign-in is kept for whoever waits for it, and replays are told apart from the unknown. */
const remembered = 60 * 60 * 1000
const pollInterval = 500

function keyOf(state: string): string {
  return storeKey('sign-in', state)
}

/**
 * Begins a sign-in.
 * @param scopes what the task needs; what the Account Token already has is asked for again with it
 * @param signal ends the waiting for `done`; the User may finish all the same
 * @throws AgentError `sign_in_unavailable` where the Company doesn't offer Direct Sign-In for these scopes
 */
export async function beginSignIn(
  context: AgentContext,
  found: FoundCompany,
  tokens: SessionTokens,
  address: string,
  scopes: readonly string[],
  signal?: AbortSignal,
): Promise<PendingSignIn> {
  const offered = found.discovery.signIn.direct
  const endpoint = found.server?.authorization_endpoint
  if (!offered || !endpoint) {
    throw new AgentError('sign_in_unavailable', `${found.name} offers no sign-in that this Personal Agent can use.`)
  }
  const asked = await scopesToAsk(found, offered, tokens, scopes)
  // The Session that will be signed in exists before the User is sent away (4.5).
  await tokens.get({ kind: 'dpop', resource: undefined })

  await forgetOld(context)
  const state = base64url(context.random(24))
  const verifier = base64url(context.random(32))
  const { redirectUri, clientId } = context.identity
  const record: PendingRecord = {
    status: 'pending',
    place: { ...tokens.place },
    address,
    scopes: [...asked],
    verifier,
    redirectUri,
    expiresAt: context.now() + lifetime,
  }
  await context.store.update(keyOf(state), () => record)
  const url = new URL(endpoint)
  const challenge = await crypto.subtle.digest('SHA-256', new TextEncoder().encode(verifier))
  for (const [name, value] of Object.entries({
    response_type: 'code',
    client_id: clientId,
    redirect_uri: redirectUri,
    scope: formatScope(asked),
    state,
    code_challenge: base64url(new Uint8Array(challenge)),
    code_challenge_method: 'S256',
  })) {
    url.searchParams.set(name, value)
  }
  // 4.5: a space as %20, which every server reads as one
  url.search = url.search.replaceAll('+', '%20')
  return new Pending(url.href, state, () => waitFor(context, state, signal))
}

/** `done` is made when it is asked for: a sign-in that nobody waits for fails in silence, not as an unhandled rejection. */
class Pending implements PendingSignIn {
  readonly url: string
  readonly state: string
  readonly #wait: () => Promise<SignInResult>
  #done: Promise<SignInResult> | undefined

  constructor(url: string, state: string, wait: () => Promise<SignInResult>) {
    this.url = url
    this.state = state
    this.#wait = wait
  }

  get done(): Promise<SignInResult> {
    this.#done ??= this.#wait()
    return this.#done
  }
}

/** Looks at the record until it has ended: whichever process took the callback, this one learns of it. */
async function waitFor(context: AgentContext, state: string, signal: AbortSignal | undefined): Promise<SignInResult> {
  for (;;) {
    signal?.throwIfAborted()
    const stored = await context.store.get(keyOf(state))
    const record = z.union([pendingSchema, finishedSchema]).safeParse(stored)
    if (!record.success || context.now() >= record.data.expiresAt) {
      throw new AgentError('sign_in_expired', 'Nobody finished this sign-in in time. Begin again.')
    }
    const { data } = record
    if (data.status === 'done') return data.result
    if (data.status === 'failed') throw restore(data.error)
    await context.endings.next(state, pollInterval)
  }
}

function restore(error: { code: string; message: string; companyCode?: string | undefined }): AgentError {
  const code = Object.hasOwn(agentErrors, error.code) ? (error.code as AgentErrorCode) : 'sign_in_failed'
  return new AgentError(code, error.message, { companyCode: error.companyCode })
}

/** Takes out of the store what nobody can finish any more. */
async function forgetOld(context: AgentContext): Promise<void> {
  for (const key of await context.store.keys(`${storeKey('sign-in')}/`)) {
    await context.store.update(key, (before) => {
      const record = z.object({ expiresAt: z.number() }).safeParse(before)
      return record.success && context.now() < record.data.expiresAt + remembered ? before : undefined
    })
  }
}

/** Where a pending sign-in belongs, found anew from what was kept of it. */
export interface SignInPlace {
  readonly tokens: SessionTokens
  readonly source: TokenSource
}

/**
 * Finishes the sign-in that a callback names.
 * @param only where the callback must belong to one Session
 * @param find gives the Session of a place; it throws when the Company can't be found
 * @throws AgentError; what was held before stays as it was (4.4)
 */
export async function completeSignIn(
  context: AgentContext,
  callbackUrl: string,
  only: SessionPlace | undefined,
  find: (place: SessionPlace, address: string) => Promise<SignInPlace>,
): Promise<SignInResult> {
  const parameters = URL.parse(callbackUrl)?.searchParams ?? new URLSearchParams()
  const state = single(parameters, 'state')
  const pending = state === undefined ? undefined : await take(context, state, only)
  if (!pending || state === undefined) {
    throw new AgentError('sign_in_unknown', 'This sign-in is not known here, or it has already been finished.')
  }
  const finish = async (end: { readonly [name: string]: StoredValue }) => {
    await context.store.update(keyOf(state), () => end)
    context.endings.tell(state)
  }
  const expiresAt = context.now() + remembered
  try {
    const result = await exchange(context, parameters, pending, find)
    await rememberDeclined(context, pending.place, pending.scopes, result.granted)
    await finish({ status: 'done', result: { ...result }, expiresAt })
    return result
  } catch (error) {
    const failed =
      error instanceof AgentError ? error : new AgentError('sign_in_failed', 'The sign-in could not be finished.')
    if (failed.code === 'sign_in_declined') await rememberDeclined(context, pending.place, pending.scopes, 'nothing')
    await finish({
      status: 'failed',
      error: {
        code: failed.code,
        message: failed.message,
        ...(failed.companyCode === undefined ? {} : { companyCode: failed.companyCode }),
      },
      expiresAt,
    })
    throw error
  }
}

/** Takes a pending sign-in, once: a second callback with its state finds it taken. */
async function take(
  context: AgentContext,
  state: string,
  only: SessionPlace | undefined,
): Promise<PendingRecord | undefined> {
  let taken: PendingRecord | undefined
  await context.store.update(keyOf(state), (before) => {
    const record = pendingSchema.safeParse(before)
    const isOurs = record.success && (only === undefined || isSamePlace(record.data.place, only))
    taken = isOurs && context.now() < record.data.expiresAt ? record.data : undefined
    return taken ? { status: 'exchanging', expiresAt: taken.expiresAt } : before
  })
  return taken
}

function isSamePlace(left: SessionPlace, right: SessionPlace): boolean {
  return (['userKey', 'issuer', 'account', 'session'] as const).every((part) => left[part] === right[part])
}

async function exchange(
  context: AgentContext,
  parameters: URLSearchParams,
  pending: PendingRecord,
  find: (place: SessionPlace, address: string) => Promise<SignInPlace>,
): Promise<SignInResult> {
  // 4.5, RFC 9207: exactly the issuer where it began, before anything else in the answer is believed
  if (single(parameters, 'iss') !== pending.place.issuer) {
    throw new AgentError(
      'sign_in_failed',
      'The answer came from another issuer than the sign-in was begun with, so it was not used.',
      {
        action: 'give_up',
      },
    )
  }
  if (parameters.has('error')) {
    const error = cleanText(single(parameters, 'error') ?? 'unknown', 80)
    throw error === 'access_denied'
      ? new AgentError('sign_in_declined', 'The sign-in was declined. Nothing was granted.', { companyCode: error })
      : new AgentError('sign_in_failed', `The Company did not complete the sign-in (${error}).`, { companyCode: error })
  }
  const code = single(parameters, 'code')
  if (code === undefined) throw new AgentError('sign_in_failed', 'The answer to the sign-in has no code in it.')

  const { tokens, source } = await find(pending.place, pending.address)
  const end = await tokens.exchangeCode(source, {
    code,
    redirectUri: pending.redirectUri,
    verifier: pending.verifier,
  })
  return endOf(context, source, pending.place, pending.scopes, end)
}

function single(parameters: URLSearchParams, name: string): string | undefined {
  const values = parameters.getAll(name)
  return values.length === 1 ? values[0] || undefined : undefined
}
