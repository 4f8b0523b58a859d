import { PoppyError } from '@poppyseed/protocol'
import { askedOf, requireSameAsked } from '../audit/asked.ts'
import { type AuditAct, auditId, findAudit, insertAudit, type NewAudit } from '../audit/audit.ts'
import { changeWith } from './changing.ts'
import type { Staff } from './held.ts'
import { insertNote, type NewNote, type NoteRow, noted } from './notes.ts'
import type { ConversationParts } from './parts.ts'
import type { ConversationRow, Decision } from './row.ts'
import { checkId, checkStaff } from './staff-input.ts'
import { findConversation } from './store.ts'

/** Each change that staff make: once for its key, with its row in the audit, or not at all. */

/** What a rule decided for staff. */
export interface StaffDecision extends Decision {
  /** A note that is added with it. */
  readonly note?: NewNote | undefined
  /** What the audit keeps of it. */
  readonly detail?: NewAudit['detail']
}

/** Who does what to a conversation. */
export interface StaffAct {
  readonly staff: Staff
  readonly act: AuditAct
  /** The row's id in the audit: see {@link actId}. */
  readonly id: string
  /** The key that it was made of; without one it is no other act's. */
  readonly key: string | undefined
  /** All that was asked for, as JSON has it; left out where the act says it all. */
  readonly asked?: unknown
}

/** See {@link changeByStaff}. */
export interface StaffChanged {
  /** As it is after the change, or as it was found where there was none. */
  readonly row: ConversationRow
  readonly isChanged: boolean
  /** Whether the same was done before. */
  readonly wasDone: boolean
}

/** What is thrown inside, where the audit has the row already: all that was about to be written is taken back. */
const doneBefore = new Error('This was done before.')

export function notFound(id: string): PoppyError {
  return new PoppyError('conversation_not_found', { description: `There is no conversation ${id}.` })
}

/** @throws PoppyError `conversation_not_found` */
export async function existing(parts: Pick<ConversationParts, 'scope'>, id: string): Promise<ConversationRow> {
  const row = await findConversation(await parts.scope(), checkId(id))
  if (row === null) throw notFound(id)
  return row
}

/** Whoever does something is there. */
export async function seen(parts: Pick<ConversationParts, 'people'>, staff: Staff): Promise<Staff> {
  const checked = checkStaff(staff)
  await parts.people.seen(checked)
  return checked
}

/** The id of an act in the audit. Its key is good for this member of staff, this act and this conversation alone. */
export function actId(
  parts: Pick<ConversationParts, 'random'>,
  {
    key,
    staff,
    act,
    on,
  }: { readonly key: string | undefined; readonly staff: Staff; readonly act: AuditAct; readonly on: string },
): string {
  return auditId({ key, by: staff, what: [act, on] }, parts.random)
}

/** Whether an act was done: where it has a key, its row is there. */
async function isDone(parts: Pick<ConversationParts, 'scope'>, id: string, key: string | undefined): Promise<boolean> {
  return key !== undefined && (await findAudit(await parts.scope(), id)) !== null
}

/**
 * Changes a conversation on the word of staff, compared and set, with the act's row in the audit, in one transaction. What was
 * done before with this id, and what changes nothing, writes nothing.
 * @param decide gives the change or null, or throws; asked again where something else happened meanwhile
 * @throws PoppyError `conversation_not_found`; `staff_conflict` where something else was done with the key
 */
export async function changeByStaff(
  parts: ConversationParts,
  conversation: string,
  { staff, act, id, key, asked }: StaffAct,
  decide: (row: ConversationRow) => StaffDecision | null,
): Promise<StaffChanged> {
  try {
    const settled = await changeWith(
      parts,
      checkId(conversation),
      async (row, now) => {
        // Looked at after the row was read: the change of the one before stands in the row then, and here.
        if (await isDone(parts, id, key)) throw doneBefore
        const decided = decide(row)
        return decided === null ? null : withNote(row, decided, now)
      },
      async (scope, { decided, now }) => {
        if (decided.added !== undefined) await insertNote(scope, decided.added)
        const { detail } = decided
        const row = { id, by: staff, act, conversation, operation: null, detail }
        if (!(await insertAudit(scope, { ...row, asked: askedOf(parts, { id, key, asked }) }, now))) throw doneBefore
      },
    )
    if (settled === null) throw notFound(conversation)
    return { ...settled, wasDone: false }
  } catch (error) {
    if (error !== doneBefore) throw error
    requireSameAsked(parts, await findAudit(await parts.scope(), id), { id, asked })
    return { row: await existing(parts, conversation), isChanged: false, wasDone: true }
  }
}

/** What has to be set for a note, and its row. */
export function withNote(
  row: ConversationRow,
  decided: StaffDecision,
  now: number,
): StaffDecision & { readonly added?: NoteRow } {
  if (decided.note === undefined) return decided
  const { set, note } = noted(row, { ...decided.note, now })
  return { ...decided, set: { ...decided.set, ...set }, added: note }
}
