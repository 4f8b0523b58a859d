import type { Day } from './days.ts'

/** How dates and money are written for one person. The words are English, so only an English locale is taken. */
export type Format = {
  /** Whole euros: "€145". */
  readonly money: (euros: number) => string
  /** "Friday, 3 March 2027" */
  readonly day: (day: Day) => string
  /** "3 to 6 March 2027", the browser's way of writing a span. */
  readonly stay: (from: Day, to: Day) => string
  /** The date of a time in milliseconds. */
  readonly date: (time: number) => string
  /** The date and the time of day at the hotel. */
  readonly time: (time: number) => string
  readonly number: (count: number) => string
}

const ENGLISH = /^en(-[a-z]{2})?$/i

/** Reads the person's locale from `Accept-Language`; British English when it names no English. */
export function formatFor(acceptLanguage: string | null): Format {
  const wanted = (acceptLanguage ?? '')
    .slice(0, 200)
    .split(',')
    .map((part) => part.split(';')[0]?.trim() ?? '')
  const locale = wanted.find((tag) => ENGLISH.test(tag)) ?? 'en-GB'
  const money = new Intl.NumberFormat(locale, {
    style: 'currency',
    currency: 'EUR',
    trailingZeroDisplay: 'stripIfInteger',
  })
  const days = new Intl.DateTimeFormat(locale, { dateStyle: 'full', timeZone: 'UTC' })
  const stays = new Intl.DateTimeFormat(locale, { dateStyle: 'long', timeZone: 'UTC' })
  const dates = new Intl.DateTimeFormat(locale, { dateStyle: 'long', timeZone: 'Europe/Madrid' })
  const times = new Intl.DateTimeFormat(locale, { dateStyle: 'long', timeStyle: 'short', timeZone: 'Europe/Madrid' })
  const numbers = new Intl.NumberFormat(locale)
  return {
    money: (euros) => money.format(euros),
    day: (day) => days.format(new Date(day)),
    stay: (from, to) => stays.formatRange(new Date(from), new Date(to)),
    date: (time) => dates.format(time),
    time: (time) => times.format(time),
    number: (count) => numbers.format(count),
  }
}

/** "1 night", "3 nights". */
export function counted(count: number, noun: string): string {
  return `${count} ${noun}${count === 1 ? '' : 's'}`
}
