import { signatureOf, webhookHeaders } from '../crypto/webhook-signature.ts'
import type { DurableWork } from '../lifecycle.ts'
import type { Logger, Scope } from '../store/database.ts'
import type { WorkWatch } from '../telemetry/telemetry.ts'
import type { DeliveryEnd } from '../telemetry/work.ts'
import type { WebhookEndpoint } from './settings.ts'
import {
  claimDelivery,
  type Delivery,
  deleteDelivery,
  dueDeliveries,
  giveUpDelivery,
  giveUpOthers,
  putOffDelivery,
} from './store.ts'

/**
 * Delivers what was committed: at least once, in no promised order. Each address is looked after by itself, so that one which
 * is slow or dead holds up none of the others, and no request.
 */

/** What delivering needs. */
export interface DeliveryOptions {
  readonly scope: () => Promise<Scope>
  readonly endpoints: readonly WebhookEndpoint[]
  /** Milliseconds since 1970. */
  readonly now: () => number
  readonly random: (length: number) => Uint8Array
  readonly log: Logger
  readonly fetch: (url: string, init: RequestInit) => Promise<Response>
  /** Aborts when the Company closes and waits no longer for what runs. */
  readonly givenUp: AbortSignal
  /** Has the end of the Company wait for something. */
  readonly track: <T>(work: Promise<T>) => Promise<T>
  /** A point at which tests end the process: it was taken, and that isn't noted yet. */
  readonly at: (point: 'delivered', id: string) => void | Promise<void>
  /** Milliseconds that a receiver may take; 10,000 when left out. */
  readonly timeLimit?: number
  /** Tells of each try; left out, nobody does. */
  readonly watch?: WorkWatch
}

/** See {@link createDeliveries}. */
export interface Deliveries {
  /** One for each address, and one for those that are gone. */
  readonly durable: readonly DurableWork[]
  /** Looks at once, without making anybody wait. */
  readonly poke: () => void
}

const longestPause = 36_000_000

/** How often a delivery is tried, over three days. */
export const mostAttempts = 20

/** Milliseconds until a delivery is tried again after so many times: 5 seconds, twice that each time, 10 hours at most. */
export function pauseAfter(attempts: number): number {
  return Math.min(5000 * 2 ** Math.min(Math.max(attempts - 1, 0), 20), longestPause)
}

const standardTimeLimit = 10_000
/** Milliseconds that noting what came of a try may take, after it had its time. */
const margin = 20_000
/** How many deliveries one process makes to an address at a time, and in one look. */
const mostAtOnce = 8
const mostInLook = 200
/** Milliseconds for which nobody may have looked after an address before it counts as gone: a deploy takes a while. */
const gonePatience = 3_600_000
/** Milliseconds between two looks for them. */
const gonePause = 600_000

/** What came of a try. */
type Tried =
  | { readonly how: 'taken'; readonly status: number }
  /** `notBefore`: milliseconds that the receiver asks for until the next try. `isLate`: it didn't answer in time. */
  | {
      readonly how: 'failed' | 'gone'
      readonly why: string
      /** Left out where nothing was answered. */
      readonly status?: number
      readonly notBefore?: number
      readonly isLate?: boolean
    }

/** Makes what delivers. Nothing is done until it is swept or poked. */
export function createDeliveries(options: DeliveryOptions): Deliveries {
  const lanes = options.endpoints.map((endpoint) => createLane(endpoint, options))
  const { now, log } = options
  const known = options.endpoints.map(({ id }) => id)
  let lookedAt = Number.NEGATIVE_INFINITY
  const gone: DurableWork = {
    async sweep() {
      // Nobody waits for it, and where nothing is configured any more it is all that is asked.
      if (now() - lookedAt < gonePause) return { done: 0, isDone: true }
      lookedAt = now()
      const done = await giveUpOthers(await options.scope(), { known, dueBefore: now() - gonePatience, now: now() })
      if (done > 0)
        log.error({ deliveries: done }, 'deliveries to addresses that `webhooks` no longer has are given up')
      return { done, isDone: true }
    },
    stop: () => {},
  }
  return {
    durable: [...lanes.map(({ durable }) => durable), gone],
    poke() {
      for (const { poke } of lanes) poke()
    },
  }
}

function createLane(endpoint: WebhookEndpoint, options: DeliveryOptions) {
  const { now, log, track, givenUp, watch, timeLimit = standardTimeLimit } = options
  const { hostname: host } = new URL(endpoint.url)
  let isStopped = false
  let isPoked = false
  /** Whether it didn't answer in time in this look: then the rest of it waits for the next one. */
  let isHanging = false
  let running: Promise<{ readonly done: number; readonly isDone: boolean }> | null = null

  /** One look at a time: whoever comes meanwhile waits for it, and looks again. */
  async function sweep(): Promise<{ readonly done: number; readonly isDone: boolean }> {
    while (running !== null) await running.catch(() => {})
    if (isStopped) return { done: 0, isDone: true }
    running = look().finally(() => {
      running = null
    })
    return running
  }

  async function look(): Promise<{ readonly done: number; readonly isDone: boolean }> {
    isHanging = false
    const scope = await options.scope()
    const due = await dueDeliveries(scope, { endpoint: endpoint.id, now: now(), limit: mostInLook })
    const left = due[Symbol.iterator]()
    await Promise.all(
      Array.from({ length: Math.min(mostAtOnce, due.length) }, async () => {
        for (const delivery of left) {
          if (isStopped || isHanging) return
          await track(attendTo(scope, delivery))
        }
      }),
    )
    return { done: due.length, isDone: due.length < mostInLook && !isHanging }
  }

  async function attendTo(scope: Scope, delivery: Delivery): Promise<void> {
    const { id, event } = delivery
    const lease = now() + timeLimit + margin
    const attempts = delivery.attempts + 1
    try {
      if (!(await claimDelivery(scope, { delivery, now: now(), until: lease }))) return
      const about = { webhook: endpoint.name, event, host, attempt: attempts }
      const tried = await (watch?.delivery(about, () => send(delivery), endOf) ?? send(delivery))
      if (tried.how === 'taken') {
        await options.at('delivered', id)
        await deleteDelivery(scope, id)
        return
      }
      if (tried.isLate === true) isHanging = true
      const told = { webhook: endpoint.name, delivery: id, event, attempts, why: tried.why }
      if (isLast(tried)) {
        await giveUpDelivery(scope, { id, lease, now: now(), why: tried.why })
        log.error(told, 'a webhook could not be delivered and is given up')
      } else {
        const pause = Math.max(pauseAfter(attempts), tried.notBefore ?? 0)
        const dueAt = now() + spread(pause, options.random)
        await putOffDelivery(scope, { id, lease, dueAt, why: tried.why })
        log.warn(told, 'a webhook was not taken; it is tried again')
      }
    } catch (error) {
      // The lease ends by itself, and it is due again.
      log.error(
        { webhook: endpoint.name, delivery: id, error: error instanceof Error ? error.name : typeof error },
        'a webhook could not be looked after',
      )
    }

    function isLast({ how }: Tried): boolean {
      return how === 'gone' || attempts >= mostAttempts
    }

    function endOf(tried: Tried): DeliveryEnd {
      if (tried.how === 'taken') return { outcome: 'taken', status: tried.status }
      const { status } = tried
      const why = tried.isLate === true ? 'timeout' : tried.why
      return { outcome: isLast(tried) ? 'given_up' : 'failed', status, why }
    }
  }

  async function send({ id, body }: Delivery): Promise<Tried> {
    const at = Math.floor(now() / 1000)
    const late = AbortSignal.timeout(timeLimit)
    try {
      const answer = await options.fetch(endpoint.url, {
        method: 'POST',
        body,
        redirect: 'manual',
        signal: AbortSignal.any([late, givenUp]),
        headers: {
          'content-type': 'application/json',
          'user-agent': 'poppyseed-webhooks/1',
          [webhookHeaders.id]: id,
          [webhookHeaders.time]: String(at),
          [webhookHeaders.signature]: signatureOf(endpoint.keys, { id, at, body }),
        },
      })
      // What it says beside its status is nothing to us, and may be endless.
      await answer.body?.cancel()
      const { status } = answer
      if (answer.ok) return { how: 'taken', status }
      return {
        how: status === 410 ? 'gone' : 'failed',
        why: `status ${status}`,
        status,
        notBefore: retryAfter(answer),
      }
    } catch (error) {
      // What an error says of itself may have the address in it.
      const isLate = late.aborted
      return { how: 'failed', why: isLate ? `no answer in ${timeLimit} ms` : nameOf(error), isLate }
    }
  }

  function poke(): void {
    if (isPoked || isStopped) return
    isPoked = true
    setImmediate(() => {
      isPoked = false
      void track(
        sweep().catch((error: unknown) => {
          log.error({ webhook: endpoint.name, error: nameOf(error) }, 'webhooks could not be looked after')
        }),
      )
    })
  }

  const durable: DurableWork = {
    sweep,
    stop() {
      isStopped = true
    },
  }
  return { durable, poke }
}

/** Milliseconds that a receiver asks for by Retry-After, in seconds; 10 hours at most. */
function retryAfter({ headers }: Response): number {
  const seconds = /^[0-9]{1,9}$/.exec(headers.get('retry-after') ?? '')
  return seconds === null ? 0 : Math.min(Number(seconds[0]) * 1000, longestPause)
}

/** A tenth more at most, so that what failed together doesn't come again together. */
function spread(pause: number, random: (length: number) => Uint8Array): number {
  return Math.round(pause * (1 + (random(1)[0] ?? 0) / 2550))
}

/** What went wrong, in a word of Node's: `ECONNREFUSED`, `TypeError`. */
function nameOf(error: unknown): string {
  if (!(error instanceof Error)) return typeof error
  const { cause } = error
  const code: unknown = cause instanceof Error && 'code' in cause ? cause.code : undefined
  return typeof code === 'string' && /^[A-Z_0-9]{1,60}$/.test(code) ? code : error.name
}
