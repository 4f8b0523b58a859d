import { base64url } from '@poppyseed/protocol'
import { sha256 } from '../crypto/hash.ts'
import type { Scope } from '../store/database.ts'
import { statement } from '../store/statement.ts'

/**
 * Who of the company's people did what: a row for each act, in the transaction of what it changed. It holds ids, names of tools,
 * scopes and reasons; nothing of what was said or shown, and no input of a tool.
 */

/** What may be done, as the record has it. */
export const auditActs = [
  'read',
  'took',
  'gave',
  'released',
  'replied',
  'noted',
  'handed_back',
  'asked_for_user',
  'asked_for_sign_in',
  'account_opened',
  'account_closed',
  'ran',
  'proposed',
  'revised',
  'closed',
  'settled',
  'cancelled',
  'searched',
  'sent_again',
] as const

/** See {@link auditActs}. */
export type AuditAct = (typeof auditActs)[number]

/** Who did it: a member of staff, or a job of the company's by its name. */
export interface AuditedBy {
  readonly id: string
  readonly name: string
}

/** A row to be written. */
export interface NewAudit {
  /** Of {@link auditId}: whoever comes with the same one did it already. */
  readonly id: string
  readonly by: AuditedBy
  readonly act: AuditAct
  readonly conversation: string | null
  readonly operation: string | null
  /** What of it matters: ids, names of tools, scopes, reasons. */
  readonly detail?: Readonly<Record<string, unknown>> | undefined
  /** A keyed hash of all that was asked for, to be compared with what comes with the same id; nobody is shown it. */
  readonly asked?: string | undefined
}

/**
 * The id of a row. With a key it is the same each time that the same one does the same thing with it, and nobody else's key, and
 * none for another thing, stands in its way.
 * @param what what is done and to what
 */
export function auditId(
  { key, by, what }: { readonly key: string | undefined; readonly by: AuditedBy; readonly what: readonly string[] },
  random: (length: number) => Uint8Array,
): string {
  return key === undefined ? `aud_${base64url(random(16))}` : `aud_${sha256(JSON.stringify([by.id, key, ...what]))}`
}

/**
 * Writes a row, in the transaction of what it tells of. False where there is one of this id: then nothing else may be done
 * either. Within a conversation times go up, so that they tell what came after what.
 * @param now milliseconds since 1970
 */
export async function insertAudit(scope: Scope, row: NewAudit, now: number): Promise<boolean> {
  const { id, by, act, conversation, operation } = row
  const written = await insert(scope, {
    ...{ id, act, conversation, operation, now },
    staffId: by.id,
    staffName: by.name,
    detail: detailText(row),
  })
  return written.length > 0
}

const insertText = (latest: 'max' | 'greatest') => `insert into poppy_audit
  (company, id, at, staff_id, staff_name, act, conversation_id, operation_id, detail)
  values (:company, :id,
    ${latest}(cast(:now as bigint), coalesce((select max(at) + 1 from poppy_audit
      where company = :company and conversation_id = cast(:conversation as text)), 0)),
    :staffId, :staffName, :act, cast(:conversation as text), cast(:operation as text), cast(:detail as text))
  on conflict (company, id) do nothing returning id`
const insert = statement<
  {
    readonly id: string
    readonly act: AuditAct
    readonly conversation: string | null
    readonly operation: string | null
    readonly now: number
    readonly staffId: string
    readonly staffName: string
    readonly detail: string | null
  },
  { readonly id: string }
>({ sqlite: insertText('max'), postgres: insertText('greatest') })

/** What is known of an act that was done; null where it wasn't. */
export async function findAudit(
  { db, company }: Scope,
  id: string,
): Promise<{
  readonly conversation: string | null
  readonly operation: string | null
  readonly detail: Readonly<Record<string, unknown>>
  readonly asked: string | null
} | null> {
  const row = await db.query
    .selectFrom('poppy_audit')
    .select(['conversation_id', 'operation_id', 'detail'])
    .where('company', '=', company)
    .where('id', '=', id)
    .executeTakeFirst()
  if (row === undefined) return null
  return { conversation: row.conversation_id, operation: row.operation_id, ...readDetail(row.detail) }
}

function detailText({ detail, asked }: Pick<NewAudit, 'detail' | 'asked'>): string | null {
  if (detail === undefined && asked === undefined) return null
  return JSON.stringify(asked === undefined ? detail : { ...detail, asked })
}

/** Takes apart what stands in a row: what is for people, and what is only compared. */
export function readDetail(text: string | null): {
  readonly detail: Readonly<Record<string, unknown>>
  readonly asked: string | null
} {
  const { asked = null, ...detail } = text === null ? {} : (JSON.parse(text) as Readonly<Record<string, unknown>>)
  return { detail, asked: typeof asked === 'string' ? asked : null }
}

/** Notes what came of an act that was written down before it was done; that nothing did, unless it is noted what did. */
export async function completeAudit(
  { db, company }: Scope,
  { id, act, operation, ...more }: Pick<NewAudit, 'id' | 'act' | 'operation' | 'detail' | 'asked'>,
): Promise<void> {
  const row = db.query
    .updateTable('poppy_audit')
    .set({ act, operation_id: operation, detail: detailText(more) })
    .where('company', '=', company)
    .where('id', '=', id)
  await (operation === null ? row.where('operation_id', 'is', null) : row).execute()
}

/** The newest of some acts in a conversation; null where there was none. */
export async function lastAct(
  { db, company }: Scope,
  { conversation, acts }: { readonly conversation: string; readonly acts: readonly AuditAct[] },
): Promise<{
  readonly act: string
  readonly staffId: string
  readonly detail: Readonly<Record<string, unknown>>
} | null> {
  const row = await db.query
    .selectFrom('poppy_audit')
    .select(['act', 'staff_id', 'detail'])
    .where('company', '=', company)
    .where('conversation_id', '=', conversation)
    .where('act', 'in', acts)
    .orderBy('at', 'desc')
    .limit(1)
    .executeTakeFirst()
  if (row === undefined) return null
  return { act: row.act, staffId: row.staff_id, detail: readDetail(row.detail).detail }
}

/** Whether a member of staff did this to a conversation, or to an operation, since then. */
export async function didSince(
  { db, company }: Scope,
  {
    by,
    act,
    conversation,
    operation,
    since,
  }: Pick<NewAudit, 'act' | 'conversation' | 'operation'> & {
    readonly by: string
    /** Milliseconds since 1970. */
    readonly since: number
  },
): Promise<boolean> {
  const row = await db.query
    .selectFrom('poppy_audit')
    .select('id')
    .where('company', '=', company)
    .where('staff_id', '=', by)
    .where('at', '>', since)
    .where('act', '=', act)
    .where('conversation_id', conversation === null ? 'is' : '=', conversation)
    .where('operation_id', operation === null ? 'is' : '=', operation)
    .limit(1)
    .executeTakeFirst()
  return row !== undefined
}
