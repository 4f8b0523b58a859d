import { addDays, type Day, isDay } from './days.ts'
import { Refusal } from './refusal.ts'
import type { HotelDatabase } from './sql.ts'
import { type FreeRoom, searchRooms } from './tools-data.ts'

/** A person's search for free rooms as a page shows it: what they typed, and what came of it. */
export type SearchView = {
  readonly today: Day
  readonly from: string
  readonly to: string
  readonly guests: number
  /** The free rooms, or null when nothing was asked or the question has a fault. */
  readonly free: readonly FreeRoom[] | null
  readonly error: string | null
}

/** Reads `from`, `to` and `guests` from an address and searches. Never throws: a fault is told on the page. */
export function readSearch(database: HotelDatabase, query: URLSearchParams, today: Day): SearchView {
  const guests = Math.min(4, Math.max(1, Number.parseInt(query.get('guests') ?? '2', 10) || 2))
  const asked = query.has('from') || query.has('to')
  // Only what is a day goes back into the form's fields.
  const day = (name: string): string => (isDay(query.get(name) ?? '') ? (query.get(name) ?? '') : '')
  const view = { today, from: day('from'), to: day('to'), guests, free: null, error: null }
  if (!asked) return { ...view, from: addDays(today, 7), to: addDays(today, 9) }
  if (view.from && view.from < today) return { ...view, error: 'That day has passed. Choose one from today on.' }
  try {
    return { ...view, free: searchRooms(database, { from: view.from, to: view.to, guests }) }
  } catch (error) {
    if (!(error instanceof Refusal)) throw error
    return { ...view, error: view.from && view.to ? error.message : 'Choose the day you arrive and the day you leave.' }
  }
}

/** The search as the query of a link, so that a room's page knows the days too. */
export function searchQuery(view: SearchView): string {
  if (!view.free) return ''
  return `?${new URLSearchParams({ from: view.from, to: view.to, guests: String(view.guests) })}`
}
