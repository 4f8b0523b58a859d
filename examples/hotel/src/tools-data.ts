import { addDays, type Day, isDay, nightsBetween } from './days.ts'
import { Refusal } from './refusal.ts'
import { all, type HotelDatabase, one } from './sql.ts'

/** The longest stay that can be searched for, in nights. */
const MAX_NIGHTS = 30

/** A room, as people and agents see it. Prices in whole euros a night, size in square metres. */
export type Room = {
  readonly slug: string
  readonly name: string
  readonly view: string
  readonly beds: string
  readonly sleeps: number
  readonly size: number
  readonly pricePerNight: number
  readonly currency: 'EUR'
  readonly summary: string
  readonly description: string
}

/** A room that is free for all nights asked for. `total` in euros. */
export type FreeRoom = Room & { readonly nights: number; readonly total: number }

/** What a search asks: first day, day of leaving, people, and the most that a night may cost in euros. */
export type RoomSearch = {
  readonly from: Day
  readonly to: Day
  readonly guests?: number | undefined
  readonly maxPrice?: number | undefined
}

type RoomRow = Omit<Room, 'pricePerNight' | 'currency'> & { readonly price: number }
const ROOM = 'slug, name, view, beds, sleeps, size, price, summary, description'

function roomOf({ price, ...row }: RoomRow): Room {
  return { ...row, pricePerNight: price / 100, currency: 'EUR' }
}

/** All rooms, in the house's own order. */
export function allRooms(database: HotelDatabase): readonly Room[] {
  return all<RoomRow>(database, `select ${ROOM} from rooms order by position`).map(roomOf)
}

/**
 * The rooms that are free from the first day to the day of leaving.
 * @throws Refusal `invalid` for days that do not exist, are the wrong way round, or lie too far apart.
 */
export function searchRooms(database: HotelDatabase, search: RoomSearch): readonly FreeRoom[] {
  const nights = checkStay(search.from, search.to)
  const rows = all<RoomRow>(
    database,
    `select ${ROOM} from rooms
     where sleeps >= ? and price <= ?
       and not exists (select 1 from bookings where room_slug = slug and arrival < ? and departure > ?
                       and cancelled_at is null)
     order by position`,
    search.guests ?? 1,
    search.maxPrice === undefined ? Number.MAX_SAFE_INTEGER : Math.round(search.maxPrice * 100),
    search.to,
    search.from,
  )
  return rows.map((row) => ({ ...roomOf(row), nights, total: (row.price * nights) / 100 }))
}

/**
 * One room by its slug.
 * @throws Refusal `not_found`
 */
export function roomDetails(database: HotelDatabase, slug: string): Room {
  const row = one<RoomRow>(database, `select ${ROOM} from rooms where slug = ?`, slug)
  if (!row) throw new Refusal('not_found', 'There is no room of that name.')
  return roomOf(row)
}

/**
 * A guest's loyalty points.
 * @throws Refusal `not_found` when there is no such guest.
 */
export function loyaltyPoints(database: HotelDatabase, guestId: string): number {
  const row = one<{ readonly points: number }>(database, 'select points from guests where id = ?', guestId)
  if (!row) throw new Refusal('not_found', 'There is no such guest.')
  return row.points
}

/**
 * How many nights lie between the two days of a stay.
 * @throws Refusal `invalid` for days that do not exist, are the wrong way round, or lie too far apart.
 */
export function checkStay(from: Day, to: Day): number {
  if (!isDay(from) || !isDay(to)) throw new Refusal('invalid', 'Give both days as YYYY-MM-DD.')
  if (to <= from) throw new Refusal('invalid', 'The day you leave must come after the day you arrive.')
  if (to > addDays(from, MAX_NIGHTS)) throw new Refusal('invalid', `Stays are up to ${MAX_NIGHTS} nights.`)
  return nightsBetween(from, to)
}
