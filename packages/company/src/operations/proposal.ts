import { isPlain } from '../config-shapes.ts'
import type { ApprovalNeed, Operation } from './definition.ts'
import { approvalNeeds, isExpiry } from './operation.ts'

/** What `propose` gave, looked at before anybody is shown it: bounded, and nothing that JSON would change. */

/** A proposal that is fit to be kept. */
export interface CheckedProposal {
  readonly summary: string
  /** JSON, or null where none are stated. */
  readonly terms: string | null
  /** JSON; undefined where none is given. */
  readonly data: string | undefined
  readonly approval: ApprovalNeed
  /** Milliseconds since 1970. */
  readonly expiresAt: number
}

/** Characters, as the wire has them. */
const longestSummary = 4000
const longestName = 200
/** Characters of JSON. */
const longestTerms = 32_768
const longestData = 65_536
const longestInput = 65_536
const deepest = 16

const members = ['summary', 'terms', 'expiresIn', 'approval', 'data']

/**
 * Checks a proposal.
 * @param now milliseconds since 1970
 * @throws TypeError with a sentence for the company's log
 */
export function checkProposal(
  proposal: unknown,
  { operation, now }: { readonly operation: Pick<Operation, 'name' | 'approval' | 'expiresIn'>; readonly now: number },
): CheckedProposal {
  const where = `The proposal of ${operation.name}`
  if (!isPlain(proposal)) throw new TypeError(`${where} is written { summary: '…', terms: { … } }.`)
  const misspelt = Object.keys(proposal).find((name) => !members.includes(name))
  if (misspelt !== undefined) throw new TypeError(`${where} has no \`${misspelt}\`. It has: ${members.join(', ')}.`)
  const { summary, terms, expiresIn, approval = operation.approval, data } = proposal
  if (typeof summary !== 'string' || summary.trim() === '')
    throw new TypeError(`${where} needs a summary: all of it in plain words, with every effect and cost.`)
  if (summary.length > longestSummary)
    throw new TypeError(`${where}: the summary has over ${longestSummary} characters.`)
  // Neither survives every database, and what was confirmed is what was shown, to the letter.
  if (!summary.isWellFormed() || summary.includes('\0'))
    throw new TypeError(`${where}: the summary has characters that are none.`)
  if (terms !== undefined && terms !== null && !isPlain(terms))
    throw new TypeError(`${where}: terms is an object, such as { nights: 2, price: '260.00', currency: 'EUR' }.`)
  if (isPlain(terms) && Object.keys(terms).some((name) => name.length > longestName))
    throw new TypeError(`${where}: a name in terms has over ${longestName} characters.`)
  if (!approvalNeeds.some((need) => need === approval))
    throw new TypeError(`${where}: approval is 'user', 'standing_permission' or 'page'.`)
  if (expiresIn !== undefined && !isExpiry(expiresIn))
    throw new TypeError(`${where}: expiresIn is a whole number of seconds, at least 1 and at most 90 days.`)
  return {
    summary,
    terms: terms === undefined || terms === null ? null : toJson(terms, `${where}: terms`, longestTerms),
    data: data === undefined ? undefined : toJson(data, `${where}: data`, longestData),
    approval: approval as ApprovalNeed,
    expiresAt: now + (expiresIn === undefined ? operation.expiresIn : (expiresIn as number) * 1000),
  }
}

/** @throws TypeError where a schema gave something that `perform` would get as something else */
export function inputToJson(input: unknown, { name }: Pick<Operation, 'name'>): string {
  return toJson(input, `The input of ${name}, as its schema gives it,`, longestInput)
}

function toJson(value: unknown, where: string, longest: number): string {
  if (!survivesJson(value, deepest))
    throw new TypeError(
      `${where} has something in it that JSON would change, such as a Date. Use texts, finite numbers, true, false, null, lists and plain objects.`,
    )
  const text = JSON.stringify(value)
  if (text.length > longest) throw new TypeError(`${where} is longer than ${longest} characters of JSON.`)
  return text
}

/** Whether a value comes back from JSON as it was. Members that are undefined are as good as not there. */
function survivesJson(value: unknown, depth: number): boolean {
  if (value === null || typeof value === 'string' || typeof value === 'boolean') return true
  if (typeof value === 'number') return Number.isFinite(value) && !Object.is(value, -0)
  if (typeof value !== 'object' || depth === 0) return false
  // A list with holes has fewer keys than items; its holes would come back as null.
  if (Array.isArray(value))
    return Object.keys(value).length === value.length && value.every((item) => survivesJson(item, depth - 1))
  const prototype: unknown = Object.getPrototypeOf(value)
  if (prototype !== Object.prototype && prototype !== null) return false
  return Object.entries(value).every(
    ([name, member]) => name !== '__proto__' && (member === undefined || survivesJson(member, depth - 1)),
  )
}
