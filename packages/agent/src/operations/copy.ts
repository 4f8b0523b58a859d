import { createHash } from 'node:crypto'
import { isJsonObject, readOperation, type WireOperation } from '@poppyseed/protocol'

/** An operation as a Company sent it (Operations 3), bounded, and what of it an approval is about. Pure. */

/** What an owner approves, as two digests: the words and the terms. */
export interface Agreed {
  readonly revision: number
  readonly summary: string
  /** Null where there are no terms. */
  readonly terms: string | null
}

/** One copy of an operation. */
export interface OperationCopy {
  readonly wire: WireOperation
  readonly agreed: Agreed
}

/** How much of a value is taken. */
interface Bounds {
  readonly characters: number
  readonly levels: number
  readonly values: number
}

/** More than a person would read before a yes. */
const ofTerms: Bounds = { characters: 20_000, levels: 8, values: 500 }
/** What came of it needs no yes. */
const ofResult: Bounds = { characters: 300_000, levels: 24, values: 10_000 }

/**
 * Reads an operation out of the body of an answer or the result of a tool. Undefined where there is none, or one that
 * couldn't be shown to a person whole: nothing of terms is left out. A result beyond all bounds is.
 * @param isSurelyOne where something else isn't expected: then `id` and `status` pass without an envelope
 */
export function readCopy(body: unknown, isSurelyOne: boolean): OperationCopy | undefined {
  if (!isJsonObject(body)) return undefined
  const raw = isJsonObject(body.operation) ? body.operation : body
  if (raw === body && !isSurelyOne && typeof body.operation_id !== 'string') return undefined
  if (!isBounded(raw.terms, ofTerms)) return undefined
  const { result, ...rest } = raw
  // Under its own envelope, so that what was looked at is what is read, whatever stands inside it.
  const wire = readOperation({ operation: isBounded(result, ofResult) ? raw : rest })
  return wire === null ? undefined : { wire, agreed: agreedIn(wire) }
}

function isBounded(value: unknown, bounds: Bounds): boolean {
  if (value === undefined) return true
  let values = 0
  const goes = (part: unknown, level: number): boolean => {
    values += 1
    if (level > bounds.levels || values > bounds.values) return false
    // A number that no reader has whole would be shown as another one.
    if (typeof part === 'number') return !Number.isInteger(part) || Number.isSafeInteger(part)
    if (typeof part !== 'object' || part === null) return true
    // A member of this name would be lost on the way to whoever reads it.
    if (Object.hasOwn(part, '__proto__')) return false
    return Object.values(part).every((one) => goes(one, level + 1))
  }
  return goes(value, 0) && (JSON.stringify(value) ?? '').length <= bounds.characters
}

function agreedIn({ revision, summary, terms }: WireOperation): Agreed {
  return { revision, summary: digest(summary), terms: terms === undefined ? null : digest(canonical(terms)) }
}

/** Whether two copies agree to the same. An answer after the confirmation may leave the terms out. */
export function isSameAgreement(approved: Agreed, seen: Agreed): boolean {
  return isSameRevision(approved, seen) && approved.terms === seen.terms
}

/** The same, where terms that are not repeated count as unchanged. */
export function isStillAgreement(approved: Agreed, seen: Agreed): boolean {
  return isSameRevision(approved, seen) && (seen.terms === null || approved.terms === seen.terms)
}

function isSameRevision(left: Agreed, right: Agreed): boolean {
  return left.revision === right.revision && left.summary === right.summary
}

/** JSON with its members in order: the same terms are the same text. */
function canonical(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(canonical).join(',')}]`
  if (!isJsonObject(value)) return JSON.stringify(value)
  const members = Object.keys(value).sort()
  return `{${members.map((name) => `${JSON.stringify(name)}:${canonical(value[name])}`).join(',')}}`
}

function digest(text: string): string {
  return createHash('sha256').update(text).digest('base64url')
}
