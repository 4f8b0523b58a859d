import { randomBytes } from 'node:crypto'
import { createServer } from 'node:http'
import { createCompany, tool } from 'poppyseed'
import { toNodeHandler } from 'poppyseed/node'
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

const poppy = toNodeHandler(company)

createServer((request, response) => {
  poppy(request, response, () => response.end('My hotel’s own pages.'))
}).listen(3000, '127.0.0.1', () => console.log('My Hotel is open at http://localhost:3000'))
