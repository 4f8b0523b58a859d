import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { Company, CompanyConfig, Store } from 'poppyseed'
import { toNodeHandler } from 'poppyseed/node'
import { onTestFinished } from 'vitest'
import { type WatchedStore, watch } from './watched-store.ts'
import { makeWorld, type World } from './world.ts'

/** A Company behind Node's own listener whose answers can be lost on their way, and an agent that reaches it over HTTP. */
export interface LosingWorld {
  readonly world: World
  readonly store: WatchedStore
  /** Loses the next answer of this path. Gives the work's error and what was going to be answered. */
  readonly losing: (
    path: string,
    work: () => Promise<unknown>,
  ) => Promise<{ readonly error: unknown; readonly status: number }>
  /** Rows of a table. */
  readonly count: (table: 'sessions' | 'grants' | 'codes') => Promise<number>
}

/** Opens one on an empty store; everything is closed when the test is over. */
export async function openLosingWorld(empty: Store, config: Partial<CompanyConfig> = {}): Promise<LosingWorld> {
  const store = watch(empty)
  let company: Company | undefined
  const server = createServer((request, response) => {
    if (company) toNodeHandler(company)(request, response)
    else response.destroy()
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  onTestFinished(async () => {
    const closed = once(server, 'close')
    server.close()
    server.closeAllConnections()
    await closed
  })
  const origin = `http://localhost:${(server.address() as AddressInfo).port}`
  let losing: string | null = null
  let lost = 0
  const world = await makeWorld(
    {
      origin,
      development: true,
      organization: { name: 'Hotel Miramar', domain: 'localhost' },
      faults: {
        dropAnswer({ path, status }) {
          if (path !== losing) return false
          losing = null
          lost = status
          return true
        },
      },
      ...config,
    },
    store,
    (made) => {
      company = made
      return (request) => fetch(request, { redirect: 'manual' })
    },
  )
  return {
    world,
    store,
    async losing(path, work) {
      losing = path
      try {
        await work()
      } catch (error) {
        return { error, status: lost }
      }
      throw new Error('The answer arrived.')
    },
    count: async (table) => ((await store.dump()) as Record<typeof table, unknown[]>)[table].length,
  }
}
