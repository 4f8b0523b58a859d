import {
  deleteConversationsOf,
  type PersonConversations,
  readConversationsOf,
} from '../conversations/person-conversations.ts'
import { sha256 } from '../crypto/hash.ts'
import { deleteOperationsOf, type PersonOperations, readOperationsOf } from '../operations/person-operations.ts'
import { formLifetime } from '../sign-in/form-lifetime.ts'
import type { Scope } from '../store/database.ts'
import type {
  BrowsersTable,
  CodesTable,
  DeviceCodesTable,
  GrantsTable,
  MediatedTable,
  SessionsTable,
} from '../store/tables.ts'

/** Everything that the store holds of one person: read for them, or deleted for them. */

/**
 * Whose rows. An account at the site, by the company's own id; or a User who never signed in, by the Personal Agent's
 * `client_id` and the User ID that it gave them (4.2). Nothing links the two but a sign-in.
 */
export type Person = string | { readonly clientId: string; readonly userId: string }

/** A person's rows without what is secret in them. */
export interface PersonRows extends PersonOperations, PersonConversations {
  readonly sessions: readonly Omit<SessionsTable, 'company' | 'epoch'>[]
  readonly grants: readonly Omit<GrantsTable, 'company' | 'token_hash'>[]
  readonly codes: readonly Omit<CodesTable, 'company' | 'code_hash' | 'code_challenge'>[]
  readonly browsers: readonly Omit<BrowsersTable, 'company' | 'cookie_hash'>[]
  readonly devices: readonly Omit<DeviceCodesTable, 'company' | 'code_hash' | 'user_code_hash' | 'interval_seconds'>[]
  readonly mediated: readonly Omit<MediatedTable, 'company' | 'code_hash' | 'tries'>[]
  /** Until when an answered consent page is remembered. */
  readonly forms: readonly { readonly expires_at: number }[]
}

/** Reads all rows of a person in one transaction. */
export async function readPerson(scope: Scope, person: Person): Promise<PersonRows> {
  const { db, company } = scope
  return db.transaction(async () => {
    const sessions = await sessionsOf(scope, person).orderBy('created_at').orderBy('id').execute()
    const grants = await grantsOfPerson(scope, person).orderBy('created_at').orderBy('id').execute()
    const codes = await db.query
      .selectFrom('poppy_codes')
      .select(['client_id', 'redirect_uri', 'account', 'scopes', 'resource', 'created_at', 'expires_at'])
      .select(['used_at', 'grant_id'])
      .where('company', '=', company)
      .where((eb) =>
        typeof person === 'string'
          ? eb('account', '=', person)
          : eb('grant_id', 'in', grantsOfPerson(scope, person).clearSelect().select('id')),
      )
      .orderBy('created_at')
      .execute()
    const forms =
      typeof person === 'string'
        ? await db.query
            .selectFrom('poppy_used_ids')
            .select('expires_at')
            .where('company', '=', company)
            .where('kind', '=', 'form')
            .where('owner', '=', person)
            .orderBy('expires_at')
            .execute()
        : []
    const browsers = await db.query
      .selectFrom('poppy_browsers')
      .select(['session_id', 'created_at', 'expires_at'])
      .where('company', '=', company)
      .where('session_id', 'in', sessionsOf(scope, person).clearSelect().select('id'))
      .orderBy('created_at')
      .execute()
    // Whose a code is shows when somebody answers it: a User who never signed in has none.
    const devices =
      typeof person === 'string'
        ? await db.query
            .selectFrom('poppy_device_codes')
            .select([
              'client_id',
              'account',
              'scopes',
              'approved_scopes',
              'status',
              'created_at',
              'expires_at',
              'polled_at',
            ])
            .where('company', '=', company)
            .where('account', '=', person)
            .orderBy('created_at')
            .execute()
        : []
    const mediated = await db.query
      .selectFrom('poppy_mediated')
      .select(['id', 'session_id', 'client_id', 'account', 'scopes', 'sent_to', 'status', 'created_at', 'expires_at'])
      .where('company', '=', company)
      .where((eb) =>
        typeof person === 'string'
          ? eb('account', '=', person)
          : eb('session_id', 'in', sessionsOf(scope, person).clearSelect().select('id')),
      )
      .orderBy('created_at')
      .execute()
    const operations = await readOperationsOf(scope, person)
    const conversations = await readConversationsOf(scope, person)
    return { sessions, grants, codes, browsers, devices, mediated, forms, ...operations, ...conversations }
  })
}

/** The columns that say whose a Session or a grant is. */
function columnsOf(
  person: Person,
): { readonly account: string } | { readonly client_id: string; readonly user_id: string } {
  return typeof person === 'string' ? { account: person } : { client_id: person.clientId, user_id: person.userId }
}

function sessionsOf({ db, company }: Scope, person: Person) {
  return db.query
    .selectFrom('poppy_sessions')
    .select([
      'id',
      'client_id',
      'user_id',
      'account',
      'grant_id',
      'created_at',
      'last_used_at',
      'expires_at',
      'ended_at',
    ])
    .where('company', '=', company)
    .where((eb) => eb.and(columnsOf(person)))
}

function grantsOfPerson({ db, company }: Scope, person: Person) {
  return db.query
    .selectFrom('poppy_grants')
    .select([
      'id',
      'client_id',
      'user_id',
      'account',
      'scopes',
      'sign_in',
      'created_at',
      'last_used_at',
      'expires_at',
      'revoked_at',
    ])
    .where('company', '=', company)
    .where((eb) => eb.and(columnsOf(person)))
}

/** How many rows of each kind were deleted. */
export interface DeletedRows {
  readonly sessions: number
  readonly grants: number
  readonly codes: number
  readonly browsers: number
  readonly devices: number
  readonly mediated: number
  readonly forms: number
  readonly operations: number
  readonly conversations: number
}

/** What {@link deletePerson} did. */
export interface DeletedPerson extends DeletedRows {
  /** The conversations that are gone, so that whoever waits for one is told. */
  readonly conversationIds: readonly string[]
}

const kinds = [
  'sessions',
  'grants',
  'codes',
  'browsers',
  'devices',
  'mediated',
  'forms',
  'operations',
  'conversations',
] as const

/** Passes in which rows may still turn up: one that waited for a sign-in sees in the next what that has written. */
const mostPasses = 5

/**
 * Deletes all rows of a person in one transaction; consent pages that are open for the account are worth nothing any
 * more. `formsUntil`: milliseconds since 1970 until when a page that is open now could be answered.
 *
 * A sign-in that runs at the same moment is over before, and what it gave is deleted; or it comes after, and finds code,
 * grant and Session gone. The rows are taken in the order of a sign-out: codes, grants, Sessions.
 */
export async function deletePerson(
  scope: Scope,
  { person, formsUntil }: { readonly person: Person; readonly formsUntil: number },
): Promise<DeletedPerson> {
  const none = { sessions: 0, grants: 0, codes: 0, browsers: 0, devices: 0, mediated: 0, forms: 0 }
  return scope.db.transaction(async () => {
    const total = { ...none, operations: 0, conversations: 0 }
    const conversationIds: string[] = []
    if (typeof person === 'string') await endForms(scope, { account: person, until: formsUntil })
    for (let pass = 0; pass < mostPasses; pass++) {
      const { conversationIds: ids, ...deleted } = await deleteOnce(scope, person)
      conversationIds.push(...ids)
      for (const kind of kinds) total[kind] += deleted[kind]
      if (kinds.every((kind) => deleted[kind] === 0)) break
    }
    return { ...total, conversationIds }
  })
}

async function deleteOnce(scope: Scope, person: Person): Promise<DeletedPerson> {
  const { db, company } = scope
  const codes = await db.query
    .deleteFrom('poppy_codes')
    .where('company', '=', company)
    .where((eb) =>
      typeof person === 'string'
        ? eb('account', '=', person)
        : eb('grant_id', 'in', grantsOfPerson(scope, person).clearSelect().select('id')),
    )
    .executeTakeFirstOrThrow()
  // First: one that is proposed at this moment holds its Session, and is found by the next pass.
  const operations = await deleteOperationsOf(scope, person)
  const conversationIds = await deleteConversationsOf(scope, person)
  const devices =
    typeof person === 'string'
      ? await db.query
          .deleteFrom('poppy_device_codes')
          .where('company', '=', company)
          .where('account', '=', person)
          .executeTakeFirstOrThrow()
      : { numDeletedRows: 0n }
  const mediated = await db.query
    .deleteFrom('poppy_mediated')
    .where('company', '=', company)
    .where((eb) =>
      typeof person === 'string'
        ? eb('account', '=', person)
        : eb('session_id', 'in', sessionsOf(scope, person).clearSelect().select('id')),
    )
    .executeTakeFirstOrThrow()
  // Held first: else a token that is replaced at this moment would leave its mark behind.
  if (db.name === 'postgres') await grantsOfPerson(scope, person).orderBy('id').forUpdate().execute()
  await db.query
    .deleteFrom('poppy_retired_tokens')
    .where('company', '=', company)
    .where('grant_id', 'in', grantsOfPerson(scope, person).clearSelect().select('id'))
    .execute()
  const grants = await db.query
    .deleteFrom('poppy_grants')
    .where('company', '=', company)
    .where((eb) => eb.and(columnsOf(person)))
    .executeTakeFirstOrThrow()
  const browsers = await db.query
    .deleteFrom('poppy_browsers')
    .where('company', '=', company)
    .where('session_id', 'in', sessionsOf(scope, person).clearSelect().select('id'))
    .executeTakeFirstOrThrow()
  const sessions = await db.query
    .deleteFrom('poppy_sessions')
    .where('company', '=', company)
    .where((eb) => eb.and(columnsOf(person)))
    .executeTakeFirstOrThrow()
  const forms =
    typeof person === 'string'
      ? await db.query
          .deleteFrom('poppy_used_ids')
          .where('company', '=', company)
          .where('kind', '=', 'form')
          .where('owner', '=', person)
          .executeTakeFirstOrThrow()
      : { numDeletedRows: 0n }
  return {
    sessions: Number(sessions.numDeletedRows),
    grants: Number(grants.numDeletedRows),
    codes: Number(codes.numDeletedRows),
    browsers: Number(browsers.numDeletedRows),
    devices: Number(devices.numDeletedRows),
    mediated: Number(mediated.numDeletedRows),
    forms: Number(forms.numDeletedRows),
    operations,
    conversations: conversationIds.length,
    conversationIds,
  }
}

/**
 * Whether all access to an account was ended when something had begun already that would let an agent in (4.9): it buys
 * nothing then. Holds the account's mark as {@link endForms} does.
 * @param began.at milliseconds since 1970, at most {@link formLifetime} ago
 */
export async function wasEndedSince(
  scope: Scope,
  began: { readonly account: string; readonly at: number },
): Promise<boolean> {
  return began.at + formLifetime <= (await endForms(scope, { account: began.account, until: 0 }))
}

/**
 * Makes consent pages worthless that are open for an account and could be answered until `until` (milliseconds since
 * 1970); with 0 it only asks. Gives the time that holds now: a page that ends at it or earlier is worth nothing.
 *
 * Whoever asks holds the account's mark until the transaction ends, so that an answer and an end to all access never
 * pass each other by. The mark has the account as SHA-256, for it outlives an erased person by half an hour.
 */
export async function endForms(
  { db, company }: Scope,
  { account, until }: { readonly account: string; readonly until: number },
): Promise<number> {
  const { expires_at } = await db.query
    .insertInto('poppy_used_ids')
    .values({ company, kind: 'forms_ended', owner: sha256(account), id_hash: '', expires_at: until })
    .onConflict((conflict) =>
      conflict.columns(['company', 'kind', 'owner', 'id_hash']).doUpdateSet((eb) => ({
        expires_at: eb
          .case()
          .when('excluded.expires_at', '>', eb.ref('poppy_used_ids.expires_at'))
          .then(eb.ref('excluded.expires_at'))
          .else(eb.ref('poppy_used_ids.expires_at'))
          .end(),
      })),
    )
    .returning('expires_at')
    .executeTakeFirstOrThrow()
  return expires_at
}
