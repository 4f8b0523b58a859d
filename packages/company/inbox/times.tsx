import { createContext } from 'preact'
import { useContext } from 'preact/hooks'
import { dateFormat, languageNames, numberFormat } from '../src/words/formats.ts'
import { useUi } from './ui.ts'

/** Times: as the reader writes them, and those that run. */

const context = createContext(0)

/** Tells the time to all below: milliseconds since 1970. */
export const NowProvider = context.Provider

const second = 1000
const minute = 60 * second
const hour = 60 * minute
const day = 24 * hour

/** A length of time, in its two largest units: `2 h 5 min`. Milliseconds. */
export function lengthOf(milliseconds: number, locale: string): string {
  const of = (amount: number, unit: string) =>
    numberFormat(locale, { style: 'unit', unit, unitDisplay: 'short' }).format(amount)
  const length = Math.max(0, milliseconds)
  if (length < minute) return of(Math.floor(length / second), 'second')
  if (length < hour) return of(Math.floor(length / minute), 'minute')
  const [large, small, largeUnit, smallUnit] =
    length < day ? [hour, minute, 'hour', 'minute'] : [day, hour, 'day', 'hour']
  const rest = Math.floor((length % large) / small)
  return `${of(Math.floor(length / large), largeUnit)}${rest === 0 || length >= 10 * large ? '' : ` ${of(rest, smallUnit)}`}`
}

/** Whether it is so short ago that no length says anything. Milliseconds. */
export const isJustNow = (milliseconds: number) => milliseconds < 10 * second

/** How long somebody waits, running. */
export function Waits({ since }: { readonly since: number }) {
  const now = useContext(context)
  const { say } = useUi()
  const time = useLength(since)
  return <span class="waits">{isJustNow(now - since) ? say('row.waitingNow') : say('row.waiting', { time })}</span>
}

/** For how long nobody knows what came of something, running. */
export function UnknownSince({ since }: { readonly since: number }) {
  const now = useContext(context)
  const { say } = useUi()
  const time = useLength(since)
  return <span class="waits">{isJustNow(now - since) ? say('row.unknownNow') : say('row.unknownSince', { time })}</span>
}

/** For how long something can be confirmed, running. */
export function ConfirmableUntil({ at }: { readonly at: number }) {
  const now = useContext(context)
  const { say } = useUi()
  const time = useLength(at)
  return <>{isJustNow(at - now) ? say('operation.untilNow') : say('operation.until', { time })}.</>
}

/** How long it is since then, or until then, running. */
function useLength(at: number): string {
  const now = useContext(context)
  const { locale } = useUi().view
  // To ten seconds below a minute: a figure that changes each second draws the eye and says nothing.
  const length = Math.abs(now - at)
  return lengthOf(length < minute ? Math.floor(length / 10_000) * 10_000 : length, locale)
}

/** A moment: the time of day where it is today, else the day too. */
export function Moment({ at }: { readonly at: number }) {
  const { locale, now } = useUi().view
  const isToday = new Date(at).toDateString() === new Date(now).toDateString()
  const isThisYear = new Date(at).getFullYear() === new Date(now).getFullYear()
  const text = dateFormat(locale, {
    ...(isToday ? {} : { day: 'numeric', month: 'short', ...(isThisYear ? {} : { year: 'numeric' }) }),
    hour: 'numeric',
    minute: '2-digit',
  }).format(at)
  return (
    <time dateTime={new Date(at).toISOString()} title={fullDate(at, locale)}>
      {text}
    </time>
  )
}

/** A day and a time, whole. */
function fullDate(at: number, locale: string): string {
  return dateFormat(locale, { dateStyle: 'full', timeStyle: 'long' }).format(at)
}

/** A day. */
export function dayOf(at: number, locale: string): string {
  return dateFormat(locale, { dateStyle: 'medium' }).format(at)
}

/** The name of a language, in the reader's; the tag itself where nobody knows one. */
export function languageName(tag: string, locale: string): string {
  try {
    return languageNames(locale).of(tag) ?? tag
  } catch {
    // What a stranger gave as a tag may be none.
    return tag
  }
}
