import { PoppyError } from '@poppyseed/protocol'
import { checkSentence, checkText } from '../conversations/staff-input.ts'
import { mediaType, readBody } from '../http/body.ts'
import type { InboxWord } from '../words/inbox-words.ts'

/** The fields of a form that staff send: each read once, bounded, and kept so that nothing that was typed is lost. */

/** Bytes of a form: a message of the greatest length, written in characters that a form writes as nine. */
const mostBytes = 524_288
/** A form has a few fields; with more, something is amiss. */
const mostFields = 400

/** What was sent. */
export interface ActFields {
  /** A field that stands there once; undefined where it doesn't. @throws PoppyError `invalid_request` for a doubled one */
  readonly one: (name: string) => string | undefined
  readonly all: (name: string) => readonly string[]
  /** The names that begin so. */
  readonly names: (beginning: string) => readonly string[]
  /** All that was typed, by field, for the form that is shown again. */
  readonly entered: Readonly<Record<string, string>>
}

/** What every form has, and nobody types. */
const own: ReadonlySet<string> = new Set(['token', 'once', 'list', 'q'])

/** Reads a form; another type is no form of ours, and then nothing of it is there. @throws PoppyError `request_too_large` */
export async function readActFields(request: Request): Promise<ActFields> {
  const text = await readBody(request, mostBytes)
  const isForm = mediaType(request) === 'application/x-www-form-urlencoded'
  const sent = new URLSearchParams(isForm ? text : '')
  if (sent.size > mostFields)
    throw new PoppyError('request_too_large', { description: `A form has at most ${mostFields} fields.` })
  const values = new Map<string, string[]>()
  for (const [name, value] of sent) {
    const known = values.get(name)
    if (known === undefined) values.set(name, [value])
    else known.push(value)
  }
  const all = (name: string): readonly string[] => values.get(name) ?? []
  return {
    all,
    one(name) {
      const given = all(name)
      if (given.length > 1) throw refused('inbox.refused.incomplete')
      return given[0]
    },
    names: (beginning) => [...values.keys()].filter((name) => name.startsWith(beginning)),
    // A list's items stand below each other; all else that is repeated is words.
    entered: Object.fromEntries(
      [...values]
        .filter(([name]) => !own.has(name))
        .map(([name, given]) => [name, given.join(name.startsWith('arg.') ? '\n' : ' ')]),
    ),
  }
}

/** What staff are told where a form is refused, by its word, with what is put into its places. */
export function refused(
  word: InboxWord,
  values: Readonly<Record<string, string>> = {},
  code: RefusedAs = 'invalid_request',
) {
  return new PoppyError(code, { description: 'The form was refused.', extra: { word, values } })
}

type RefusedAs = 'invalid_request' | 'staff_conflict' | 'not_found'

/** A text of the length of a message. @throws PoppyError `invalid_request` for an empty one, or one that is too long */
export function textField(fields: ActFields, name: string): string {
  return optionalText(fields, name) ?? fail('inbox.refused.empty')
}

/** The same for one that may be left empty. */
export function optionalText(fields: ActFields, name: string): string | undefined {
  return checked(fields, name, checkText)
}

/** A sentence. @throws PoppyError `invalid_request` for an empty one, or one that is too long */
export function sentenceField(fields: ActFields, name: string): string {
  return optionalSentence(fields, name) ?? fail('inbox.refused.empty')
}

/** The same for one that may be left empty. */
export function optionalSentence(fields: ActFields, name: string): string | undefined {
  return checked(fields, name, checkSentence)
}

function checked(fields: ActFields, name: string, check: (what: string, text: string) => string): string | undefined {
  // Browsers send line breaks as two characters.
  const text = fields.one(name)?.replaceAll('\r\n', '\n') ?? ''
  if (text.trim() === '') return undefined
  try {
    return check(name, text)
  } catch (error) {
    if (error instanceof TypeError) return fail('inbox.refused.incomplete')
    throw error
  }
}

function fail(word: InboxWord): never {
  throw refused(word)
}

const mostData = 20

/**
 * Named values, as `data.{n}.name` and `data.{n}.value`: numbers, true and false where they read so, else text. Undefined where
 * there are none.
 */
export function dataFields(fields: ActFields): Readonly<Record<string, unknown>> | undefined {
  const members = new Map<string, unknown>()
  for (let number = 0; number < mostData; number++) {
    const name = fields.one(`data.${number}.name`)?.trim() ?? ''
    const value = fields.one(`data.${number}.value`)?.replaceAll('\r\n', '\n') ?? ''
    if (name === '' && value.trim() === '') continue
    if (name === '' || name.length > 100 || value.length > 4_000 || name === '__proto__' || members.has(name))
      throw refused('inbox.refused.field', { field: name === '' ? String(number + 1) : name })
    members.set(name, readValue(value))
  }
  return members.size === 0 ? undefined : Object.fromEntries(members)
}

function readValue(text: string): unknown {
  const trimmed = text.trim()
  if (trimmed === 'true' || trimmed === 'false') return trimmed === 'true'
  // One spelling: `007` is no number, and neither is what would be rounded.
  return trimmed !== '' && String(Number(trimmed)) === trimmed && Number.isFinite(Number(trimmed))
    ? Number(trimmed)
    : text
}
