import type { Scope } from '../store/database.ts'
import type { NotesTable } from '../store/tables.ts'
import { changeWith } from './changing.ts'
import type { ConversationParts } from './parts.ts'
import type { ConversationRow, Decision } from './row.ts'

/** What stays within the company: notes of staff, and replies of the Company Agent that came too late (7.9). */

/** A note as it is kept. */
export type NoteRow = Omit<NotesTable, 'company'>

/** A note that is to be added. */
export interface NewNote {
  readonly kind: NotesTable['kind']
  /** The member of staff; null for the Company Agent. */
  readonly staff: { readonly id: string; readonly name: string } | null
  readonly text: string
  readonly data?: Readonly<Record<string, unknown>> | undefined
}

/**
 * Adds a note to the next change of a conversation: what has to be set, and the row that {@link insertNote} adds in the same
 * transaction.
 */
export function noted(
  row: ConversationRow,
  { kind, staff, text, data, now }: NewNote & { readonly now: number },
): { readonly set: Pick<ConversationRow, 'notes'>; readonly note: NoteRow } {
  const number = row.notes + 1
  return {
    set: { notes: number },
    note: {
      conversation_id: row.id,
      number,
      kind,
      who: JSON.stringify(staff === null ? { agent: true } : { staff: { id: staff.id, name: staff.name } }),
      text,
      data: data === undefined ? null : JSON.stringify(data),
      created_at: now,
    },
  }
}

/** Adds a note. In the transaction of the change that counts it. */
export async function insertNote({ db, company }: Scope, note: NoteRow): Promise<void> {
  await db.query
    .insertInto('poppy_notes')
    .values({ ...note, company })
    .execute()
}

/**
 * Changes a conversation and adds a note with it. Null when there is no such conversation.
 * @param decide pure: gives the change, without what counts the note, or throws
 */
export async function changeWithNote(
  parts: ConversationParts,
  id: string,
  decide: (row: ConversationRow) => { readonly decision: Decision; readonly note: NewNote },
): Promise<ConversationRow | null> {
  const settled = await changeWith(
    parts,
    id,
    (row, now) => {
      const { decision, note: asked } = decide(row)
      const { set, note } = noted(row, { ...asked, now })
      return { ...decision, set: { ...decision.set, ...set }, note }
    },
    (scope, { decided }) => insertNote(scope, decided.note),
  )
  return settled?.row ?? null
}

/** All notes of a conversation, oldest first. */
export async function notesOf({ db, company }: Scope, id: string): Promise<readonly NoteRow[]> {
  const rows = await db.query
    .selectFrom('poppy_notes')
    .select(['conversation_id', 'number', 'kind', 'who', 'text', 'data', 'created_at'])
    .where('company', '=', company)
    .where('conversation_id', '=', id)
    .orderBy('number')
    .execute()
  return rows.map((row) => ({ ...row, number: Number(row.number), created_at: Number(row.created_at) }))
}
