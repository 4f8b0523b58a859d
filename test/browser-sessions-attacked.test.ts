import { createHmac, KeyObject, sign } from 'node:crypto'
import { describe, expect, it } from 'vitest'
import { authorizationQuery, decideOn, openForm, openPage } from './setup/consent.ts'
import { makeInstances } from './setup/instances.ts'
import { stores } from './setup/stores.ts'
import { makeKeys, type WireAgent } from './setup/wire-agent.ts'
import { makeWorld, type Tokens, type World } from './setup/world.ts'

// Section 5 under attack: whoever brings an assertion, a cookie or a form that isn't theirs to bring.

const page = 'https://miramar.example/bookings'
const endpoint = 'https://miramar.example/poppy/browser-session'

function joining(fields: string | [string, string][], headers: Record<string, string> = {}, method = 'POST'): Request {
  const body = typeof fields === 'string' ? new URLSearchParams({ assertion: fields }) : new URLSearchParams(fields)
  return new Request(endpoint, { method, body, headers: { origin: 'null', ...headers } })
}

const cookieOf = (answer: Response) => answer.headers.get('set-cookie')?.split(';')[0] ?? ''

async function join(world: World, session: Tokens, agent: WireAgent = world.agent, cookie?: string) {
  const assertion = await agent.browserAssertion(session.session_id, page)
  const answer = await world.send(joining(assertion, cookie === undefined ? {} : { cookie }))
  expect(answer.status).toBe(303)
  return cookieOf(answer)
}

const visit = (world: World, cookie: string) =>
  world.company.browserPrincipal(new Request(page, { headers: { cookie } }))

async function refused(answer: Response, status = 400): Promise<string> {
  expect([answer.status, answer.headers.get('set-cookie'), answer.headers.get('location')]).toEqual([
    status,
    null,
    null,
  ])
  return answer.text()
}

const ways = { direct: ['poppy:read', 'poppy:write', 'loyalty'], device: ['poppy:read', 'poppy:write'] } as const

describe('a browser assertion that somebody forged', () => {
  const seconds = (world: World) => Math.floor(world.clock.now / 1000)
  const encode = (value: object) => Buffer.from(JSON.stringify(value)).toString('base64url')
  const claimsOf = (world: World, session: Tokens) => ({
    iss: world.agent.clientId,
    sub: world.agent.userId,
    aud: endpoint,
    session_id: session.session_id,
    return_to: page,
    jti: 'forged',
    iat: seconds(world),
    exp: seconds(world) + 60,
  })
  const signed = (world: World, header: object, session: Tokens, dsaEncoding: 'der' | 'ieee-p1363' = 'ieee-p1363') => {
    const text = `${encode(header)}.${encode(claimsOf(world, session))}`
    const key = KeyObject.from(world.agent.signing.privateKey)
    return `${text}.${sign('sha256', Buffer.from(text), { key, dsaEncoding }).toString('base64url')}`
  }
  type Make = (world: World, session: Tokens) => string | Promise<string>
  const bend =
    (claims: (world: World) => Record<string, unknown>): Make =>
    (world, session) =>
      world.agent.browserAssertion(session.session_id, page, { claims: claims(world) })
  const cases: readonly [string, Make][] = [
    ['with alg none', (w, s) => `${encode({ typ: 'poppy-browser+jwt', alg: 'none' })}.${encode(claimsOf(w, s))}.`],
    [
      'with HS256 and the public key as its secret',
      (w, s) => {
        const text = `${encode({ typ: 'poppy-browser+jwt', alg: 'HS256', kid: w.agent.keyId })}.${encode(claimsOf(w, s))}`
        const secret = JSON.stringify(w.agent.signing.publicJwk)
        return `${text}.${createHmac('sha256', secret).update(text).digest('base64url')}`
      },
    ],
    [
      'with a key in its own header',
      async (w, s) => {
        const own = await makeKeys()
        return w.agent.browserAssertion(s.session_id, page, {
          key: own.privateKey,
          header: { jwk: own.publicJwk, kid: undefined },
        })
      },
    ],
    [
      'whose signature is DER, not raw',
      (w, s) => signed(w, { typ: 'poppy-browser+jwt', alg: 'ES256', kid: w.agent.keyId }, s, 'der'),
    ],
    [
      'that asks for a header which nobody knows',
      (w, s) => signed(w, { typ: 'poppy-browser+jwt', alg: 'ES256', kid: w.agent.keyId, crit: ['x'], x: 1 }, s),
    ],
    ['for the endpoint with a slash', bend(() => ({ aud: `${endpoint}/` }))],
    ['for the endpoint with a query', bend(() => ({ aud: `${endpoint}?` }))],
    ['for the endpoint in capitals', bend(() => ({ aud: 'https://MIRAMAR.example/poppy/browser-session' }))],
    ['for the endpoint with its port', bend(() => ({ aud: 'https://miramar.example:443/poppy/browser-session' }))],
    ['for the issuer', bend(() => ({ aud: 'https://miramar.example' }))],
    ['for this endpoint and another', bend(() => ({ aud: [endpoint, 'https://other.example/'] }))],
    ['from the future', bend((w) => ({ iat: seconds(w) + 31, exp: seconds(w) + 60 }))],
    ['that isn’t valid yet', bend((w) => ({ nbf: seconds(w) + 31 }))],
    ['that ran out half a minute ago', bend((w) => ({ iat: seconds(w) - 90, exp: seconds(w) - 30 }))],
    ['that ends before it begins', bend((w) => ({ iat: seconds(w) + 4, exp: seconds(w) + 3 }))],
    ['with a time that is text', bend((w) => ({ iat: String(seconds(w)) }))],
    ['with an end that is no number', bend(() => ({ exp: '9999999999' }))],
    ['with a jti that is no text', bend(() => ({ jti: 7 }))],
    ['with an empty jti', bend(() => ({ jti: '' }))],
    ['with a Session in a list', (w, s) => bend(() => ({ session_id: [s.session_id] }))(w, s)],
    ['with a User in an object', bend(() => ({ sub: { toString: 'usr' } }))],
  ]

  it('by hand passes where nothing is wrong with it', async () => {
    const world = await makeWorld({ browser: true })
    const right = signed(world, { typ: 'poppy-browser+jwt', alg: 'ES256', kid: world.agent.keyId }, await world.start())
    expect((await world.send(joining(right))).status).toBe(303)
  })

  it.each(cases)(
    '%s is an error page, with no cookie [5.error-page, 5.signature, 5.aud, 5.not-expired]',
    async (_, make) => {
      const world = await makeWorld({ browser: true })
      const session = await world.start()
      const assertion = await make(world, session)
      const text = await refused(await world.send(joining(assertion)))
      if (assertion.length > 20) expect(text).not.toContain(assertion.slice(-20))
      // The Session and the right way in are as before.
      expect(await visit(world, await join(world, session))).toMatchObject({ sessionId: session.session_id })
    },
  )
})

describe('the page to open after a browser joined', () => {
  it.each([
    'https://example.com.evil.test',
    'https://miramar.example.evil.test/',
    'https://evilmiramar.example/',
    'https://miramar.example@evil.test/',
    'https://miramar.example:443@evil.test/',
    'https://miramar.example%2eevil.test/',
    'https://evil.test%2f.miramar.example/',
    'https://evil.test%23.miramar.example/',
    'https://evil.test?.miramar.example/',
    'https://miramar。evil。test/',
    'https://miramar.example\u200b.evil.test/',
    '/\\evil.test',
    '//evil.test',
    '//miramar.example/',
    'https:\\\\evil.test',
    'https:evil.test',
    'http://miramar.example/',
    'https://miramar.example:8443/',
    'https://miramar.example:443:443/',
    'https://miramar.example./',
    'https://mira\tmar.example/',
    'https://miramar.example/\r\nset-cookie: x=1',
    'java\nscript:alert(1)',
    'javascript://miramar.example/%0aalert(1)',
    'blob:https://miramar.example/x',
    'view-source:https://miramar.example/',
    'https://0x7f000001/',
    `https://miramar.example/${'a'.repeat(10_000)}`,
  ])(
    'may not be %j: an error page, no cookie, and the assertion is not spent [K33, 5.return-to, 5.error-page]',
    async (returnTo) => {
      const world = await makeWorld({ browser: true })
      const { session_id } = await world.start()
      const claims = { jti: 'the-same' }
      await refused(await world.send(joining(await world.agent.browserAssertion(session_id, returnTo, { claims }))))
      const right = await world.agent.browserAssertion(session_id, page, { claims })
      expect((await world.send(joining(right))).status).toBe(303)
    },
  )

  it.each([
    ['https://book.miramar.example/rooms?a=b#c', 'https://book.miramar.example/rooms?a=b#c'],
    ['https://a.b.miramar.example', 'https://a.b.miramar.example/'],
    ['https://MIRAMAR.example:443/', 'https://miramar.example/'],
    ['https://miramar。example/', 'https://miramar.example/'],
    ['https://miramar.example/?next=https://evil.test/', 'https://miramar.example/?next=https://evil.test/'],
  ])('may be %s [K33, 5.return-to, 5.see-other]', async (returnTo, location) => {
    const world = await makeWorld({ browser: true })
    const { session_id } = await world.start()
    const answer = await world.send(joining(await world.agent.browserAssertion(session_id, returnTo)))
    expect([answer.status, answer.headers.get('location')]).toEqual([303, location])
  })
})

describe('the form that brings a browser assertion', () => {
  const open = async () => {
    const world = await makeWorld({ browser: true })
    const session = await world.start()
    return { world, session, make: () => world.agent.browserAssertion(session.session_id, page) }
  }

  it('is bounded, has one assertion, and is a form [5.error-page]', async () => {
    const { world, make } = await open()
    await refused(await world.send(joining('a'.repeat(20_000))), 413)
    await refused(await world.send(joining(`${await make()}${'a'.repeat(9_000)}`)))
    await refused(
      await world.send(
        joining([
          ['assertion', await make()],
          ['assertion', await make()],
        ]),
      ),
    )
    await refused(
      await world.send(
        joining([
          ['assertion', ''],
          ['assertion', await make()],
        ]),
      ),
    )
    const assertion = await make()
    for (const type of ['text/plain', 'application/json', 'multipart/form-data; boundary=x', ''])
      await refused(
        await world.send(
          new Request(endpoint, {
            method: 'POST',
            body: Buffer.from(`assertion=${assertion}`),
            headers: type === '' ? {} : { 'content-type': type },
          }),
        ),
      )
    const form = new FormData()
    form.set('assertion', assertion)
    await refused(await world.send(new Request(endpoint, { method: 'POST', body: form })))
    // None of this has spent it.
    expect((await world.send(joining(assertion))).status).toBe(303)
  })

  it('names its page in the assertion alone [5.return-to]', async () => {
    const { world, make } = await open()
    const answer = await world.send(
      joining([
        ['assertion', await make()],
        ['return_to', 'https://evil.test/'],
        ['session_id', 'ses_of-somebody-else'],
      ]),
    )
    expect([answer.status, answer.headers.get('location')]).toEqual([303, page])
  })

  it('may come from any page, or from none that says so [5.see-other]', async () => {
    const { world, make } = await open()
    for (const headers of [
      { origin: 'null', 'sec-fetch-site': 'cross-site', 'sec-fetch-mode': 'navigate', 'sec-fetch-dest': 'document' },
      { origin: 'http://127.0.0.1:4711', 'sec-fetch-site': 'cross-site' },
      { origin: 'https://miramar.example' },
    ])
      expect((await world.send(joining(await make(), headers))).status).toBe(303)
    const bare = new Request(endpoint, { method: 'POST', body: new URLSearchParams({ assertion: await make() }) })
    expect((await world.send(bare)).status).toBe(303)
  })

  it('is a POST and nothing else, and no answer of it is kept or read by another page [5.error-page, 5.body-only]', async () => {
    const { world, make } = await open()
    for (const method of ['GET', 'HEAD', 'OPTIONS', 'PUT', 'DELETE', 'PATCH']) {
      const answer = await world.send(new Request(endpoint, { method, headers: { origin: 'https://evil.test' } }))
      await refused(answer, 405)
      expect(answer.headers.get('allow')).toBe('POST')
      expect(answer.headers.get('access-control-allow-origin')).toBeNull()
    }
    const good = await world.send(joining(await make(), { origin: 'https://evil.test' }))
    const bad = await world.send(joining('nonsense', { origin: 'https://evil.test' }))
    for (const answer of [good, bad]) {
      expect(answer.headers.get('cache-control')).toBe('no-store')
      expect(answer.headers.get('access-control-allow-origin')).toBeNull()
      expect(answer.headers.get('access-control-allow-credentials')).toBeNull()
    }
    expect(good.headers.get('referrer-policy')).toBe('no-referrer')
    const policy = bad.headers.get('content-security-policy') ?? ''
    expect(policy).toContain("default-src 'none'")
    expect(policy).toContain("frame-ancestors 'none'")
    expect(policy).toContain("base-uri 'none'")
    expect(policy).not.toMatch(/script|unsafe|\*/)
    expect(bad.headers.get('x-content-type-options')).toBe('nosniff')
  })

  it('that is sent all the time is limited, and a stranger’s copies take nothing from the agent', async () => {
    const { world, session, make } = await open()
    const used = await make()
    expect((await world.send(joining(used))).status).toBe(303)
    for (let times = 0; times < 200; times++) expect([400, 429]).toContain((await world.send(joining(used))).status)
    expect(await visit(world, await join(world, session))).not.toBeNull()
  })
})

describe.each(stores)('a browser assertion that comes again, on $name,', ({ missing, fresh }) => {
  const test = it.skipIf(missing !== null)

  test('is refused for as long as it could pass, on both sides of now, also after a clean-up [5.jti-once]', async () => {
    const world = await makeWorld({ browser: true }, (await fresh()).store())
    const session = await world.start()
    const now = Math.floor(world.clock.now / 1000)
    // From an agent whose clock is half a minute ahead: it passes for two minutes.
    const claims = { iat: now + 30, exp: now + 90 }
    const assertion = await world.agent.browserAssertion(session.session_id, page, { claims })
    expect((await world.send(joining(assertion))).status).toBe(303)
    for (const milliseconds of [0, 59_000, 31_000, 29_999]) {
      world.clock.now += milliseconds
      while (!(await world.company.work()).isDone);
      await refused(await world.send(joining(assertion)))
    }
    // The last moment at which a fresh one would pass.
    const late = await world.agent.browserAssertion(session.session_id, page, { claims: { ...claims, jti: 'other' } })
    expect((await world.send(joining(late))).status).toBe(303)
    await refused(await world.send(joining(late)))
    world.clock.now += 1
    const tooLate = await world.agent.browserAssertion(session.session_id, page, { claims: { ...claims, jti: 'new' } })
    await refused(await world.send(joining(tooLate)))
  })

  test('in a body that is held back until nobody knows of it any more is refused [5.jti-once]', async () => {
    const world = await makeWorld({ browser: true }, (await fresh()).store())
    const session = await world.start()
    const assertion = await world.agent.browserAssertion(session.session_id, page)
    // Somebody who got hold of it opens their request in time, and sends the body when it is forgotten that it was used.
    const { readable, writable } = new TransformStream<Uint8Array, Uint8Array>()
    const whole = joining(assertion)
    const held = world.send(
      new Request(endpoint, {
        method: 'POST',
        headers: { origin: 'null', 'content-type': 'application/x-www-form-urlencoded' },
        body: readable,
        duplex: 'half',
      } as RequestInit),
    )
    expect((await world.send(whole.clone())).status).toBe(303)
    world.clock.now += 600_000
    while (!(await world.company.work()).isDone);
    const writer = writable.getWriter()
    await Promise.all([writer.write(new Uint8Array(await whole.arrayBuffer())), writer.close()])
    await refused(await held)
  })

  test('with the jti of another agent’s is another’s [5.jti-once]', async () => {
    const world = await makeWorld({ browser: true }, (await fresh()).store())
    const other = await world.newAgent()
    const [mine, theirs] = [await world.start(), await world.start(other)]
    const claims = { jti: 'the-same' }
    const first = await world.agent.browserAssertion(mine.session_id, page, { claims })
    expect((await world.send(joining(first))).status).toBe(303)
    const second = await other.browserAssertion(theirs.session_id, page, { claims })
    expect((await world.send(joining(second))).status).toBe(303)
  })

  test('at a second Company in the same database lets nobody in there, nor does the cookie [5.aud, 5.session-active]', async () => {
    const { store } = await fresh()
    const harbour = {
      organization: { name: 'Harbour Inn', domain: 'harbour.example' },
      origin: 'https://harbour.example',
      browser: true,
    } as const
    const { agent, turnTo } = await makeInstances([
      { store: store(), config: { browser: true } },
      { store: store(), config: harbour },
    ])
    const miramar = turnTo(0)
    const session = await miramar.start(agent)
    const cookie = await join(miramar, session, agent)
    expect(await visit(miramar, cookie)).not.toBeNull()
    const inn = turnTo(1)
    expect(
      await inn.company.browserPrincipal(new Request('https://harbour.example/', { headers: { cookie } })),
    ).toBeNull()
    const there = 'https://harbour.example/poppy/browser-session'
    const send = (assertion: string) =>
      inn.send(new Request(there, { method: 'POST', body: new URLSearchParams({ assertion }) }))
    const returnTo = 'https://harbour.example/'
    await refused(await send(await agent.browserAssertion(session.session_id, returnTo)))
    await refused(await send(await agent.browserAssertion(session.session_id, returnTo, { claims: { aud: there } })))
  })
})

describe.each(stores)('the cookie of an agent’s browser, on $name,', ({ missing, fresh }) => {
  const test = it.skipIf(missing !== null)

  test('is good for nothing once its Session has ended, and comes back with nothing [5.cookie-not-longer, 5.session-active]', async () => {
    const world = await makeWorld({ browser: true, lifetimes: { sessionIdle: 600 } }, (await fresh()).store())
    const session = await world.start()
    const cookie = await join(world, session)
    world.clock.now += 599_000
    expect(await visit(world, cookie)).not.toBeNull()
    // Each page is a use of the Session.
    world.clock.now += 599_000
    expect(await visit(world, cookie)).not.toBeNull()
    world.clock.now += 601_000
    expect(await visit(world, cookie)).toBeNull()
    const assertion = await world.agent.browserAssertion(session.session_id, page)
    await refused(await world.send(joining(assertion)))
    expect(await visit(world, cookie)).toBeNull()
  })

  test('lasts no longer in the browser than the Session can [5.cookie-not-longer]', async () => {
    const world = await makeWorld({ browser: true, lifetimes: { session: 300 } }, (await fresh()).store())
    const session = await world.start()
    world.clock.now += 280_000
    const answer = await world.send(joining(await world.agent.browserAssertion(session.session_id, page)))
    expect(answer.headers.get('set-cookie')).toContain('; Max-Age=20;')
  })

  test('goes with the person who is erased, and is nobody’s afterwards', async () => {
    const world = await makeWorld({ browser: true }, (await fresh()).store())
    const session = await world.start()
    await world.signIn(world.agent, session.session_id)
    const cookie = await join(world, session)
    expect((await world.company.accounts.erasePerson('acc-maya')).browsers).toBe(1)
    expect(await visit(world, cookie)).toBeNull()
    await refused(await world.send(joining(await world.agent.browserAssertion(session.session_id, page))))
  })

  test('stays the Session’s beside another of its name that opens nothing: a subdomain may set one [5.cookie-wins]', async () => {
    const world = await makeWorld({ browser: { cookieDomain: 'miramar.example' } }, (await fresh()).store())
    const session = await world.start()
    const cookie = await join(world, session)
    const [name] = cookie.split('=')
    for (const tossed of ['', 'x', 'a'.repeat(43), 'a'.repeat(5000), cookie.slice(name ? name.length + 1 : 0)])
      for (const header of [
        `${cookie}; ${name}=${tossed}`,
        `${name}=${tossed}; ${cookie}`,
        `a=b; ${name}=${tossed};${cookie}`,
      ])
        expect({ tossed, seen: (await visit(world, header))?.sessionId }).toEqual({ tossed, seen: session.session_id })
  })

  test('is nobody’s beside another that opens another Session [5.cookie-wins]', async () => {
    const world = await makeWorld({ browser: { cookieDomain: 'miramar.example' } }, (await fresh()).store())
    const attacker = await world.newAgent()
    const cookie = await join(world, await world.start())
    const theirs = await world.start(attacker)
    const tossed = await join(world, theirs, attacker)
    expect(await visit(world, `${cookie}; ${tossed}`)).toBeNull()
    expect(await visit(world, `${tossed}; ${cookie}`)).toBeNull()
    // And to flood the request with them costs no more than a few questions.
    const many = Array.from({ length: 40 }, (_, at) => `__Secure-poppy=${String(at).padStart(43, 'a')}`).join('; ')
    expect(await visit(world, `${many}; ${cookie}`)).toBeNull()
  })

  test('is replaced by the next one, also where the browser has two of the name [5.replaces-cookie]', async () => {
    const { store } = await fresh()
    // First for one host, then for the subdomains as well, under one name: the browser keeps and sends both.
    const { agent, turnTo } = await makeInstances([
      { store: store(), config: { browser: { cookie: 'hotel_agent' } } },
      { store: store(), config: { browser: { cookie: 'hotel_agent', cookieDomain: 'miramar.example' } } },
    ])
    const before = turnTo(0)
    const session = await before.start(agent)
    const narrow = await join(before, session, agent)
    const world = turnTo(1)
    const wide = await join(world, session, agent, narrow)
    expect(await visit(world, `${narrow}; ${wide}`)).toMatchObject({ sessionId: session.session_id })
    const next = await world.start(agent)
    const newest = await join(world, next, agent, `${narrow}; ${wide}`)
    for (const old of [narrow, wide]) expect(await visit(world, old)).toBeNull()
    expect(await visit(world, `${narrow}; ${newest}`)).toMatchObject({ sessionId: next.session_id })
  })
})

describe('a browser that somebody else joined', () => {
  it('acts for their agent and never for the person, whose own cookie stays as it was [5.cookie-wins]', async () => {
    const world = await makeWorld({ browser: true, signIn: ways })
    const attacker = await world.newAgent()
    // The person's agent is in; the attacker's page posts an assertion of the attacker's own into that browser.
    const mine = await world.start()
    await world.signIn(world.agent, mine.session_id)
    const cookie = await join(world, mine)
    const theirs = await world.start(attacker)
    const answer = await world.send(
      joining(await attacker.browserAssertion(theirs.session_id, page), { cookie: `site=maya; ${cookie}` }),
    )
    expect(answer.headers.getSetCookie()).toHaveLength(1)
    const fixed = cookieOf(answer)
    expect(fixed.startsWith('__Host-poppy=')).toBe(true)
    // Nothing of the person shows there, and the agent's own cookie opens nothing any more.
    expect(await visit(world, `site=maya; ${fixed}`)).toMatchObject({ account: null, clientId: attacker.clientId })
    expect(await visit(world, cookie)).toBeNull()
    expect(await visit(world, await join(world, mine))).toMatchObject({ account: 'acc-maya' })
  })
})

describe.each(stores)('a page on which a person decides, on $name,', ({ missing, fresh }) => {
  const test = it.skipIf(missing !== null)

  /** A browser that an agent joined, and that still has the person's own cookie from an earlier visit. */
  async function open() {
    const world = await makeWorld({ browser: true, signIn: ways }, (await fresh()).store())
    const session = await world.start()
    await world.signIn(world.agent, session.session_id, { scope: 'poppy:read' })
    return { world, session, cookie: `site=maya; ${await join(world, session)}` }
  }
  const notForAgents = async (answer: Response) => {
    expect([answer.status, answer.headers.get('location')]).toEqual([403, null])
    const text = await answer.text()
    expect(text).toContain('agent')
    expect(text).not.toContain('<form')
    expect(text).not.toContain('maya@example.com')
  }

  test('shows an agent’s browser nothing to approve, and takes no answer from it [5.cookie-wins, 4.5.shows-scopes]', async () => {
    const { world, cookie } = await open()
    await notForAgents(await openPage(world, authorizationQuery(world.agent), { cookie }))
    // A form from elsewhere, of the person's own browser even, is not answered there either.
    const form = await openForm(world)
    await notForAgents(await decideOn(world, form, { headers: { cookie } }))
    const answered = await decideOn(world, form)
    expect(answered.headers.get('location')).toContain('code=')
  })

  test('nor a code of a device to enter or approve [5.cookie-wins, 4.6.consent-page]', async () => {
    const { world, cookie } = await open()
    const begun = await world.agent.post(
      `${world.origin}/poppy/device-authorization`,
      { scope: 'poppy:write' },
      { proof: null },
    )
    const { user_code = '', verification_uri_complete = '' } = (await begun.json()) as Record<string, string>
    const url = `${world.origin}/poppy/device`
    const submit = (fields: Record<string, string>, headers: Record<string, string>) =>
      world.send(
        new Request(url, {
          method: 'POST',
          body: new URLSearchParams(fields),
          headers: { origin: world.origin, ...headers },
        }),
      )
    await notForAgents(await world.send(new Request(url, { headers: { cookie } })))
    await notForAgents(await world.send(new Request(verification_uri_complete, { headers: { cookie } })))
    await notForAgents(await submit({ user_code }, { cookie }))
    const shown = await (await world.send(new Request(verification_uri_complete))).text()
    const request = /name="request" value="([^"]+)"/.exec(shown)?.[1] ?? ''
    const approval = { request, decision: 'approve', scope: 'poppy:write' }
    await notForAgents(await submit(approval, { cookie }))
    expect((await submit(approval, {})).status).toBe(200)
  })

  test('nor the person’s agents, to end another’s access [5.cookie-wins]', async () => {
    const { world, cookie } = await open()
    const url = `${world.origin}/poppy/agents`
    await notForAgents(await world.send(new Request(url, { headers: { cookie } })))
    const shown = await (await world.send(new Request(url))).text()
    const request = /name="request" value="([^"]+)"/.exec(shown)?.[1] ?? ''
    const body = new URLSearchParams({ request, act: 'disconnect' })
    const headers = { origin: world.origin, cookie }
    await notForAgents(await world.send(new Request(url, { method: 'POST', body, headers })))
    expect(await world.company.accounts.connectedAgents('acc-maya')).toHaveLength(1)
  })

  test('is not had by hiding the agent’s cookie in a heap of others of its name [5.cookie-wins]', async () => {
    const config = { browser: { cookieDomain: 'miramar.example' }, signIn: ways }
    const world = await makeWorld(config, (await fresh()).store())
    const cookie = await join(world, await world.start())
    for (const count of [3, 4, 5, 40]) {
      const heap = Array.from({ length: count }, (_, at) => `__Secure-poppy=${String(at).padStart(43, 'a')}`).join('; ')
      for (const header of [`site=maya; ${heap}; ${cookie}`, `${cookie}; ${heap}; site=maya`]) {
        await notForAgents(await openPage(world, authorizationQuery(world.agent), { cookie: header }))
        await notForAgents(
          await world.send(new Request(`${world.origin}/poppy/agents`, { headers: { cookie: header } })),
        )
      }
    }
  })

  test('asks nobody’s browser whose Session has ended or whose agent is blocked, until its cookie is gone', async () => {
    let isBlocked = false
    const world = await makeWorld(
      { browser: true, lifetimes: { sessionIdle: 600 }, agents: { block: () => isBlocked } },
      (await fresh()).store(),
    )
    const other = await world.newAgent()
    const session = await world.start()
    const cookie = `site=maya; ${await join(world, session)}`
    world.clock.now += 601_000
    expect(await visit(world, cookie)).toBeNull()
    await notForAgents(await openPage(world, authorizationQuery(other), { cookie }))
    isBlocked = true
    await notForAgents(await world.send(new Request(`${world.origin}/poppy/agents`, { headers: { cookie } })))
    isBlocked = false
    // One that was never ours is nobody's, and the person decides.
    for (const stranger of ['__Host-poppy=', '__Host-poppy=x', `__Host-poppy=${'a'.repeat(43)}`])
      expect((await openPage(world, authorizationQuery(other), { cookie: `site=maya; ${stranger}` })).status).toBe(200)
    world.clock.now += 12 * 3_600_000
    expect((await openPage(world, authorizationQuery(other), { cookie })).status).toBe(200)
  })
})
