import { randomUUID } from 'node:crypto'
import { addDays, dayAt } from './days.ts'
import { hashPassword, type PasswordCost } from './passwords.ts'
import { type HotelDatabase, run } from './sql.ts'

const rooms = [
  {
    slug: 'levante',
    name: 'Levante',
    view: 'sea',
    beds: 'One double bed',
    sleeps: 2,
    size: 24,
    price: 14_500,
    summary: 'The corner room, with two windows and the sunrise in both.',
    description:
      'Levante faces east, so the morning comes in early and stays for breakfast. The bed stands across from the ' +
      'larger window, and the shutters are the old wooden ones: they close out everything if you want to sleep on. ' +
      'There is a desk, a deep armchair and a shower with a window of its own.',
  },
  {
    slug: 'poniente',
    name: 'Poniente',
    view: 'harbour',
    beds: 'One double bed',
    sleeps: 2,
    size: 21,
    price: 12_500,
    summary: 'Above the quay. In the evening you watch the boats come home.',
    description:
      'Poniente looks down on the fishing harbour. The boats leave before six, quietly, and come back at five with ' +
      'gulls behind them, which is not quiet at all and rather the point. A narrow balcony holds two chairs and a ' +
      'table for two glasses.',
  },
  {
    slug: 'faro',
    name: 'Faro',
    view: 'lighthouse',
    beds: 'One double bed, one single bed',
    sleeps: 3,
    size: 28,
    price: 16_500,
    summary: 'A long room for three, with the lighthouse at the end of it.',
    description:
      'From Faro you see the whole bay and the lighthouse on the point, which turns four times a minute. The single ' +
      'bed is in an alcove behind a curtain, and children fight over it. There is a bath, and a low shelf of books ' +
      'that other guests left here.',
  },
  {
    slug: 'limonero',
    name: 'Limonero',
    view: 'courtyard',
    beds: 'Two single beds',
    sleeps: 2,
    size: 19,
    price: 9_800,
    summary: 'The quiet one, on the courtyard, beside the lemon tree.',
    description:
      'Limonero has no sea view, and the best sleep in the house. It opens straight onto the courtyard and the lemon ' +
      'tree that my grandmother planted. It stays cool in August, there is no step at the door, and the shower has ' +
      'a seat and a rail.',
  },
  {
    slug: 'amapola',
    name: 'Amapola',
    view: 'garden',
    beds: 'One double bed, two bunk beds',
    sleeps: 4,
    size: 34,
    price: 18_500,
    summary: 'Two rooms for a family, with a door to the garden.',
    description:
      'Amapola is two rooms with a door between them that closes: yours has the double bed, theirs has the bunks. ' +
      'The garden begins at the sill. In May the slope behind it is red with poppies, and it is two minutes down ' +
      'the path to the small beach.',
  },
  {
    slug: 'mirador',
    name: 'Mirador',
    view: 'rooftops',
    beds: 'One double bed',
    sleeps: 2,
    size: 31,
    price: 21_000,
    summary: 'The top of the house: a terrace, the roofs of the town, and then the sea.',
    description:
      'You climb 38 stairs to Mirador, and nobody walks above you. The terrace is as large as the room. Breakfast ' +
      'comes up in a basket on a rope if you ask the evening before; we have not dropped one since 2011.',
  },
] as const

type SeedBooking = readonly [id: string, room: string, inDays: number, nights: number, guests: number, note?: string]

// Days are counted from the first start, so that each guest has something behind them and something ahead.
const guests: readonly {
  readonly email: string
  readonly password: string
  readonly name: string
  readonly points: number
  readonly bookings: readonly SeedBooking[]
}[] = [
  {
    email: 'maya@example.com',
    password: 'sea-view-42',
    name: 'Maya Lindqvist',
    points: 1240,
    bookings: [
      ['MIR-2417', 'poniente', -132, 4, 2],
      ['MIR-3058', 'levante', 24, 3, 2, 'We arrive late, on the last bus at 22:40.'],
      ['MIR-3121', 'mirador', 117, 7, 2],
    ],
  },
  {
    email: 'guest2@example.com',
    password: 'harbour-7',
    name: 'Jonas Berg',
    points: 310,
    bookings: [
      ['MIR-2790', 'limonero', -46, 2, 1],
      ['MIR-3077', 'amapola', 12, 5, 4, 'Two children, four and seven. Is there a rail for the upper bunk?'],
    ],
  },
]

/** Fills an empty database: six rooms, two guests, their bookings. Runs inside the transaction that made the tables. */
export function seed(database: HotelDatabase, now: number, cost: PasswordCost): void {
  for (const [position, room] of rooms.entries()) {
    run(
      database,
      `insert into rooms (slug, position, name, view, beds, sleeps, size, price, summary, description)
       values (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
      room.slug,
      position,
      room.name,
      room.view,
      room.beds,
      room.sleeps,
      room.size,
      room.price,
      room.summary,
      room.description,
    )
  }
  const today = dayAt(now)
  for (const guest of guests) {
    const guestId = randomUUID()
    run(
      database,
      'insert into guests (id, email, name, password, points) values (?, ?, ?, ?, ?)',
      guestId,
      guest.email,
      guest.name,
      hashPassword(guest.password, cost),
      guest.points,
    )
    for (const [id, slug, inDays, nights, people, note] of guest.bookings) {
      const arrival = addDays(today, inDays)
      run(
        database,
        `insert into bookings (id, guest_id, room_slug, arrival, departure, guests, price)
         select ?, ?, slug, ?, ?, ?, price * ? from rooms where slug = ?`,
        id,
        guestId,
        arrival,
        addDays(arrival, nights),
        people,
        nights,
        slug,
      )
      if (note) {
        run(database, 'insert into booking_notes (booking_id, text, written_at) values (?, ?, ?)', id, note, now)
      }
    }
  }
}

const staff = [
  { email: 'desk1@miramar.example', password: 'front-desk-1', name: 'Rosa Vidal' },
  { email: 'desk2@miramar.example', password: 'front-desk-2', name: 'Pau Ferrer' },
]

/** Who works at the front desk: also in a database that is older than they are. */
export function seedStaff(database: HotelDatabase, cost: PasswordCost): void {
  for (const { email, password, name } of staff) {
    run(
      database,
      'insert into staff (id, email, name, password) values (?, ?, ?, ?)',
      randomUUID(),
      email,
      name,
      hashPassword(password, cost),
    )
  }
}
