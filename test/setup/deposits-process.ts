import { once } from 'node:events'
import { appendFileSync } from 'node:fs'
import { createServer, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { createCompany } from '../../packages/company/src/company.ts'
import type { FaultPoint, OperationPoint } from '../../packages/company/src/faults/faults.ts'
import { toNodeHandler } from '../../packages/company/src/node/handler.ts'
import { operation } from '../../packages/company/src/operations/operation.ts'
import { failed, succeeded } from '../../packages/company/src/operations/outcome.ts'
import type { Store } from '../../packages/company/src/store/database.ts'
import { postgres } from '../../packages/company/src/store/postgres.ts'
import { sqlite } from '../../packages/company/src/store/sqlite.ts'
import type { StoreAddress } from './store-process.ts'
import { secret } from './world-config.ts'

/**
 * A Company in a process of its own that takes deposits through a payment service, and that kills itself where it is told to:
 * `POST /test-kill/{point}`. `POST /test-clock/{milliseconds}` moves its clock and has it look after what is due,
 * `POST /test-records/closed` has its records take nothing, `GET /test-operation/{id}` shows what the company sees.
 */

/** What an instance is told. */
export interface DepositsTask {
  readonly address: StoreAddress
  readonly origin: string
  /** Its clock stands there until it is moved, in milliseconds since 1970; null has it run. */
  readonly now: number | null
  readonly documents: Readonly<Record<string, unknown>>
  readonly payments: { readonly address: string; readonly key: string }
  /** Where the company keeps its records: a line for each thing that it is told of. */
  readonly records: string
}

/** A store that knows what its Company is telling its records just now, and what it does between two such tellings. */
function tellingsOf(store: Store): {
  readonly store: Store
  readonly between: (run: () => void) => Promise<void>
} {
  const claimed = new Set<string>()
  let claiming = 0
  let halted: Promise<void> = Promise.resolve()
  let onQuiet = () => {}
  const isQuiet = () => claiming === 0 && claimed.size === 0
  const look = () => {
    if (isQuiet()) onQuiet()
  }
  return {
    store: {
      ...store,
      async open(context) {
        const db = await store.open(context)
        const run: typeof db.run = async (sql, parameters, plan) => {
          const id = parameters.find((one): one is string => typeof one === 'string' && one.startsWith('tell:'))
          if (id === undefined) return db.run(sql, parameters, plan)
          if (!/^update poppy_outbox .* returning id$/s.test(sql)) {
            return db.run(sql, parameters, plan).finally(() => {
              claimed.delete(id)
              look()
            })
          }
          await halted
          claiming += 1
          try {
            const rows = await db.run(sql, parameters, plan)
            if (rows.length > 0) claimed.add(id)
            return rows
          } finally {
            claiming -= 1
            look()
          }
        }
        // Its `query` is another one inside a transaction: copied as what gives it, not as what it gave once.
        return Object.defineProperties(
          {},
          { ...Object.getOwnPropertyDescriptors(db), run: { value: run } },
        ) as typeof db
      },
    },
    async between(run) {
      const { promise, resolve } = Promise.withResolvers<void>()
      halted = promise
      if (!isQuiet())
        await new Promise<void>((quiet) => {
          onQuiet = quiet
        })
      run()
      resolve()
    },
  }
}

/** Where it dies: a point of `faults`, or in `perform`, once the payment service has answered. */
export type DeathPoint = OperationPoint | 'performing'

if (process.argv[2] !== undefined) {
  const { address, origin, now, documents, payments, records } = JSON.parse(process.argv[2]) as DepositsTask
  const clock = { now }
  let killAt: DeathPoint | null = null
  let areRecordsOpen = true
  const ignore = () => {}

  function dieAt(point: DeathPoint | FaultPoint): Promise<void> | undefined {
    if (killAt !== point) return undefined
    process.kill(process.pid, 'SIGKILL')
    return new Promise(ignore)
  }

  const ask = (path: string, init: RequestInit = {}) =>
    fetch(payments.address + path, {
      ...init,
      headers: { authorization: `Bearer ${payments.key}`, ...(init.headers as Record<string, string>) },
    })

  const payDeposit = operation({
    name: 'pay_deposit',
    description: 'Pays the deposit of a booking.',
    scope: 'poppy:write',
    performTimeout: 3000,
    propose: () => ({ summary: 'A deposit of 100 € is paid.', terms: { amount: '100.00', currency: 'EUR' } }),
    async perform(_, { key, signal }) {
      const answer = await ask('/charges', {
        method: 'POST',
        body: JSON.stringify({ amount: 10_000, currency: 'EUR', reference: key }),
        headers: { 'idempotency-key': key },
        signal,
      })
      await dieAt('performing')
      if (answer.status !== 201) throw new Error(`the payment service answered ${answer.status}`)
      return succeeded({ charge: ((await answer.json()) as { readonly id: string }).id })
    },
    async reconcile(_, { key, signal }) {
      const answer = await ask(`/charges?reference=${key}`, { signal })
      const { charges } = (await answer.json()) as { readonly charges: readonly { readonly id: string }[] }
      return charges[0] === undefined ? failed('The deposit was not taken.') : succeeded({ charge: charges[0].id })
    },
  })

  const write = ({ key, event }: { readonly key: string; readonly event: string }) => {
    if (!areRecordsOpen) throw new Error('the records are closed')
    appendFileSync(records, `${key} ${event}\n`)
  }
  const telling = tellingsOf(address.kind === 'sqlite' ? sqlite(address.path) : postgres(address.url))
  const company = createCompany({
    organization: { name: 'Hotel Miramar', domain: 'localhost' },
    origin,
    development: true,
    secret,
    store: telling.store,
    account: () => ({ id: 'acc-maya', name: 'maya@example.com' }),
    signInPage: () => '/login',
    scopes: { 'poppy:read': 'See your bookings', 'poppy:write': 'Change your bookings' },
    signIn: { direct: ['poppy:read', 'poppy:write'] },
    operations: [payDeposit],
    onOperation: { confirmed: write, finished: write },
    faults: { atPoint: (point) => dieAt(point) },
    limits: false,
    log: { debug: ignore, info: ignore, warn: ignore, error: ignore },
    now: () => clock.now ?? Date.now(),
    fetchDocument: async (url) => {
      if (documents[url] === undefined) throw new Error('nothing at this address')
      return { document: structuredClone(documents[url]), headers: new Headers() }
    },
  })
  await company.start()
  const handler = toNodeHandler(company)

  async function test(path: string, response: ServerResponse): Promise<void> {
    const [, what, value = ''] = path.split('/')
    if (what === 'test-kill') killAt = value as DeathPoint
    if (what === 'test-records') areRecordsOpen = value === 'open'
    if (what === 'test-clock') {
      // A clock that jumps ends the time of what is being told just now: it would be told once more.
      await telling.between(() => {
        clock.now = Number(value)
      })
      while (!(await company.work()).isDone);
    }
    const answer =
      what === 'test-operation'
        ? {
            operation: await company.operations.get(value),
            trail: await company.operations.trail(value),
            unsettled: (await company.operations.unsettled()).map(({ id }) => id),
          }
        : {}
    response.end(JSON.stringify(answer))
  }

  const server = createServer((request, response) => {
    if (request.url?.startsWith('/test-')) void test(request.url, response)
    else handler(request, response)
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  console.log((server.address() as AddressInfo).port)
  process.stdin.on('end', () => {
    server.closeAllConnections()
    server.close()
    void company.close()
  })
  process.stdin.resume()
}
