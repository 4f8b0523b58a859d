import { isJsonObject } from '@poppyseed/protocol'

/** What a term may be, as an owner's rule says (Operations 5.1). Pure, and without patterns. */

/** What one term may be. */
export type TermMatcher =
  /** Just this. */
  | { readonly equals: string | number | boolean | null }
  /** One of these. */
  | { readonly oneOf: readonly (string | number | boolean | null)[] }
  /** A number within bounds, both included. */
  | { readonly atLeast?: number; readonly atMost: number }
  /** `{ amount, currency }` and nothing more: at most so much of this currency, and not less than nothing. */
  | { readonly currency: string; readonly max: string | number }
  /** A date, `2027-03-05`, or a time with its offset, within bounds that are included. */
  | { readonly from: string; readonly to: string }
  /** An object with just these members. */
  | { readonly members: Readonly<Record<string, TermMatcher>> }
  /** A list of at most so many, each of which fits. */
  | { readonly each: TermMatcher; readonly atMost: number }
  /** Whatever it is: the owner doesn't mind. */
  | { readonly anything: true }

/** Whether a term fits. What isn't understood doesn't. */
export function matches(matcher: TermMatcher, term: unknown): boolean {
  if ('anything' in matcher) return matcher.anything
  if ('equals' in matcher) return term === matcher.equals
  if ('oneOf' in matcher) return matcher.oneOf.some((one) => one === term)
  if ('currency' in matcher) return isAmountWithin(matcher, term)
  if ('from' in matcher) return isDateWithin(matcher, term)
  if ('members' in matcher) return hasJustMembers(matcher.members, term)
  if ('each' in matcher) {
    return Array.isArray(term) && term.length <= matcher.atMost && term.every((one) => matches(matcher.each, one))
  }
  return (
    typeof term === 'number' &&
    Number.isFinite(term) &&
    term <= matcher.atMost &&
    (matcher.atLeast === undefined || term >= matcher.atLeast)
  )
}

function hasJustMembers(matchers: Readonly<Record<string, TermMatcher>>, term: unknown): boolean {
  if (!isJsonObject(term)) return false
  const names = Object.keys(term)
  return (
    names.length === Object.keys(matchers).length &&
    names.every((name) => {
      const matcher = Object.hasOwn(matchers, name) ? matchers[name] : undefined
      return matcher !== undefined && matches(matcher, term[name])
    })
  )
}

function isAmountWithin({ currency, max }: { currency: string; max: string | number }, term: unknown): boolean {
  if (!isJsonObject(term) || Object.keys(term).length !== 2 || term.currency !== currency) return false
  const [amount, most] = [decimal(term.amount), decimal(max)]
  return amount !== null && most !== null && amount <= most
}

/** Places after the point that are compared; an amount with more is not understood. */
const places = 9

/** An amount that isn't negative, as a whole number of the smallest part; exact, as floating point isn't. */
function decimal(value: unknown): bigint | null {
  const text = typeof value === 'number' ? String(value) : value
  if (typeof text !== 'string') return null
  const [, whole, part = ''] = /^(\d{1,15})(?:\.(\d{1,9}))?$/.exec(text) ?? []
  return whole === undefined ? null : BigInt(whole + part.padEnd(places, '0'))
}

const day = /^\d{4}-\d{2}-\d{2}$/
const moment = /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}(?::\d{2}(?:\.\d{1,9})?)?(?:Z|[+-]\d{2}:\d{2})$/

function isDateWithin({ from, to }: { from: string; to: string }, term: unknown): boolean {
  if (typeof term !== 'string') return false
  // A day is compared with days and a moment with moments: what a day is depends on where.
  const kind = [day, moment].find((one) => one.test(term))
  if (!kind?.test(from) || !kind.test(to)) return false
  const [at, first, last] = [Date.parse(term), Date.parse(from), Date.parse(to)]
  return first <= at && at <= last && isInCalendar(term.slice(0, 10))
}

/** The 31st of a month that has 30 days would be read as another day. */
function isInCalendar(date: string): boolean {
  const time = Date.parse(date)
  return !Number.isNaN(time) && new Date(time).toISOString().slice(0, 10) === date
}

const kinds: readonly (readonly string[])[] = [
  ['equals'],
  ['oneOf'],
  ['atMost'],
  ['atLeast', 'atMost'],
  ['currency', 'max'],
  ['from', 'to'],
  ['members'],
  ['atMost', 'each'],
  ['anything'],
]

/** Checks a matcher as it was written. @param wrong makes the error */
export function readMatcher(matcher: unknown, at: string, wrong: (message: string) => Error): void {
  const names = isJsonObject(matcher) ? Object.keys(matcher).sort() : []
  if (!isJsonObject(matcher) || !kinds.some((kind) => kind.join() === names.join())) {
    throw wrong(
      `${at} is one of { equals }, { oneOf }, { atMost }, { atLeast, atMost }, { currency, max }, { from, to }, { members }, { each, atMost } and { anything: true }.`,
    )
  }
  const numbers = ['atLeast', 'atMost'].filter((name) => name in matcher)
  if (numbers.some((name) => typeof matcher[name] !== 'number' || Number.isNaN(matcher[name])))
    throw wrong(`${at}: bounds are numbers.`)
  if ('equals' in matcher && typeof matcher.equals === 'object' && matcher.equals !== null)
    throw wrong(`${at}: equals takes a text, a number, a boolean or null; for more there is { members } and { each }.`)
  if ('oneOf' in matcher && !Array.isArray(matcher.oneOf)) throw wrong(`${at}: oneOf is a list.`)
  if ('currency' in matcher && (typeof matcher.currency !== 'string' || decimal(matcher.max) === null))
    throw wrong(`${at}: an amount is { currency: 'EUR', max: '260.00' }.`)
  if (
    'from' in matcher &&
    ![day, moment].some((kind) => kind.test(String(matcher.from)) && kind.test(String(matcher.to)))
  )
    throw wrong(`${at}: from and to are two days, such as 2027-03-05, or two times with their offsets.`)
  if ('anything' in matcher && matcher.anything !== true) throw wrong(`${at}: { anything: true }.`)
  if ('each' in matcher) readMatcher(matcher.each, `${at}.each`, wrong)
  if ('members' in matcher) {
    if (!isJsonObject(matcher.members)) throw wrong(`${at}: members says what each member may be.`)
    for (const [name, one] of Object.entries(matcher.members)) readMatcher(one, `${at}.${name}`, wrong)
  }
}
