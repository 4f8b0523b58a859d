/** A calendar day at the hotel, `YYYY-MM-DD`. Days compare as strings. */
export type Day = string

const DAY_MS = 86_400_000
const dayAtTheHotel = new Intl.DateTimeFormat('en-CA', { timeZone: 'Europe/Madrid' })

/** The day it is at the hotel at `now`, in milliseconds since 1970. */
export function dayAt(now: number): Day {
  return dayAtTheHotel.format(now)
}

/** True for a day that exists in the calendar: 30 February does not. */
export function isDay(text: string): boolean {
  if (!/^\d{4}-\d{2}-\d{2}$/.test(text)) return false
  const time = Date.parse(`${text}T00:00:00Z`)
  return !Number.isNaN(time) && new Date(time).toISOString().startsWith(text)
}

/** The day `count` days after `day`, before it when negative. */
export function addDays(day: Day, count: number): Day {
  return new Date(Date.parse(`${day}T00:00:00Z`) + count * DAY_MS).toISOString().slice(0, 10)
}

/** How many nights lie between two days. Counted in UTC, where every day has 24 hours. */
export function nightsBetween(from: Day, to: Day): number {
  return Math.round((Date.parse(`${to}T00:00:00Z`) - Date.parse(`${from}T00:00:00Z`)) / DAY_MS)
}
