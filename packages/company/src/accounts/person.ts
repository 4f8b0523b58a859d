import { exportConversations, type PersonConversation } from '../conversations/person-conversations.ts'
import { exportOperations, type PersonOperation } from '../operations/person-operations.ts'
import { formLifetime } from '../sign-in/form-lifetime.ts'
import type { Scope } from '../store/database.ts'
import { deletePerson, type Person, readPerson } from './person-store.ts'
import { scopesOf } from './store.ts'

/** A person's rights in what is kept of them: to have it, and to have it erased. */

/** Everything that the store holds of a person. Times are milliseconds since 1970. No token, code or key is in it. */
export interface PersonData {
  /** The Company's issuer. */
  readonly company: string
  readonly exportedAt: number
  /** The Sessions of their agents (4.2), also ended ones that are not cleaned up yet. */
  readonly sessions: readonly {
    readonly sessionId: string
    readonly clientId: string
    /** The User ID that the Personal Agent gave them for this Company. */
    readonly userId: string
    /** The account that the Session was signed in to; null when it never was. */
    readonly account: string | null
    /** The sign-in that it has now, by its id in `signIns`; null when signed out. */
    readonly signIn: string | null
    readonly createdAt: number
    readonly lastUsedAt: number
    readonly expiresAt: number
    readonly endedAt: number | null
  }[]
  /** What they approved (4.4), also what has ended since and is not cleaned up yet. */
  readonly signIns: readonly {
    readonly id: string
    readonly clientId: string
    readonly userId: string
    readonly account: string
    readonly scopes: readonly string[]
    /** `direct`, `device`, `mediated`, or whatever else type of sign-in it was. */
    readonly type: string
    readonly createdAt: number
    readonly lastUsedAt: number
    readonly expiresAt: number | null
    readonly revokedAt: number | null
  }[]
  /** That agents got a code to fetch a sign-in with (4.5), and where it was sent. */
  readonly codes: readonly {
    readonly clientId: string
    readonly redirectUri: string
    readonly account: string
    readonly scopes: readonly string[]
    /** The MCP server that it was for, where it was for one (6). */
    readonly resource: string | null
    readonly createdAt: number
    readonly expiresAt: number
    readonly usedAt: number | null
    readonly signIn: string | null
  }[]
  /** Browsers that joined one of the Sessions (5). */
  readonly browsers: readonly {
    readonly sessionId: string
    readonly createdAt: number
    readonly expiresAt: number
  }[]
  /** Sign-ins by a code that they answered (4.6). */
  readonly deviceSignIns: readonly {
    readonly clientId: string
    readonly account: string | null
    readonly asked: readonly string[]
    /** Null when they declined. */
    readonly approved: readonly string[] | null
    /** `approved`, `declined`, or `used` once the agent fetched it. */
    readonly status: string
    readonly createdAt: number
    readonly expiresAt: number
    /** When the agent asked last. */
    readonly polledAt: number | null
  }[]
  /** Sign-ins by credentials that wanted a one-time code (4.7). */
  readonly mediatedSignIns: readonly {
    readonly id: string
    readonly sessionId: string
    readonly clientId: string
    readonly account: string
    readonly scopes: readonly string[]
    /** Where the code went. */
    readonly sentTo: string
    /** `waiting`, `done` or `failed`. */
    readonly status: string
    readonly createdAt: number
    readonly expiresAt: number
  }[]
  /** What their agents proposed for them and had done, with all terms and all that happened. */
  readonly operations: readonly PersonOperation[]
  /** What their agents, and they themselves, talked about with the company (7). */
  readonly conversations: readonly PersonConversation[]
  /** That they answered a consent page, remembered until then, so that nobody answers it again. */
  readonly answeredPages: readonly { readonly rememberedUntil: number }[]
}

/** How much was deleted. */
export interface ErasedPerson {
  readonly sessions: number
  readonly signIns: number
  readonly codes: number
  readonly browsers: number
  readonly deviceSignIns: number
  readonly mediatedSignIns: number
  /** Those that are in progress aren't among them: they go once they have ended. */
  readonly operations: number
  /** Those that are open too: they end with that. */
  readonly conversations: number
  readonly answeredPages: number
}

/** @throws TypeError for anything that names nobody */
function checkPerson(person: Person): Person {
  const isText = (value: unknown) => typeof value === 'string' && value !== ''
  // A name that is missing would be everybody's.
  if (isText(person)) return person
  if (typeof person === 'object' && person !== null && isText(person.clientId) && isText(person.userId))
    return { clientId: person.clientId, userId: person.userId }
  throw new TypeError('A person is the id of an account, or { clientId, userId } for a User who never signed in.')
}

/** Gives all that is kept of a person. */
export async function exportPerson(
  scope: Scope,
  person: Person,
  { now }: { readonly now: () => number },
): Promise<PersonData> {
  const rows = await readPerson(scope, checkPerson(person))
  return {
    company: scope.company,
    exportedAt: now(),
    sessions: rows.sessions.map((row) => ({
      sessionId: row.id,
      clientId: row.client_id,
      userId: row.user_id,
      account: row.account,
      signIn: row.grant_id,
      createdAt: row.created_at,
      lastUsedAt: row.last_used_at,
      expiresAt: row.expires_at,
      endedAt: row.ended_at,
    })),
    signIns: rows.grants.map((row) => ({
      id: row.id,
      clientId: row.client_id,
      userId: row.user_id,
      account: row.account,
      scopes: scopesOf(row),
      type: row.sign_in,
      createdAt: row.created_at,
      lastUsedAt: row.last_used_at,
      expiresAt: row.expires_at,
      revokedAt: row.revoked_at,
    })),
    codes: rows.codes.map((row) => ({
      clientId: row.client_id,
      redirectUri: row.redirect_uri,
      account: row.account,
      scopes: scopesOf(row),
      resource: row.resource,
      createdAt: row.created_at,
      expiresAt: row.expires_at,
      usedAt: row.used_at,
      signIn: row.grant_id,
    })),
    browsers: rows.browsers.map((row) => ({
      sessionId: row.session_id,
      createdAt: row.created_at,
      expiresAt: row.expires_at,
    })),
    deviceSignIns: rows.devices.map((row) => ({
      clientId: row.client_id,
      account: row.account,
      asked: scopesOf(row),
      approved: row.approved_scopes === null ? null : scopesOf({ scopes: row.approved_scopes }),
      status: row.status,
      createdAt: row.created_at,
      expiresAt: row.expires_at,
      polledAt: row.polled_at,
    })),
    mediatedSignIns: rows.mediated.map((row) => ({
      id: row.id,
      sessionId: row.session_id,
      clientId: row.client_id,
      account: row.account,
      scopes: scopesOf(row),
      sentTo: row.sent_to,
      status: row.status,
      createdAt: row.created_at,
      expiresAt: row.expires_at,
    })),
    operations: exportOperations(rows),
    conversations: exportConversations(rows),
    answeredPages: rows.forms.map((row) => ({ rememberedUntil: row.expires_at })),
  }
}

/** Deletes all that is kept of a person. `told` is called with each conversation that is gone. */
export async function erasePerson(
  scope: Scope,
  person: Person,
  { now, told = () => {} }: { readonly now: () => number; readonly told?: (conversationId: string) => void },
): Promise<ErasedPerson> {
  const formsUntil = now() + formLifetime
  const deleted = await deletePerson(scope, { person: checkPerson(person), formsUntil })
  const { sessions, grants, codes, browsers, devices, mediated, forms, operations, conversations } = deleted
  for (const id of deleted.conversationIds) told(id)
  await scope.db.overwrite?.()
  return {
    sessions,
    signIns: grants,
    codes,
    browsers,
    deviceSignIns: devices,
    mediatedSignIns: mediated,
    operations,
    conversations,
    answeredPages: forms,
  }
}
