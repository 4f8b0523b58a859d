import { Hono } from 'hono'
import { addBookingNote, bookingsOf, bookRoom, cancelBooking } from './bookings.ts'
import { cancellationMail } from './mails.ts'
import type { Outbox } from './outbox.ts'
import { AccountPage, type ConnectedAgents } from './pages/account.tsx'
import { BookingsPage } from './pages/bookings.tsx'
import { Refusal } from './refusal.ts'
import type { Desk, SiteEnv } from './site-context.ts'
import type { HotelDatabase } from './sql.ts'
import { loyaltyPoints } from './tools-data.ts'
import { guestFor } from './visitor.ts'

/** What the guests' pages need. */
export type GuestRoutes = {
  readonly desk: Desk
  readonly database: HotelDatabase
  readonly now: () => number
  readonly outbox: Outbox
  readonly connectedAgents: ConnectedAgents | undefined
}

/** The pages of those who are signed in, and of agents as far as their scopes go. */
export function guestRoutes({ desk, database, now, outbox, connectedAgents }: GuestRoutes): Hono<SiteEnv> {
  const app = new Hono<SiteEnv>()

  app.get('/bookings', (context) => {
    const guest = guestFor(context.var.visitor, 'poppy:read', '/bookings')
    const bookings = bookingsOf(database, guest.id)
    return desk.page(context, <BookingsPage visit={desk.visitOf(context)} bookings={bookings} now={now()} />)
  })

  app.post('/bookings/:id/notes', async (context) => {
    const { guest, fields } = await desk.guestForm(context, 'poppy:write', '/bookings')
    const { id } = addBookingNote(database, guest.id, context.req.param('id'), fields.get('note') ?? '', now())
    return context.redirect(`/bookings#${id}`, 303)
  })

  app.post('/bookings/:id/cancel', async (context) => {
    const { guest } = await desk.guestForm(context, 'poppy:write', '/bookings')
    const { booking, isNew } = cancelBooking(database, guest.id, context.req.param('id'), now())
    const { visitor } = context.var
    const by = visitor.kind === 'agent' ? `your agent at ${visitor.host}` : 'you'
    if (isNew) outbox.send(cancellationMail(guest, booking, by))
    return context.redirect(`/bookings#${booking.id}`, 303)
  })

  app.post('/rooms/:slug/book', async (context) => {
    const slug = context.req.param('slug')
    const { guest, fields } = await desk.guestForm(context, 'in person', `/rooms/${slug}`)
    const wish = {
      slug,
      from: fields.get('from') ?? '',
      to: fields.get('to') ?? '',
      guests: Number(fields.get('guests')),
    }
    const booking = bookRoom(database, guest.id, wish, now())
    return context.redirect(`/bookings#${booking.id}`, 303)
  })

  app.get('/account', async (context) => {
    const guest = guestFor(context.var.visitor, 'in person', '/account')
    const points = loyaltyPoints(database, guest.id)
    const agents = await connectedAgents?.list(guest.id)
    return desk.page(
      context,
      <AccountPage visit={desk.visitOf(context)} guest={guest} points={points} agents={agents} />,
    )
  })

  app.post('/account/agents/:id/disconnect', async (context) => {
    const { guest } = await desk.guestForm(context, 'in person', '/account')
    if (!connectedAgents) throw new Refusal('not_found', 'There is nothing here.')
    await connectedAgents.disconnect(guest.id, context.req.param('id'))
    return context.redirect('/account#agents', 303)
  })

  return app
}
