import { mkdtemp, readdir, rm, stat } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, it, onTestFinished, vi } from 'vitest'
import { errorOf } from '../../test/visit.ts'
import { fileStore } from './file.ts'
import { type LockSurroundings, leaseFor, lockIn, longestWait } from './lease.ts'
import { memoryStore } from './memory.ts'
import { createQueues } from './queues.ts'
import type { AgentStore } from './store.ts'

/** A store of somebody's own, which has no lock. */
function ownStore(): AgentStore {
  const { lock, ...store } = memoryStore()
  return store
}

async function emptyFolder(): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'poppy-lock-'))
  onTestFinished(() => rm(folder, { recursive: true, force: true }))
  return join(folder, 'home')
}

/** A world in which waiting takes no time, and time passes by waiting. */
function world(): LockSurroundings & { time: number } {
  const around = {
    time: Date.now(),
    now: () => around.time,
    random: (length: number) => crypto.getRandomValues(new Uint8Array(length)),
    wait: async (milliseconds: number) => {
      around.time += milliseconds
      await new Promise((resolve) => setImmediate(resolve))
    },
  }
  return around
}

/** Two handles of one store, as two processes have them. */
const stores: readonly (readonly [string, () => Promise<readonly [AgentStore, AgentStore]>])[] = [
  [
    'in memory',
    async () => {
      const store = memoryStore()
      return [store, store]
    },
  ],
  [
    'in a file',
    async () => {
      const path = join(await emptyFolder(), 'state.json')
      return [fileStore(path), fileStore(path)]
    },
  ],
  [
    'of one’s own, without a lock',
    async () => {
      const store = ownStore()
      return [store, store]
    },
  ],
  [
    'of one’s own, with a lock',
    async () => {
      const store = { ...ownStore(), lock: createQueues() }
      return [store, store]
    },
  ],
]

describe.each(stores)('a lock of a store %s', (_, make) => {
  it('lets one at a time in, gives what the work gives, and lets go of work that fails', async () => {
    const handles = (await make()).map((store) => lockIn(store, world()))
    let inside = 0
    let most = 0
    const work = async (turn: number) => {
      inside += 1
      most = Math.max(most, inside)
      await new Promise((resolve) => setImmediate(resolve))
      inside -= 1
      if (turn === 3) throw new Error('no')
      return turn
    }
    const ends = await Promise.allSettled(
      Array.from({ length: 8 }, (_, turn) =>
        handles[turn % 2]?.('maya@example.com https://example.com', () => work(turn)),
      ),
    )
    expect(most).toBe(1)
    expect(ends.map((end) => (end.status === 'fulfilled' ? end.value : String(end.reason)))).toEqual([
      ...[0, 1, 2],
      'Error: no',
      ...[4, 5, 6, 7],
    ])
  })

  it('keeps nobody waiting who wants another', async () => {
    const [one, other] = (await make()).map((store) => lockIn(store, world()))
    await one?.('a', async () => {
      expect(await other?.('b', async () => 'in')).toBe('in')
    })
  })
})

describe('a lease', () => {
  it('that a dead holder left is taken over after half a minute, and no sooner', async () => {
    const store = ownStore()
    const around = world()
    await store.update('lock/a', () => ({ owner: 'dead', beat: 7 }))
    const began = around.now()
    expect(await lockIn(store, around)('a', async () => around.now() - began)).toBeGreaterThanOrEqual(leaseFor)
    expect(around.now() - began).toBeLessThan(leaseFor + 200)
    expect(await store.keys('lock/')).toEqual([])
  })

  it('of a holder that lives is left alone, and whoever waits for long is told to come again', async () => {
    const store = ownStore()
    const around = world()
    let beat = 0
    const alive: LockSurroundings = {
      ...around,
      now: () => around.time,
      wait: async (milliseconds) => {
        around.time += milliseconds
        if (around.time % 10_000 < 50) await store.update('lock/a', () => ({ owner: 'alive', beat: ++beat }))
      },
    }
    await store.update('lock/a', () => ({ owner: 'alive', beat }))
    const began = around.time
    const error = await errorOf(lockIn(store, alive)('a', async () => 'in'))
    expect([error.code, error.action, around.time - began > longestWait]).toEqual(['store_busy', 'retry', true])
    expect(await store.get('lock/a')).toMatchObject({ owner: 'alive' })
  })

  it('is nothing that a name shows in a folder', async () => {
    const folder = await emptyFolder()
    const store = fileStore(join(folder, 'state.json'))
    await store.lock?.('maya@example.com', async () => {
      const names = await readdir(folder)
      expect(names).toHaveLength(1)
      expect(names.join()).not.toMatch(/maya/)
    })
    expect(await readdir(folder)).toEqual([])
  })
})

describe('a holder that lives', () => {
  it('says so every few seconds, in a record or by its file’s time, and stops when it lets go', async () => {
    vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] })
    onTestFinished(() => void vi.useRealTimers())
    const around = world()
    const path = join(await emptyFolder(), 'state.json')
    const own = ownStore()
    const file = fileStore(path, around)
    const beat = async () => {
      around.time += 20_000
      vi.advanceTimersByTime(20_000)
      await settled()
    }
    await lockIn(own, around)('a', async () => {
      await beat()
      expect(await own.get('lock/a')).toMatchObject({ beat: 2 })
    })
    await beat()
    expect(await own.keys('lock/')).toEqual([])
    await file.lock?.('a', async () => {
      const [name = ''] = await readdir(join(path, '..'))
      // Longer than a lease, and nobody takes it over. Each sign is waited for before the next one: one that is overtaken
      // would set the time of the file back.
      for (let turn = 0; turn < 4; turn++) {
        await beat()
        const seen = async () => (await stat(join(path, '..', name))).mtimeMs >= around.time - 5000
        await vi.waitUntil(seen, { timeout: 15_000 })
      }
      const impatient = { ...around, now: () => around.time, wait: () => Promise.reject(new Error('has to wait')) }
      await expect(fileStore(path, impatient).lock?.('a', async () => 'in')).rejects.toThrow('has to wait')
    })
  })
})

/** Lets what was begun come to its end: files take a few turns. */
async function settled(): Promise<void> {
  for (let turn = 0; turn < 20; turn++) await new Promise((resolve) => setImmediate(resolve))
}
