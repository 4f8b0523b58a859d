import { once } from 'node:events'
import type { AddressInfo } from 'node:net'
import { createAdaptorServer } from '@hono/node-server'
import { openLedger } from './ledger.ts'
import { createPayments } from './service.ts'

/** The service while it runs. */
export type Payments = {
  /** Where it listens, such as `http://127.0.0.1:4100`. */
  readonly address: string
  readonly close: () => Promise<void>
}

/** Starts the service on the loopback address. Port 0 takes any free one. */
export async function startPayments(options: {
  readonly port: number
  /** Where the ledger is kept. */
  readonly directory: string
  /** What the shop shows. */
  readonly key: string
  /** The clock, in milliseconds. */
  readonly now?: () => number
}): Promise<Payments> {
  const ledger = openLedger(options.directory, options.now ?? Date.now)
  const fetch = createPayments({ ledger, key: options.key })
  const server = createAdaptorServer({ fetch, overrideGlobalObjects: false })
  server.listen(options.port, '127.0.0.1')
  try {
    await once(server, 'listening')
  } catch (error) {
    ledger.close()
    throw error
  }
  return {
    address: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    async close() {
      const closed = once(server, 'close')
      server.close()
      // Some of them hang on purpose.
      if ('closeAllConnections' in server) server.closeAllConnections()
      await closed
      ledger.close()
    },
  }
}
