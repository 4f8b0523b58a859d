import { randomBytes } from 'node:crypto'
import { createServer } from 'node:http'
import { createCompany } from 'poppyseed'
import { stopOnSignals, stopServer, toNodeHandler } from 'poppyseed/node'
import { sqlite } from 'poppyseed/sqlite'
import { createAdapter } from './adapter.ts'
import { companyApi } from './company-api.ts'
import { deskApi } from './desk-api.ts'
import { openLinks } from './links.ts'
import { trying } from './settings.ts'
import { deskStaff } from './staff.ts'

/** A small Company whose people work in a help desk, and the adapter between them. The help desk itself is somewhere else. */

const { company: here, adapter: between, desk } = trying
const origin = `http://localhost:${here.port}`

const company = createCompany({
  organization: { name: 'Hotel Miramar', domain: 'localhost' },
  origin,
  development: true,
  secret: process.env.POPPY_SECRET ?? randomBytes(32).toString('base64'),
  store: sqlite(process.env.DATABASE ?? ':memory:'),
  agent: async function* (turn) {
    const [question] = turn.asked.slice(-1)
    if (/person|human|somebody/i.test(question?.text ?? '')) {
      yield { type: 'text', text: 'I get somebody for you.' }
      yield { type: 'handoff', reason: 'Asked for a person.' }
    } else yield { type: 'text', text: 'Breakfast is from 7 to 10. For anything else, ask for a person.' }
  },
  conversations: {},
  staff: deskStaff(here.token),
  webhooks: [{ url: `http://localhost:${between.port}/from-company`, secret: here.secret }],
})

const adapter = createAdapter({
  webhookSecret: here.secret,
  deskSecret: desk.secret,
  company: companyApi({ inbox: `${origin}/poppy/inbox`, token: here.token }),
  desk: deskApi({ url: `http://localhost:${desk.port}`, account: 1, inbox: 1, token: desk.token }),
  links: openLinks(process.env.LINKS ?? ':memory:'),
  log: (line) => console.log(line),
})

const poppy = toNodeHandler(company)
const site = createServer((request, response) => poppy(request, response, () => response.end('Hotel Miramar')))
site.listen(here.port, '127.0.0.1', () => console.log(`Hotel Miramar is open at ${origin}`))

const handler = createServer(toNodeHandler({ owns: () => true, fetch: adapter.fetch }))
handler.listen(between.port, '127.0.0.1')
// As long as this runs, the help desk is there for whoever asks for a person.
void adapter.work()
const working = setInterval(() => void adapter.work(), 30_000)

stopOnSignals(async () => {
  clearInterval(working)
  await stopServer(handler, { close: async () => {} })
  await stopServer(site, company)
})
