import type { Speaker, WireEventMessage } from '@poppyseed/protocol'
import type { Side } from '../inbox/view.ts'
import type { Scope } from '../store/database.ts'
import { statement } from '../store/statement.ts'

/** What was said last in each conversation of a page, for the rows of a list: one statement, whatever their length. */

/** The last message of a conversation, cut. */
export interface LastMessage {
  readonly by: Side
  readonly sender: Speaker
  /** The beginning of its text, on one line; empty where it has none. */
  readonly text: string
  /** Milliseconds since 1970. */
  readonly at: number
}

/** Characters of a message that a row shows. */
const shownOfMessage = 200
/** A message with nothing but context says nothing: so many are looked at. */
const looked = 3

interface Row {
  readonly conversation_id: string
  readonly number: number
  readonly body: string
  readonly created_at: number
}

const newest = `select number from poppy_events m
    where m.company = c.company and m.conversation_id = c.id and m.type in ('message', 'message.own')
    order by number desc limit ${looked}`
/** Found from the end of each conversation: not one of the events before is read. */
const textOf = (ids: string) => `select e.conversation_id, e.number, e.body, e.created_at
  from poppy_conversations c
  join poppy_events e on e.company = c.company and e.conversation_id = c.id
    and e.number >= (select min(number) from (${newest}) as looked) and e.type in ('message', 'message.own')
  where c.company = :company and c.id in (${ids})`
const find = statement<{ readonly ids: string }, Row>({
  sqlite: textOf('select value from json_each(:ids)'),
  postgres: textOf('select value from json_array_elements_text(cast(:ids as json))'),
})

/** The last message of each of these conversations that has one, by the conversation's id. */
export async function lastMessages(scope: Scope, ids: readonly string[]): Promise<ReadonlyMap<string, LastMessage>> {
  if (ids.length === 0) return new Map()
  const found = new Map<string, LastMessage>()
  const settled = new Set<string>()
  const rows = await find(scope, { ids: JSON.stringify(ids) })
  for (const { conversation_id: id, body, created_at } of rows.toSorted((one, other) => other.number - one.number)) {
    if (settled.has(id)) continue
    const { message } = JSON.parse(body) as { readonly message: WireEventMessage }
    const text = cut(message.text ?? '')
    const says = text !== '' || message.data !== undefined
    if (says) settled.add(id)
    if (says || !found.has(id)) found.set(id, { by: sideOf(message), sender: message.sender, text, at: created_at })
  }
  return found
}

/** Who speaks in a message, as the company's own people tell them apart. */
export function sideOf({ role, sender }: Pick<WireEventMessage, 'role' | 'sender'>): Side {
  if (role === 'user') return sender === 'human' ? 'user' : 'agent'
  return sender === 'human' ? 'staff' : 'company-agent'
}

/** The beginning of a text on one line, never with half a character at its end. */
function cut(text: string): string {
  // More than enough of it, so that a long text isn't gone through.
  const line = text
    .slice(0, shownOfMessage * 4)
    .replace(/\s+/g, ' ')
    .trim()
  if (line.length <= shownOfMessage && text.length <= shownOfMessage * 4) return line.toWellFormed()
  return `${line
    .slice(0, shownOfMessage)
    .toWellFormed()
    .replace(/\ufffd$/, '')}…`
}
