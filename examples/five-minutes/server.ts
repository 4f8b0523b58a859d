import { randomBytes } from 'node:crypto'
import { serve } from '@hono/node-server'
import { createCompany, tool } from 'poppyseed'
import { sqlite } from 'poppyseed/sqlite'
import { z } from 'zod'

const bookings = [{ guest: 'maya', room: 'Sea view', from: '2027-03-03' }]

const company = createCompany({
  organization: { name: 'My Hotel', domain: 'localhost' },
  origin: 'http://localhost:3000', // every URL begins here; in production https://…
  development: true, // http on this machine only; take it out for production
  secret: process.env.POPPY_SECRET ?? randomBytes(32).toString('base64'), // in production one that stays
  store: sqlite(':memory:'), // or sqlite('poppy.db'), or postgres(url) for several instances
  // Who is signed in to your site on this request? Ask your own session; here everybody is Maya.
  account: () => ({ id: 'maya', name: 'maya@example.com' }),
  signInPage: (returnTo) => `/login?next=${encodeURIComponent(returnTo)}`,
  scopes: { 'poppy:read': 'See your bookings' },
  signIn: { direct: ['poppy:read'] },
  tools: [
    tool({
      name: 'my_bookings',
      description: 'Bookings of the signed-in guest, from a day on.',
      input: z.object({ from: z.iso.date().optional() }),
      scope: 'poppy:read',
      run: ({ from = '' }, { principal }) =>
        bookings.filter((one) => one.guest === principal.account && one.from >= from),
    }),
  ],
})

const site = () => new Response('My hotel’s own pages.')

serve(
  {
    port: 3000,
    hostname: '127.0.0.1',
    overrideGlobalObjects: false,
    fetch: (request) => (company.owns(request) ? company.fetch(request) : site()),
  },
  () => console.log('My Hotel is open at http://localhost:3000'),
)
