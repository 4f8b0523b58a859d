import { conversationLimits, isId, PoppyError } from '@poppyseed/protocol'
import { isPlain } from '../config-shapes.ts'
import type { Staff } from './held.ts'

/** What the company's own code gives for its staff is looked at: a mistake there is a TypeError with a sentence. */

/** @throws TypeError */
export function checkStaff(staff: Staff): Staff {
  if (isPlain(staff)) {
    const { id, name } = staff
    if (isText(id, 200) && isText(name, 200) && clean(id) === id && clean(name) === name) return { id, name }
  }
  throw new TypeError("Say who of the staff does it: { id: 'rita', name: 'Rita' }, from your own login.")
}

const isText = (text: unknown, most: number): text is string =>
  typeof text === 'string' && text.trim() !== '' && text.length <= most

/** @throws TypeError; PoppyError `conversation_not_found` for what no id can be: a database may take offence */
export function checkId(id: string): string {
  if (typeof id !== 'string') throw new TypeError('A conversation is named by its id.')
  if (!isId(id))
    throw new PoppyError('conversation_not_found', { description: 'There is no conversation by such a name.' })
  return id
}

/** What goes with each act of staff. */
export interface StaffOptions {
  /**
   * Something of your own, such as a form's id, of at most 200 characters: the same act of the same member of staff with the same
   * key is done once, and gives the conversation as it is the next time; with anything else than before it is refused.
   */
  readonly key?: string
}

/** @throws TypeError */
export function checkKey(options: StaffOptions): string | undefined {
  const key: unknown = isPlain(options) ? options.key : null
  if (key === undefined || (isText(key, 200) && isStorable(key))) return key
  throw new TypeError("The last parameter is { key: '…' }, a text of at most 200 characters, or is left out.")
}

/** Whether something can be stored, and so be looked for. */
export function isStorable(text: string): boolean {
  return !text.includes('\0') && text.isWellFormed()
}

/** Characters of a sentence: a reason, or how something is known. Forms, the JSON API and functions have the same bound. */
export const longestSentence = 1_000

/** A sentence, cleaned. @throws TypeError */
export function checkSentence(what: string, text: string): string {
  const cleaned = typeof text === 'string' ? clean(text) : ''
  if (!isText(cleaned, longestSentence))
    throw new TypeError(`${what} is a sentence, of at most ${longestSentence} characters.`)
  return cleaned
}

/** A text of the length of a message, cleaned. @throws TypeError */
export function checkText(what: string, text: string): string {
  const cleaned = typeof text === 'string' ? clean(text) : ''
  if (!isText(cleaned, conversationLimits.text))
    throw new TypeError(`${what} is a text, of at most ${conversationLimits.text} characters.`)
  return cleaned
}

/** What somebody writes: text, data, or both. @throws TypeError */
export function checkWritten(written: {
  readonly text?: string | undefined
  readonly data?: Readonly<Record<string, unknown>> | undefined
}): { readonly text?: string; readonly data?: Readonly<Record<string, unknown>> } {
  if (!isPlain(written)) throw new TypeError("Write { text: '…' }, { data: { … } }, or both.")
  const { text, data } = written
  if (text === undefined && data === undefined) throw new TypeError("Write { text: '…' }, { data: { … } }, or both.")
  return {
    ...(text === undefined ? {} : { text: checkText('text', text) }),
    ...(data === undefined ? {} : { data: checkData(data) }),
  }
}

function checkData(data: unknown): Readonly<Record<string, unknown>> {
  const json: string | undefined = isPlain(data) ? JSON.stringify(data) : undefined
  if (json === undefined || Buffer.byteLength(json) > conversationLimits.data)
    throw new TypeError(`data is an object that JSON can hold, of at most ${conversationLimits.data} bytes.`)
  return JSON.parse(json) as Readonly<Record<string, unknown>>
}

/** Without characters that a terminal or a page would take for something else. */
function clean(text: string): string {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is taken out
  return text.toWellFormed().replaceAll(/[\u0000-\u0008\u000b-\u001f\u007f-\u009f]/g, '')
}
