import { describe, expect, it } from 'vitest'
import { type Handler, listen } from '../../../../test/setup/listen.ts'
import { now as start } from '../../../../test/setup/rows.ts'
import { stores } from '../../../../test/setup/stores.ts'
import { systemRandom } from '../crypto/random.ts'
import type { Logger, Scope } from '../store/database.ts'
import { createDeliveries, type DeliveryOptions, mostAttempts, pauseAfter } from './delivery.ts'
import { checkWebhooks } from './settings.ts'
import { deliveryBacklog, insertDeliveries } from './store.ts'
import { verifyWebhook } from './verify.ts'

/** Deliveries: at least once each, by one instance at a time, and no address holds up another. */

const company = 'https://miramar.example'
const secret = 'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw'
const body = JSON.stringify({
  type: 'conversation.closed',
  timestamp: '2026-11-30T12:00:00.000Z',
  data: { text: 'Grüße' },
})
const hour = 3_600_000

/** A receiver, and what it got, each verified. */
async function receiver(
  answer: (count: number, request: Request) => Response | Promise<Response> = () => new Response(),
) {
  const got: string[] = []
  const clock = { now: start }
  let count = 0
  const handler: Handler = async (request) => {
    const event = await verifyWebhook(request.clone(), secret, { now: () => clock.now })
    got.push(event === null ? 'not genuine' : event.id)
    count += 1
    return answer(count, request)
  }
  const { origin, close } = await listen(() => handler)
  const url = `${origin}/T0P-S3CRET`
  const [endpoint] = checkWebhooks([{ url, secret }], { isDevelopment: true, hasEvents: true })
  if (endpoint === undefined) throw new Error('no endpoint')
  return { got, endpoint, clock, close }
}

type Receiver = Awaited<ReturnType<typeof receiver>>

describe.each(stores)('deliveries in $name', { timeout: 60_000 }, ({ missing, fresh }) => {
  const test = it.skipIf(missing)

  async function begin(receivers: readonly Receiver[], instances = 1, more: Partial<DeliveryOptions> = {}) {
    const { open } = await fresh()
    const clock = { now: start }
    const log: string[] = []
    const write = (level: string) => (fields: object, text: string) =>
      void log.push(`${level} ${text} ${JSON.stringify(fields)}`)
    const logger: Logger = { debug: write('debug'), info: write('info'), warn: write('warn'), error: write('error') }
    const scopes: Scope[] = []
    for (let n = 0; n < instances; n++) scopes.push({ db: await open(), company })
    const scope = scopes[0] as Scope
    const deliveries = scopes.map((own) =>
      createDeliveries({
        scope: async () => own,
        endpoints: receivers.map(({ endpoint }) => endpoint),
        now: () => clock.now,
        random: systemRandom,
        log: logger,
        fetch: (url, init) => fetch(url, init),
        givenUp: new AbortController().signal,
        track: (work) => work,
        at: () => {},
        ...more,
      }),
    )
    const sweep = async (instance = 0) => {
      const durable = deliveries[instance]?.durable ?? []
      return Promise.all(durable.map((one) => one.sweep()))
    }
    const add = async (ids: readonly string[], to: Receiver | { readonly endpoint: { readonly id: string } }) =>
      insertDeliveries(
        scope,
        ids.map((id) => ({
          id,
          endpoint: to.endpoint.id,
          event: 'conversation.closed',
          body,
          conversationId: null,
          operationId: null,
          now: clock.now,
        })),
      )
    const move = (milliseconds: number) => {
      clock.now += milliseconds
      for (const one of receivers) one.clock.now = clock.now
    }
    return {
      scope,
      clock,
      log,
      sweep,
      add,
      move,
      deliveries,
      backlog: () => deliveryBacklog(scope, { now: clock.now }),
    }
  }

  test('come signed, once each, though two instances look at once', async () => {
    const desk = await receiver()
    const { sweep, add, backlog } = await begin([desk], 2)
    const ids = Array.from({ length: 40 }, (_, n) => `dlv_${n}`)
    await add(ids, desk)
    expect(await backlog()).toEqual({ waiting: 40, dueSince: start, givenUp: 0 })
    await Promise.all([sweep(0), sweep(1), sweep(0)])
    expect(desk.got.toSorted()).toEqual(ids.toSorted())
    expect(await backlog()).toEqual({ waiting: 0, dueSince: null, givenUp: 0 })
  })

  test('that aren’t taken come again with growing pauses and the same id; the log names no address', async () => {
    const answers = [500, 302, 404, 200]
    const desk = await receiver(
      (count) => new Response(null, { status: answers[count - 1] ?? 200, headers: { location: '/other' } }),
    )
    const { sweep, add, move, backlog, log } = await begin([desk])
    await add(['dlv_1'], desk)
    for (const tries of [1, 2, 3]) {
      await sweep()
      expect(desk.got).toHaveLength(tries)
      // Not before its time.
      move(pauseAfter(tries) - 1)
      await sweep()
      expect(desk.got).toHaveLength(tries)
      expect(await backlog()).toEqual({ waiting: 1, dueSince: null, givenUp: 0 })
      move(pauseAfter(tries))
    }
    await sweep()
    expect(desk.got).toEqual(['dlv_1', 'dlv_1', 'dlv_1', 'dlv_1'])
    expect(await backlog()).toMatchObject({ waiting: 0 })
    expect(log.filter((line) => line.startsWith('warn'))).toHaveLength(3)
    expect(log[0]).toContain('"webhook":"webhooks[0]"')
    expect(log.join()).not.toMatch(/T0P-S3CRET|MfKQ9r|Grüße|localhost/)
  })

  test('are given up after three days, kept, and told', async () => {
    const desk = await receiver(() => new Response(null, { status: 503 }))
    const { sweep, add, move, backlog, log, scope } = await begin([desk])
    await add(['dlv_1'], desk)
    let took = 0
    for (let tries = 1; tries <= mostAttempts + 2; tries++) {
      await sweep()
      const pause = Math.round(pauseAfter(tries) * 1.1)
      if (tries < mostAttempts) took += pause
      move(pause)
    }
    expect(desk.got).toHaveLength(mostAttempts)
    expect([took > 60 * hour, took < 84 * hour]).toEqual([true, true])
    expect(await backlog()).toEqual({ waiting: 0, dueSince: null, givenUp: 1 })
    expect(log.filter((line) => line.startsWith('error'))).toEqual([expect.stringContaining('given up')])
    const [row] = await scope.db.query.selectFrom('poppy_deliveries').selectAll().execute()
    expect(row).toMatchObject({ id: 'dlv_1', due_at: null })
  })

  test('end with 410 at once, and wait as long as Retry-After asks', async () => {
    const desk = await receiver((count) =>
      count === 1
        ? new Response(null, { status: 429, headers: { 'retry-after': '600' } })
        : new Response(null, { status: 410 }),
    )
    const { sweep, add, move, backlog } = await begin([desk])
    await add(['dlv_1'], desk)
    await sweep()
    move(599_000)
    await sweep()
    expect(desk.got).toHaveLength(1)
    move(70_000)
    await sweep()
    expect(desk.got).toHaveLength(2)
    expect(await backlog()).toEqual({ waiting: 0, dueSince: null, givenUp: 1 })
  })

  test.each([410, 503])(
    'are another instance’s once their lease is over: whoever was slow to hear %i has no say any more',
    async (status) => {
      const [slow, quick] = [Promise.withResolvers<Response>(), Promise.withResolvers<Response>()]
      const desk = await receiver((count) => (count === 1 ? slow : quick).promise)
      const { sweep, add, move, clock, backlog, scope } = await begin([desk], 2)
      await add(['dlv_1'], desk)
      const first = sweep(0)
      await expect.poll(() => desk.got).toHaveLength(1)
      move(30_000)
      const second = sweep(1)
      await expect.poll(() => desk.got).toHaveLength(2)
      slow.resolve(new Response(null, { status }))
      await first
      const [row] = await scope.db.query.selectFrom('poppy_deliveries').select(['due_at', 'given_up_at']).execute()
      expect([Number(row?.due_at), row?.given_up_at]).toEqual([clock.now + 30_000, null])
      quick.resolve(new Response())
      await second
      expect(await backlog()).toEqual({ waiting: 0, dueSince: null, givenUp: 0 })
    },
  )

  test('to an address that answers nothing, or is dead, hold up no other', async () => {
    const gate = Promise.withResolvers<Response>()
    const hanging = await receiver(() => gate.promise)
    const dead = await receiver()
    const desk = await receiver()
    await dead.close()
    const { sweep, add, backlog, log } = await begin([hanging, dead, desk], 1, { timeLimit: 1500 })
    await add(['dlv_h'], hanging)
    await add(['dlv_d'], dead)
    await add(['dlv_1', 'dlv_2'], desk)
    const sweeping = sweep()
    await expect.poll(() => desk.got.toSorted()).toEqual(['dlv_1', 'dlv_2'])
    await expect.poll(() => log.join()).toContain('ECONNREFUSED')
    expect(log.join()).not.toContain('no answer')
    await sweeping
    gate.resolve(new Response())
    expect(log.join()).toContain('no answer in 1500 ms')
    expect(await backlog()).toMatchObject({ waiting: 2 })
  })

  test('to an address that answers nothing wait for the next look, once that is seen', async () => {
    const gate = Promise.withResolvers<Response>()
    const hanging = await receiver(() => gate.promise)
    const { sweep, add, backlog } = await begin([hanging], 1, { timeLimit: 3000 })
    await add(
      Array.from({ length: 30 }, (_, n) => `dlv_${n}`),
      hanging,
    )
    const [looked] = await sweep()
    expect(looked?.isDone).toBe(false)
    expect(hanging.got).toHaveLength(8)
    gate.resolve(new Response())
    while ((await sweep())[0]?.isDone !== true);
    expect(new Set(hanging.got).size).toBe(30)
    expect(await backlog()).toMatchObject({ dueSince: null })
  })

  test('that nobody noted as taken come again, by another instance, with the same id', async () => {
    const desk = await receiver()
    let dies = true
    const at = () => {
      if (dies) throw new Error('the process ends here')
    }
    const { sweep, add, move } = await begin([desk], 2, { at })
    await add(['dlv_1'], desk)
    await sweep(0)
    dies = false
    // As long as the dead one's lease goes on, it may be at it.
    await sweep(1)
    expect(desk.got).toEqual(['dlv_1'])
    move(31_000)
    await sweep(1)
    move(31_000)
    await sweep(1)
    expect(desk.got).toEqual(['dlv_1', 'dlv_1'])
  })

  test('to an address that is configured no more are given up once nobody has looked for an hour', async () => {
    const desk = await receiver()
    const { sweep, add, move, backlog, log } = await begin([desk])
    await add(['dlv_1'], { endpoint: { id: 'gone' } })
    await sweep()
    expect(await backlog()).toMatchObject({ waiting: 1, givenUp: 0 })
    move(hour)
    await sweep()
    expect(await backlog()).toEqual({ waiting: 0, dueSince: null, givenUp: 1 })
    expect(log.join()).toContain('no longer has')
  })

  test('are given up like that where no address is configured any more', async () => {
    const { sweep, add, move, backlog } = await begin([])
    await add(['dlv_1'], { endpoint: { id: 'gone' } })
    move(hour - 1)
    await sweep()
    expect(await backlog()).toMatchObject({ waiting: 1, givenUp: 0 })
    move(hour)
    await sweep()
    expect(await backlog()).toEqual({ waiting: 0, dueSince: null, givenUp: 1 })
  })

  test('are made at once when poked, and no more once it is stopped', async () => {
    const desk = await receiver()
    const { add, deliveries, sweep } = await begin([desk])
    await add(['dlv_1'], desk)
    const [one] = deliveries
    one?.poke()
    one?.poke()
    await expect.poll(() => desk.got).toEqual(['dlv_1'])
    await add(['dlv_2'], desk)
    for (const durable of one?.durable ?? []) durable.stop()
    one?.poke()
    await sweep()
    expect(desk.got).toEqual(['dlv_1'])
  })
})
