import { randomBytes } from 'node:crypto'
import express from 'express'
import { createCompany, tool } from 'poppyseed'
import { sendResponse, stopOnSignals, stopServer, toNodeHandler, toWebRequest } from 'poppyseed/node'
import { sqlite } from 'poppyseed/sqlite'
import { cookieOf, findBooks, findMember, homePage, loansOf, loginPage, memberOf, ownPath } from './library.ts'

const port = Number(process.env.PORT ?? 3001)
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

const app = express()
app.disable('x-powered-by')

// The Company, whole: before anything that reads bodies.
app.use(toNodeHandler(company))

app.use(express.urlencoded())

app.get('/', (req, res) => {
  res.send(homePage(memberOf(req.headers.cookie)))
})

app.get('/login', (req, res) => {
  res.send(loginPage(ownPath(req.query.next)))
})

app.post('/login', (req, res) => {
  const { name, password, next } = req.body ?? {}
  const member = findMember(name, password)
  if (member) res.append('set-cookie', cookieOf(member)).redirect(303, ownPath(next))
  else res.status(401).send(loginPage(ownPath(next)))
})

// An API of the site's own: its pages come with its cookie, agents with their token.
app.get('/api/loans', async (req, res) => {
  const member = memberOf(req.headers.cookie)
  if (member) {
    res.json(loansOf(member.id))
    return
  }
  const caller = await company.authenticate(toWebRequest(req), { scope: 'poppy:read' })
  if (caller instanceof Response) await sendResponse(caller, res)
  else res.json(loansOf(caller.account))
})

await company.start()
const server = app.listen(port, '127.0.0.1', (error) => {
  if (error) throw error
  console.log(`Corner Library is open at ${origin}`)
})

stopOnSignals(() => stopServer(server, company))
