import { type CompanyConfig, verifyWebhook } from 'poppyseed'
import { describe, expect, it } from 'vitest'
import { converse, said, standingOf } from './setup/converse.ts'
import { patiently, rita } from './setup/front-desk.ts'
import { apiWorld, caller, checkerOf } from './setup/inbox-api.ts'
import { listen } from './setup/listen.ts'
import { type FreshStore, stores } from './setup/stores.ts'
import { webhookSecret } from './setup/webhook-receiver.ts'

// What a receiver didn't take in three days isn't lost: it is seen, and sent again by whoever looks after it. And a secret is
// changed without losing anything.

const hour = 3_600_000
const newer = 'whsec_C2FVsBQIhrscChlQIMV+b5sSYspob7oD'

/** A receiver that says what it is told to say, and knows the secrets that it knows. */
async function makeReceiver() {
  const state = { status: 204, secrets: [webhookSecret] as readonly string[], now: 0 }
  const got: { readonly id: string; readonly isGenuine: boolean }[] = []
  const { origin } = await listen(() => async (request) => {
    const id = request.headers.get('webhook-id') ?? ''
    const event = await verifyWebhook(request, state.secrets, { now: () => state.now })
    got.push({ id, isGenuine: event !== null })
    return new Response(null, { status: event === null ? 401 : state.status })
  })
  return { url: `${origin}/poppy`, state, got }
}

async function open(fresh: FreshStore, config: Partial<CompanyConfig> = {}) {
  const receiver = await makeReceiver()
  const secret: string | readonly string[] = webhookSecret
  const settings = { url: receiver.url, secret, events: ['conversation.closed'] as const }
  const world = await apiWorld(fresh.store(), { conversations: {}, webhooks: [settings], ...config })
  Object.defineProperty(receiver.state, 'now', { get: () => world.clock.now })
  const { access_token } = await world.start()
  const talk = converse(world.agent, access_token)
  /** A conversation that ends, which the receiver is told. */
  async function ended(): Promise<string> {
    const { conversation_id: id } = await standingOf(await talk.start(said('A word for nobody else.')))
    await talk.close(id)
    return id
  }
  const givenUp = async () => (await world.company.webhooks.givenUp()).deliveries
  /** Conversations that ended, of which nobody could be told. */
  async function lost(number: number): Promise<void> {
    receiver.state.status = 410
    const before = (await givenUp()).length
    for (let n = 0; n < number; n++) await ended()
    await expect.poll(async () => (await givenUp()).length, patiently).toBe(before + number)
    receiver.state.status = 204
  }
  return { receiver, world, ended, givenUp, lost, settings, webhooks: world.company.webhooks }
}

describe.each(stores)('webhooks that were given up, on $name', { timeout: 120_000 }, ({ missing, fresh }) => {
  const test = it.skipIf(missing)

  test('are listed with what came of them, without a word of what was said, and one is sent again as the same', async () => {
    const { world, receiver, ended, lost, givenUp, webhooks } = await open(await fresh())
    await lost(2)
    const [one, other] = await givenUp()
    expect(one).toEqual({
      id: expect.stringMatching(/^dlv_/),
      webhook: 'webhooks[0]',
      event: 'conversation.closed',
      tries: 1,
      lastTry: 'status 410',
      conversation: expect.stringMatching(/^cnv_/),
      operation: null,
      createdAt: world.clock.now,
      givenUpAt: world.clock.now,
    })
    expect(JSON.stringify(await webhooks.givenUp())).not.toMatch(/A word|localhost|127\.0/)
    receiver.got.length = 0
    expect(await webhooks.sendAgain({ delivery: one?.id ?? '' }, { by: rita })).toEqual({ number: 1 })
    await expect.poll(() => receiver.got, patiently).toEqual([{ id: one?.id, isGenuine: true }])
    expect((await givenUp()).map(({ id }) => id)).toEqual([other?.id])
    const { entries } = await world.company.conversations.audit({ conversation: one?.conversation ?? '' })
    expect(entries).toMatchObject([{ act: 'sent_again', staff: rita, detail: { delivery: one?.id, number: 1 } }])
    await expect.poll(async () => (await world.company.health()).deliveries?.waiting, patiently).toBe(0)

    // What isn't given up can't be: neither what was taken, nor what waits.
    const refused = { code: 'not_found' }
    receiver.state.status = 503
    await ended()
    await expect.poll(() => receiver.got.length, patiently).toBe(2)
    for (const id of [one?.id ?? '', receiver.got[1]?.id ?? '', 'dlv_none', '', 'a\0b', 'x'.repeat(300)])
      await expect(webhooks.sendAgain({ delivery: id }, { by: rita })).rejects.toMatchObject(refused)
    expect((await world.company.conversations.audit()).entries).toHaveLength(1)
  })

  test('are tried for three days anew, and stand in the list again when nobody takes them', async () => {
    const { world, receiver, lost, givenUp, webhooks } = await open(await fresh())
    await lost(1)
    world.clock.now += hour
    receiver.state.status = 503
    expect(await webhooks.sendAgain({ since: 0 }, { by: 'the night’s job' })).toEqual({ number: 1 })
    for (let looks = 0; looks < 30 && (await givenUp()).length === 0; looks++) {
      world.clock.now += 11 * hour
      while (!(await world.company.work()).isDone);
    }
    expect(await givenUp()).toMatchObject([{ tries: 20, lastTry: 'status 503' }])
    expect(receiver.got).toHaveLength(21)
    expect(new Set(receiver.got.map(({ id }) => id)).size).toBe(1)
  })

  test('are sent again all together since a time, once for a key, and none of another Company', async () => {
    const store = await fresh()
    const { world, receiver, lost, givenUp, webhooks, settings } = await open(store)
    await lost(2)
    world.clock.now += 60_000
    const since = world.clock.now
    await lost(3)
    const other = await apiWorld(store.store(), { conversations: {}, webhooks: [settings] })
    expect((await other.company.webhooks.givenUp()).deliveries).toEqual([])
    expect(await other.company.webhooks.sendAgain({ since: 0 }, { by: rita })).toEqual({ number: 0 })
    const page = await webhooks.givenUp({ since, limit: 2 })
    const next = await webhooks.givenUp({ since, limit: 2, after: page.after ?? '' })
    expect([page.deliveries.length, next.deliveries.length, next.after]).toEqual([2, 1, null])

    receiver.got.length = 0
    const again = () => webhooks.sendAgain({ since }, { by: rita }, { key: 'the-outage' })
    expect(await Promise.all([again(), again()])).toEqual([{ number: 3 }, { number: 3 }])
    const ids = [...page.deliveries, ...next.deliveries].map(({ id }) => id)
    await expect.poll(() => receiver.got.map(({ id }) => id).toSorted(), patiently).toEqual(ids.toSorted())
    expect(await givenUp()).toHaveLength(2)
    await lost(1)
    receiver.got.length = 0
    expect(await again()).toEqual({ number: 3 })
    expect(await webhooks.sendAgain({ since: world.clock.now + 1 }, { by: rita })).toEqual({ number: 0 })
    expect(await givenUp()).toHaveLength(3)
    const acts = (await world.company.conversations.audit()).entries
    expect(acts).toMatchObject([{ act: 'sent_again', detail: { since, number: 3 }, conversation: null }])
    expect(receiver.got).toEqual([])
  })

  test('to an address that is no longer configured stay as they are', async () => {
    const store = await fresh()
    const { world, lost } = await open(store)
    await lost(1)
    const moved = await apiWorld(store.store(), {
      origin: world.origin,
      conversations: {},
      webhooks: [{ url: `${world.origin}/elsewhere`, secret: webhookSecret }],
      now: () => world.clock.now,
    })
    const { webhooks } = moved.company
    const { deliveries } = await webhooks.givenUp()
    expect(deliveries).toMatchObject([{ webhook: null, lastTry: 'status 410' }])
    expect(await webhooks.sendAgain({ since: 0 }, { by: rita })).toEqual({ number: 0 })
    await expect(webhooks.sendAgain({ delivery: deliveries[0]?.id ?? '' }, { by: rita })).rejects.toMatchObject({
      code: 'not_found',
    })
  })

  test('are seen and sent again by the JSON API, by staff and nobody else', async () => {
    const { world, receiver, lost, givenUp } = await open(await fresh())
    await lost(3)
    const check = checkerOf(await world.documentOf())
    const call = caller(world.base, 'rita')
    const list = await call('GET', '/deliveries?limit=2')
    expect(check({ $ref: '#/components/schemas/Deliveries' }, list.body)).toBeNull()
    expect(list.body.deliveries).toMatchObject([{ last_try: 'status 410', tries: 1 }, { webhook: 'webhooks[0]' }])
    const rest = await call('GET', `/deliveries?limit=2&after=${list.body.after}`)
    expect([rest.body.deliveries.length, rest.body.after]).toEqual([1, null])
    expect((await call('GET', '/deliveries?since=2027-01-01T00:00:00Z')).body.deliveries).toEqual([])
    for (const query of ['?after=x', '?since=yesterday', '?limit=0', '?body=1'])
      expect([query, (await call('GET', `/deliveries${query}`)).status]).toEqual([query, 400])
    const [{ id }] = list.body.deliveries as readonly [{ readonly id: string }]
    for (const who of ['nobody', ''])
      for (const [method, path] of [
        ['GET', '/deliveries'],
        ['POST', `/deliveries/${id}/send-again`],
        ['POST', '/deliveries/send-all-again'],
      ] as const)
        expect((await caller(world.base, who)(method, path, { since: '2026-01-01T00:00:00Z' })).status).toBe(401)
    expect(await givenUp()).toHaveLength(3)
    receiver.got.length = 0
    for (const _ of [1, 2]) {
      const sent = await call('POST', `/deliveries/${id}/send-again`, {}, { 'idempotency-key': 'one' })
      expect(sent).toEqual({ status: 200, body: { number: 1 } })
      expect(check({ $ref: '#/components/schemas/SentAgain' }, sent.body)).toBeNull()
    }
    await expect.poll(() => receiver.got.map((one) => one.id), patiently).toEqual([id])
    expect((await call('POST', `/deliveries/${id}/send-again`)).body.error).toBe('not_found')
    expect((await call('POST', '/deliveries/send-all-again', { since: 'now' })).status).toBe(400)
    expect((await call('POST', '/deliveries/send-all-again', { since: '2026-01-01T00:00:00Z' })).body).toEqual({
      number: 2,
    })
    await expect.poll(givenUp, patiently).toEqual([])

    const without = await apiWorld((await fresh()).store(), { conversations: {} })
    expect(Object.keys((await without.documentOf()).paths).join()).not.toContain('deliveries')
    expect((await caller(without.base, 'rita')('GET', '/deliveries')).status).toBe(404)
  })

  test('a secret is changed while deliveries wait, come and are given up, and none is lost', async () => {
    const store = await fresh()
    const { world, receiver, ended, lost, settings } = await open(store)
    const instance = (secret: string | readonly string[]) =>
      apiWorld(store.store(), {
        origin: world.origin,
        conversations: {},
        now: () => world.clock.now,
        webhooks: [{ ...settings, secret }],
      })
    const work = async (made: Awaited<ReturnType<typeof instance>>) => {
      world.clock.now += 10_000
      while (!(await made.company.work()).isDone);
    }
    await lost(1)
    // One waits, signed by nobody yet for the next time.
    receiver.state.status = 503
    await ended()
    await expect.poll(() => receiver.got.length, patiently).toBe(2)
    receiver.state.status = 204
    // From here on another instance delivers, with both; the receiver has only the older one.
    await world.company.close()
    const both = await instance([newer, webhookSecret])
    await work(both)
    expect(receiver.got.slice(2)).toEqual([{ id: receiver.got[1]?.id, isGenuine: true }])
    // The receiver takes the newer one alone.
    receiver.state.secrets = [newer]
    await both.company.webhooks.sendAgain({ since: 0 }, { by: rita })
    await expect.poll(() => receiver.got.slice(3), patiently).toEqual([{ id: receiver.got[0]?.id, isGenuine: true }])
    await both.company.close()
    const only = await instance(newer)
    expect((await only.company.health()).deliveries).toEqual({ waiting: 0, dueSince: null, givenUp: 0 })
    const { conversation_id: id } = await standingOf(
      await converse(only.agent, (await only.start()).access_token).start(said('One more.')),
    )
    await only.company.conversations.close(id, { by: 'a job' })
    await expect.poll(() => receiver.got.length, patiently).toBe(5)
    expect(receiver.got.every(({ isGenuine }) => isGenuine)).toBe(true)
  })
})

describe('what is asked of given-up webhooks', () => {
  it('is looked at', async () => {
    const { webhooks } = await open(await (stores[0] as (typeof stores)[0]).fresh())
    for (const asked of [{ limit: 0 }, { limit: 201 }, { since: -1 }, { since: 1.5 }, { after: 'x' }, { after: 7 }])
      await expect(webhooks.givenUp(asked as object)).rejects.toThrow(TypeError)
    const by = { by: rita }
    for (const what of [{}, null, { since: 'now' }, { since: 1, delivery: 'dlv_1' }, { delivery: 7 }])
      await expect(webhooks.sendAgain(what as never, by)).rejects.toThrow(TypeError)
    for (const who of [{}, { by: '' }, { by: { id: 'rita' } }, null])
      await expect(webhooks.sendAgain({ since: 0 }, who as never)).rejects.toThrow(TypeError)
    await expect(webhooks.sendAgain({ since: 0 }, by, { key: '' })).rejects.toThrow(TypeError)
  })
})
