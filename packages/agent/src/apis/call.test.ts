import { describe, expect, it } from 'vitest'
import { errorOf, startVisit } from '../../test/visit.ts'

describe('calling an API', () => {
  it('puts path, query, header and body where the document says [6.calls-agent]', async () => {
    const { fake, session, signIn } = await startVisit()
    const here = await session()
    expect((await here.apiOperations()).map(({ id, method, path, scopes }) => [id, method, path, scopes])).toEqual([
      ['echo', 'POST', '/echo', undefined],
      ['get_order', 'GET', '/orders/{id}', ['poppy:read']],
      ['set_address', 'PUT', '/address', ['addresses']],
      ['elsewhere', 'POST', '/elsewhere', undefined],
      ['GET /nowhere', 'GET', '/nowhere', undefined],
    ])
    await signIn(here, ['poppy:read'])
    const order = await here.call('get_order', {
      id: 'a/b ?c',
      tags: ['x y', 'z&'],
      'X-Note': 'soon',
      Authorization: 'Bearer mine',
    })
    expect(order).toMatchObject({
      status: 200,
      body: { path: '/api/orders/a%2Fb%20%3Fc', query: '?tags=x%20y&tags=z%26', header: 'soon' },
    })
    expect(fake.requests.at(-1)?.headers.authorization).toMatch(/^DPoP /)
    expect((await here.call('echo', { text: 'hi' })).body).toMatchObject({ said: { text: 'hi' } })
    expect((await here.call('echo', { body: [1, 2] })).body).toMatchObject({ said: [1, 2] })
  })

  it('lets no value change which path is called, and names what is missing or unknown', async () => {
    const { fake, session } = await startVisit()
    const here = await session()
    await here.start()
    fake.take()
    for (const id of ['..', '.', '', undefined, [], [''], ['..']]) {
      expect((await errorOf(here.call('get_order', { id }))).code).toBe('invalid_input')
    }
    expect((await errorOf(here.call('get_order', { id: '1', colour: 'red' }))).message).toContain('colour')
    expect((await errorOf(here.call('get_order', { id: '1', 'X-Note': 'a\r\nb: c' }))).code).toBe('invalid_input')
    expect((await errorOf(here.call('nonesuch'))).code).toBe('unknown_operation')
    expect(fake.paths().filter((path) => !path.includes('openapi'))).toEqual([])
  })

  it('carries a token, signed out too, and never puts it into an address [4.3.always-send-agent, 4.3.never-hide-agent]', async () => {
    const { fake, session } = await startVisit()
    await (await session()).call('echo')
    await errorOf((await session()).call('get_order', { id: '1' }))
    const calls = fake.requests.filter(({ path }) => path.startsWith('/api/'))
    expect(calls).toHaveLength(2)
    for (const { headers, query } of calls) {
      expect([headers.authorization, headers.dpop]).toEqual([
        expect.stringMatching(/^DPoP ./),
        expect.stringMatching(/./),
      ])
      expect(query).toBe('')
    }
  })

  it('sends no token to another origin, wherever the document or an answer points', async () => {
    const asked: string[] = []
    const { fake, session } = await startVisit({
      fetch: (url, init) => {
        asked.push(new URL(url).host)
        return fetch(url, init)
      },
    })
    const here = await session()
    await here.start()
    const error = await errorOf(here.call('elsewhere'))
    expect([error.code, error.action]).toEqual(['foreign_origin', 'give_up'])
    fake.switches.answers.push({ status: 307, headers: { location: 'https://evil.example/api/echo' }, body: '' })
    expect((await errorOf(here.call('echo'))).code).toBe('bad_answer')
    expect(new Set(asked)).toEqual(new Set([new URL(fake.origin).host]))
  })

  it('asks for a token of its own for a service with a resource, beside the one for the others [4.3.resource-agent]', async () => {
    const { fake, session, signIn } = await startVisit()
    fake.switches.resource = 'https://orders.example/'
    const here = await session()
    await here.start()
    expect((await here.call('echo')).status).toBe(200)
    expect(fake.requests.filter(({ path }) => path === '/token').map(({ form }) => form.get('resource'))).toEqual([
      null,
      'https://orders.example/',
    ])
    expect(fake.sessions.size).toBe(1)
    // Signed in, the Account Token gives it.
    await signIn(here, ['poppy:read'])
    fake.take()
    expect((await here.call('get_order', { id: '1' })).status).toBe(200)
    const asked = fake.requests.filter(({ path }) => path === '/token').map(({ form }) => form)
    expect(asked.map((form) => [form.get('grant_type'), form.get('resource')])).toEqual([
      ['refresh_token', 'https://orders.example/'],
    ])
  })

  it('reads the challenge as the grammar says, and the one of our scheme alone [K41, 6.challenge-agent]', async () => {
    const { fake, session, signIn } = await startVisit()
    const here = await session()
    await here.start()
    const answer = async (header: string, body = '{}') => {
      fake.switches.answers.push({ status: 403, headers: { 'www-authenticate': header }, body })
      const error = await errorOf(here.call('echo'))
      return [error.code, error.scopes]
    }
    expect(await answer('DPoP error="sign_in_required", scope="a b"')).toEqual(['sign_in_required', ['a', 'b']])
    expect(
      await answer('DPoP algs="ES256", Bearer error="insufficient_scope", scope="x"', '{"error":"sign_in_required"}'),
    ).toEqual(['sign_in_required', undefined])
    expect(await answer('Bearer error="x", scope="bearer", DPoP error="insufficient_scope", scope="own"')).toEqual([
      'insufficient_scope',
      ['own'],
    ])
    expect(
      await answer('DPoP error_description="say \\"error=invalid_token, now\\"", x_scope="no", ERROR=sign_in_required'),
    ).toEqual(['sign_in_required', undefined])
    // Two header lines.
    fake.switches.answers.push({
      status: 403,
      headers: { 'www-authenticate': ['Basic realm="x, y"', 'dpop error="sign_in_required"'] as unknown as string },
      body: '',
    })
    expect((await errorOf(here.call('echo'))).code).toBe('sign_in_required')
    // Words of a body that are no codes of ours mean nothing.
    expect(await answer('DPoP error_description="sign_in_required"', '{"error":"no_entry"}')).toEqual([
      'call_failed',
      undefined,
    ])
    await signIn(here, ['poppy:read'])
  })

  it('says a failure in the Company’s words, cleaned', async () => {
    const { fake, session } = await startVisit()
    const here = await session()
    await here.start()
    fake.switches.answers.push({
      status: 422,
      headers: {},
      body: JSON.stringify({ error: 'tool_failed', error_description: 'No \u001b[31mroom\u202e left.\nSorry' }),
    })
    const error = await errorOf(here.call('echo'))
    expect([error.code, error.companyCode, error.message]).toEqual([
      'call_failed',
      'tool_failed',
      'Fake Company answered: No [31mroom left. Sorry',
    ])
  })

  it('says which input is wrong, and the id to ask the Company about', async () => {
    const { fake, session } = await startVisit()
    const here = await session()
    await here.start()
    const saidOf = async (status: number, body: unknown) => {
      fake.switches.answers.push({ status, headers: {}, body: JSON.stringify(body) })
      return (await errorOf(here.call('echo'))).message
    }
    const issues = [{ path: '/from', message: 'a date,\u001b please' }, { path: '', message: 'too much' }, 'odd', {}]
    expect(await saidOf(400, { error: 'invalid_request', error_description: 'Not valid.', issues })).toBe(
      'Fake Company answered: Not valid. from: a date, please; too much.',
    )
    expect(await saidOf(500, { error: 'server_error', error_description: 'It failed.', error_id: 'err_1' })).toBe(
      'Fake Company answered: It failed. Error id: err_1',
    )
  })
})

describe('MCP', () => {
  it('is called by the official client with a Bearer token for its url alone [4.3.bearer-resource-agent]', async () => {
    const { fake, session } = await startVisit()
    const here = await session()
    await here.start()
    const mcp = await here.mcp()
    expect((await mcp.tools()).map(({ name }) => name)).toEqual(['greet', 'my_orders', 'my_addresses'])
    expect(await mcp.call('greet')).toMatchObject({ content: [{ text: 'Hello from greet' }] })
    const bearer = fake.requests.filter(({ path, headers }) => path === '/token' && headers.dpop === undefined)
    expect(bearer.map(({ form }) => [form.get('resource'), form.get('session_id')])).toEqual([
      [`${fake.origin}/mcp`, [...fake.sessions.keys()][0]],
    ])
    for (const { headers } of fake.requests.filter(({ path }) => path === '/mcp')) {
      expect([headers.authorization, headers.dpop]).toEqual([expect.stringMatching(/^Bearer /), undefined])
    }
    // Both kinds side by side in one Session.
    expect((await here.call('echo')).status).toBe(200)
    expect(fake.sessions.size).toBe(1)
    await mcp.close()
  })

  it.each([false, true])('says that sign-in is needed, told inside MCP: %s', async (toolErrors) => {
    const { fake, session, signIn } = await startVisit()
    fake.switches.toolErrors = toolErrors
    const [one, other] = [await session('one'), await session('other')]
    const mcp = await one.mcp()
    const error = await errorOf(mcp.call('my_orders'))
    expect([error.code, error.action, error.scopes]).toEqual(['sign_in_required', 'ask_owner', ['poppy:read']])
    // Signed in by another task meanwhile: the Account Token is used, and nobody is asked.
    await signIn(other, ['addresses'])
    const more = await errorOf(mcp.call('my_orders'))
    expect([more.action, more.scopes]).toEqual(['ask_owner', ['addresses', 'poppy:read']])
    await signIn(other, ['poppy:read'])
    expect(await mcp.call('my_orders')).toMatchObject({ content: [{ text: 'Hello from my_orders' }] })
    await mcp.close()
  })

  it('has a token of its own at each server, also when all are renewed, and names the server each time [K23, 4.3.bearer-resource-agent]', async () => {
    const { fake, session, signIn, clock } = await startVisit()
    const second = `${fake.origin}/mcp/second`
    fake.switches.poppy = (document) => ({
      ...document,
      apis: [...(document.apis as unknown[]), { type: 'mcp', url: second }],
    })
    const here = await session()
    await signIn(here, ['poppy:read'])
    const [one, other] = [await here.mcp(), await here.mcp({ url: second })]
    for (let turn = 0; turn < 2; turn++) {
      fake.take()
      for (const mcp of [one, other]) await mcp.call('my_orders')
      const bearers = (path: string) =>
        new Set(fake.requests.filter((request) => request.path === path).map(({ headers }) => headers.authorization))
      expect([bearers('/mcp').size, bearers('/mcp/second').size]).toEqual([1, 1])
      expect([...bearers('/mcp')]).not.toEqual([...bearers('/mcp/second')])
      const asked = fake.requests.filter(({ path }) => path === '/token')
      if (turn === 1) expect(asked.map(({ form }) => form.get('resource'))).toEqual([`${fake.origin}/mcp`, second])
      for (const { headers } of asked) expect(headers.dpop).toBeUndefined()
      clock.now += 2 * 3600 * 1000
    }
    await Promise.all([one.close(), other.close()])
  })

  it('renews its token while the client stays connected', async () => {
    const { fake, session, clock } = await startVisit()
    const here = await session()
    const mcp = await here.mcp()
    clock.now += 2 * 3600 * 1000
    expect(await mcp.call('greet')).toMatchObject({ content: [{ text: 'Hello from greet' }] })
    for (const one of fake.sessions.values()) one.ended = true
    expect(await mcp.call('greet')).toMatchObject({ content: [{ text: 'Hello from greet' }] })
    await mcp.close()
  })

  it('gives no token to a server that the Company does not list', async () => {
    const { fake, session } = await startVisit()
    const here = await session()
    fake.take()
    expect((await errorOf(here.mcpTransport({ url: 'https://evil.example/mcp' }))).code).toBe('unknown_operation')
    expect(fake.paths().filter((path) => path.includes('/token'))).toEqual([])
  })
})
