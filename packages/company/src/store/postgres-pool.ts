import { hash } from 'node:crypto'
import type { PostgresPool, PostgresPoolClient } from 'kysely'
import type { CustomTypesConfig, Pool, PoolClient, QueryConfig } from 'pg'
import type { Logger, Plan } from './database.ts'

/** A `pg` pool in the shape that Kysely's PostgreSQL dialect takes, with what a server that stays up needs. */

/** A pool, and whether it is ours to end. */
export interface OwnPool {
  readonly pool: Pool
  readonly ours: boolean
}

/** How a pool is wrapped. `namedStatements`: let the server keep plans, which old transaction poolers can’t take. */
export interface WrapSettings {
  readonly namedStatements: boolean
  readonly log: Logger
  readonly onQuery?: (sql: string) => void
}

/** `int8`, which is what counts and times are. */
const int8 = 20

/** A connection, for Kysely and for statements that say how they are planned. */
export interface WrappedClient extends Omit<PostgresPoolClient, 'query'> {
  readonly query: PostgresPoolClient['query'] &
    ((sql: string, values: readonly unknown[], plan: Plan) => Promise<{ readonly rows: readonly unknown[] }>)
}

/** A pool of them. */
export interface WrappedPool extends PostgresPool {
  readonly connect: () => Promise<WrappedClient>
  readonly end: () => Promise<void>
}

/** Wraps a pool for Kysely: named statements, listeners for lost connections, int8 as number. */
export function wrapPool({ pool, ours }: OwnPool, settings: WrapSettings): WrappedPool {
  const { log } = settings
  const wrapped = new WeakMap<PoolClient, WrappedClient>()
  // A lost connection is an 'error' event, on the pool when idle and on the client when checked out. Without a listener
  // either one ends the process. The driver's message names hosts and users, so only its code is logged.
  const noteLoss = (error: Error) => {
    log.warn({ code: 'code' in error ? String(error.code) : error.name }, 'A connection to PostgreSQL was lost.')
  }
  pool.on('error', noteLoss)
  let ending: Promise<void> | null = null
  return {
    options: pool.options,
    async connect() {
      const client = await pool.connect()
      const known = wrapped.get(client)
      if (known !== undefined) return known
      // Not on the pool's 'connect': a company's pool may have connected it before it came to us.
      client.on('error', noteLoss)
      const made = wrapClient(client, settings)
      wrapped.set(client, made)
      return made
    },
    end() {
      // Sockets close after the pool says that it has ended, so our own pool keeps its listener.
      if (!ours) pool.off('error', noteLoss)
      ending ??= ours ? pool.end() : Promise.resolve()
      return ending
    },
  }
}

function wrapClient(client: PoolClient, { namedStatements, onQuery }: WrapSettings): WrappedClient {
  // For our statements alone: a setting for the whole process would change what the company's own queries give.
  const types: CustomTypesConfig = {
    getTypeParser: (oid, format) => (oid === int8 ? Number : client.getTypeParser(oid, format)),
  }
  return {
    get processID() {
      return (client as { processID?: number }).processID ?? 0
    },
    query(text: unknown, values?: readonly unknown[], plan: Plan = 'kept') {
      // Kysely's other form is a cursor, for streams, which no query of ours is.
      if (typeof text !== 'string') throw new TypeError('Streams are not supported.')
      onQuery?.(text)
      const query: QueryConfig = { text, types }
      if (values !== undefined && values.length > 0) {
        query.values = [...values]
        const name = namedStatements && plan === 'kept' ? nameOf(text) : null
        if (name !== null) query.name = name
      }
      return client.query(query) as never
    },
    release: (destroy?: boolean) => client.release(destroy),
  }
}

// Statements with lists in them differ by length; the server keeps each for as long as the connection lives.
const mostNames = 500
const names = new Map<string, string>()

function nameOf(text: string): string | null {
  const known = names.get(text)
  if (known !== undefined) return known
  if (names.size >= mostNames) return null
  const name = `poppy_${hash('sha256', text, 'hex').slice(0, 32)}`
  names.set(text, name)
  return name
}
