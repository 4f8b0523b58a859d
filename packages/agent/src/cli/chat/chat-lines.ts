import type { ConversationEvent, ConversationMessage } from '../../conversations/event.ts'
import { block, clean, type Output } from '../terminal.ts'
import { createWrapping } from './wrapping.ts'

/** How a chat reads: who speaks stands before what they say, and no text of a Company can look like a line of ours. */

/** Who is who in a chat. */
export interface ChatNames {
  readonly company: string
}

/** Who speaks, with whether that is a person or an AI (7.7, 7.8). */
export function speakerOf({ role, sender }: Pick<ConversationMessage, 'role' | 'sender'>, names: ChatNames): string {
  if (role === 'company') return `${clean(names.company, 60)} (${sender === 'human' ? 'a person' : 'AI'})`
  return sender === 'human' ? 'You' : 'Your agent'
}

/** A message, with its data as rows: each further line is indented, so that none can pass for another speaker. */
export function messageLines(
  output: Output,
  message: ConversationMessage,
  names: ChatNames,
  columns: number | undefined,
): readonly string[] {
  const head = beginning(output, message, names, columns)
  const text = `${head.text}${head.wrap(message.text === undefined ? '' : block(message.text))}`.trimEnd()
  return [text, ...dataLines(message, columns)]
}

/** How a message begins, and what breaks the rest of it into lines. */
export function beginning(
  output: Output,
  from: Pick<ConversationMessage, 'role' | 'sender'>,
  names: ChatNames,
  columns: number | undefined,
): { readonly text: string; readonly wrap: (text: string) => string } {
  const speaker = `${speakerOf(from, names)}:`
  return { text: `${output.bold(speaker)} `, wrap: createWrapping(columns, speaker.length + 1) }
}

/** Rows of details that anybody reads at a terminal. */
const mostRows = 200

/** What a message has beside its words. */
export function dataLines({ data }: Pick<ConversationMessage, 'data'>, columns: number | undefined): readonly string[] {
  if (data === undefined) return []
  const all = rowsOf(data, '')
  const rows = all.slice(0, mostRows)
  const width = Math.min(30, Math.max(0, ...rows.map(([name]) => name.length)))
  const lines = rows.map(([name, value]) => {
    // A name is theirs too: a long one is broken and indented as all else.
    if (name.length > width) return `    ${createWrapping(columns, 4)(`${name}: ${value}`)}`
    const label = `    ${name.padEnd(width)}  `
    return `${label}${createWrapping(columns, label.length)(value)}`
  })
  return all.length > mostRows ? [...lines, `    … and ${all.length - mostRows} more`] : lines
}

/** What changed, in words; undefined for what needs none. */
export function changeWords(event: ConversationEvent, names: ChatNames): string | undefined {
  const company = clean(names.company, 60)
  switch (event.type) {
    case 'state':
      if (event.status === 'queued') return 'Waiting for a person. You can go on writing meanwhile.'
      return undefined
    case 'missing':
      return event.reason === 'expired'
        ? `${company} no longer keeps an earlier part of this conversation: it is missing here.`
        : `${company} said something that can't be read: it is missing here.`
    case 'deltasDropped':
      return 'The connection broke. The message that was being written comes again, from its beginning, once there is one.'
    case 'connectionLost':
      return `${clean(event.error.message, 400)}\nTrying again. What ${company} says meanwhile comes when it answers.`
    case 'connectionBack':
      return `${company} answers again.`
    case 'directOpened':
      return 'A Direct Conversation has begun.'
    case 'directClosed':
      return 'The Direct Conversation is over.'
    case 'userRequested':
      return event.outcome === undefined
        ? `${company} would like to talk with you: ${clean(event.reason, 400)}\nType /direct and your first words, or /decline.`
        : undefined
    case 'authorization':
      return event.outcome.result === 'continued'
        ? 'Signed in; the conversation goes on.'
        : (event.outcome.error && clean(event.outcome.error.message, 400)) ||
            `${company} needs you to sign in for this.`
    default:
      return undefined
  }
}

function rowsOf(value: unknown, name: string): readonly (readonly [string, string])[] {
  if (typeof value !== 'object' || value === null) {
    return [[name, clean(typeof value === 'string' ? value : JSON.stringify(value), 400)]]
  }
  return Object.entries(value).flatMap(([member, one]) => {
    const label = Array.isArray(value) ? String(Number(member) + 1) : clean(member, 60)
    return rowsOf(one, name === '' ? label : `${name}.${label}`)
  })
}
