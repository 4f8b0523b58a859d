import { describe, expect, it } from 'vitest'
import { errorOf, startVisit } from '../../test/visit.ts'
import type { Fetch } from '../net/exchange.ts'

async function visit(options: { readonly fetch?: Fetch } = {}) {
  const started = await startVisit(options)
  const here = await started.session()
  await here.start()
  started.fake.take()
  return { ...started, here, echo: `${started.fake.origin}/api/echo` }
}

const isCall = (path: string) => path.includes('/api/')

describe('session.fetch', () => {
  it('sends any body with a token and a fresh proof, and gives the answer back [4.3.dpop-scheme-agent, 4.3.proof-per-request-agent]', async () => {
    const { fake, here, echo } = await visit()
    const form = new FormData()
    form.set('a', 'b')
    for (const [init, said, type] of [
      [
        { method: 'post', body: '{"a":1}', headers: { 'content-type': 'application/json' } },
        { a: 1 },
        'application/json',
      ],
      [
        { method: 'PUT', body: new URLSearchParams({ a: '1' }) },
        'a=1',
        'application/x-www-form-urlencoded;charset=UTF-8',
      ],
      [{ method: 'PATCH', body: new Blob(['text'], { type: 'text/x' }) }, 'text', 'text/x'],
      [{ method: 'DELETE', body: new TextEncoder().encode('"bytes"') }, 'bytes', undefined],
      [
        { method: 'POST', body: form },
        expect.stringContaining('name="a"'),
        expect.stringContaining('multipart/form-data'),
      ],
      [{ method: 'POST', body: new Response('"stream"').body }, 'stream', undefined],
      [undefined, null, undefined],
    ] as const) {
      const response = await here.fetch(`${echo}?q=1#part`, init)
      expect([response.status, response.url]).toEqual([200, `${echo}?q=1`])
      expect(await response.json()).toMatchObject({ said, query: '?q=1', ...(type === undefined ? {} : { type }) })
    }
    const request = new Request(echo, { method: 'POST', body: '"whole"', headers: { 'x-own': '1' } })
    expect(await (await here.fetch(request)).json()).toMatchObject({ said: 'whole', method: 'POST' })
    expect(fake.requests.at(-1)?.headers['x-own']).toBe('1')
    // A refusal that isn't about the token is the caller's to read.
    fake.switches.answers.push({ status: 409, headers: { 'x-why': 'taken' }, body: 'no' })
    const refused = await here.fetch(echo)
    expect([refused.status, refused.headers.get('x-why'), await refused.text()]).toEqual([409, 'taken', 'no'])
    fake.switches.answers.push({ status: 204, headers: {}, body: '' })
    expect((await here.fetch(echo, { method: 'DELETE' })).body).toBeNull()
  })

  it('sends nothing to what the Company does not publish', async () => {
    const sent: string[] = []
    const { here, fake } = await visit({
      fetch: (url, init) => {
        sent.push(url)
        return fetch(url, init)
      },
    })
    sent.splice(0)
    const port = new URL(fake.origin).port
    for (const [url, code] of [
      ['https://evil.example/api/echo', 'foreign_origin'],
      [`https://localhost:${port}/api/echo`, 'foreign_origin'],
      [`http://127.0.0.1:${port}/api/echo`, 'foreign_origin'],
      ['http://localhost/api/echo', 'foreign_origin'],
      [`http://localhost.evil.example:${port}/`, 'foreign_origin'],
      [`http://maya:secret@localhost:${port}/api/echo`, 'invalid_input'],
      [`http://localhost:${port}@evil.example/`, 'invalid_input'],
      ['/api/echo', 'invalid_input'],
      ['data:text/plain,hello', 'foreign_origin'],
      ['file:///etc/passwd', 'foreign_origin'],
    ] as const) {
      expect([url, (await errorOf(here.fetch(url, { method: 'POST', body: 'x' }))).code]).toEqual([url, code])
    }
    for (const headers of [{ authorization: 'Bearer x' }, { DPoP: 'x' }]) {
      expect((await errorOf(here.fetch(`${fake.origin}/api/echo`, { headers }))).code).toBe('invalid_input')
    }
    expect((await errorOf(here.fetch(`${fake.origin}/api/echo`, { body: 'x' }))).code).toBe('invalid_input')
    expect((await errorOf(here.fetch(`${fake.origin}/api/echo`, { api: 'https://evil.example/' }))).code).toBe(
      'unknown_operation',
    )
    expect(sent).toEqual([])
  })

  it('takes no token along on a redirect', async () => {
    const { here, fake, echo } = await visit()
    const away = { status: 307, headers: { location: `${fake.origin}/api/orders/1` }, body: '' }
    fake.switches.answers.push(away, away, away)
    expect((await errorOf(here.fetch(echo))).code).toBe('bad_answer')
    expect((await errorOf(here.fetch(echo, { redirect: 'follow' }))).code).toBe('bad_answer')
    const given = await here.fetch(echo, { redirect: 'manual' })
    expect([given.status, given.headers.get('location')]).toEqual([307, `${fake.origin}/api/orders/1`])
    expect(fake.paths().filter(isCall)).toEqual(Array(3).fill('GET /api/echo 307'))
  })

  it('renews a token and takes a nonce, once, and sends bytes again but no stream [K10, K12]', async () => {
    const { here, fake, echo, clock } = await visit()
    const stream = () => new Response('"once"').body
    fake.switches.nonces = 'on'
    const error = await errorOf(here.fetch(echo, { method: 'POST', body: stream() }))
    expect([error.code, error.action]).toEqual(['body_spent', 'retry'])
    expect(await (await here.fetch(echo, { method: 'POST', body: stream() })).json()).toMatchObject({ said: 'once' })
    fake.rotateNonce()
    fake.take()
    expect(await (await here.fetch(echo, { method: 'POST', body: '"again"' })).json()).toMatchObject({ said: 'again' })
    expect(fake.paths().filter(isCall)).toEqual(['POST /api/echo 401', 'POST /api/echo 200'])

    // A token that has ended is renewed before anything is sent, so a stream goes through.
    clock.now += 2 * 3600 * 1000
    expect((await here.fetch(echo, { method: 'POST', body: stream() })).status).toBe(200)
    fake.switches.limit = { path: '/api/', times: 1, retryAfter: '2' }
    expect((await errorOf(here.fetch(echo, { method: 'POST', body: stream() }))).code).toBe('rate_limited')
    fake.switches.nonces = 'always'
    clock.now += 3000
    fake.take()
    expect((await errorOf(here.fetch(echo))).code).toBe('proof_refused')
    expect(fake.paths().filter(isCall)).toEqual(Array(2).fill('GET /api/echo 401'))
  })

  it('uses the token that the service takes: its resource, or Bearer at an MCP server’s own url [4.3.resource-agent]', async () => {
    const { here, fake, echo } = await visit()
    const ask = { jsonrpc: '2.0', id: 1, method: 'tools/list' }
    const answer = await here.fetch(`${fake.origin}/mcp`, { method: 'POST', body: JSON.stringify(ask) })
    expect([answer.status, fake.requests.at(-1)?.headers.authorization]).toEqual([
      200,
      expect.stringMatching(/^Bearer /),
    ])
    fake.switches.resource = 'https://api.example.com/orders'
    const other = await startVisit()
    other.fake.switches.resource = 'https://api.example.com/orders'
    expect((await (await other.session()).fetch(`${other.fake.origin}/api/echo`)).status).toBe(200)
    const asked = other.fake.requests.filter(({ path }) => path === '/token').map(({ form }) => form.get('resource'))
    expect(asked).toEqual(['https://api.example.com/orders'])
    expect(echo).toContain('/api/echo')
  })

  it('goes by the path where services of one host have tokens of their own, and asks which where that does not tell', async () => {
    const { fake, session } = await startVisit()
    const entry = (path: string, resource: string) => ({ type: 'openapi', url: fake.origin + path, resource })
    fake.switches.poppy = (document) => ({
      ...document,
      apis: [
        entry('/one/openapi.json', 'urn:one'),
        entry('/docs/two.json', `${fake.origin}/two`),
        entry('/two/three/openapi.json', 'urn:three'),
        entry('/one/beside.json', 'urn:beside'),
      ],
    })
    const here = await session()
    const asked = async (path: string, api?: string) => {
      fake.take()
      const error = await here.fetch(fake.origin + path, api === undefined ? {} : { api: fake.origin + api }).then(
        () => undefined,
        (reason: { code: string }) => reason.code,
      )
      return error ?? fake.requests.find(({ path: at }) => at === '/token')?.form.get('resource') ?? 'nothing'
    }
    expect(await asked('/two/rooms')).toBe(`${fake.origin}/two`)
    expect(await asked('/two/three/rooms')).toBe('urn:three')
    expect(await asked('/one/rooms')).toBe('invalid_input')
    expect(await asked('/one/rooms', '/one/beside.json')).toBe('urn:beside')
    expect(await asked('/twofold')).toBe('invalid_input')
  })

  it('ends with the caller’s own abort, while it waits for a token too', async () => {
    const { here, fake, echo, clock } = await visit()
    clock.now += 2 * 3600 * 1000
    for (const path of ['/token', '/api/echo']) {
      const stop = new AbortController()
      fake.switches.hold = async (request) => {
        if (request.path !== path) return
        fake.switches.hold = null
        stop.abort(new Error('enough'))
      }
      await expect(here.fetch(echo, { signal: stop.signal })).rejects.toThrow('enough')
    }
    await expect(here.fetch(echo, { signal: AbortSignal.abort(new Error('before')) })).rejects.toThrow('before')
  })

  it('shows no token and no proof in what comes back, whatever the Company repeats', async () => {
    const { here, fake, echo } = await visit()
    const body = await (await here.fetch(echo)).text()
    const { authorization, dpop } = fake.requests.at(-1)?.headers ?? {}
    const secrets = [authorization?.split(' ')[1] ?? '', String(dpop)]
    for (const secret of secrets) expect([secret.length > 20, body.includes(secret)]).toEqual([true, false])
    expect(body).toContain('[secret]')
    const [token = ''] = secrets
    fake.switches.answers.push({ status: 200, headers: { 'x-echo': `got ${token}` }, body: `${token}${token}` })
    const echoed = await here.fetch(echo)
    expect([echoed.headers.get('x-echo'), await echoed.text()]).toEqual(['got [secret]', '[secret][secret]'])
    for (const challenge of [
      `DPoP error="${token}"`,
      `DPoP error="insufficient_scope", scope="poppy:read ${token}"`,
      `DPoP error="extension_required"`,
    ]) {
      const status = challenge.includes('_scope') || challenge.includes('_required') ? 403 : 401
      fake.switches.answers.push({
        status,
        headers: { 'www-authenticate': challenge },
        body: JSON.stringify({ error: 'extension_required', extension: token }),
      })
      expect(JSON.stringify(await errorOf(here.fetch(echo)))).not.toContain(token)
    }
  })
})
