import { type Booking, canBeCancelled, MAX_NOTE } from '../bookings.ts'
import { dayAt } from '../days.ts'
import { counted, type Format } from '../format.ts'
import { inWords } from '../scopes.ts'
import { may } from '../visitor.ts'
import { FormToken, Layout, type Visit } from './layout.tsx'

type BookingsProps = { readonly visit: Visit; readonly bookings: readonly Booking[]; readonly now: number }

/** A guest's own stays: what is ahead first and soonest on top, then what is behind. */
export function BookingsPage({ visit, bookings, now }: BookingsProps) {
  const today = dayAt(now)
  const kept = bookings.filter(({ status }) => status === 'booked')
  const ahead = kept.filter((booking) => booking.departure >= today).toReversed()
  const behind = kept.filter((booking) => booking.departure < today)
  const cancelled = bookings.filter(({ status }) => status === 'cancelled')
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
                <BookingItem visit={visit} booking={booking} open now={now} />
              ))}
            </ul>
            {!may(visit.visitor, 'poppy:write') && (
              <p class="quiet">
                The agent can only look. To {inWords(['poppy:write'])} it needs <code>poppy:write</code>.
              </p>
            )}
          </>
        )}
        {behind.length > 0 && (
          <>
            <h2>Stays behind you</h2>
            <ul class="bookings">
              {behind.map((booking) => (
                <BookingItem visit={visit} booking={booking} open={false} now={now} />
              ))}
            </ul>
          </>
        )}
        {cancelled.length > 0 && (
          <>
            <h2>Cancelled</h2>
            <ul class="bookings">
              {cancelled.map((booking) => (
                <BookingItem visit={visit} booking={booking} open={false} now={now} />
              ))}
            </ul>
          </>
        )}
      </section>
    </Layout>
  )
}

type BookingItemProps = {
  readonly visit: Visit
  readonly booking: Booking
  /** Whether it is ahead, so that something can still be done about it. */
  readonly open: boolean
  readonly now: number
}

function BookingItem({ visit, booking, open, now }: BookingItemProps) {
  const { format } = visit
  const isCancelled = booking.status === 'cancelled'
  return (
    <li id={booking.id} class="booking">
      <div class="booking-head">
        <h3>
          <a class="booking-link" href={`/rooms/${booking.room}`}>
            {booking.roomName}
          </a>
        </h3>
        <p class="amount">{amountOf(booking, format)}</p>
      </div>
      <p>{format.stay(booking.arrival, booking.departure)}</p>
      <p class="facts">
        <span>{counted(booking.nights, 'night')}</span>
        <span>{counted(booking.guests, 'guest')}</span>
        <span>{booking.id}</span>
        {booking.deposit > 0 && !isCancelled && <span>Deposit of {format.money(booking.deposit)} paid</span>}
      </p>
      {booking.bookedBy !== null && <p class="quiet by-agent">Booked by your agent at {booking.bookedBy}</p>}
      {booking.cancelledBy !== null && <p class="quiet by-agent">Cancelled by your agent at {booking.cancelledBy}</p>}
      {booking.notes.length > 0 && (
        <ul class="notes" aria-label="Notes">
          {booking.notes.map((note) => (
            <li>{note}</li>
          ))}
        </ul>
      )}
      {open && may(visit.visitor, 'poppy:write') && (
        <div class="actions">
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
          {canBeCancelled(booking, now) && (
            <details>
              <summary>Cancel the booking</summary>
              <form method="post" action={`/bookings/${booking.id}/cancel`} class="stack">
                <FormToken token={visit.formToken} />
                <p>
                  {booking.deposit > 0
                    ? `Your deposit of ${format.money(booking.deposit)} is not given back`
                    : 'You pay nothing'}
                  , and the room is free for others at once. It can be cancelled until the day before you arrive.
                </p>
                <button type="submit" class="button second">
                  Cancel {booking.id}
                </button>
              </form>
            </details>
          )}
        </div>
      )}
    </li>
  )
}

function amountOf({ status, total, deposit }: Booking, format: Format): string {
  if (status === 'booked') return format.money(total)
  return deposit > 0 ? `Deposit of ${format.money(deposit)} kept` : 'Nothing to pay'
}
