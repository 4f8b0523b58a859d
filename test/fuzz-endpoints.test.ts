import { globSync, readFileSync } from 'node:fs'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { bookings } from './setup/bookings.ts'
import { apply, bentJson, budgets, change, contentType, header, inputs, json, oddText, patience } from './setup/fuzz.ts'
import { staffLogin } from './setup/inbox.ts'
import { type Stage, setStage } from './setup/refusals.ts'
import { id } from './setup/wire-agent.ts'

/** Anything at every other endpoint: no fault of ours, no hang, and what is refused changes nothing. */

const origin = 'https://miramar.example'
const runsOfOneStage = 500
/** Right ones: whatever holds anything else signs nobody in, and nothing of them comes back. */
const credentials = { email: 'maya@example.com', password: 'canary-of-a-password' }
const everything = {
  signIn: {
    direct: ['poppy:read', 'poppy:write', 'loyalty'],
    device: ['poppy:read', 'poppy:write'],
    mediated: {
      scopes: ['poppy:read'],
      fields: [
        { name: 'email', label: 'Email', secret: false },
        { name: 'password', label: 'Password', secret: true },
      ],
      verify: ({ email, password }: Readonly<Record<string, string>>) =>
        email === credentials.email && password === credentials.password ? 'acc-maya' : null,
    },
  },
  browser: true,
  operations: bookings(),
  agent: async function* () {},
  ...staffLogin,
} as const

/**
 * Each path that a Company with everything answers, and the story that tries it; `fuzz.test.ts` has the first three, and
 * `fuzz-inbox.test.ts` the staff inbox, of which there are more.
 */
const stories: Readonly<Record<string, keyof typeof budgets>> = {
  '/poppy/token': 'tokens',
  '/poppy/revoke': 'tokens',
  '/poppy/authorize': 'authorization',
  '/poppy/device-authorization': 'device',
  '/poppy/device': 'device',
  '/poppy/browser-session': 'browsers',
  '/poppy/sign-in': 'mediated',
  '/poppy/tools/echo': 'tools',
  '/poppy/mcp': 'mcp',
  '/poppy/openapi.json': 'anywhere',
  '/poppy/agents': 'anywhere',
  '/poppy/agents/logo/x': 'anywhere',
  '/poppy/operations/opn_x': 'anywhere',
  '/poppy/operations/opn_x/confirm': 'anywhere',
  '/poppy/operations/opn_x/cancel': 'anywhere',
  '/poppy/operations/opn_x/page': 'anywhere',
  '/poppy/conversations': 'conversations',
  '/poppy/conversations/cnv_x/messages': 'conversations',
  '/poppy/conversations/cnv_x/events': 'conversations',
  '/poppy/conversations/cnv_x/handoff': 'conversations',
  '/poppy/conversations/cnv_x/close': 'conversations',
  '/poppy/inbox': 'inbox',
  '/poppy/inbox/take-next': 'inbox',
  '/poppy/inbox/conversations/cnv_x': 'inbox',
  '/poppy/inbox/conversations/cnv_x/reply': 'inbox',
  '/poppy/inbox/operations/opn_x/settle': 'inbox',
  '/poppy/inbox/api/conversations': 'inbox',
  '/poppy/inbox/api/openapi.json': 'inbox',
  '/.well-known/poppy.json': 'anywhere',
  '/.well-known/oauth-authorization-server': 'anywhere',
  '/.well-known/oauth-protected-resource/poppy/mcp': 'anywhere',
}

async function atStages(
  group: keyof typeof budgets,
  property: (stage: Stage) => fc.IAsyncPropertyWithHooks<never>,
): Promise<void> {
  for (let left = inputs(group); left > 0; left -= runsOfOneStage) {
    const stage = await setStage(0, everything)
    await fc.assert(property(stage), { numRuns: Math.min(left, runsOfOneStage), timeout: patience.input })
    expect(stage.world.log.filter((line) => line.startsWith('error'))).toEqual([])
  }
}

/** Sends a request; what is refused has to leave everything as it was. Gives the answer, read. */
async function tryOut(
  { world, store }: Stage,
  request: Request,
): Promise<{ readonly answer: Response; readonly text: string }> {
  const before = await store.dump()
  const answer = await world.send(request)
  const text = await answer.text()
  expect(answer.status).toBeLessThan(500)
  if (answer.status >= 400) expect(await store.dump()).toEqual(before)
  return { answer, text }
}

/** Markup that would run something; what a person typed may stand on a page as text. */
const unsafe = /<script|<[a-z]+[^>]*\son\w+=|(?:href|src|action)="\s*(?:javascript|data):/i

/** A request with headers that may be any: those that can't be sent are left out. */
function requestOf(
  url: string,
  init: RequestInit & { readonly more?: Record<string, string | null | undefined> },
): Request {
  const headers = new Headers(init.headers)
  for (const [name, value] of Object.entries(init.more ?? {})) {
    if (value === null) headers.delete(name)
    else if (value !== undefined && /^[\x20-\x7e]*$/.test(value)) headers.set(name, value)
  }
  return new Request(url, { ...init, headers })
}

const method = fc.constantFrom('GET', 'POST', 'PUT', 'DELETE', 'PATCH', 'HEAD', 'OPTIONS', 'PROPFIND', 'constructor')
const bodyOf = (verb: string, body: string) => (verb === 'GET' || verb === 'HEAD' ? {} : { body })

describe('whatever is sent', () => {
  it('to Device Sign-In is answered, and decides nothing that a person did not decide [4.6.link-never-approves]', {
    timeout: patience.group,
  }, async () => {
    await atStages('device', (stage) => {
      const { agent } = stage.world
      const decided = async () =>
        ((await stage.store.dump()) as { devices: { status: string }[] }).devices.filter(
          ({ status }) => status !== 'pending',
        )
      return fc.asyncProperty(
        fc.constantFrom('start' as const, 'open' as const, 'decide' as const, 'poll' as const),
        fc.array(change, { minLength: 1, maxLength: 3 }),
        contentType,
        oddText,
        async (step, changes, type, code) => {
          const before = await decided()
          const client = {
            client_id: agent.clientId,
            client_assertion_type: 'urn:ietf:params:oauth:client-assertion-type:jwt-bearer',
            client_assertion: await agent.clientAssertion(),
          }
          const post = (path: string, right: Record<string, string>, more: Record<string, string | null> = {}) =>
            requestOf(`${origin}${path}`, {
              method: 'POST',
              body: String(apply(new URLSearchParams(right), changes)),
              headers: { origin, 'content-type': type },
              more,
            })
          if (step === 'open') {
            const { text } = await tryOut(
              stage,
              new Request(`${origin}/poppy/device?${new URLSearchParams({ user_code: code })}`),
            )
            expect(text).not.toMatch(unsafe)
          } else if (step === 'start') {
            await tryOut(stage, post('/poppy/device-authorization', { ...client, scope: 'poppy:read' }))
          } else if (step === 'poll') {
            const dpop = await agent.proof('POST', agent.tokenUrl)
            const grant_type = 'urn:ietf:params:oauth:grant-type:device_code'
            const { answer } = await tryOut(
              stage,
              post('/poppy/token', { ...client, grant_type, device_code: code || 'x', session_id: 'ses_x' }, { dpop }),
            )
            expect(answer.status).toBeGreaterThanOrEqual(400)
          } else {
            const { text } = await tryOut(
              stage,
              post('/poppy/device', { request: code, decision: 'approve', scope: 'poppy:read' }),
            )
            expect(text).not.toMatch(unsafe)
          }
          expect(await decided()).toEqual(before)
        },
      ) as never
    })
  })

  it('to the endpoint for browsers is answered, and a refusal sets no cookie [5.error-page]', {
    timeout: patience.group,
  }, async () => {
    await atStages('browsers', (stage) => {
      const { agent } = stage.world
      return fc.asyncProperty(
        fc.dictionary(
          fc.constantFrom('aud', 'iss', 'sub', 'session_id', 'return_to', 'exp', 'iat', 'jti', 'nbf'),
          fc.oneof(json, oddText),
          { maxKeys: 2 },
        ),
        fc.array(change, { maxLength: 2 }),
        contentType,
        async (claims, changes, type) => {
          const session_id = ((await stage.store.dump()) as { sessions: { id: string }[] }).sessions[0]?.id
          const assertion = await agent.sessionAssertion({
            claims: { aud: `${origin}/poppy/browser-session`, session_id, return_to: `${origin}/`, ...claims },
            header: { typ: 'poppy-browser+jwt' },
          })
          const { answer } = await tryOut(
            stage,
            requestOf(`${origin}/poppy/browser-session`, {
              method: 'POST',
              body: String(apply(new URLSearchParams({ assertion }), changes)),
              headers: { 'content-type': type, origin: 'https://agent.example' },
            }),
          )
          const location = answer.headers.get('location')
          expect(answer.headers.has('set-cookie')).toBe(answer.status === 303)
          if (location !== null) expect(new URL(location).host).toMatch(/^(?:.+\.)?miramar\.example$/)
        },
      ) as never
    })
  })

  it('to Mediated Sign-In is answered, signs nobody in without the right credentials, and tells none of them [4.7.never-returns-credentials]', {
    timeout: patience.group,
  }, async () => {
    const right = { scope: 'poppy:read', credentials, code: '123456' }
    await atStages(
      'mediated',
      (stage) =>
        fc.asyncProperty(
          fc.oneof(
            bentJson(right).map((value) => JSON.stringify(value)),
            oddText,
          ),
          fc.oneof(fc.constant(''), oddText),
          header,
          async (body, id, type) => {
            const url = new URL(`/poppy/sign-in${id === '' ? '' : `/${encodeURIComponent(id.toWellFormed())}`}`, origin)
            const { answer, text } = await tryOut(
              stage,
              requestOf(url.href, {
                method: 'POST',
                body: (body ?? '').toWellFormed(),
                headers: {
                  authorization: `DPoP ${stage.token}`,
                  dpop: await stage.world.agent.proof('POST', origin + url.pathname, stage.token),
                  'content-type': 'application/json',
                },
                more: { 'content-type': type },
              }),
            )
            expect(text).not.toContain(credentials.password)
            if (!answer.ok || !text.includes('complete')) return
            expect((JSON.parse(body) as typeof right).credentials).toMatchObject(credentials)
          },
        ) as never,
    )
  })

  it('to a tool is answered, and runs nothing without a token and a proof [6.invalid-token, 4.3.dpop-scheme]', {
    timeout: patience.group,
  }, async () => {
    await atStages(
      'tools',
      (stage) =>
        fc.asyncProperty(
          fc.oneof(fc.constantFrom('echo', 'my_bookings', 'add_note', 'points'), oddText),
          fc.oneof(
            json.map((value) => JSON.stringify(value)),
            oddText,
            fc.constant('{"text":"x"}'),
          ),
          header,
          header,
          header,
          method,
          async (name, body, authorization, dpop, type, verb) => {
            const { agent } = stage.world
            const path = `/poppy/tools/${encodeURIComponent(name.toWellFormed())}`
            const url = new URL(path, origin)
            const isUntouched = authorization === undefined && dpop === undefined
            const { answer, text } = await tryOut(
              stage,
              requestOf(url.href, {
                method: verb,
                ...bodyOf(verb, body.toWellFormed()),
                headers: {
                  authorization: `DPoP ${stage.token}`,
                  dpop: await agent.proof(verb, origin + url.pathname, stage.token),
                  'content-type': 'application/json',
                },
                more: { authorization, dpop, 'content-type': type },
              }),
            )
            if (answer.ok && verb === 'POST') expect([isUntouched, text.includes(stage.token)]).toEqual([true, false])
          },
        ) as never,
    )
  })

  it('to the MCP server is answered, and runs nothing without its token [6.mcp-tokens, 6.mcp-own-url]', {
    timeout: patience.group,
  }, async () => {
    const call = { jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name: 'echo', arguments: { text: 'x' } } }
    const message = fc.oneof(
      fc.constant<unknown>(call),
      fc.record(
        {
          jsonrpc: fc.oneof(fc.constant<unknown>('2.0'), json),
          id: json,
          method: fc.oneof(
            fc.constantFrom('initialize', 'ping', 'tools/list', 'tools/call', 'resources/list'),
            oddText,
          ),
          params: json,
        },
        { requiredKeys: [] },
      ),
      fc.record({
        jsonrpc: fc.constant('2.0'),
        id: fc.nat(),
        method: fc.constant('tools/call'),
        params: fc.record({ name: fc.oneof(fc.constantFrom('echo', 'my_bookings'), oddText), arguments: json }),
      }),
      json,
    )
    const body = fc.oneof(
      { weight: 4, arbitrary: message.map((value) => JSON.stringify(value)) },
      { weight: 1, arbitrary: fc.array(message, { maxLength: 4 }).map((value) => JSON.stringify(value)) },
      { weight: 1, arbitrary: oddText },
    )
    await atStages(
      'mcp',
      (stage) =>
        fc.asyncProperty(
          body,
          header,
          header,
          header,
          header,
          method,
          async (text, authorization, accept, version, type, verb) => {
            const { answer } = await tryOut(
              stage,
              requestOf(`${origin}/poppy/mcp`, {
                method: verb,
                ...bodyOf(verb, text.toWellFormed()),
                headers: {
                  authorization: `Bearer ${stage.bearer}`,
                  accept: 'application/json, text/event-stream',
                  'content-type': 'application/json',
                  'mcp-protocol-version': '2025-06-18',
                },
                more: { authorization, accept, 'mcp-protocol-version': version, 'content-type': type },
              }),
            )
            if (answer.ok && verb === 'POST') expect(authorization).toBe(undefined)
          },
        ) as never,
    )
  })

  it('to conversations is answered, and what is refused leaves them as they were [7.13.invalid-request]', {
    timeout: patience.group,
  }, async () => {
    const right = {
      message: {
        id: 'msg_x',
        sender: 'agent',
        text: 'Is breakfast included?',
        data: { guests: [{ name: 'Maya' }] },
        context: { locale: 'en-GB', time_zone: 'Europe/Madrid', user_available: true },
      },
      parent_conversation_id: 'cnv_x',
    }
    const body = fc.oneof(
      { weight: 4, arbitrary: bentJson(right).map((value) => JSON.stringify(value)) },
      { weight: 1, arbitrary: json.map((value) => JSON.stringify({ message: value })) },
      { weight: 1, arbitrary: oddText },
    )
    const query = fc.dictionary(
      fc.constantFrom('cursor', 'wait', 'x'),
      fc.oneof(fc.constantFrom('0', '0.01', '-1', 'evt_x'), oddText),
      { maxKeys: 2 },
    )
    await atStages('conversations', (stage) => {
      const known: string[] = []
      return fc.asyncProperty(
        fc.constantFrom('', 'messages', 'events', 'handoff', 'close'),
        fc.oneof({ weight: 3, arbitrary: fc.constant(null) }, { weight: 1, arbitrary: oddText }),
        fc.uuid(),
        body,
        query,
        header,
        async (word, odd, unique, bent, asked, type) => {
          const { agent } = stage.world
          const id = odd ?? known.at(-1) ?? 'cnv_x'
          const path = `/poppy/conversations${word === '' ? '' : `/${encodeURIComponent(id.toWellFormed())}/${word}`}`
          const url = new URL(path, origin)
          const verb = word === 'events' ? 'GET' : 'POST'
          const text = (bent ?? '').toWellFormed().replace('msg_x', `msg_${unique}`)
          const { answer, text: told } = await tryOut(
            stage,
            requestOf(`${url.href}?${new URLSearchParams(asked)}`, {
              method: verb,
              ...bodyOf(verb, text),
              headers: {
                authorization: `DPoP ${stage.token}`,
                dpop: await agent.proof(verb, origin + url.pathname, stage.token),
                'content-type': 'application/json',
              },
              more: { 'content-type': type },
            }),
          )
          expect(told).not.toContain(stage.token)
          if (answer.ok) known.push((JSON.parse(told) as { conversation_id: string }).conversation_id)
          else expect(JSON.parse(told)).toMatchObject({ error: expect.any(String) })
        },
      ) as never
    })
  })

  it('to any path, in any way, is answered, and changes nothing where it is refused [3.1.something-to-use]', {
    timeout: patience.group,
  }, async () => {
    const path = fc.oneof(
      { weight: 4, arbitrary: fc.constantFrom(...Object.keys(stories)) },
      {
        weight: 1,
        arbitrary: fc
          .tuple(
            fc.constantFrom(...Object.keys(stories)),
            fc.constantFrom('/', '//', '/..', '/%2e%2e/x', '%00', ';x', '/a/b', '.bak'),
          )
          .map((parts) => parts.join('')),
      },
      { weight: 1, arbitrary: oddText.map((text) => `/poppy/agents/logo/${encodeURIComponent(text.toWellFormed())}`) },
      { weight: 1, arbitrary: oddText.map((text) => `/${encodeURIComponent(text.toWellFormed())}`) },
    )
    await atStages(
      'anywhere',
      (stage) =>
        fc.asyncProperty(
          path,
          fc.array(change, { maxLength: 2 }),
          method,
          fc.dictionary(
            fc.constantFrom(
              'host',
              'origin',
              'cookie',
              'if-none-match',
              'x-forwarded-host',
              'x-forwarded-proto',
              'forwarded',
              'accept',
              'accept-language',
              'range',
              'authorization',
              'content-type',
              'sec-fetch-site',
            ),
            oddText,
            { maxKeys: 4 },
          ),
          oddText,
          async (where, changes, verb, more, body) => {
            const query = String(apply(new URLSearchParams({ x: id() }), changes))
            const { answer, text } = await tryOut(
              stage,
              requestOf(`${origin}${where}?${query}`, { method: verb, ...bodyOf(verb, body.toWellFormed()), more }),
            )
            // K38: nothing that a request says of its host stands in an answer
            expect(`${text} ${answer.headers.get('location') ?? ''}`).not.toMatch(/"?https?:\/\/evil\.test/)
            expect(answer.headers.get('set-cookie')).toBe(null)
          },
        ) as never,
    )
  })
})

describe('every endpoint', () => {
  it('that a Company has stands above, with a story that tries it', async () => {
    const { world } = await setStage(0, everything)
    const sources = globSync('packages/company/src/**/*.{ts,tsx}', {
      cwd: `${import.meta.dirname}/..`,
      exclude: ['**/*.test.*'],
    })
    const written = sources.flatMap((source) => [
      ...readFileSync(`${import.meta.dirname}/../${source}`, 'utf8').matchAll(
        /['"`](\/(?:poppy|\.well-known)(?:\/[\w.-]+)+)/g,
      ),
    ])
    const paths = [...new Set(written.map(([, path = '']) => path))]
    expect(paths.length).toBeGreaterThan(10)
    const tried = Object.keys(stories)
    expect(paths.filter((path) => !tried.some((one) => one === path || one.startsWith(`${path}/`)))).toEqual([])
    // And each of them is the Company's, so that no story tries thin air; a page that needs a setting is none here.
    const unowned = tried.filter((path) => !world.company.owns(new Request(origin + path)))
    expect(unowned.filter((path) => !path.startsWith('/poppy/agents'))).toEqual([])
  })

  it('gets a hundred thousand inputs in the long run, parsers included', () => {
    const { parser, ...endpoints } = budgets
    const ofEndpoints = Object.values(endpoints).reduce((sum, { long }) => sum + long, 0)
    // The parsers' own file counts what it tries.
    expect(ofEndpoints + parser.long * 30).toBeGreaterThanOrEqual(100_000)
  })
})
