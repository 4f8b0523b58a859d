import { once } from 'node:events'
import type { AddressInfo } from 'node:net'
import { connect, createServer as createProxy, type Socket } from 'node:net'
import { describe, expect, it, onTestFinished, vi } from 'vitest'
import { converse } from './setup/converse.ts'
import { stores } from './setup/stores.ts'
import { openStreams, type Reading, reply } from './setup/streaming.ts'

/** Streams in which nothing happens, readers who are slow, and what those who have gone leave behind. */

describe('An idle stream', () => {
  it('says something each 15 seconds that is no event, so that no proxy closes it, and is ended after minutes [K42]', async () => {
    vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] })
    onTestFinished(() => void vi.useRealTimers())
    const lite = stores[0] as (typeof stores)[number]
    const { start, stream, world } = await openStreams(await lite.fresh(), { streams: { longest: 450 } })
    const id = await start()
    const reading = await stream(id)
    await reading.next()
    await reading.next()
    const comments = () => reading.raw().split(':\n\n').length - 1
    let before = comments()
    let silence = 0
    let longest = 0
    // Six minutes, a second at a time.
    for (let second = 0; second < 359; second++) {
      world.clock.now += 1000
      silence += 1000
      vi.advanceTimersByTime(1000)
      if (silence >= 15_000) {
        while (comments() === before) await new Promise(setImmediate)
        before = comments()
        longest = Math.max(longest, silence)
        silence = 0
      }
    }
    expect(longest).toBe(15_000)
    expect(before).toBe(1 + Math.floor(359 / 15))
    expect(
      reading
        .raw()
        .split('\n\n')
        .filter((block) => block !== '' && !block.startsWith('id: ') && block !== ':'),
    ).toEqual([])
    world.clock.now += 190_000
    vi.advanceTimersByTime(1000)
    await reading.ended
  })
})

describe.each(stores)('On $name', ({ missing, fresh }) => {
  const test = it.skipIf(missing !== null)

  test('500 streams and reads that wait leave no timer, no connection and no query behind [K47]', {
    timeout: 120_000,
  }, async () => {
    const inner = await fresh()
    let queries = 0
    const store = (): ReturnType<typeof inner.store> => {
      const own = inner.store()
      return { ...own, open: (context) => own.open({ ...context, onQuery: () => void queries++ }) }
    }
    vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] })
    onTestFinished(() => void vi.useRealTimers())
    const { start, stream, world, port, tokens, responses } = await openStreams(
      { ...inner, store },
      { streams: { perSession: 1000 }, limits: false },
    )
    const id = await start()
    const path = `/poppy/conversations/${id}/events`
    const cursor = await cursorOf(await stream(id))
    /** A read that is held, whose answer nobody waits for. */
    async function hold(): Promise<Socket> {
      const dpop = await world.agent.proof('GET', world.origin + path, tokens.access_token)
      const socket = connect(port, '127.0.0.1').on('error', () => {})
      const lines = ['host: miramar.example', `authorization: DPoP ${tokens.access_token}`, `dpop: ${dpop}`]
      socket.write(`GET ${path}?wait=30&cursor=${cursor} HTTP/1.1\r\n${lines.join('\r\n')}\r\n\r\n`)
      return socket
    }
    async function comeAndGo(count: number): Promise<void> {
      const begun = responses.length
      const readings = await Promise.all(Array.from({ length: count }, () => stream(id)))
      const held = await Promise.all(Array.from({ length: 8 }, hold))
      while (responses.length < begun + count + 8) await new Promise(setImmediate)
      await converse(world.agent, tokens.access_token).read(id)
      for (const { response } of readings) expect(response.statusCode).toBe(200)
      vi.advanceTimersByTime(2000)
      for (const reading of readings) reading.cut()
      for (const socket of held) socket.destroy()
      await settled(responses)
    }
    for (const response of responses) response.destroy()
    // What is made once stays: a pool, caches, the connection that listens.
    await comeAndGo(10)
    const before = count()
    for (let round = 0; round < 10; round++) await comeAndGo(50)
    while (!isBack(before, count())) await new Promise((resolve) => setTimeout(resolve, 20))
    // Nothing is asked for anybody any more: what is due is looked for as if nobody had been there.
    const asked = async () => {
      await quiet()
      queries = 0
      for (let tick = 0; tick < 5; tick++) {
        vi.advanceTimersByTime(1000)
        await quiet()
      }
      return queries
    }
    /** What was begun is over: nothing more is asked for a while, however busy the machine is. */
    async function quiet(): Promise<void> {
      for (let still = 0, seen = queries; still < 5; still++) {
        await new Promise((resolve) => setTimeout(resolve, 20))
        if (queries !== seen) still = 0
        seen = queries
      }
    }
    const after = await asked()
    const open = await stream(id)
    expect(await asked()).toBeGreaterThan(after)
    open.cut()
    await settled(responses)
    // Now and then something else is due as well; what somebody left behind would be asked for each time.
    await expect.poll(asked, { timeout: 60_000 }).toBeLessThanOrEqual(after)
    expect(world.log.filter((entry) => entry.startsWith('error'))).toEqual([])
  })

  test('a reader who takes nothing in is closed, and little waits for them [K47]', async () => {
    const { start, stream, write, world, responses } = await openStreams(await fresh())
    const id = await start()
    const reading = await stream(id)
    await reading.next()
    reading.response.pause()
    const response = responses.at(-1)
    if (response === undefined) throw new Error('there is no response')
    const large = 'x'.repeat(30_000)
    // More than any buffer of the system's takes.
    for (let index = 0; index < 40; index++)
      await write(
        id,
        Array.from({ length: 16 }, () => reply(large)),
      )
    while (!response.writableNeedDrain) await new Promise(setImmediate)
    const waits = response.writableLength + (response.socket?.writableLength ?? 0)
    expect(waits).toBeLessThan(1_000_000)
    world.clock.now += 31_000
    await once(response, 'close')
    reading.cut()
  })

  test('a reader who is slow and goes on gets all of it, in order', async () => {
    const { start, stream, write } = await openStreams(await fresh())
    const id = await start()
    const reading = await stream(id)
    await reading.next()
    reading.response.pause()
    const large = 'x'.repeat(30_000)
    for (let index = 0; index < 12; index++)
      await write(
        id,
        Array.from({ length: 16 }, (_, at) => reply(`${index * 16 + at} ${large}`)),
      )
    reading.response.resume()
    await reading.next()
    for (let index = 0; index < 12 * 16; index++) {
      const { data = '' } = (await reading.next()) ?? {}
      expect(data.slice(data.indexOf('"text":"'), 200)).toMatch(new RegExp(`^"text":"${index} x`))
    }
    reading.cut()
  })
})

describe('A proxy that closes what is silent', () => {
  it('leaves a stream open whose comments come in time', async () => {
    const lite = stores[0] as (typeof stores)[number]
    const { start, stream, port, world, tokens } = await openStreams(await lite.fresh(), {
      streams: { keepAlive: 0.1 },
    })
    const id = await start()
    let closed = 0
    const proxy = createProxy((near) => {
      const far = connect(port, '127.0.0.1')
      near.pipe(far).pipe(near)
      for (const socket of [near, far])
        socket
          .setTimeout(2000, () => {
            closed += 1
            near.destroy()
            far.destroy()
          })
          .on('error', () => {})
    }).listen(0, '127.0.0.1')
    onTestFinished(() => void proxy.close())
    await once(proxy, 'listening')
    const path = `/poppy/conversations/${id}/events`
    const dpop = await world.agent.proof('GET', world.origin + path, tokens.access_token)
    const socket = connect((proxy.address() as AddressInfo).port, '127.0.0.1').setEncoding('utf8')
    onTestFinished(() => void socket.destroy())
    socket.write(
      `GET ${path} HTTP/1.1\r\nhost: miramar.example\r\naccept: text/event-stream\r\nauthorization: DPoP ${tokens.access_token}\r\ndpop: ${dpop}\r\n\r\n`,
    )
    let text = ''
    const clock = setInterval(() => {
      world.clock.now += 100
    }, 50)
    onTestFinished(() => clearInterval(clock))
    for await (const chunk of socket) {
      text += chunk
      if (text.split('\r\n:\n\n\r\n').length > 30) break
    }
    expect(closed).toBe(0)
    expect((await stream(id)).response.statusCode).toBe(200)
  })
})

function count(): Readonly<Record<string, number>> {
  const counts: Record<string, number> = {}
  for (const kind of process.getActiveResourcesInfo()) counts[kind] = (counts[kind] ?? 0) + 1
  return counts
}

function isBack(before: Readonly<Record<string, number>>, now: Readonly<Record<string, number>>): boolean {
  return ['Timeout', 'TCPSocketWrap', 'Immediate'].every((kind) => (now[kind] ?? 0) <= (before[kind] ?? 0) + 1)
}

/** Until each answer that was begun is over. */
async function settled(responses: readonly { readonly closed: boolean }[]): Promise<void> {
  while (responses.some(({ closed }) => !closed)) await new Promise(setImmediate)
}

async function cursorOf(reading: Reading): Promise<string> {
  for (;;) {
    const found = [...reading.raw().matchAll(/^id: (\S+)$/gm)].at(-1)?.[1]
    if (found !== undefined) return found
    await new Promise(setImmediate)
  }
}
