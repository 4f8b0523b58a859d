import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { createCompany } from '../../packages/company/src/company.ts'
import { toNodeHandler } from '../../packages/company/src/node/handler.ts'
import { postgres } from '../../packages/company/src/store/postgres.ts'
import { sqlite } from '../../packages/company/src/store/sqlite.ts'
import type { StoreAddress } from './store-process.ts'
import { secret, testTools } from './world-config.ts'

/** A whole instance of a Company in a process of its own: opens the database, listens, prints its port. */

/** What an instance is told. */
export interface InstanceTask {
  readonly address: StoreAddress
  /** Its clock stands there, in milliseconds since 1970, until it is moved. */
  readonly now: number
  /** Whether every way in is open: rotation, Mediated Sign-In with a code, browsers. */
  readonly allWays: boolean
  /** Whether people of the company answer, at the staff inbox: whoever the cookie `desk` names. */
  readonly hasDesk: boolean
  /** Documents of Personal Agents, by URL. */
  readonly documents: Readonly<Record<string, unknown>>
}

/** Where an instance's clock is moved: `POST /test-clock/{milliseconds}`. */
export const clockPath = '/test-clock/'

const allWays = {
  direct: ['poppy:read', 'poppy:write', 'loyalty'],
  device: ['poppy:read', 'poppy:write'],
  mediated: {
    scopes: ['poppy:read'],
    fields: [
      { name: 'email', label: 'Email', secret: false },
      { name: 'password', label: 'Password', secret: true },
    ],
    verify: ({ email = '', password }: Readonly<Record<string, string>>) =>
      password === 'sea-view-42' ? `acc-${email}` : null,
    // Whoever runs the test is the person too: they read their code where it was sent.
    sendCode: (code: string) => `Text that says ${code}`,
  },
}

/** Who is signed in to the site: whoever the cookie names, and Maya without one. */
function siteAccount(request: Request) {
  const name = /(?:^|; )site=([\w-]+)/.exec(request.headers.get('cookie') ?? '')?.[1] ?? 'maya'
  return { id: `acc-${name}`, name: `${name}@example.com` }
}

/** Who is signed in as staff. */
function deskAccount(request: Request) {
  const name = /(?:^|; )desk=([a-z]+)/.exec(request.headers.get('cookie') ?? '')?.[1]
  return name === undefined ? null : { id: name, name: `${name} at the desk` }
}

if (process.argv[2] !== undefined) {
  const task = JSON.parse(process.argv[2]) as InstanceTask
  const { address, documents } = task
  const clock = { now: task.now }
  const ignore = () => {}
  const company = createCompany({
    organization: { name: 'Hotel Miramar', domain: 'miramar.example' },
    origin: 'https://miramar.example',
    secret,
    store: address.kind === 'sqlite' ? sqlite(address.path) : postgres(address.url),
    account: siteAccount,
    signInPage: () => '/login',
    scopes: { 'poppy:read': 'See your bookings', 'poppy:write': 'Change your bookings', loyalty: 'See your points' },
    signIn: task.allWays ? allWays : { direct: allWays.direct, device: allWays.device },
    ...(task.allWays ? { rotation: true, browser: true } : {}),
    ...(task.hasDesk ? { conversations: {}, staff: deskAccount, customer: () => ({ title: 'Maya' }) } : {}),
    tools: testTools(),
    limits: false,
    log: { debug: ignore, info: ignore, warn: ignore, error: (fields, message) => console.error(message, fields) },
    now: () => clock.now,
    fetchDocument: async (url) => {
      if (documents[url] === undefined) throw new Error('nothing at this address')
      return { document: structuredClone(documents[url]), headers: new Headers() }
    },
  })
  await company.start()
  const handler = toNodeHandler(company)
  const server = createServer((request, response) => {
    if (!request.url?.startsWith(clockPath)) return handler(request, response)
    clock.now = Number(request.url.slice(clockPath.length))
    response.end()
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  console.log((server.address() as AddressInfo).port)
  // Its own end is its parent's: then nobody writes here any more.
  process.stdin.on('end', () => {
    server.closeAllConnections()
    server.close()
    void company.close()
  })
  process.stdin.resume()
}
