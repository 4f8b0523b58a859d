import { randomBytes } from 'node:crypto'
import type { Server } from 'node:http'
import { type HttpBindings, serve } from '@hono/node-server'
import { Hono } from 'hono'
import { createCompany, tool } from 'poppyseed'
import { noteNodeRequest, stopOnSignals, stopServer } from 'poppyseed/node'
import { sqlite } from 'poppyseed/sqlite'
import { cookieOf, findBooks, findMember, homePage, loansOf, loginPage, memberOf, ownPath } from './library.ts'

const port = Number(process.env.PORT ?? 3002)
const origin = `http://localhost:${port}`

const company = createCompany({
  organization: { name: 'Corner Library', domain: 'localhost' },
  origin,
  development: true,
  secret: process.env.POPPY_SECRET ?? randomBytes(32).toString('base64'),
  store: sqlite(process.env.DATABASE ?? 'poppy.db'),
  account: (request) => memberOf(request.headers.get('cookie')),
  signInPage: (returnTo) => `/login?next=${encodeURIComponent(returnTo)}`,
  scopes: { 'poppy:read': 'See your loans' },
  signIn: { direct: ['poppy:read'] },
  tools: [
    tool({
      name: 'find_books',
      description: 'Books of the library whose title has these words.',
      input: { type: 'object', properties: { title: { type: 'string' } }, required: ['title'] },
      run: ({ title }) => ({ books: findBooks(String(title)) }),
    }),
    tool({
      name: 'my_loans',
      description: 'What the signed-in member has borrowed, and until when.',
      scope: 'poppy:read',
      run: (_input, { principal }) => ({ loans: loansOf(principal.account) }),
    }),
  ],
})

const app = new Hono<{ Bindings: HttpBindings }>()

// The Company, whole. Who is at the other end of the connection only Node knows; limits by address ask for it.
app.use(({ req, env }, next) => {
  if (!company.owns(req.raw)) return next()
  noteNodeRequest(req.raw, env.incoming)
  return company.fetch(req.raw)
})

app.get('/', (c) => c.html(homePage(memberOf(c.req.header('cookie')))))

app.get('/login', (c) => c.html(loginPage(ownPath(c.req.query('next')))))

app.post('/login', async (c) => {
  const { name, password, next } = await c.req.parseBody()
  const member = findMember(name, password)
  if (!member) return c.html(loginPage(ownPath(next)), 401)
  c.header('set-cookie', cookieOf(member))
  return c.redirect(ownPath(next), 303)
})

// An API of the site's own: its pages come with its cookie, agents with their token.
app.get('/api/loans', async (c) => {
  const member = memberOf(c.req.header('cookie'))
  if (member) return c.json(loansOf(member.id))
  const caller = await company.authenticate(c.req.raw, { scope: 'poppy:read' })
  return caller instanceof Response ? caller : c.json(loansOf(caller.account))
})

await company.start()
const server = serve({ fetch: app.fetch, port, hostname: '127.0.0.1', overrideGlobalObjects: false }, () =>
  console.log(`Corner Library is open at ${origin}`),
) as Server

stopOnSignals(() => stopServer(server, company))
