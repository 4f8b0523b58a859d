/** What the bench of conversations stands on: a store, parts over it, and conversations that have begun, written at once. */

import { postgres } from 'poppyseed/postgres'
import { sqlite } from 'poppyseed/sqlite'
import { createChanges } from '../packages/company/dist/changes/changes.js'
import { standardTiming } from '../packages/company/dist/conversations/care.js'
import { eventId } from '../packages/company/dist/conversations/cursor.js'
import { createConversationQueue } from '../packages/company/dist/conversations/ledger.js'
import { nobodyAsks } from '../packages/company/dist/conversations/listening.js'
import type { ConversationParts } from '../packages/company/dist/conversations/parts.js'
import type { Reader } from '../packages/company/dist/conversations/stream-rights.js'
import { createKeyedHash } from '../packages/company/dist/crypto/keyed-hash.js'
import { deriveKeyring } from '../packages/company/dist/crypto/keyring.js'

/** Where the database is. */
export type Address =
  | { readonly kind: 'sqlite'; readonly file: string }
  | { readonly kind: 'postgres'; readonly url: string }

export const company = 'https://company.example'

/** Who asks where nobody is authenticated. */
export const reader: Reader = {
  principal: {
    company,
    clientId: 'https://agent.example/agent.json',
    userId: 'user',
    sessionId: 'ses_bench',
    account: 'maya',
    scopes: ['poppy:read'],
    resource: null,
    grantId: 'grt_bench',
  },
  epoch: 0,
  expiresAt: Number.MAX_SAFE_INTEGER / 1000,
}

export const quiet = {
  debug() {},
  info() {},
  warn() {},
  error: (fields: object, text: string) => console.error(text, fields),
}

export const storeOf = (address: Address, connections: number) =>
  address.kind === 'sqlite' ? sqlite(address.file) : postgres(address.url, { connections })

/** Parts over a database, in which {@link reader} is signed in. */
export async function partsOf(
  address: Address,
  connections: number,
): Promise<{ readonly parts: ConversationParts; readonly end: () => Promise<void> }> {
  const db = await storeOf(address, connections).open({ now: Date.now, log: quiet })
  const scope = { db, company }
  const { clientId: client_id, userId: user_id, sessionId, account, grantId } = reader.principal
  const times = { created_at: Date.now(), last_used_at: Date.now() }
  await db.query
    .insertInto('poppy_grants')
    .values({
      ...{ company, id: grantId as string, client_id, user_id, account: account as string, scopes: 'poppy:read' },
      ...{ sign_in: 'direct', token_hash: 'bench', ...times, expires_at: null, revoked_at: null },
    })
    .onConflict((conflict) => conflict.doNothing())
    .execute()
  await db.query
    .insertInto('poppy_sessions')
    .values({
      ...{ company, id: sessionId, client_id, user_id, account, grant_id: grantId, epoch: 0, ...times },
      ...{ expires_at: Date.now() + 86_400_000, ended_at: null },
    })
    .onConflict((conflict) => conflict.doNothing())
    .execute()
  const changes = createChanges({ scope: async () => scope, log: quiet })
  const parts: ConversationParts = {
    scope: async () => scope,
    now: Date.now,
    random: (length) => crypto.getRandomValues(new Uint8Array(length)),
    askedHash: createKeyedHash(deriveKeyring(['bench'], 'asked')),
    log: quiet,
    settings: {
      resource: undefined,
      open: 10_000,
      hours: null,
      timing: standardTiming,
      streams: null,
      turnTimeout: 120_000,
    },
    people: {
      seen: async () => {},
      stays: async () => {},
      gone: async () => {},
      whoComes: async () => ({ comes: false, text: 'Nobody is here.' }),
      noneCame: () => 'Nobody came.',
      wording: () => {
        throw new Error('there are no words')
      },
    },
    sessionLimits: { idle: 86_400_000 },
    agent: null,
    changes,
    listening: nobodyAsks,
    queue: createConversationQueue(),
    begin: () => {},
    at: () => {},
  }
  const end = async () => {
    changes.close()
    await db.close()
  }
  return { parts, end }
}

/** Writes conversations with so many events, each a message; they are being answered. Gives their ids. */
export async function insertConversations(
  parts: ConversationParts,
  count: number,
  name: string,
  {
    sizes = [],
    owner = () => reader.principal,
  }: {
    readonly sizes?: readonly number[]
    readonly owner?: (index: number) => { readonly clientId: string; readonly userId: string }
  } = {},
): Promise<readonly string[]> {
  const { db } = await parts.scope()
  const now = Date.now()
  const ids = Array.from({ length: count }, (_, index) => `cnv_${name}_${index}`)
  await db.transaction(async () => {
    for (const [index, id] of ids.entries()) {
      const { clientId, userId } = owner(index)
      const size = sizes[index] ?? 0
      await db.query
        .insertInto('poppy_conversations')
        .values({
          ...{ company, id, client_id: clientId, user_id: userId, account: null, parent_id: null, direct_id: null },
          ...{ status: 'working', responder: 'agent', version: 1, last_event: size, first_event: 1, oldest_at: now },
          ...{ context: '{}', session_id: 'ses_bench', caller_user_id: userId, caller_account: null, grant_id: null },
          ...{ scopes: '', epoch: 0, sender: 'agent', asked: 0, answered: 0, turn: 0, turn_asked: 0, runner: 0 },
          ...{ attempts: 0, turn_due_at: now + 86_400_000, held_by: null, held_name: null, queued_at: null },
          ...{ queue_reason: null, care_due_at: null, notes: 0, created_at: now, updated_at: now, closed_at: null },
        })
        .execute()
      for (let from = 1; from <= size; from += 1000) {
        const numbers = Array.from({ length: Math.min(1000, size - from + 1) }, (_, at) => from + at)
        await db.query
          .insertInto('poppy_events')
          .values(
            numbers.map((number) => ({
              ...{ company, conversation_id: id, number, type: 'message', written_for: null, created_at: now },
              body: JSON.stringify({
                id: eventId(id, number),
                type: 'message',
                created_at: new Date(now).toISOString(),
                message: {
                  id: `msg_${number}`,
                  role: 'company',
                  sender: 'agent',
                  text: `It comes in medium (${number}).`,
                },
              }),
            })),
          )
          .execute()
      }
    }
  })
  return ids
}
