import { hash } from 'node:crypto'
import type { ClientBase, Pool } from 'pg'
import type { Logger } from './database.ts'
import { createListeners, type Notices } from './notices.ts'

/**
 * LISTEN and NOTIFY: one connection that listens, beside the pool, made when somebody first listens. It is made again when
 * it is lost, and where it hears nothing, such as behind a pooler that hands connections around, everybody looks.
 */

/** What {@link createPostgresNotices} needs. */
export interface PostgresNoticesOptions {
  readonly pool: Pool
  /** Runs a statement on a connection of the pool. */
  readonly run: (sql: string, parameters: readonly unknown[]) => Promise<unknown>
  readonly log: Logger
  /** Milliseconds; for tests. */
  readonly times?: Partial<typeof standardTimes>
}

const standardTimes = {
  /** Between two looks while the connection hears, and while it doesn't. */
  look: 5_000,
  lookAlone: 1_000,
  /** Until what was sent to oneself has to be heard. */
  probe: 5_000,
  /** Before another try, at first and at most. */
  retry: 500,
  longestRetry: 60_000,
}

/** A channel's name is a word of at most 63 letters, so a topic is hashed. */
const channelOf = (topic: string) => `poppy_${hash('sha256', topic, 'hex').slice(0, 32)}`

// Who sends needn't wait for the disk: nothing is written. Without this it would, for the sake of the transaction's number.
const sendText = `with quick as (select set_config('synchronous_commit', 'off', true))
  select pg_notify($1, text) from quick, unnest($2::text[]) as text`

/** Makes the notices of a pool. Nothing is connected before somebody listens. */
export function createPostgresNotices(
  options: PostgresNoticesOptions,
): Notices & { readonly end: () => Promise<void> } {
  const { pool, run, log } = options
  const times = { ...standardTimes, ...options.times }
  let connection: Connection | null = null
  let retry: NodeJS.Timeout | undefined
  let failures = 0
  let looking: NodeJS.Timeout | undefined
  let hasEnded = false
  let hasWarned = false
  /** By channel: its topic. */
  const channels = new Map<string, string>()

  const listeners = createListeners((isAnybody) => {
    clearTimeout(looking)
    if (!isAnybody || hasEnded) return
    lookLater()
    if (connection === null && retry === undefined) connect()
  })

  /** Also while the connection hears: a notice that is lost costs seconds and nothing more. */
  function lookLater(): void {
    looking = setTimeout(
      () => {
        listeners.stir(connection?.hears === true)
        connection?.beat()
        lookLater()
      },
      connection?.hears ? times.look : times.lookAlone,
    )
    looking.unref()
  }

  function connect(): void {
    retry = undefined
    if (hasEnded) return
    const client = clientOf(pool)
    if (client === null) {
      again('deaf')
      return
    }
    const made = open(client, [...channels.keys()], {
      probe: times.probe,
      hear(channel, text) {
        const topic = channels.get(channel)
        if (topic !== undefined) listeners.tell(topic, text)
      },
      ready() {
        failures = 0
        // What was sent before it listened was heard by nobody.
        listeners.stir()
      },
      lost(reason) {
        if (connection !== made) return
        connection = null
        again(reason)
      },
    })
    connection = made
  }

  function again(reason: 'lost' | 'deaf'): void {
    if (hasEnded) return
    if (reason === 'deaf' && !hasWarned) {
      hasWarned = true
      log.warn(
        {},
        'PostgreSQL is reached in a way that LISTEN does not work with, such as a pooler in transaction mode: what other instances do is found by looking each second.',
      )
    }
    const wait = reason === 'deaf' ? times.longestRetry : Math.min(times.retry * 2 ** failures, times.longestRetry)
    failures += 1
    // Not all instances at once.
    retry = setTimeout(connect, wait * (0.75 + Math.random() / 2))
    retry.unref()
  }

  return {
    async send(topic, texts) {
      await run(sendText, [channelOf(topic), texts])
    },
    listen(topic, hear) {
      const channel = channelOf(topic)
      if (!channels.has(channel)) {
        channels.set(channel, topic)
        void connection?.listen(channel)
      }
      return listeners.add(topic, hear)
    },
    async end() {
      hasEnded = true
      clearTimeout(looking)
      clearTimeout(retry)
      const last = connection
      connection = null
      await last?.end()
    },
  }
}

interface Connection {
  /** Whether what was sent to it has arrived. */
  readonly hears: boolean
  readonly listen: (channel: string) => Promise<void>
  /** Finds out whether anybody is at the other end. */
  readonly beat: () => void
  readonly end: () => Promise<void>
}

interface Ends {
  /** Milliseconds. */
  readonly probe: number
  readonly hear: (channel: string, text: string) => void
  readonly ready: () => void
  readonly lost: (reason: 'lost' | 'deaf') => void
}

function open(client: ListeningClient, channels: readonly string[], ends: Ends): Connection {
  const probe = `poppy_probe_${crypto.randomUUID().replaceAll('-', '')}`
  let hears = false
  let isOver = false
  let isBeating = false
  let deadline: NodeJS.Timeout | undefined

  function over(reason: 'lost' | 'deaf'): void {
    if (isOver) return
    isOver = true
    hears = false
    clearTimeout(deadline)
    // Whether it takes leave or not, nobody waits for it.
    client.end().catch(() => {})
    ends.lost(reason)
  }
  const failed = () => over('lost')
  client.on('error', failed)
  client.on('end', failed)
  client.on('notification', ({ channel, payload = '' }) => {
    if (channel !== probe) return ends.hear(channel, payload)
    clearTimeout(deadline)
    if (hears || isOver) return
    hears = true
    ends.ready()
  })
  async function begin(): Promise<void> {
    await client.connect()
    for (const channel of [...channels, probe]) await client.query(`listen ${channel}`)
    if (isOver) return
    deadline = setTimeout(() => over('deaf'), ends.probe)
    deadline.unref()
    await client.query(`notify ${probe}`)
  }
  const begun = begin().catch(failed)

  return {
    get hears() {
      return hears
    },
    async listen(channel) {
      await begun
      if (isOver) return
      await client.query(`listen ${channel}`).catch(failed)
      if (hears) ends.ready()
    },
    beat() {
      if (!hears) return
      // The last one is still on its way: a connection that a firewall has forgotten says nothing at all.
      if (isBeating) return over('lost')
      isBeating = true
      void client.query('select 1').then(() => {
        isBeating = false
      }, failed)
    },
    async end() {
      if (isOver) return
      isOver = true
      clearTimeout(deadline)
      await begun
      await client.end().catch(() => {})
    },
  }
}

type ListeningClient = ClientBase & { readonly end: () => Promise<void> }

/**
 * Connects as the pool does, but not through it: a connection that listens is never given back. Pools of `pg` keep what
 * they make connections of, and how; null for one that doesn't.
 */
function clientOf(pool: Pool): ListeningClient | null {
  const { Client } = pool as Pool & { readonly Client?: new (options: object) => ListeningClient }
  return typeof Client === 'function'
    ? new Client({ ...pool.options, password: pool.options.password, keepAlive: true })
    : null
}
