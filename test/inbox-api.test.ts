import { Validator } from '@seriousme/openapi-schema-validator'
import { type CompanyAgent, operation, unknown } from 'poppyseed'
import { describe, expect, it } from 'vitest'
import { bookings, asked as operationsOf } from './setup/bookings.ts'
import { converse, pageOf, said, standingOf, words } from './setup/converse.ts'
import { patiently } from './setup/front-desk.ts'
import { type ApiDocument, apiWorld, caller, checkerOf } from './setup/inbox-api.ts'
import { stores } from './setup/stores.ts'
import { outcome } from './setup/world.ts'

// The JSON API of the staff inbox, over real HTTP: what its document says is what there is, and it has no rights of its own.

const echo: CompanyAgent = async function* (turn) {
  yield { type: 'text', text: `You asked: ${turn.asked.at(-1)?.text}` }
}
const customer = () => ({
  title: 'Maya Lindqvist',
  facts: { nights: 12, vip: true },
  links: [{ text: 'Stays', href: '/stays' }],
})
const lostRoom = operation({
  name: 'lost_room',
  description: 'Books a room, and nobody knows what came of it.',
  scope: 'poppy:write',
  propose: () => ({ summary: 'A room for 90 €.', terms: { price: '90.00' } }),
  perform: () => unknown(),
  reconcile: () => unknown(),
})

interface Call {
  readonly operation: string
  readonly problem: unknown
}

/** Calls by one member of staff, each looked up in the document and checked against what it says there. */
function checked(document: ApiDocument, base: string, name: string, calls: Call[]) {
  const call = caller(base, name)
  const check = checkerOf(document)
  return async (method: string, path: string, body?: unknown, headers: Record<string, string> = {}) => {
    const [, place = ''] = Object.keys(document.paths)
      .map((one) => [new RegExp(`^${one.replace('{id}', '[^/]+')}$`).test(path.split('?')[0] ?? '') ? one : '', one])
      .find(([found]) => found !== '') ?? ['', '']
    const described = document.paths[place]?.[method.toLowerCase()]
    if (described === undefined) throw new Error(`${method} ${path} is not in the document`)
    const answer = await call(method, path, body, headers)
    const said = described.responses[String(answer.status)]
    const schema = said?.content?.['application/json'].schema ?? (said && { $ref: '#/components/schemas/Error' })
    const problem =
      (schema === undefined
        ? `no status ${answer.status}: ${JSON.stringify(answer.body)}`
        : check(schema, answer.body)) ??
      (described.requestBody === undefined || answer.status !== 200
        ? null
        : check(described.requestBody.content['application/json'].schema, body))
    calls.push({ operation: described.operationId, problem })
    return answer
  }
}

describe.each(stores)('the JSON API of the inbox on $name', { timeout: 120_000 }, ({ missing, fresh }) => {
  const test = it.skipIf(missing)

  test('is what its document says, each operation of it', async () => {
    const world = await apiWorld((await fresh()).store(), {
      agent: echo,
      customer,
      operations: [...bookings(), lostRoom],
    })
    const document = await world.documentOf()
    const validator = new Validator()
    expect(await validator.validate(JSON.parse(JSON.stringify(document)))).toEqual({ valid: true })
    expect(validator.version).toBe('3.1')
    expect(document.servers).toEqual([{ url: world.base }])
    expect(Object.keys(document.webhooks)).toHaveLength(4)
    // What isn't right is seen to be wrong.
    const check = checkerOf(document)
    expect(
      check({ $ref: '#/components/schemas/ConversationChanged' }, { conversation: { id: 'cnv_1' } }),
    ).not.toBeNull()
    expect(check({ $ref: '#/components/schemas/Error' }, {})).not.toBeNull()
    const calls: Call[] = []
    const rita = checked(document, world.base, 'rita', calls)
    const omar = checked(document, world.base, 'omar', calls)

    const { session_id } = await world.start()
    const { access_token: token } = await world.signIn(world.agent, session_id)
    const talk = converse(world.agent, token)
    const { conversation_id: id } = await standingOf(
      await talk.start(said('My bookings, and one more?', { data: { nights: 2 } })),
    )
    const status = async () => (await pageOf(await talk.read(id))).status
    await expect.poll(status, patiently).toBe('idle')

    expect((await rita('GET', '/me')).body).toEqual({
      staff: { id: 'rita', name: 'Rita Alvarez' },
      organization: 'Hotel Miramar',
    })
    await rita('POST', '/present')
    await talk.handoff(id)
    expect((await rita('GET', '/counts')).body).toMatchObject({
      waiting: { number: 1, is_more: false },
      mine: { number: 0 },
    })
    expect((await rita('GET', '/colleagues')).body.colleagues).toEqual([{ id: 'rita', name: 'Rita Alvarez' }])
    const list = await rita('GET', '/conversations?list=waiting&limit=5')
    expect(list.body.conversations).toMatchObject([
      {
        id,
        status: 'queued',
        is_signed_in: true,
        agent: { host: 'agent.example' },
        last_message: { by: 'company-agent', text: 'You asked: My bookings, and one more?' },
      },
    ])
    expect(JSON.stringify(list.body)).not.toMatch(/acc-maya|maya@/)
    expect((await rita('POST', '/take-next', {}, { 'idempotency-key': 'a' })).body.conversation).toMatchObject({
      id,
      held_by: { id: 'rita' },
    })
    const read = await rita('GET', `/conversations/${id}?limit=3`)
    expect(read.body).toMatchObject({ rights: { is_signed_in: true }, notes: [] })
    expect(read.body.events).toHaveLength(3)
    expect((await rita('GET', `/conversations/${id}?before=${read.body.before}`)).body.before).toBeNull()

    expect((await rita('GET', `/conversations/${id}/account`)).body).toEqual({
      state: 'closed',
      account: null,
      card: null,
    })
    const opened = await rita('POST', `/conversations/${id}/open-account`)
    expect(opened.body).toMatchObject({ state: 'open', account: 'acc-maya', card: { title: 'Maya Lindqvist' } })
    expect((await rita('GET', `/conversations/${id}/account`)).body).toEqual(opened.body)
    expect((await omar('GET', `/conversations/${id}/account`)).body.state).toBe('closed')
    await rita('POST', `/conversations/${id}/close-account`)
    expect((await rita('GET', `/conversations/${id}/account`)).body.state).toBe('closed')

    const { tools } = (await rita('GET', `/conversations/${id}/tools`)).body
    expect(tools).toContainEqual(expect.objectContaining({ name: 'book_room', proposes: true, needs: null }))
    for (const _ of [1, 2])
      expect(
        (
          await rita(
            'POST',
            `/conversations/${id}/reply`,
            { text: 'Hello.', data: { room: 12 } },
            { 'idempotency-key': 'r 1' },
          )
        ).status,
      ).toBe(200)
    await rita('POST', `/conversations/${id}/note`, { text: 'A regular.' })
    await rita('POST', `/conversations/${id}/ask-for-user`, { reason: 'A word with you.' })
    expect((await rita('POST', `/conversations/${id}/call-tool`, { tool: 'my_bookings' })).body.value).toMatchObject({
      account: 'acc-maya',
    })
    const proposed = await rita('POST', `/conversations/${id}/call-tool`, { tool: 'book_room', input: { nights: 2 } })
    expect(proposed.body.operation).toMatchObject({ state: 'proposed', revision: 1 })
    const operationId = proposed.body.operation.operation_id
    const revised = await rita('POST', `/conversations/${id}/revise`, {
      operation_id: operationId,
      revision: 1,
      input: { nights: 3 },
    })
    expect(revised.body.operation).toMatchObject({ state: 'proposed', revision: 2 })
    expect((await rita('GET', `/operations/${operationId}`)).body).toMatchObject({
      input: { nights: 3 },
      operation: { revision: 2 },
    })

    await omar('POST', '/present')
    await rita('POST', `/conversations/${id}/give`, { to: 'omar' })
    await omar('POST', `/conversations/${id}/release`)
    await omar('POST', `/conversations/${id}/take`)
    await omar('POST', `/conversations/${id}/hand-back`, { note: 'Offer breakfast.', text: 'Back to you.' })
    await expect.poll(status, patiently).toBe('idle')
    await omar('POST', `/conversations/${id}/take`)
    // What needs no rights yet: the User signs out.
    await omar('POST', `/conversations/${id}/ask-for-sign-in`, { scope: 'loyalty', text: 'May I see your points?' })
    await omar('POST', '/leave')
    expect((await omar('GET', '/conversations?list=mine')).body.conversations).toEqual([])

    const at = operationsOf(world.agent, token)
    const lost = await at.propose('lost_room')
    await at.confirm(lost.operation_id)
    const unsettled = async () => (await omar('GET', '/operations')).body.operations
    await expect.poll(async () => (await unsettled()).length, patiently).toBe(1)
    expect(await unsettled()).toMatchObject([
      { id: lost.operation_id, name: 'lost_room', agent: { host: 'agent.example' } },
    ])
    const settled = await omar('POST', `/operations/${lost.operation_id}/settle`, {
      outcome: 'succeeded',
      result: { booking: 'B-7' },
      why: 'It stands in the hotel’s book.',
    })
    expect(settled.body.operation).toMatchObject({ state: 'succeeded', result: { booking: 'B-7' } })

    expect((await rita('GET', '/search?text=bookings')).body.conversations).toMatchObject([{ id }])
    await rita('POST', `/conversations/${id}/close`, { reason: 'Done.' })
    expect((await rita('GET', '/conversations?list=closed')).body.conversations).toMatchObject([
      { id, status: 'closed' },
    ])
    const audit = (await rita('GET', `/audit?conversation_id=${id}&limit=200`)).body.entries as {
      readonly act: string
    }[]
    expect(audit.map(({ act }) => act).toReversed()).toEqual([
      ...['took', 'read', 'account_opened', 'account_closed', 'replied', 'noted', 'asked_for_user'],
      ...[
        'ran',
        'proposed',
        'revised',
        'gave',
        'released',
        'took',
        'handed_back',
        'took',
        'asked_for_sign_in',
        'released',
        'closed',
      ],
    ])

    expect(calls.filter(({ problem }) => problem !== null)).toEqual([])
    const all = Object.values(document.paths).flatMap((methods) =>
      Object.values(methods).map(({ operationId: one }) => one),
    )
    expect([...new Set(calls.map((one) => one.operation))].toSorted()).toEqual(all.toSorted())
    const told = words((await pageOf(await talk.read(id))).events)
    expect(told.filter((word) => word === 'human: Hello.')).toHaveLength(1)
    expect(told).toContain('human: Back to you.')
  })

  test('is for staff alone, and for no page of another site', async () => {
    const world = await apiWorld((await fresh()).store(), { agent: echo })
    const document = await world.documentOf()
    const { access_token: token } = await world.start()
    const talk = converse(world.agent, token)
    const { conversation_id: id } = await standingOf(await talk.start(said('Hello?')))
    const all = [
      ['get', '/openapi.json'] as const,
      ...Object.entries(document.paths).flatMap(([path, methods]) =>
        Object.keys(methods).map((method) => [method, path.replace('{id}', id)] as const),
      ),
    ]
    const outcomes = async (headers: Record<string, string>, body = '{}', only = all) => {
      const answers = await Promise.all(
        only.map(([method, path]) =>
          world.raw(path, { method: method.toUpperCase(), headers, ...(method === 'post' ? { body } : {}) }),
        ),
      )
      return [
        ...new Set(
          await Promise.all(
            answers.map(async (one) => `${one.status} ${((await one.json()) as { error?: string }).error}`),
          ),
        ),
      ]
    }
    const json = { 'content-type': 'application/json' }
    // Nobody, somebody unknown, the customer, and an agent with its own token.
    expect(await outcomes(json)).toEqual(['401 sign_in_required'])
    expect(await outcomes({ ...json, 'x-desk': 'mallory' })).toEqual(['401 sign_in_required'])
    expect(await outcomes({ ...json, cookie: 'site=maya' })).toEqual(['401 sign_in_required'])
    const url = `${world.base}/me`
    const proof = await world.agent.proof('GET', url, token)
    expect((await world.raw('/me', { headers: { authorization: `DPoP ${token}`, dpop: proof } })).status).toBe(401)
    // A page of another site, in the browser of a member of staff.
    for (const from of [
      { 'sec-fetch-site': 'cross-site' },
      { 'sec-fetch-site': 'same-site' },
      { origin: 'https://evil.example' },
      { origin: 'null' },
    ])
      expect(await outcomes({ ...json, 'x-desk': 'rita', ...(from as Record<string, string>) })).toEqual([
        '403 access_denied',
      ])
    // What a form can send.
    const posts = all.filter(([method]) => method === 'post')
    for (const type of [
      'application/x-www-form-urlencoded',
      'text/plain',
      'multipart/form-data; boundary=x',
      'application/json5',
    ])
      expect(await outcomes({ 'content-type': type, 'x-desk': 'rita' }, '{}', posts)).toEqual([
        '415 unsupported_media_type',
      ])
    // With nothing in it, either: then no reader of JSON would look at the type.
    for (const type of ['application/x-www-form-urlencoded', 'text/plain'])
      expect(await outcomes({ 'content-type': type, 'x-desk': 'rita' }, '', posts)).toEqual([
        '415 unsupported_media_type',
      ])
    const preflight = await world.raw('/take-next', {
      method: 'OPTIONS',
      headers: { origin: 'https://evil.example', 'access-control-request-method': 'POST' },
    })
    expect([preflight.status, preflight.headers.get('access-control-allow-origin')]).toEqual([405, null])
    expect((await pageOf(await talk.read(id))).responder).toBe('agent')
    // Its own page may.
    const own = await world.raw('/me', {
      headers: { 'x-desk': 'rita', 'sec-fetch-site': 'same-origin', origin: world.origin },
    })
    expect([own.status, own.headers.get('cache-control'), own.headers.get('x-content-type-options')]).toEqual([
      200,
      'no-store',
      'nosniff',
    ])
  })

  test('isn’t for a browser that an agent joined, whatever other cookies it has', async () => {
    const world = await apiWorld((await fresh()).store(), { agent: echo, browser: true })
    const { session_id } = await world.start()
    const assertion = await world.agent.browserAssertion(session_id, `${world.origin}/bookings`)
    const answered = await fetch(`${world.origin}/poppy/browser-session`, {
      method: 'POST',
      redirect: 'manual',
      body: new URLSearchParams({ assertion }),
      headers: { origin: 'null', 'sec-fetch-site': 'cross-site' },
    })
    const cookie = answered.headers.get('set-cookie')?.split(';')[0] ?? ''
    expect(cookie).toContain('poppy=')
    const own = { 'x-desk': 'rita', 'content-type': 'application/json', 'sec-fetch-site': 'same-origin' }
    expect((await world.raw('/me', { headers: own })).status).toBe(200)
    for (const [method, path] of [
      ['GET', '/me'],
      ['GET', '/openapi.json'],
      ['GET', '/conversations'],
      ['POST', '/take-next'],
    ] as const) {
      const body = method === 'POST' ? { body: '{}' } : {}
      const answer = await world.raw(path, { method, headers: { ...own, cookie }, ...body })
      expect([path, await outcome(answer)]).toEqual([path, '403 access_denied'])
    }
  })

  test('says what is wrong of what is asked, and does nothing of it', async () => {
    const world = await apiWorld((await fresh()).store(), { agent: echo })
    const rita = caller(world.base, 'rita')
    const omar = caller(world.base, 'omar')
    const { access_token: token } = await world.start()
    const talk = converse(world.agent, token)
    const { conversation_id: id } = await standingOf(await talk.start(said('Hello?')))
    await expect.poll(async () => (await pageOf(await talk.read(id))).status, patiently).toBe('idle')
    const at = `/conversations/${id}`
    const is = ({ status, body }: Awaited<ReturnType<typeof rita>>) =>
      `${status} ${body.error}${body.because ? ` ${body.because}` : ''}`

    // Both take it at once.
    const both = await Promise.all([rita('POST', `${at}/take`), omar('POST', `${at}/take`)])
    expect(both.map(({ status }) => status).toSorted()).toEqual([200, 409])
    const [holder, other] = both[0]?.status === 200 ? [rita, omar] : [omar, rita]
    expect(is(await other('POST', `${at}/reply`, { text: 'Me too.' }))).toBe('409 staff_conflict held_by_other')
    expect(is(await other('POST', `${at}/call-tool`, { tool: 'echo', input: { text: 'x' } }))).toBe(
      '409 staff_conflict held_by_other',
    )

    for (const [act, body] of [
      ['reply', {}],
      ['reply', { text: '' }],
      ['reply', { text: '  \n ' }],
      ['reply', { text: 5 }],
      ['reply', { text: 'a'.repeat(32_001) }],
      ['reply', { data: [] }],
      ['reply', { data: { text: 'a'.repeat(70_000) } }],
      ['reply', { text: 'Hello.', txet: 'x' }],
      ['note', {}],
      ['give', { to: 5 }],
      ['ask-for-user', { reason: ' ' }],
      ['ask-for-sign-in', { scope: 'poppy:nothing' }],
      ['call-tool', { input: {} }],
      ['revise', { operation_id: 'opn_1', revision: 0, input: {} }],
      ['close', { reason: '' }],
    ] as const) {
      const answer = await holder('POST', `${at}/${act}`, body)
      expect([act, JSON.stringify(body).slice(0, 40), is(answer)]).toEqual([
        act,
        JSON.stringify(body).slice(0, 40),
        '400 invalid_request',
      ])
      expect(JSON.stringify(answer.body)).not.toContain('aaaa')
    }
    expect(is(await holder('POST', `${at}/give`, { to: 'nobody' }))).toBe('409 staff_conflict not_here')
    // Rights: the User is signed out, and no staff lends any.
    expect(is(await holder('POST', `${at}/call-tool`, { tool: 'my_bookings' }))).toBe('403 sign_in_required')
    expect(is(await holder('POST', `${at}/call-tool`, { tool: 'book_room', input: { nights: 1 } }))).toBe(
      '403 sign_in_required',
    )
    expect(is(await holder('POST', `${at}/call-tool`, { tool: 'echo', input: { text: 5 } }))).toBe(
      '400 invalid_request',
    )
    expect(is(await holder('POST', `${at}/call-tool`, { tool: 'nothing' }))).toBe('404 tool_not_found')
    expect(is(await holder('POST', `${at}/open-account`))).toBe('403 sign_in_required')
    expect(is(await holder('POST', `${at}/confirm`, {}))).toBe('404 not_found')
    for (const wrong of ['cnv_nothing', 'a b', '..%2f..', '%00', 'x'.repeat(300)])
      expect([wrong, is(await holder('GET', `/conversations/${encodeURIComponent(wrong)}`))]).toEqual([
        wrong,
        '404 conversation_not_found',
      ])
    expect(is(await holder('GET', '/operations/opn_nothing'))).toBe('404 operation_not_found')
    expect(
      is(
        await holder('POST', '/operations/opn_nothing/settle', { outcome: 'failed', reason: 'It did.', why: 'Seen.' }),
      ),
    ).toBe('404 operation_not_found')
    expect(is(await holder('POST', '/operations/opn_nothing/settle', { outcome: 'cancelled', why: 'Seen.' }))).toBe(
      '400 invalid_request',
    )

    for (const query of ['list=all', 'limit=0', 'limit=abc', 'limit=201', 'list=open&list=open', 'kind=open'])
      expect([query, is(await holder('GET', `/conversations?${query}`))]).toEqual([query, '400 invalid_request'])
    for (const path of [
      '/conversations?after=x',
      '/search?text=hello&since=x',
      '/audit?after=x',
      '/operations?after=x',
    ])
      expect([path, is(await holder('GET', path))]).toEqual([path, '400 invalid_cursor'])
    expect(is(await holder('GET', `${at}?before=0`))).toBe('400 invalid_request')
    expect(is(await holder('PUT', '/counts'))).toBe('405 method_not_allowed')

    expect(is(await holder('POST', `${at}/note`, { text: 'x' }, { 'idempotency-key': 'a'.repeat(201) }))).toBe(
      '400 invalid_request',
    )
    const large = await holder('POST', `${at}/call-tool`, { tool: 'echo', input: { text: 'a'.repeat(1_100_000) } })
    expect(is(large)).toBe('413 request_too_large')
    expect(
      is(
        await holder('POST', `${at}/call-tool`, {
          tool: 'echo',
          input: JSON.parse(`${'{"a":'.repeat(60)}1${'}'.repeat(60)}`),
        }),
      ),
    ).toBe('400 invalid_request')

    const told = words((await pageOf(await talk.read(id))).events)
    expect(told).toEqual([
      'user as agent: Hello?',
      'working/agent',
      'agent: You asked: Hello?',
      'idle/agent',
      'idle/human',
    ])
  })

  test('has of a Company with operations alone what is about those', async () => {
    const world = await apiWorld((await fresh()).store(), { operations: [lostRoom], tools: [] })
    const document = await world.documentOf()
    const validator = new Validator()
    expect(await validator.validate(JSON.parse(JSON.stringify(document)))).toEqual({ valid: true })
    expect(Object.keys(document.paths)).not.toContain('/conversations')
    const rita = caller(world.base, 'rita')
    for (const path of ['/me', '/counts', '/colleagues', '/audit', '/operations', '/operations?list=all'])
      expect([path, (await rita('GET', path)).status]).toEqual([path, 200])
    expect((await rita('GET', '/conversations')).status).toBe(404)
    expect((await rita('POST', '/take-next')).status).toBe(404)
  })
})
