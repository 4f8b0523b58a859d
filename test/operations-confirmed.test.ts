import fc from 'fast-check'
import { createCompany, operation, succeeded } from 'poppyseed'
import { describe, expect, it } from 'vitest'
import { asked, bookings, type Counts, lists, openBookings, overMcp, signedIn, told } from './setup/bookings.ts'
import { stores } from './setup/stores.ts'
import { outcome, secret, testTools } from './setup/world.ts'

/** Confirming and cancelling: what has to be right, and what is told when it isn't. */

describe('a confirmation', () => {
  it('is for the latest revision alone, and says what it is when it is another [ops.latest-revision, ops.revision-conflict, ops.revision-immutable, ops.revision-counts, K53]', async () => {
    const world = await openBookings()
    const agent = asked(world.agent, (await signedIn(world)).access_token)
    const first = await agent.propose('book_room', { nights: 2 })
    const id = first.operation_id
    world.clock.now += 1000
    await world.company.operations.revise(
      id,
      { revision: 1, summary: '2 nights, 300 €.', terms: { nights: 2, price: '300.00' }, expiresIn: 60 },
      { by: 'Rita at the front desk' },
    )
    const stale = await told(await agent.confirm(id))
    expect(stale.is).toBe('409 revision_conflict')
    expect(stale.operation).toMatchObject({
      revision: 2,
      state: 'proposed',
      summary: '2 nights, 300 €.',
      terms: { nights: 2, price: '300.00' },
      expires_at: '2026-11-30T12:01:01.000Z',
    })
    expect(stale.operation.confirmation).toBeUndefined()
    // One that never was.
    expect((await told(await agent.confirm(id, { revision: 3, approved_by: 'user' }))).is).toBe('409 revision_conflict')
    expect(world.counts.perform).toBe(0)
    const confirmed = await told(await agent.confirm(id, { revision: 2, approved_by: 'user', wait: 10 }))
    expect(confirmed).toMatchObject({ is: '200 succeeded', operation: { confirmation: { revision: 2 } } })
    // What was kept for `perform` stayed, the terms are those of the revision.
    expect(confirmed.operation.result).toEqual({ booking: 'b-2-flexible' })
    // Nothing is revised any more.
    const late = world.company.operations.revise(id, { revision: 2, summary: 'Other.' }, { by: 'Rita' })
    await expect(late).rejects.toMatchObject({ code: 'revision_conflict' })
    const trail = await world.company.operations.trail(id)
    expect(trail.map(({ event, channel, revision }) => `${event} ${channel} ${revision}`)).toEqual([
      'proposed http 1',
      'revised company 2',
      'confirmed endpoint 2',
      'started worker 2',
      'succeeded worker 2',
    ])
    expect(trail[0]?.who).toMatchObject({ clientId: world.agent.clientId, userId: world.agent.userId })
    expect(trail[1]?.who).toEqual({ staff: 'Rita at the front desk' })
  })

  it('needs the User’s word unless the operation takes a standing permission [ops.user-approval-required]', async () => {
    const world = await openBookings()
    const agent = asked(world.agent, (await signedIn(world)).access_token)
    const standing = { revision: 1, approved_by: 'standing_permission' }
    const room = await agent.propose('book_room', { nights: 1 })
    const refused = await told(await agent.confirm(room.operation_id, standing))
    expect(refused).toMatchObject({
      is: '403 user_approval_required',
      operation: { operation_id: room.operation_id, state: 'proposed', user_approval_required: true },
    })
    const other = await agent.propose('cancel_booking', { booking: 'b-1' })
    expect(other.user_approval_required).toBe(false)
    const done = await told(await agent.confirm(other.operation_id, standing))
    expect(done.operation.confirmation).toMatchObject({ revision: 1, approved_by: 'standing_permission' })
  })

  it('needs the scopes that the action needs, at that moment [ops.insufficient-scope]', async () => {
    const world = await openBookings()
    const tokens = await signedIn(world)
    const agent = asked(world.agent, tokens.access_token)
    const { operation_id } = await agent.propose('book_room', { nights: 1 })
    await world.company.accounts.takeAway('acc-maya', world.agent.clientId, 'poppy:write')
    const answer = await agent.confirm(operation_id)
    expect(answer.headers.get('www-authenticate')).toMatch(/^DPoP .*error="insufficient_scope".*scope="poppy:write"/)
    expect(await told(answer)).toMatchObject({
      is: '403 insufficient_scope',
      operation: { operation_id, state: 'proposed' },
    })
    // To read it and to turn it down take no more than the account.
    expect((await told(await agent.read(operation_id))).is).toBe('200 proposed')
    expect((await told(await agent.cancel(operation_id))).is).toBe('200 cancelled')
  })

  it('is a small object of known words [ops.invalid-request]', async () => {
    const world = await openBookings()
    const agent = asked(world.agent, (await signedIn(world)).access_token)
    const { operation_id: id } = await agent.propose('book_room', { nights: 1 })
    for (const body of [
      {},
      [],
      null,
      'yes',
      { revision: 1 },
      { approved_by: 'user' },
      { revision: '1', approved_by: 'user' },
      { revision: 1.5, approved_by: 'user' },
      { revision: 0, approved_by: 'user' },
      { revision: 1, approved_by: 'page' },
      { revision: 1, approved_by: 'the company said so' },
      { revision: 1, approved_by: ['user'] },
      { revision: 1, approved_by: 'user', wait: -1 },
      { revision: 1, approved_by: 'user', wait: 31 },
      { revision: 1, approved_by: 'user', wait: '5' },
    ])
      expect(await outcome(await agent.confirm(id, body)), JSON.stringify(body)).toBe('400 invalid_request')
    const raw = async (text: string, type = 'application/json') => {
      const path = `/poppy/operations/${id}/confirm`
      const { access_token } = await signedIn(world)
      return outcome(
        await world.send(
          new Request(`${world.origin}${path}`, {
            method: 'POST',
            body: text,
            headers: {
              authorization: `DPoP ${access_token}`,
              dpop: await world.agent.proof('POST', `${world.origin}${path}`, access_token),
              'content-type': type,
            },
          }),
        ),
      )
    }
    expect(await raw('{"revision":1,"revision":1,"approved_by":"user"}')).toBe('400 invalid_request')
    expect(await raw('{"revision":1,"approved_by":"user"')).toBe('400 invalid_request')
    expect(await raw('revision=1&approved_by=user', 'application/x-www-form-urlencoded')).toBe(
      '415 unsupported_media_type',
    )
    expect(await raw(`{"revision":1,"approved_by":"user","x":"${'a'.repeat(5000)}"}`)).toBe('413 request_too_large')
    for (const wait of ['-1', '31', '5s', '', '1&wait=2', '1e1'])
      expect(await outcome(await agent.read(id, `?wait=${wait}`)), wait).toBe('400 invalid_request')
    expect((await told(await agent.read(id))).is).toBe('200 proposed')
    expect(world.counts.perform).toBe(0)
  })

  it('is answered whatever is sent, and nothing but a right one does anything', { timeout: 60_000 }, async () => {
    const world = await openBookings({ limits: false })
    const agent = asked(world.agent, (await signedIn(world)).access_token)
    const { operation_id: id } = await agent.propose('book_room', { nights: 1 })
    const word = fc.constantFrom<unknown>('user', 'standing_permission', 'page', 'User', '', null, 1, ['user'], {})
    const number = fc.oneof(fc.integer(), fc.double(), fc.constantFrom<unknown>('1', null, true, [1], 1e300, 2 ** 53))
    const body = fc.oneof(
      fc.record(
        { revision: number, approved_by: word, wait: fc.constantFrom<unknown>(0, '0', -1, null) },
        { requiredKeys: [] },
      ),
      fc.jsonValue({ maxDepth: 3 }),
    )
    await fc.assert(
      fc.asyncProperty(body, fc.constantFrom('confirm', ''), async (sent, what) => {
        const said = sent as { revision?: unknown; approved_by?: unknown } | null
        const isRight = said?.revision === 1 && said.approved_by === 'user'
        fc.pre(!(isRight && what === 'confirm'))
        const answer = await world.agent.call(`/poppy/operations/${id}${what === '' ? '' : `/${what}`}`, agent.token, {
          method: 'POST',
          body: sent,
        })
        expect([400, 403, 405, 409]).toContain(answer.status)
      }),
      { numRuns: 200 },
    )
    expect(await told(await agent.read(id))).toMatchObject({ is: '200 proposed', operation: { revision: 1 } })
    expect(world.counts.perform).toBe(0)
    expect(world.log.filter((line) => line.startsWith('error'))).toEqual([])
  })

  it('changes nothing any more once the operation is expired, cancelled or over [ops.no-longer-proposed, ops.confirm-again, ops.expires, ops.cancel, ops.cancel-final]', async () => {
    const world = await openBookings()
    const agent = asked(world.agent, (await signedIn(world)).access_token)
    const expired = await agent.propose('book_room', { nights: 1 })
    world.clock.now += 900_000 - 1
    expect((await told(await agent.read(expired.operation_id))).is).toBe('200 proposed')
    world.clock.now += 1
    expect((await told(await agent.confirm(expired.operation_id))).is).toBe('200 expired')
    expect((await told(await agent.cancel(expired.operation_id))).is).toBe('200 expired')
    expect((await world.company.operations.get(expired.operation_id))?.state).toBe('expired')

    const cancelled = await agent.propose('book_room', { nights: 1 })
    expect((await told(await agent.cancel(cancelled.operation_id))).is).toBe('200 cancelled')
    expect((await told(await agent.confirm(cancelled.operation_id))).is).toBe('200 cancelled')
    expect(world.counts.perform).toBe(0)

    const done = await agent.propose('book_room', { nights: 3 })
    const first = await told(await agent.confirm(done.operation_id, { revision: 1, approved_by: 'user', wait: 10 }))
    expect(first).toMatchObject({ is: '200 succeeded', operation: { result: { booking: 'b-3-flexible' } } })
    // Whatever is said now, it is as it is.
    for (const body of [
      { revision: 1, approved_by: 'user' },
      { revision: 2, approved_by: 'user' },
      { revision: 1, approved_by: 'standing_permission' },
    ])
      expect(await told(await agent.confirm(done.operation_id, body))).toEqual(first)
    expect(await told(await agent.cancel(done.operation_id))).toEqual(first)
    expect(world.counts.perform).toBe(1)
  })

  it('is taken with a DPoP token alone, and with one for the resource where there is one [ops.dpop-only]', async () => {
    const world = await openBookings()
    const signed = await signedIn(world)
    const agent = asked(world.agent, signed.access_token)
    const { operation_id } = await agent.propose('book_room', { nights: 1 })
    const url = `${world.origin}/poppy/operations/${operation_id}`
    const { token } = await overMcp(world)
    for (const authorization of [`Bearer ${token}`, `Bearer ${signed.access_token}`, `DPoP ${token}`])
      expect(await outcome(await world.send(new Request(url, { headers: { authorization } })))).toBe(
        '401 invalid_token',
      )

    const narrow = await openBookings({ operationsResource: 'https://api.miramar.example/operations' })
    const document = await (await narrow.send(new Request(`${narrow.origin}/.well-known/poppy.json`))).json()
    expect(document).toMatchObject({
      extensions: { operations: { resource: 'https://api.miramar.example/operations' } },
    })
    const wide = await signedIn(narrow)
    const { operation_id: id } = await asked(narrow.agent, wide.access_token).propose('book_room', { nights: 1 })
    expect(await outcome(await asked(narrow.agent, wide.access_token).read(id))).toBe('401 invalid_token')
    const { access_token } = (await (
      await narrow.agent.token({
        grant_type: 'refresh_token',
        refresh_token: wide.refresh_token ?? '',
        resource: 'https://api.miramar.example/operations',
      })
    ).json()) as { access_token: string }
    expect((await told(await asked(narrow.agent, access_token).read(id))).is).toBe('200 proposed')
  })
})

/** An operation that takes as long as a test wants. */
function slowly() {
  const gate = Promise.withResolvers<void>()
  const slow = operation({
    name: 'slow',
    description: 'Takes its time.',
    scope: 'poppy:write',
    propose: () => ({ summary: 'Something slow.' }),
    perform: async () => {
      await gate.promise
      return succeeded({ done: true })
    },
  })
  return { slow, gate }
}

describe('whose an operation is', () => {
  it('is the account’s, for each Session of the same agent that is signed in to it [ops.account-owns]', async () => {
    const world = await openBookings()
    const first = asked(world.agent, (await signedIn(world)).access_token)
    const { operation_id } = await first.propose('book_room', { nights: 1 })
    // Another User of the agent's, at the same account: a Session of its own.
    const userId = world.agent.userId
    world.agent.userId = 'usr_another'
    const second = asked(world.agent, (await signedIn(world)).access_token)
    world.agent.userId = userId
    expect((await told(await second.read(operation_id))).is).toBe('200 proposed')
    expect((await told(await second.confirm(operation_id))).is).toMatch(/^200 (?:in_progress|succeeded)$/)
    expect((await told(await first.read(operation_id))).operation.confirmation?.revision).toBe(1)
    const another = await first.propose('book_room', { nights: 1 })
    expect((await told(await second.cancel(another.operation_id))).is).toBe('200 cancelled')
    expect((await told(await first.read(another.operation_id))).is).toBe('200 cancelled')
  })

  it('is the client’s and the User’s where it was proposed signed out [ops.signed-out-owner]', async () => {
    const world = await openBookings()
    const agent = asked(world.agent, (await world.start()).access_token)
    const { operation_id } = await agent.propose('call_back', { phone: '+34 600' })
    // Another Session of the same User; then another User, and another agent.
    const again = asked(world.agent, (await world.start()).access_token)
    expect((await told(await again.read(operation_id))).is).toBe('200 proposed')
    const userId = world.agent.userId
    world.agent.userId = 'usr_another'
    const stranger = asked(world.agent, (await world.start()).access_token)
    world.agent.userId = userId
    const other = await world.newAgent()
    other.userId = userId
    lists(other)
    const theirs = asked(other, (await world.start(other)).access_token)
    for (const wrong of [stranger, theirs]) {
      expect(await outcome(await wrong.read(operation_id))).toBe('404 operation_not_found')
      expect(await outcome(await wrong.confirm(operation_id))).toBe('404 operation_not_found')
      expect(await outcome(await wrong.cancel(operation_id))).toBe('404 operation_not_found')
    }
    const done = await told(await again.confirm(operation_id, { revision: 1, approved_by: 'user', wait: 10 }))
    expect(done.is).toBe('200 succeeded')
  })

  it('is carried on when the token runs out, and read with the next one [ops.after-confirm]', async () => {
    const { slow, gate } = slowly()
    const world = await openBookings({ operations: [slow], lifetimes: { sessionToken: 600 } })
    const tokens = await signedIn(world)
    const agent = asked(world.agent, tokens.access_token)
    const { operation_id } = await agent.propose('slow', {})
    world.clock.now += 599_000
    expect((await told(await agent.confirm(operation_id))).is).toBe('200 in_progress')
    // Past the token’s ten minutes, and not past the time that the work has.
    world.clock.now += 1000
    expect(await outcome(await agent.read(operation_id))).toBe('401 invalid_token')
    gate.resolve()
    const { refresh_token = '', session_id } = tokens
    const next = await world.agent.token({ grant_type: 'refresh_token', refresh_token, session_id })
    const { access_token } = (await next.json()) as { access_token: string }
    expect((await told(await asked(world.agent, access_token).read(operation_id, '?wait=10'))).is).toBe('200 succeeded')
  })

  it('is read after sign-out by whoever signs in again, and by nobody else [ops.after-confirm]', async () => {
    const { slow, gate } = slowly()
    const world = await openBookings({ operations: [slow] })
    const tokens = await signedIn(world)
    const agent = asked(world.agent, tokens.access_token)
    const { operation_id } = await agent.propose('slow')
    expect((await told(await agent.confirm(operation_id))).is).toBe('200 in_progress')
    await world.company.accounts.revokeAll('acc-maya')
    world.clock.now += 1000
    expect(await outcome(await agent.read(operation_id))).toBe('403 sign_in_required')
    gate.resolve()
    const again = asked(world.agent, (await signedIn(world)).access_token)
    expect((await told(await again.read(operation_id, '?wait=10'))).is).toBe('200 succeeded')
  })
})

describe('the same thing', () => {
  it('is one operation while it is open, and a new one after [ops.same-operation]', async () => {
    const world = await openBookings()
    const agent = asked(world.agent, (await signedIn(world)).access_token)
    const first = await agent.propose('cancel_booking', { booking: 'b-1' })
    expect((await agent.propose('cancel_booking', { booking: 'b-1' })).operation_id).toBe(first.operation_id)
    expect(world.counts.propose).toBe(1)
    expect((await agent.propose('cancel_booking', { booking: 'b-2' })).operation_id).not.toBe(first.operation_id)
    const other = await world.newAgent()
    lists(other)
    const theirs = asked(other, (await signedIn(world, other)).access_token)
    expect((await theirs.propose('cancel_booking', { booking: 'b-1' })).operation_id).not.toBe(first.operation_id)
    // Over its time: another takes its place.
    world.clock.now += 60_000
    const second = await agent.propose('cancel_booking', { booking: 'b-1' })
    expect(second.operation_id).not.toBe(first.operation_id)
    expect((await told(await agent.read(first.operation_id))).is).toBe('200 expired')
    expect((await told(await agent.cancel(second.operation_id))).is).toBe('200 cancelled')
    expect((await agent.propose('cancel_booking', { booking: 'b-1' })).operation_id).not.toBe(second.operation_id)
    const events = (await world.company.operations.trail(first.operation_id)).map(({ event }) => event)
    expect(events).toEqual(['proposed', 'asked_again', 'expired'])
  })
})

describe.each(stores)('Two instances on $name', ({ missing, fresh }) => {
  const test = it.skipIf(missing !== null)

  /** A world, and a second Company on the same store that answers requests by turns. */
  async function two() {
    const { store } = await fresh()
    const counts: Counts = { propose: 0, perform: 0 }
    const world = await openBookings({ operations: bookings(counts) }, store())
    const other = createCompany({
      organization: { name: 'Hotel Miramar', domain: 'miramar.example' },
      origin: world.origin,
      secret,
      store: store(),
      account: () => world.site.account,
      signInPage: () => '/login',
      scopes: { 'poppy:read': 'See your bookings', 'poppy:write': 'Change your bookings', loyalty: 'See your points' },
      signIn: { direct: ['poppy:read', 'poppy:write', 'loyalty'] },
      tools: testTools(),
      operations: bookings(counts),
      now: () => world.clock.now,
      log: { debug() {}, info() {}, warn() {}, error() {} },
      fetchDocument: async (url) => ({ document: structuredClone(world.agent.documents[url]), headers: new Headers() }),
    })
    return { world, other, counts }
  }

  test('are asked for the same thing at once, and give one operation [ops.same-operation]', async () => {
    const { world, other } = await two()
    const { access_token } = await signedIn(world)
    const url = `${world.origin}/poppy/tools/cancel_booking`
    const call = async (company: { fetch: (request: Request) => Promise<Response> }) => {
      const answer = await company.fetch(
        new Request(url, {
          method: 'POST',
          body: '{"booking":"b-7"}',
          headers: {
            authorization: `DPoP ${access_token}`,
            dpop: await world.agent.proof('POST', url, access_token),
            'content-type': 'application/json',
          },
        }),
      )
      return (await told(answer)).operation.operation_id
    }
    const ids = await Promise.all(Array.from({ length: 10 }, (_, index) => call(index % 2 ? world.company : other)))
    expect(new Set(ids).size).toBe(1)
    await other.close()
  })

  test('confirm at once, and it is done once, told alike [ops.at-most-once, ops.confirm-again, K51]', async () => {
    const { world, other, counts } = await two()
    const { access_token } = await signedIn(world)
    const { operation_id } = await asked(world.agent, access_token).propose('book_room', { nights: 2 })
    const url = `${world.origin}/poppy/operations/${operation_id}/confirm`
    const confirm = async (company: { fetch: (request: Request) => Promise<Response> }) =>
      told(
        await company.fetch(
          new Request(url, {
            method: 'POST',
            body: '{"revision":1,"approved_by":"user","wait":20}',
            headers: {
              authorization: `DPoP ${access_token}`,
              dpop: await world.agent.proof('POST', url, access_token),
              'content-type': 'application/json',
            },
          }),
        ),
      )
    const answers = await Promise.all(
      Array.from({ length: 50 }, (_, index) => confirm(index % 2 ? world.company : other)),
    )
    // So many of one Session don't wait: some are told that it is in progress still. All are told of one confirmation.
    for (const { is } of answers) expect(is).toMatch(/^200 (?:in_progress|succeeded)$/)
    const confirmations = new Set(answers.map(({ operation }) => JSON.stringify(operation.confirmation)))
    expect([...confirmations]).toEqual([expect.stringContaining('"revision":1')])
    const results = await Promise.all([confirm(world.company), confirm(other)])
    for (const answer of results) expect(answer).toMatchObject({ is: '200 succeeded', operation: { revision: 1 } })
    expect(results[0]).toEqual(results[1])
    expect(counts.perform).toBe(1)
    await other.close()
  })
})
