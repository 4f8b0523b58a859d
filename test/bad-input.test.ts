import { describe, expect, it } from 'vitest'
import { bent, type Form, type FormRequest, formRequests, setStage } from './setup/refusals.ts'
import { stores } from './setup/stores.ts'

const origin = 'https://miramar.example'

/** What the table names where a parameter is absent or empty. */
const absent: Readonly<Record<string, string>> = {
  client_assertion: '401 invalid_client',
  client_assertion_type: '401 invalid_client',
}
/** What the table names for a value that nobody gave out. Not listed: what spends a code, which is tested beside codes. */
const unknown: Readonly<Record<string, string>> = {
  grant_type: '400 unsupported_grant_type',
  assertion: '400 invalid_grant',
  client_id: '401 invalid_client',
  client_assertion: '401 invalid_client',
  client_assertion_type: '401 invalid_client',
  session_id: '400 invalid_session',
  code: '400 invalid_grant',
  refresh_token: '400 invalid_grant',
}
/** Parameters that a request may leave out; `client_id` beside an assertion, which names it (RFC 7521, 4.2). */
const optional: Readonly<Record<FormRequest, readonly string[]>> = {
  'a Session': ['client_id', 'session_id'],
  'a code': ['client_id'],
  'a refresh': ['client_id', 'session_id'],
  'a revocation': ['client_id'],
}

for (const [number, { name, missing }] of stores.entries()) {
  describe.skipIf(missing)(`a form at the OAuth endpoints, on ${name}`, () => {
    it.each(formRequests)(
      'that asks for %s with a parameter absent, empty, doubled, huge or nonsense gets its error and changes nothing [4.2.invalid-request, 4.2.unsupported-grant-type, 4.2.error-body, 4.2.invalid-client, 4.2.invalid-grant, 4.2.invalid-target]',
      async (request) => {
        const stage = await setStage(number as 0 | 1)
        const ask = async (what: string, bend: (form: Form) => string, expected: string) =>
          stage.refused(what, stage.post(request, bend(await stage.right(request))), expected)
        for (const parameter of Object.keys(await stage.right(request))) {
          if (!optional[request].includes(parameter)) {
            const expected = absent[parameter] ?? '400 invalid_request'
            await ask(`no ${parameter}`, (form) => bent(form, { [parameter]: null }), expected)
            await ask(`an empty ${parameter}`, (form) => bent(form, { [parameter]: '' }), expected)
          }
          const doubled = (form: Form) =>
            `${new URLSearchParams(form)}&${parameter}=${encodeURIComponent(form[parameter] ?? '')}`
          await ask(`${parameter} twice`, doubled, '400 invalid_request')
          await ask(
            `${parameter} twice, once empty`,
            (form) => `${parameter}=&${new URLSearchParams(form)}`,
            '400 invalid_request',
          )
          const expected = unknown[parameter]
          if (!expected) continue
          for (const value of ['x', 'x'.repeat(20_000), '\u0000', "' or 1=1 --", '\ud800', '__proto__', '{"a":1}'])
            await ask(`${parameter} ${value.slice(0, 12)}`, (form) => bent(form, { [parameter]: value }), expected)
        }
        if (request !== 'a revocation') {
          for (const resource of ['x', 'https://other.example/mcp', '\u0000', `${origin}/poppy/mcp`])
            await ask(`resource ${resource}`, (form) => bent(form, { resource }), '400 invalid_target')
          const two = `resource=${origin}/poppy/openapi.json`
          await ask('two resources', (form) => `${new URLSearchParams(form)}&${two}&${two}`, '400 invalid_target')
          for (const scope of ['unknown', ' ', 'x'.repeat(20_000), 'poppy:read\u0000', '"'])
            await ask(`scope ${scope.slice(0, 12)}`, (form) => bent(form, { scope }), '400 invalid_scope')
        }
        const last = await stage.post(request, String(new URLSearchParams(await stage.right(request))))
        expect(last.status, 'after all that, the right request is answered').toBe(200)
      },
    )
  })
}

describe('a request at the OAuth endpoints', () => {
  it.each(formRequests)(
    'for %s with another body, method or client authentication gets its error [4.2.invalid-request, 4.2.invalid-client, 4.3.no-token-in-url]',
    async (request) => {
      const stage = await setStage()
      const { world, post, refused } = stage
      const form = async () => String(new URLSearchParams(await stage.right(request)))
      for (const type of [
        'application/json',
        'text/plain',
        'multipart/form-data',
        'application/x-www-form-urlencoded2',
        '',
      ]) {
        const headers = { 'content-type': type }
        await refused(`a body of type ${type}`, post(request, await form(), { headers }), '400 invalid_request')
      }
      // A body in which nothing is: at the revocation endpoint the client comes first.
      const nothing = request === 'a revocation' ? '401 invalid_client' : '400 invalid_request'
      await refused('JSON', post(request, JSON.stringify(await stage.right(request))), nothing)
      await refused('no body', post(request, null), '400 invalid_request')
      await refused('an empty body', post(request, ''), nothing)
      const bytes = new Uint8Array([...Buffer.from(await form()), 0x26, 0x61, 0x3d, 0xff])
      const headers = { 'content-type': 'application/x-www-form-urlencoded' }
      await refused('a body that is not UTF-8', post(request, bytes, { headers }), '400 invalid_request')
      const huge = `${await form()}&x=${'y'.repeat(70_000)}`
      await refused('a huge body', post(request, huge), '413 request_too_large')
      const endless = new ReadableStream({ pull: (controller) => controller.enqueue(new Uint8Array(9000).fill(0x61)) })
      const streamed = new Request(`${origin}/poppy/${request === 'a revocation' ? 'revoke' : 'token'}`, {
        method: 'POST',
        body: endless,
        headers,
        duplex: 'half',
      } as RequestInit)
      await refused('a body without end', world.send(streamed), '413 request_too_large')
      const inUrl = `?${await form()}`
      await refused('parameters in the URL', post(request, await form(), { query: inUrl }), '400 invalid_request')
      await refused('parameters in the URL alone', post(request, '', { query: inUrl }), '400 invalid_request')
      await refused(
        'Basic',
        post(request, await form(), { headers: { authorization: 'Basic YTpi' } }),
        '401 invalid_client',
      )
      await refused('a client secret', post(request, `${await form()}&client_secret=x`), '401 invalid_client')
      const stranger = await world.newAgent()
      const theirs = { client_assertion: await stranger.clientAssertion() }
      await refused(
        'another’s assertion',
        post(request, bent(await stage.right(request), theirs)),
        '401 invalid_client',
      )
      const url = `${origin}/poppy/${request === 'a revocation' ? 'revoke' : 'token'}`
      for (const method of [
        'GET',
        'HEAD',
        'PUT',
        'PATCH',
        'DELETE',
        'CONSTRUCTOR',
        'constructor',
        '__proto__',
        'post2',
      ]) {
        const answer = await refused(method, world.send(new Request(url, { method })), '405 method_not_allowed')
        expect(answer.headers.get('allow')).toBe('POST, OPTIONS')
      }
      expect((await post(request, await form())).status).toBe(200)
    },
  )

  it.each(formRequests)('for %s sent twice is refused the second time, at once and later [K14]', async (request) => {
    const { right, post, refused, world } = await setStage()
    const form = String(new URLSearchParams(await right(request)))
    const url = `${origin}/poppy/token`
    const proof = request === 'a revocation' ? null : await world.agent.proof('POST', url)
    expect((await post(request, form, { proof })).status).toBe(200)
    if (proof) await refused('all of it again', post(request, form, { proof }), '400 invalid_dpop_proof')
    await refused('with a new proof', post(request, form), '401 invalid_client')
    for (const later of [30_000, 59_000, 3600_000]) {
      world.clock.now += later
      await refused('with a new proof, later', post(request, form), '401 invalid_client')
    }
  })
})

describe('a request to a tool', () => {
  it('with a body, path or method that is wrong gets its error [6.invalid-token, 4.3.no-token-in-url]', async () => {
    const { world, refused, token } = await setStage()
    const call = async (tool: string, body: string | Uint8Array, type = 'application/json', method = 'POST') => {
      const url = `${origin}/poppy/tools/${tool}`
      const dpop = await world.agent.proof(method, url, token)
      const headers = { authorization: `DPoP ${token}`, dpop, 'content-type': type }
      return world.send(
        new Request(url, {
          method,
          headers,
          ...(method === 'GET' || method === 'HEAD' ? {} : { body: body as string }),
        }),
      )
    }
    const deep = (levels: number) => `{"text":${'['.repeat(levels)}${']'.repeat(levels)}}`
    for (const [name, body] of [
      ['broken JSON', '{"text":'],
      ['no JSON', 'text=hello'],
      ['a list', '["text"]'],
      ['a number', '7'],
      ['null', 'null'],
      ['a member twice', '{"text":"a","text":"b"}'],
      ['a member twice, spelled in two ways', '{"text":"a","te\\u0078t":"b"}'],
      ['a member twice, deep down', '{"text":"a","more":[{"a":1,"a":2}]}'],
      ['deep JSON', deep(40)],
      ['very deep JSON', deep(100_000)],
      ['a wrong type', '{"text":7}'],
      ['too long a text', JSON.stringify({ text: 'x'.repeat(101) })],
    ] as const)
      await refused(name, call('echo', body), '400 invalid_request')
    await refused('no UTF-8', call('echo', new Uint8Array([0x7b, 0xff, 0x7d])), '400 invalid_request')
    await refused('a huge body', call('echo', `{"text":"${'x'.repeat(1_100_000)}"}`), '413 request_too_large')
    for (const type of ['text/plain', 'application/x-www-form-urlencoded', ''])
      await refused(`a body of type ${type}`, call('echo', '{"text":"a"}', type), '415 unsupported_media_type')
    for (const tool of ['nothing', 'constructor', '__proto__', '%00', 'ECHO', '%ff', 'x'.repeat(3000)])
      await refused(`the tool ${tool.slice(0, 12)}`, call(tool, '{}'), '404 tool_not_found')
    for (const method of ['GET', 'PUT', 'DELETE', 'HEAD', 'constructor']) {
      const answer = await refused(method, call('echo', '{}', 'application/json', method), '405 method_not_allowed')
      expect(answer.headers.get('allow')).toBe('POST, OPTIONS')
    }
    for (const path of ['', '/', '/echo/', '/echo/more', '/echo%2fmore/x']) {
      const answer = await world.send(new Request(`${origin}/poppy/tools${path}`, { method: 'POST' }))
      expect([path, answer.status]).toEqual([path, 404])
    }
    const url = `${origin}/poppy/tools/echo`
    const dpop = await world.agent.proof('POST', url, token)
    const good = { authorization: `DPoP ${token}`, dpop }
    for (const [name, query, headers] of [
      ['a token in the URL', `?access_token=${token}`, {}],
      ['a token in the URL beside a good header', `?access_token=${token}`, good],
      ['a token in the URL, spelled otherwise', `?access%5Ftoken=${token}`, good],
    ] as const)
      await refused(name, world.send(new Request(url + query, { method: 'POST', headers })), '401 invalid_token')
    const inBody = new URLSearchParams({ access_token: token })
    await refused(
      'a token in the body',
      world.send(new Request(url, { method: 'POST', body: inBody, headers: { dpop } })),
      '401 invalid_token',
    )
  })
})

describe('a request to the MCP server', () => {
  it('with a token, body or method that is wrong gets its error [6.invalid-token, 4.3.no-token-in-url]', async () => {
    const { world, refused, bearer, token, store } = await setStage()
    const url = `${origin}/poppy/mcp`
    const call = (body: string, headers: Record<string, string> = {}, query = '') =>
      world.send(
        new Request(url + query, {
          method: 'POST',
          body,
          headers: {
            authorization: `Bearer ${bearer}`,
            'content-type': 'application/json',
            accept: 'application/json, text/event-stream',
            ...headers,
          },
        }),
      )
    const list = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/list', params: {} })
    for (const authorization of [
      '',
      'Bearer',
      'Bearer x',
      `DPoP ${bearer}`,
      `Bearer ${token}`,
      `Bearer ${bearer} x`,
      `Bearer ${bearer}, Bearer ${bearer}`,
    ]) {
      const answer = await refused(
        `Authorization ${authorization.slice(0, 9)}`,
        call(list, { authorization }),
        '401 invalid_token',
      )
      expect(answer.headers.get('www-authenticate')).toMatch(
        /^Bearer error="invalid_token".*resource_metadata="https:\/\/miramar\.example\/\.well-known\//,
      )
    }
    await refused('a token in the URL', call(list, {}, `?access_token=${bearer}`), '401 invalid_token')
    const twice = '{"jsonrpc":"2.0","id":1,"method":"tools/list","method":"tools/call","params":{}}'
    for (const [name, body] of [
      ['broken JSON', '{"jsonrpc":'],
      ['a member twice', twice],
      ['deep JSON', `${'['.repeat(100_000)}${']'.repeat(100_000)}`],
    ] as const) {
      const before = await store.dump()
      const answer = await call(body)
      expect([name, answer.status]).toEqual([name, 400])
      expect(await answer.text()).not.toContain(bearer)
      expect(await store.dump(), `${name} changed something`).toEqual(before)
    }
    expect((await call(list, { 'content-type': 'text/plain' })).status).toBe(415)
    await refused('a huge body', call(`{"a":"${'x'.repeat(1_100_000)}"}`), '413 request_too_large')
    for (const method of ['PUT', 'PATCH', 'constructor']) {
      const answer = await refused(method, world.send(new Request(url, { method })), '405 method_not_allowed')
      expect(answer.headers.get('allow')).toBe('POST, GET, DELETE, HEAD, OPTIONS')
    }
    expect((await call(list)).status).toBe(200)
  })
})

describe('everything else', () => {
  it('is asked by GET, says so, and is 404 where nothing is', async () => {
    const { world, refused } = await setStage()
    for (const path of [
      '/.well-known/poppy.json',
      '/.well-known/oauth-authorization-server',
      '/.well-known/oauth-protected-resource/poppy/mcp',
      '/poppy/openapi.json',
    ]) {
      const answer = await refused(
        path,
        world.send(new Request(origin + path, { method: 'POST' })),
        '405 method_not_allowed',
      )
      expect(answer.headers.get('allow')).toBe('GET, HEAD, OPTIONS')
    }
    for (const method of ['PUT', 'OPTIONS', 'constructor']) {
      const answer = await world.send(new Request(`${origin}/poppy/authorize`, { method }))
      expect([answer.status, answer.headers.get('allow')]).toEqual([405, 'GET, POST, HEAD'])
      expect(answer.headers.has('access-control-allow-origin')).toBe(false)
    }
    for (const path of [
      '/',
      '/poppy',
      '/poppy/',
      '/poppy/token/',
      '/POPPY/TOKEN',
      '/poppy/authorize/x',
      '/constructor',
      '/__proto__',
      '//poppy/token',
      '/poppy/%74oken',
    ])
      await refused(path, world.send(new Request(origin + path)), '404 not_found')
  })
})
