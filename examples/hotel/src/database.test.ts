import { chmodSync, mkdtempSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { addBookingNote, bookingsOf, bookRoom, cancelBooking, MAX_NOTE } from './bookings.ts'
import { openDatabase as open } from './database.ts'
import { addDays } from './days.ts'
import { Refusal } from './refusal.ts'
import { readSecret } from './secret.ts'
import { all, type HotelDatabase, one } from './sql.ts'
import { allRooms, loyaltyPoints, roomDetails, searchRooms } from './tools-data.ts'

const now = Date.parse('2027-03-01T12:00:00Z')
const today = '2027-03-01'
let directory: string
const openDatabase = (at: string, time: number) => open(at, time, { N: 2 ** 10, r: 8, p: 1 })

beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'hotel-data-'))
})
afterEach(() => rmSync(directory, { recursive: true }))

function guestId(database: HotelDatabase, email: string): string {
  return one<{ readonly id: string }>(database, 'select id from guests where email = ?', email)?.id ?? ''
}

const codeOf = (act: () => unknown): string => {
  try {
    act()
  } catch (error) {
    if (error instanceof Refusal) return error.code
    throw error
  }
  return 'none'
}

describe('the database', () => {
  it('is filled at the first start and kept at the second', () => {
    const first = openDatabase(directory, now)
    const maya = guestId(first, 'maya@example.com')
    addBookingNote(first, maya, 'MIR-3121', 'A cot, please.', now)
    first.close()

    const second = openDatabase(directory, now + 40 * 86_400_000)
    expect(guestId(second, 'maya@example.com')).toBe(maya)
    expect(allRooms(second)).toHaveLength(6)
    expect(bookingsOf(second, maya).find(({ id }) => id === 'MIR-3121')?.notes).toEqual(['A cot, please.'])
    second.close()
  })

  it('commits to the disk: a log ahead of the writes, synchronous in full', () => {
    const database = openDatabase(directory, now)
    expect(one(database, 'pragma journal_mode')).toMatchObject({ journal_mode: 'wal' })
    expect(one(database, 'pragma synchronous')).toMatchObject({ synchronous: 2 })
    database.close()
  })

  it.skipIf(process.platform === 'win32')('is readable by its owner alone, the log too', () => {
    const database = openDatabase(directory, now)
    for (const name of ['hotel.db', 'hotel.db-wal', 'hotel.db-shm']) {
      expect([name, statSync(join(directory, name)).mode & 0o777]).toEqual([name, 0o600])
    }
    database.close()
  })

  const withoutStaff = 'drop table staff_sessions; drop table staff;'
  const withoutOperations = `${withoutStaff}
    drop index bookings_by_operation; drop index bookings_by_cancel_operation; drop table deposits; drop table mails;
    alter table bookings drop column operation; alter table bookings drop column booked_by;
    alter table bookings drop column cancel_operation; alter table bookings drop column cancelled_by;
  `
  it.each([
    [1, `${withoutOperations} alter table bookings drop column cancelled_at; pragma user_version = 1`],
    [2, `${withoutOperations} pragma user_version = 2`],
    [3, `${withoutStaff} pragma user_version = 3`],
  ])('brings a file of version %i up to date and keeps what is in it', (_, sql) => {
    const first = openDatabase(directory, now)
    const maya = guestId(first, 'maya@example.com')
    first.exec(sql)
    first.close()
    const second = openDatabase(directory, now)
    expect(bookingsOf(second, maya).map(({ id, status }) => `${id} ${status}`)).toEqual([
      'MIR-3121 booked',
      'MIR-3058 booked',
      'MIR-2417 booked',
    ])
    expect(cancelBooking(second, maya, 'MIR-3121', now).isNew).toBe(true)
    const wish = { slug: 'faro', from: '2027-08-01', to: '2027-08-03', guests: 2 }
    const order = { operation: 'opn_1', agent: 'agent.example', price: 30_000 }
    const booked = bookRoom(second, maya, wish, now, order)
    expect(booked).toMatchObject({ total: 300, bookedBy: 'agent.example' })
    // However late it comes again, and whatever else holds by then.
    expect(bookRoom(second, maya, wish, now + 400 * 86_400_000, order)).toEqual(booked)
    // Whoever works there comes with the new version.
    expect(all(second, 'select email from staff order by email')).toHaveLength(2)
    second.close()
  })

  it('refuses a file from a newer version and leaves it alone', () => {
    const first = openDatabase(directory, now)
    first.exec('pragma user_version = 99')
    first.close()
    expect(() => openDatabase(directory, now)).toThrow('newer version')
  })

  it('holds no password', () => {
    const database = open(directory, now)
    const passwords = JSON.stringify(all(database, 'select password from guests union select password from staff'))
    for (const password of ['sea-view-42', 'front-desk-1']) expect(passwords).not.toContain(password)
    expect(passwords.match(/scrypt\$32768\$8\$3\$/g)).toHaveLength(4)
    database.close()
  })
})

describe('what the tools ask', () => {
  it('finds rooms that are free for all nights, for enough people, at the price', () => {
    const database = openDatabase(directory, now)
    const arrival = addDays(today, 24) // Maya has Levante for three nights from here.
    const slugs = (search: Parameters<typeof searchRooms>[1]) => searchRooms(database, search).map(({ slug }) => slug)
    expect(slugs({ from: arrival, to: addDays(arrival, 1) })).not.toContain('levante')
    expect(slugs({ from: addDays(arrival, -2), to: arrival })).toContain('levante')
    expect(slugs({ from: addDays(arrival, 3), to: addDays(arrival, 5) })).toContain('levante')
    expect(slugs({ from: addDays(arrival, -9), to: addDays(arrival, 9) })).not.toContain('levante')
    expect(slugs({ from: today, to: addDays(today, 2), guests: 3 })).toEqual(['faro', 'amapola'])
    expect(slugs({ from: today, to: addDays(today, 2), maxPrice: 125 })).toEqual(['poniente', 'limonero'])
    const [room] = searchRooms(database, { from: today, to: addDays(today, 3), maxPrice: 98 })
    expect(room).toMatchObject({ nights: 3, pricePerNight: 98, total: 294, currency: 'EUR' })
    database.close()
  })

  it('refuses days that make no stay', () => {
    const database = openDatabase(directory, now)
    for (const [from, to] of [
      ['2027-03-05', '2027-03-05'],
      ['2027-03-05', '2027-03-04'],
      ['2027-02-30', '2027-03-04'],
      ['2027-03-05', '2027-05-05'],
      ['tomorrow', '2027-03-04'],
    ] as const) {
      expect(codeOf(() => searchRooms(database, { from, to }))).toBe('invalid')
    }
    expect(roomDetails(database, 'faro').name).toBe('Faro')
    expect(codeOf(() => roomDetails(database, "faro' or 1=1"))).toBe('not_found')
    database.close()
  })

  it('keeps one guest’s bookings from another', () => {
    const database = openDatabase(directory, now)
    const maya = guestId(database, 'maya@example.com')
    const jonas = guestId(database, 'guest2@example.com')
    expect(bookingsOf(database, maya).map(({ id }) => id)).toEqual(['MIR-3121', 'MIR-3058', 'MIR-2417'])
    expect(bookingsOf(database, maya, today).map(({ id }) => id)).toEqual(['MIR-3121', 'MIR-3058'])
    expect(bookingsOf(database, jonas).map(({ id }) => id)).toEqual(['MIR-3077', 'MIR-2790'])
    expect(bookingsOf(database, 'nobody')).toEqual([])
    expect(loyaltyPoints(database, maya)).toBe(1240)
    expect(codeOf(() => loyaltyPoints(database, 'nobody'))).toBe('not_found')
    expect(codeOf(() => addBookingNote(database, jonas, 'MIR-3058', 'Mine now', now))).toBe('not_found')
    expect(codeOf(() => addBookingNote(database, maya, 'MIR-3058', '  ', now))).toBe('invalid')
    expect(codeOf(() => addBookingNote(database, maya, 'MIR-3058', 'x'.repeat(MAX_NOTE + 1), now))).toBe('invalid')
    expect(bookingsOf(database, maya).find(({ id }) => id === 'MIR-3058')?.notes).toHaveLength(1)
    database.close()
  })

  it('books a room only where it can be booked', () => {
    const database = openDatabase(directory, now)
    const maya = guestId(database, 'maya@example.com')
    const wish = { slug: 'limonero', from: '2027-06-01', to: '2027-06-03', guests: 2 }
    expect(bookRoom(database, maya, wish, now)).toMatchObject({ room: 'limonero', nights: 2, total: 196 })
    expect(codeOf(() => bookRoom(database, maya, wish, now))).toBe('taken')
    const code = (change: Partial<typeof wish>) =>
      codeOf(() => bookRoom(database, maya, { ...wish, from: '2027-06-03', to: '2027-06-05', ...change }, now))
    expect(code({ guests: 3 })).toBe('invalid')
    expect(code({ guests: Number.NaN })).toBe('invalid')
    expect(code({ slug: 'attic' })).toBe('not_found')
    expect(code({ from: '2027-02-01', to: '2027-02-03' })).toBe('invalid')
    expect(code({})).toBe('none')
    database.close()
  })
})

describe('cancelling', () => {
  it('frees the room, and happens once', () => {
    const database = openDatabase(directory, now)
    const maya = guestId(database, 'maya@example.com')
    const arrival = addDays(today, 24)
    const isFree = () =>
      searchRooms(database, { from: arrival, to: addDays(arrival, 1) }).some(({ slug }) => slug === 'levante')
    expect(isFree()).toBe(false)
    expect(cancelBooking(database, maya, 'MIR-3058', now)).toMatchObject({
      booking: { id: 'MIR-3058', status: 'cancelled', notes: [expect.any(String)] },
      isNew: true,
    })
    expect(isFree()).toBe(true)
    expect(cancelBooking(database, maya, 'MIR-3058', now + 30 * 86_400_000)).toMatchObject({ isNew: false })
    expect(bookingsOf(database, maya).map(({ id, status }) => `${id} ${status}`)).toContain('MIR-3058 cancelled')
    expect(codeOf(() => addBookingNote(database, maya, 'MIR-3058', 'Still coming?', now))).toBe('invalid')
    database.close()
  })

  it('is possible until the day before arrival, for one’s own bookings', () => {
    const database = openDatabase(directory, now)
    const maya = guestId(database, 'maya@example.com')
    const jonas = guestId(database, 'guest2@example.com')
    const at = (inDays: number) => codeOf(() => cancelBooking(database, maya, 'MIR-3058', now + inDays * 86_400_000))
    expect([at(24), at(25), at(400)]).toEqual(['invalid', 'invalid', 'invalid'])
    expect(codeOf(() => cancelBooking(database, maya, 'MIR-2417', now))).toBe('invalid')
    for (const [guest, id] of [
      [jonas, 'MIR-3058'],
      ['nobody', 'MIR-3058'],
      [maya, 'MIR-0000'],
      [maya, "' or 1=1 --"],
    ] as const)
      expect(codeOf(() => cancelBooking(database, guest, id, now))).toBe('not_found')
    expect(bookingsOf(database, maya).every(({ status }) => status === 'booked')).toBe(true)
    expect(at(23)).toBe('none')
    database.close()
  })
})

describe('the secret', () => {
  it('is made once, kept, and readable by its owner alone', () => {
    const secret = readSecret(directory)
    expect(secret).toHaveLength(32)
    expect(readSecret(directory)).toEqual(secret)
    if (process.platform !== 'win32') expect(statSync(join(directory, 'secret')).mode & 0o777).toBe(0o600)
  })

  it('is refused when others can read it or when it is not whole', () => {
    const path = join(directory, 'secret')
    writeFileSync(path, 'short', { mode: 0o600 })
    expect(() => readSecret(directory)).toThrow('32 bytes')
    if (process.platform === 'win32') return
    chmodSync(path, 0o644)
    expect(() => readSecret(directory)).toThrow('chmod 600')
  })
})
