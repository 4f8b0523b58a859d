import { describe, expect, it } from 'vitest'
import { type Answering, startAnswering } from './setup/answering.ts'
import { converse, pageOf, said, standingOf } from './setup/converse.ts'
import { stores } from './setup/stores.ts'
import { follow } from './setup/streaming.ts'
import type { Tokens } from './setup/world.ts'

// A hundred who write and a hundred who read, in ten conversations of two processes on one PostgreSQL, each time at either: by
// pages, and by streams that are cut after an event or a few and gone on with. One process is killed in the middle. Each reader
// gets each event once, and in the order of all the others. Only with LONG=1.

const conversations = 10
const writers = 10
const readers = 10
const messages = 5

const either = () => Math.floor(Math.random() * 2)

/** Asks until it is answered: a process that is gone answers nobody. */
async function insist<T>(ask: () => Promise<T | null>): Promise<T> {
  for (let tries = 0; tries < 500; tries++) {
    const answer = await ask().catch(() => null)
    if (answer !== null) return answer
    await new Promise((resolve) => setTimeout(resolve, 20))
  }
  throw new Error('it was never answered')
}

const several = <T>(count: number, one: (at: number) => Promise<T>) =>
  Promise.all(Array.from({ length: count }, (_, at) => one(at)))

function talker(company: Answering, token: string) {
  const at = converse(company.agent, token)
  const ask = (send: () => Promise<Response>) =>
    insist(async () => {
      company.turnTo(either())
      const answer = await send()
      return answer.ok ? answer : null
    })
  return {
    start: (message: unknown) => ask(() => at.start(message)),
    send: (id: string, message: unknown) => ask(() => at.send(id, message)),
    close: (id: string) => ask(() => at.close(id)),
    page: async (id: string, query: string) => pageOf(await ask(() => at.read(id, query))),
  }
}

type Talker = ReturnType<typeof talker>

/** Reads all of a conversation to its end, by pages. */
async function byPages({ page }: Talker, id: string): Promise<readonly string[]> {
  const seen: string[] = []
  for (;;) {
    const after = seen.at(-1)
    const { events, has_more, status } = await page(id, `?wait=5${after === undefined ? '' : `&cursor=${after}`}`)
    seen.push(...events.map((event) => event.id))
    if (status === 'closed' && !has_more) return seen
  }
}

/** Reads all of a conversation to its end, by streams that it cuts after so many events. */
async function byStreams(
  company: Answering,
  id: string,
  { token, by, most }: { readonly token: string; readonly by: 'last-event-id' | 'cursor'; readonly most: number },
): Promise<readonly string[]> {
  const seen: string[] = []
  for (;;) {
    const reading = await insist(async () => {
      const response = await company.stream(id, { process: either(), token, after: seen.at(-1) ?? null, by })
      if (response.statusCode === 200) return follow(response)
      response.destroy()
      return null
    })
    for (let left = most; left > 0; ) {
      const event = await reading.next()
      if (event === null) break
      if (event.id === undefined) continue
      left -= 1
      seen.push(event.id)
      if (event.data?.includes('"status":"closed"') !== true) continue
      reading.cut()
      return seen
    }
    reading.cut()
  }
}

describe.each(stores.filter(({ name }) => name === 'postgres'))('conversations on $name', ({ missing, fresh }) => {
  it.skipIf(missing !== null || !process.env.LONG)(
    'that many write and read at two processes are the same for each reader: each event once, and in order [K43, 7.5.order, 7.5.after-cursor, 7.6.last-event-id]',
    { timeout: 900_000 },
    async () => {
      const company = await startAnswering(await fresh(), { processes: 2, runs: true })
      const newToken = async () => ((await (await company.agent.startSession()).json()) as Tokens).access_token
      const main = talker(company, company.token)
      const wrong: string[] = []
      let written = 0
      const killing = Promise.withResolvers<void>()

      async function converseIn(): Promise<void> {
        const { conversation_id: id } = await standingOf(await main.start(said('0')))
        const reading = several(readers, async (at) => {
          const token = await newToken()
          if (at % 3 === 0) return byPages(talker(company, token), id)
          return byStreams(company, id, {
            token,
            by: at % 3 === 1 ? 'last-event-id' : 'cursor',
            most: 1 + (Math.floor(at / 3) % 3),
          })
        })
        const sent = await several(writers, async (at) => {
          const own = talker(company, await newToken())
          const ids: string[] = []
          for (let count = 0; count < messages; count++) {
            const message = said(`${at}.${count}`)
            await own.send(id, message)
            ids.push(message.id)
            if (++written === (conversations * writers * messages) / 2) killing.resolve()
          }
          return ids
        })
        await expect
          .poll(async () => (await main.page(id, '')).status, { timeout: 300_000, interval: 500 })
          .not.toBe('working')
        await main.close(id)
        const events = []
        for (let cursor: string | null = null, more = true; more; ) {
          const page = await main.page(id, cursor === null ? '' : `?cursor=${cursor}`)
          events.push(...page.events)
          cursor = page.cursor
          more = page.has_more
        }
        const all = events.map((event) => event.id)
        if (new Set(all).size !== all.length) wrong.push('an event is there twice')
        for (const [at, seen] of (await reading).entries())
          if (seen.join() !== all.join()) wrong.push(`reader ${at}: ${seen.length} events of ${all.length}`)
        const heard = events.flatMap((event) =>
          event.type === 'message' && event.message.role === 'user' ? [event.message.id] : [],
        )
        for (const ids of sent)
          if (heard.filter((message) => ids.includes(message)).join() !== ids.join())
            wrong.push('a message is not there once, after the one before it')
      }

      const killed = killing.promise.then(() => company.kill(1)).then(() => company.start(1))
      await Promise.all([...Array.from({ length: conversations }, converseIn), killed])
      expect(wrong).toEqual([])
      expect(written).toBe(conversations * writers * messages)
    },
  )
})
