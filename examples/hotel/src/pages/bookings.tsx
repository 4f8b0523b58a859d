import type { Day } from '../days.ts'
import { counted } from '../format.ts'
import { type Booking, MAX_NOTE } from '../tools-data.ts'
import { FormToken, Layout, type Visit } from './layout.tsx'

type BookingsProps = { readonly visit: Visit; readonly bookings: readonly Booking[]; readonly today: Day }

/** A guest's own stays: what is ahead first and soonest on top, then what is behind. */
export function BookingsPage({ visit, bookings, today }: BookingsProps) {
  const ahead = bookings.filter((booking) => booking.departure >= today).toReversed()
  const behind = bookings.filter((booking) => booking.departure < today)
  return (
    <Layout visit={visit} title="Your bookings · Hotel Miramar">
      <section class="column">
        <h1>Your bookings</h1>
        {ahead.length === 0 ? (
          <p class="lead">
            No stay ahead. <a href="/#rooms">Look at the rooms</a>.
          </p>
        ) : (
          <>
            <h2>Coming up</h2>
            <ul class="bookings">
              {ahead.map((booking) => (
                <BookingItem visit={visit} booking={booking} open />
              ))}
            </ul>
          </>
        )}
        {behind.length > 0 && (
          <>
            <h2>Stays behind you</h2>
            <ul class="bookings">
              {behind.map((booking) => (
                <BookingItem visit={visit} booking={booking} open={false} />
              ))}
            </ul>
          </>
        )}
      </section>
    </Layout>
  )
}

function BookingItem({ visit, booking, open }: { visit: Visit; booking: Booking; open: boolean }) {
  const { format } = visit
  return (
    <li id={booking.id} class="booking">
      <div class="booking-head">
        <h3>
          <a class="booking-link" href={`/rooms/${booking.room}`}>
            {booking.roomName}
          </a>
        </h3>
        <p class="amount">{format.money(booking.total)}</p>
      </div>
      <p>{format.stay(booking.arrival, booking.departure)}</p>
      <p class="facts">
        <span>{counted(booking.nights, 'night')}</span>
        <span>{counted(booking.guests, 'guest')}</span>
        <span>{booking.id}</span>
      </p>
      {booking.notes.length > 0 && (
        <ul class="notes" aria-label="Notes">
          {booking.notes.map((note) => (
            <li>{note}</li>
          ))}
        </ul>
      )}
      {open && (
        <details>
          <summary>Add a note</summary>
          <form method="post" action={`/bookings/${booking.id}/notes`} class="stack">
            <FormToken token={visit.formToken} />
            <label>
              What should we know?
              <textarea name="note" rows={3} maxlength={MAX_NOTE} required />
            </label>
            <button type="submit" class="button">
              Save the note
            </button>
          </form>
        </details>
      )}
    </li>
  )
}
