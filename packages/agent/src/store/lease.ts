import { base64url } from '@poppyseed/protocol'
import { z } from 'zod'
import { AgentError } from '../errors.ts'
import { type AgentStore, storeKey } from './store.ts'

/**
 * A lock for every store: a record that says who holds it, kept alive by counting up. Whoever waits takes it over when it
 * has not counted for as long as a lease lasts, by the waiter's own clock: machines need not agree on the time.
 */

/** How long a holder that has died keeps others waiting, in milliseconds. */
export const leaseFor = 30_000
/** How long anybody waits for a holder that lives, in milliseconds. */
export const longestWait = 120_000
const pollEvery = 50

/** What a lock needs of the world. */
export interface LockSurroundings {
  /** Milliseconds; only differences count. */
  readonly now: () => number
  readonly random: (length: number) => Uint8Array
  readonly wait: (milliseconds: number) => Promise<void>
}

const leaseSchema = z.object({ owner: z.string(), beat: z.number() })
type Lease = z.infer<typeof leaseSchema>

/**
 * Runs work while nobody else who shares the store runs work of the same name: by the store's own lock where it has one,
 * else by a lease that is kept in it.
 * @throws AgentError `store_busy` when a holder that lives doesn't let go
 */
export function lockIn(store: AgentStore, around: LockSurroundings): NonNullable<AgentStore['lock']> {
  return (name, work) => (store.lock ? store.lock(name, work) : withLease(store, name, work, around))
}

async function withLease<T>(
  store: AgentStore,
  name: string,
  work: () => Promise<T>,
  around: LockSurroundings,
): Promise<T> {
  const key = storeKey('lock', name)
  const owner = base64url(around.random(16))
  await take(store, key, owner, around)
  const beating = setInterval(() => {
    // A beat that fails is one that is missed: the next may be heard, and a lease that was lost isn't taken back.
    void store.update(key, (before) => beatOf(before, owner)).catch(() => clearInterval(beating))
  }, leaseFor / 3)
  beating.unref()
  try {
    return await work()
  } finally {
    clearInterval(beating)
    await store.update(key, (before) => (read(before)?.owner === owner ? undefined : before))
  }
}

async function take(store: AgentStore, key: string, owner: string, around: LockSurroundings): Promise<void> {
  const began = around.now()
  let seen: { readonly lease: Lease; readonly since: number } | undefined
  for (;;) {
    const lease = read(await store.get(key))
    if (lease && !(seen && isSame(seen.lease, lease))) seen = { lease, since: around.now() }
    const dead = seen && around.now() - seen.since >= leaseFor ? seen.lease : undefined
    if (!lease || dead) {
      const saved = await store.update(key, (before) => {
        const now = read(before)
        // Only what was looked at is taken over: another may have been quicker.
        return now === undefined || (dead && isSame(now, dead)) ? { owner, beat: 0 } : before
      })
      if (read(saved)?.owner === owner) return
    }
    if (around.now() - began > longestWait) throw busy()
    await around.wait(pollEvery)
  }
}

function beatOf(before: Parameters<Parameters<AgentStore['update']>[1]>[0], owner: string) {
  const lease = read(before)
  return lease?.owner === owner ? { owner, beat: lease.beat + 1 } : before
}

function read(value: unknown): Lease | undefined {
  const parsed = leaseSchema.safeParse(value)
  return parsed.success ? parsed.data : undefined
}

function isSame(left: Lease, right: Lease): boolean {
  return left.owner === right.owner && left.beat === right.beat
}

/** The error of a lock that is held for too long. */
export function busy(): AgentError {
  return new AgentError(
    'store_busy',
    'Another process of this agent is still asking the Company. Try again in a while.',
  )
}
