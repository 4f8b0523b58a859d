import type { Reader } from './parts.ts'
import { readable } from './readable.ts'
import type { Readable } from './view.ts'

/** What a Personal Agent shared of its User's situation (7.4): the members that the protocol knows in the reader's words. */

/** The members with a meaning of their own; an agent may send others, which keep the names that it gave them. */
const known = new Map<string, 'inbox.context.locale' | 'inbox.context.time_zone' | 'inbox.context.user_available'>([
  ['locale', 'inbox.context.locale'],
  ['time_zone', 'inbox.context.time_zone'],
  ['user_available', 'inbox.context.user_available'],
])

/** Makes it; null where nothing was shared. */
export function contextView(
  context: Readonly<Record<string, unknown>>,
  { style, wording }: Pick<Reader, 'style' | 'wording'>,
): Readable | null {
  const names = Object.keys(context)
  if (names.length === 0) return null
  const made = readable(context, style)
  if (made.kind !== 'fields') return made
  const fields = made.fields.map((field, index) => {
    const word = known.get(names[index] ?? '')
    return word === undefined ? field : { ...field, name: wording.say(word) }
  })
  return { kind: 'fields', fields }
}
