import { once } from 'node:events'
import { createServer } from 'node:http'
import { register } from 'node:module'
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
  /** Its clock stands there, in milliseconds since 1970. */
  readonly now: number
  /** Documents of Personal Agents, by URL. */
  readonly documents: Readonly<Record<string, unknown>>
}

if (process.argv[2] !== undefined) {
  register('./tsx-loader.ts', import.meta.url)
  const { address, now, documents } = JSON.parse(process.argv[2]) as InstanceTask
  const ignore = () => {}
  const company = createCompany({
    organization: { name: 'Hotel Miramar', domain: 'miramar.example' },
    origin: 'https://miramar.example',
    secret,
    store: address.kind === 'sqlite' ? sqlite(address.path) : postgres(address.url),
    account: () => ({ id: 'acc-maya', name: 'maya@example.com' }),
    signInPage: () => '/login',
    scopes: { 'poppy:read': 'See your bookings', 'poppy:write': 'Change your bookings', loyalty: 'See your points' },
    signIn: { direct: ['poppy:read', 'poppy:write', 'loyalty'], device: ['poppy:read', 'poppy:write'] },
    tools: testTools(),
    limits: false,
    log: { debug: ignore, info: ignore, warn: ignore, error: (fields, message) => console.error(message, fields) },
    now: () => now,
    fetchDocument: async (url) => {
      if (documents[url] === undefined) throw new Error('nothing at this address')
      return { document: structuredClone(documents[url]), headers: new Headers() }
    },
  })
  await company.start()
  const server = createServer(toNodeHandler(company))
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
