import { execFile } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { describe, expect, it, onTestFinished, vi } from 'vitest'
import { anything, blockedAgents } from '../packages/company/src/changes/wide-ears.ts'
import { said } from './setup/converse.ts'
import { stores } from './setup/stores.ts'
import { openStreams, reply } from './setup/streaming.ts'

/** `poppyseed agents block` in a process of its own, beside a Company that runs: what is open there hears of it at once. */

const postgres = stores.filter(({ name }) => name === 'postgres')
const main = join(import.meta.dirname, '../packages/company/src/cli/main.ts')

describe.each(postgres)('on $name, a command in another process', { timeout: 60_000 }, ({ missing, fresh }) => {
  it.skipIf(missing !== null)('ends the streams of an agent that it blocks, and is told to the inbox', async () => {
    // Nothing is looked at now and then: whoever hears of it was told.
    vi.useFakeTimers({ toFake: ['setInterval'] })
    onTestFinished(() => void vi.useRealTimers())
    const store = await fresh()
    const here = await openStreams(store)
    const id = await here.start()
    const reading = await here.stream(id)
    while (!reading.raw().includes('breakfast')) await once(reading.response, 'data')

    const heard = new Set<string>()
    let more = Promise.withResolvers<void>()
    const leave = here.parts.changes.listenToAll({
      told(changed) {
        for (const one of changed ?? []) heard.add(one)
        more.resolve()
        more = Promise.withResolvers()
      },
    })
    onTestFinished(leave)
    // Both listen once each hears what the other one tells.
    here.parts.changes.listen(id, { told: () => {} })
    while (!heard.has(id)) {
      await here.talk.send(id, said('Hello?'))
      await Promise.race([more.promise, new Promise((resolve) => setTimeout(resolve, 100))])
    }
    await here.write(id, [reply('Yes.')])
    while (!reading.raw().includes('Yes.')) await once(reading.response, 'data')
    heard.clear()

    const args = ['agents', 'block', here.world.agent.clientId, '--company', here.world.origin]
    const { stdout } = await promisify(execFile)(
      process.execPath,
      ['--conditions', '@poppyseed/source', main, ...args],
      { env: { ...process.env, POPPYSEED_STORE: store.address.kind === 'postgres' ? store.address.url : '' } },
    )
    expect(stdout).toContain('is blocked')
    expect(stdout).not.toContain('within a few seconds')
    await reading.ended
    while (!heard.has(anything)) await more.promise
    expect(heard).toContain(blockedAgents)
  })
})
