import { isTimeZone } from '@poppyseed/protocol'
import { isPlain, refuseUnknown } from '../config-shapes.ts'
import { wrong } from '../configuration-error.ts'

/** When people of the company take over (7.9): whether that is now, and the same in words of any language. */

/** The days of a week, as they are written in the configuration. */
const weekdays = ['mon', 'tue', 'wed', 'thu', 'fri', 'sat', 'sun'] as const

/** A day of {@link weekdays}. */
export type Weekday = (typeof weekdays)[number]

/** When people of the company take over conversations, in the company's own time. */
export interface OpeningHours extends Partial<Readonly<Record<Weekday, string>>> {
  /** An IANA time zone name, such as `'Europe/Madrid'`. */
  readonly timeZone: string
  /**
   * Days that are otherwise: `{ '2026-12-25': 'closed', '2026-12-24': '09:00-12:00' }`. They count, and are not told in words.
   */
  readonly except?: Readonly<Record<string, string>>
}

/** Minutes since midnight: from, and until when. */
interface Span {
  readonly from: number
  readonly to: number
}

/** {@link OpeningHours}, once they are known to be right. */
export interface CheckedHours {
  readonly timeZone: string
  readonly days: Readonly<Record<Weekday, readonly Span[]>>
  readonly except: ReadonlyMap<string, readonly Span[]>
}

const example = "openingHours: { timeZone: 'Europe/Madrid', mon: '09:00-13:00, 15:00-18:00' }"

/** @throws ConfigurationError with a sentence that says what to write */
export function checkHours(hours: OpeningHours): CheckedHours {
  const at = '`conversations.people.openingHours`'
  if (!isPlain(hours)) throw wrong(`Write ${example}.`)
  refuseUnknown('conversations.people.openingHours', hours, ['timeZone', 'except', ...weekdays])
  const { timeZone, except = {} } = hours
  if (typeof timeZone !== 'string' || !isTimeZone(timeZone))
    throw wrong(`${at} has no time zone that is known. Write ${example}.`)
  const days = weekdays.map((day) => [day, spansOf(hours[day], `${at}: ${day}`)] as const)
  if (days.every(([, spans]) => spans.length === 0)) throw wrong(`${at} names no hours. Write ${example}.`)
  if (!isPlain(except)) throw wrong(`${at}: \`except\` is such as { '2026-12-25': 'closed' }.`)
  const others = Object.entries(except).map(([date, text]) => {
    if (!isDate(date)) throw wrong(`${at}: '${date}' in \`except\` is no date, such as '2026-12-25'.`)
    return [date, spansOf(text, `${at}: ${date}`)] as const
  })
  return { timeZone, days: Object.fromEntries(days) as CheckedHours['days'], except: new Map(others) }
}

function isDate(text: string): boolean {
  const time = /^\d{4}-\d{2}-\d{2}$/.test(text) ? Date.parse(`${text}T00:00:00Z`) : Number.NaN
  return !Number.isNaN(time) && new Date(time).toISOString().startsWith(text)
}

function spansOf(text: unknown, at: string): readonly Span[] {
  if (text === undefined || text === 'closed') return []
  const spans = typeof text === 'string' ? text.split(',').map((one) => spanOf(one.trim())) : [null]
  let end = -1
  return spans.map((span) => {
    if (span === null || span.from >= span.to || span.from < end)
      throw wrong(`${at} is such as '09:00-18:00' or '09:00-13:00, 15:00-18:00', in order, until '24:00' at most.`)
    end = span.to
    return span
  })
}

function spanOf(text: string): Span | null {
  const [, from, fromMinute, to, toMinute] = /^(\d{2}):([0-5]\d)\s*[-–]\s*(\d{2}):([0-5]\d)$/.exec(text) ?? []
  if (to === undefined) return null
  const span = { from: Number(from) * 60 + Number(fromMinute), to: Number(to) * 60 + Number(toMinute) }
  return span.to <= 24 * 60 ? span : null
}

/** Whether somebody will take over at a moment. Milliseconds since 1970. */
export function isOpen({ timeZone, days, except }: CheckedHours, now: number): boolean {
  const format = new Intl.DateTimeFormat('en-CA', {
    timeZone,
    calendar: 'iso8601',
    hourCycle: 'h23',
    weekday: 'short',
    year: 'numeric',
    month: '2-digit',
    day: '2-digit',
    hour: '2-digit',
    minute: '2-digit',
  })
  const parts = Object.fromEntries(format.formatToParts(now).map(({ type, value }) => [type, value]))
  const day = weekdays.find((one) => parts.weekday?.toLowerCase().startsWith(one))
  const minute = Number(parts.hour) * 60 + Number(parts.minute)
  const spans = except.get(`${parts.year}-${parts.month}-${parts.day}`) ?? (day === undefined ? [] : days[day])
  return spans.some(({ from, to }) => from <= minute && minute < to)
}

/** Opening hours in words: `Monday–Friday 09:00–18:00, Saturday 10:00–14:00 (Europe/Madrid)`. */
export function hoursInWords({ timeZone, days }: CheckedHours, locale: string): string {
  const names = new Intl.DateTimeFormat(locale, { weekday: 'long', timeZone: 'UTC' })
  const times = new Intl.DateTimeFormat(locale, { hour: '2-digit', minute: '2-digit', timeZone: 'UTC' })
  // 5 January 1970 was a Monday.
  const nameOf = (day: Weekday) => names.format((4 + weekdays.indexOf(day)) * 86_400_000)
  const timeOf = (minute: number) => times.format(minute * 60_000)
  const runs: { first: Weekday; last: Weekday; hours: string }[] = []
  for (const day of weekdays) {
    const hours = days[day].map(({ from, to }) => `${timeOf(from)}–${timeOf(to)}`).join(', ')
    const before = runs.at(-1)
    const isNext = before !== undefined && weekdays.indexOf(before.last) + 1 === weekdays.indexOf(day)
    if (hours === '') continue
    if (isNext && before.hours === hours) before.last = day
    else runs.push({ first: day, last: day, hours })
  }
  const told = runs.map(({ first, last, hours }) =>
    first === last ? `${nameOf(first)} ${hours}` : `${nameOf(first)}–${nameOf(last)} ${hours}`,
  )
  return `${told.join('; ')} (${timeZone})`
}
