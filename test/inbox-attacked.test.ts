import { brotliDecompressSync, gunzipSync } from 'node:zlib'
import { describe, expect, it } from 'vitest'
import { openBookings, signedIn } from './setup/bookings.ts'
import { converse, said, standingOf } from './setup/converse.ts'
import { patiently } from './setup/front-desk.ts'
import { atDesk, staffLogin } from './setup/inbox.ts'
import { makeWorld, type World } from './setup/world.ts'

// What strangers, other sites, other pages and careless scripts send to the staff inbox. Nothing of it does anything.

const config = { conversations: {}, ...staffLogin } as const

async function openInbox(more: Parameters<typeof openBookings>[0] = {}) {
  const world = await openBookings({ ...config, ...more })
  const { access_token } = await world.start()
  const talk = converse(world.agent, access_token)
  const rita = atDesk(world, 'rita')
  await rita.page()
  const id = (await standingOf(await talk.start(said('Hello?')))).conversation_id
  await expect.poll(async () => (await standing(world, id))[1], patiently).toBe('queued')
  return { world, talk, rita, id, nobody: atDesk(world, 'nobody') }
}

const acts = [
  ...['take', 'release', 'give', 'reply', 'note', 'hand-back', 'ask-for-user', 'ask-for-sign-in'],
  ...['open-account', 'close-account', 'call-tool', 'revise', 'close'],
]
async function standing(world: World, id: string) {
  const { conversation, notes } = await world.company.conversations.read(id)
  return [conversation.heldBy, conversation.status, notes.length]
}

describe('the staff inbox', () => {
  it('is for staff: who isn’t signed in as staff is sent to sign in, and comes back to where they were', async () => {
    const { nobody, id, world } = await openInbox()
    for (const [path, back] of [
      ['', '/poppy/inbox'],
      ['?list=closed&after=closed.1.a', '/poppy/inbox?list=closed&after=closed.1.a'],
      [`/conversations/${id}?list=open&done=take`, `/poppy/inbox/conversations/${id}?list=open`],
      ['/operations/opn_a', '/poppy/inbox/operations/opn_a'],
    ] as const) {
      const answer = await nobody.get(path)
      expect([answer.status, await answer.text()]).toEqual([303, ''])
      expect(answer.headers.get('location')).toBe(`${world.origin}/staff/login?next=${encodeURIComponent(back)}`)
      const script = await nobody.get(path, { accept: 'application/json' })
      expect([script.status, await script.json()]).toEqual([
        401,
        expect.objectContaining({ error: 'sign_in_required' }),
      ])
    }
    for (const path of ['/take-next', '/leave', ...acts.map((act) => `/conversations/${id}/${act}`)]) {
      const answer = await nobody.post(path, { token: 'x', once: 'abcdefgh' })
      expect([path, answer.status, answer.headers.get('location')?.includes('/staff/login')]).toEqual([path, 303, true])
    }
    expect(await standing(world, id)).toEqual([null, 'queued', 0])
  })

  it('says that it is for staff where there is no page to sign in at, in words', async () => {
    const world = await makeWorld({ conversations: {}, staff: () => null })
    const answer = await world.send(new Request(`${world.origin}/poppy/inbox`, { headers: { accept: 'text/html' } }))
    expect(answer.status).toBe(401)
    expect(answer.headers.get('content-security-policy')).toContain("frame-ancestors 'none'")
    expect(await answer.text()).toContain('You are not signed in as a member of staff of Hotel Miramar.')
  })

  it.each([
    ['a text', 'rita'],
    ['true', true],
    ['no name', { id: 'rita' }],
    ['an empty id', { id: '', name: 'Rita' }],
    ['a number', { id: 7, name: 'Rita' }],
    ['a very long id', { id: 'r'.repeat(201), name: 'Rita' }],
    ['a NUL', { id: 'ri\0ta', name: 'Rita' }],
    ['half a character', { id: '\ud800', name: 'Rita' }],
    ['a locale that is no text', { id: 'rita', name: 'Rita', locale: 7 }],
  ])('takes nobody for staff whom the company’s own function doesn’t name: %s', async (_, given) => {
    const world = await makeWorld({ conversations: {}, staff: () => given as never })
    const answer = await world.send(new Request(`${world.origin}/poppy/inbox`))
    expect(answer.status).toBe(500)
    expect(await answer.text()).not.toContain('inbox-view')
  })

  it('takes forms of its own pages alone: no other site’s, no other page’s, no other person’s, no other Company’s, none of long ago', async () => {
    const { world, rita, id } = await openInbox()
    const { token, once } = (await rita.look()).view
    const other = await makeWorld({ ...config, issuer: 'https://miramar.example/guests' })
    const theirs = (await atDesk(other, 'rita').look()).view.token
    const omars = (await atDesk(world, 'omar').look()).view.token
    await signedIn(world)
    const page = await world.send(new Request(`${world.origin}/poppy/agents`))
    const agents = /name="request" value="([^"]+)"/.exec(await page.text())?.[1] ?? ''
    expect(agents).not.toBe('')
    const post = (fields: Record<string, string>, headers: Record<string, string> = {}) =>
      rita.post(`/conversations/${id}/take`, fields, headers)
    const refused: readonly (readonly [string, () => Promise<Response>, number])[] = [
      ['another site', () => post({ token, once }, { origin: 'https://evil.example' }), 403],
      ['no site', () => post({ token, once }, { origin: 'null' }), 403],
      ['cross-site', () => post({ token, once }, { 'sec-fetch-site': 'cross-site' }), 403],
      ['same-site', () => post({ token, once }, { 'sec-fetch-site': 'same-site' }), 403],
      ['no token', () => post({ once }), 403],
      ['nonsense', () => post({ token: 'nonsense', once }), 403],
      ['a changed one', () => post({ token: `${token.slice(0, -2)}AA`, once }), 403],
      ['a colleague’s', () => post({ token: omars, once }), 403],
      ['another page’s', () => post({ token: agents, once }), 403],
      ['another Company’s', () => post({ token: theirs, once }), 403],
      ['no once', () => post({ token }), 400],
      ['a short once', () => post({ token, once: 'abc' }), 400],
      ['an odd once', () => post({ token, once: 'a b c d e f g h' }), 400],
      ['a long once', () => post({ token, once: 'a'.repeat(101) }), 400],
    ]
    for (const [name, send, status] of refused) {
      const answer = await send()
      expect([name, answer.status]).toEqual([name, status])
      expect(await answer.text()).toContain('Nothing was done.')
    }
    expect(await standing(world, id)).toEqual([null, 'queued', 0])
    world.clock.now += 3_600_000
    const old = await rita.post(`/conversations/${id}/note`, { token, once, text: 'Typed for long.' })
    expect(old.status).toBe(410)
    expect(await old.text()).toContain('Typed for long.')
    // Nobody was here for an hour: who looks at it finds that it waits no longer.
    const [held, , notes] = await standing(world, id)
    expect([held, notes]).toEqual([null, 0])
    // What is refused is a form; the page that is shown with that has one that is good.
    expect((await rita.on(id, 'take')).status).toBe(200)
  })

  it('reads each field once and in bounds, and loses nothing that was typed', async () => {
    const { world, rita, id } = await openInbox()
    await rita.on(id, 'take')
    const twice = await rita.on(id, 'reply', [
      ['text', 'One.'],
      ['text', 'Two.'],
    ])
    expect([twice.status, twice.view.entered.text]).toEqual([400, 'One. Two.'])
    const tokens = (await rita.look()).view
    const doubled = await rita.post(`/conversations/${id}/release`, [
      ['token', tokens.token],
      ['token', tokens.token],
      ['once', tokens.once],
    ])
    expect(doubled.status).toBe(400)
    const wrong: readonly (readonly [string, string, Readonly<Record<string, string>>])[] = [
      ['an empty reply', 'reply', {}],
      ['a blank one', 'reply', { text: ' \r\n ' }],
      ['nothing but controls', 'reply', { text: '\u0007' }],
      ['a very long one', 'reply', { text: 'x'.repeat(32_001) }],
      ['a value without a name', 'reply', { text: 'Hi.', 'data.0.value': '12' }],
      ['a name twice', 'reply', { 'data.0.name': 'a', 'data.1.name': 'a' }],
      ['a prototype', 'reply', { 'data.0.name': '__proto__', 'data.0.value': '1' }],
      ['an empty note', 'note', { text: '' }],
      ['no reason', 'ask-for-user', {}],
      ['a long reason', 'ask-for-user', { reason: 'x'.repeat(1001) }],
      ['a right that there isn’t', 'ask-for-sign-in', { scope: 'admin' }],
      ['no JSON', 'call-tool', { tool: 'my_bookings', json: '{' }],
      ['a revision that is none', 'revise', { operation: 'opn_a', revision: 'x' }],
    ]
    for (const [name, act, fields] of wrong) {
      const { status, view } = await rita.on(id, act, fields)
      expect([name, status < 500 && status >= 400, view.notice?.kind]).toEqual([name, true, 'refused'])
      expect(view.entered).toEqual({ ...fields, act })
    }
    for (const tool of ['', 'nothing', '__proto__', 'constructor'])
      expect((await rita.on(id, 'call-tool', { tool })).status).toBe(404)
    const { token, once } = (await rita.look()).view
    const huge = await rita.post(`/conversations/${id}/reply`, { token, once, text: 'x'.repeat(600_000) })
    expect(huge.status).toBe(413)
    const many = await rita.post(
      `/conversations/${id}/reply`,
      Array.from({ length: 500 }, (_, n) => [`f${n}`, 'x'] as const),
    )
    expect(many.status).toBe(413)
    const asJson = await world.send(
      new Request(`${world.origin}/poppy/inbox/conversations/${id}/release`, {
        method: 'POST',
        body: JSON.stringify({ token, once }),
        headers: { cookie: 'desk=rita', origin: world.origin, 'content-type': 'application/json' },
      }),
    )
    expect(asJson.status).toBe(403)
    expect((await world.company.conversations.read(id)).events.filter(({ type }) => type === 'message')).toHaveLength(1)
    expect(await standing(world, id)).toEqual([{ id: 'rita', name: 'Rita Alvarez' }, 'idle', 0])
  })

  it('answers what it has, by the methods that it has', async () => {
    const { world, rita, id } = await openInbox()
    const ask = (method: string, path: string) =>
      world.send(
        new Request(`${world.origin}/poppy/inbox${path}`, {
          method,
          headers: { cookie: 'desk=rita', origin: world.origin },
        }),
      )
    for (const path of ['', `/conversations/${id}`]) expect((await ask('HEAD', path)).status).toBe(200)
    for (const path of ['', `/conversations/${id}`]) {
      for (const method of ['PUT', 'DELETE', 'PATCH', 'POST', 'OPTIONS']) {
        const answer = await ask(method, path)
        expect([method, answer.status, answer.headers.get('allow')]).toEqual([method, 405, 'GET, HEAD'])
        expect(answer.headers.get('access-control-allow-origin')).toBeNull()
      }
    }
    for (const [path, about] of [
      ['/take-next', ''],
      ['/leave', ''],
      ...acts.map((act) => [`/conversations/${id}/${act}`, `/conversations/${id}`] as const),
      ['/operations/opn_a/settle', '/operations/opn_a'],
    ] as const) {
      const put = await ask('PUT', path)
      expect([path, put.status, put.headers.get('allow')]).toEqual([path, 405, 'GET, POST, HEAD'])
      // Loaded again, the address of a form leads to what it was about, and does nothing.
      for (const method of ['GET', 'HEAD']) {
        const back = await ask(method, `${path}?list=open`)
        expect([path, back.status, back.headers.get('location')]).toEqual([
          path,
          303,
          `${world.origin}/poppy/inbox${about}?list=open`,
        ])
      }
    }
    expect((await rita.look(`/conversations/${id}/reply`)).view.conversation?.id).toBe(id)
    expect(await standing(world, id)).toEqual([null, 'queued', 0])
    for (const path of [
      '/',
      '/conversations',
      `/conversations/${id}/`,
      `/conversations/${id}/confirm`,
      `/conversations/${id}/take/x`,
      '/assets',
      '/assets/inbox.js',
      '/assets/..%2fapp.js',
      '/operations',
    ])
      expect([path, (await ask('GET', path)).status]).toEqual([path, 404])
    expect((await ask('POST', `/conversations/${id}/confirm`)).status).toBe(404)
    for (const unknown of ['cnv_unknown', '%00', '..%2f..%2fetc', 'x'.repeat(400), '%ff', '<script>']) {
      for (const kind of ['conversations', 'operations']) {
        const answer = await ask('GET', `/${kind}/${unknown}`)
        expect([unknown, answer.status]).toEqual([unknown, 404])
        expect(await answer.text()).toContain('There is no such conversation or operation')
      }
      expect((await rita.on(unknown, 'take')).status).toBe(404)
    }
  })

  it('knows conversations and operations of its own Company alone', async () => {
    const { rita } = await openInbox()
    const { id } = await openInbox()
    expect((await rita.look(`/conversations/${id}`)).status).toBe(404)
    for (const act of acts) {
      const fields = { text: 'x', to: 'omar', reason: 'x', tool: 'my_bookings', operation: 'opn_a', revision: '1' }
      expect([act, (await rita.on(id, act, fields)).status]).toEqual([act, act === 'give' ? 409 : 404])
    }
  })

  it('isn’t shown to a browser that an agent joined, whatever other cookies it has', async () => {
    const { world, id } = await openInbox({ browser: true })
    const { session_id } = await world.start()
    const assertion = await world.agent.browserAssertion(session_id, `${world.origin}/bookings`)
    const answered = await world.send(
      new Request(`${world.origin}/poppy/browser-session`, {
        method: 'POST',
        body: new URLSearchParams({ assertion }),
        headers: { origin: 'null', 'sec-fetch-site': 'cross-site' },
      }),
    )
    const joined = answered.headers.get('set-cookie')?.split(';')[0] ?? ''
    expect(joined).toMatch(/^__Host-poppy=/)
    const agents = atDesk(world, 'rita', { headers: { cookie: `desk=rita; ${joined}` } })
    for (const path of ['', `/conversations/${id}`, '/operations/opn_a']) {
      const answer = await agents.get(path)
      expect([path, answer.status]).toEqual([path, 403])
      expect(await answer.text()).toContain('This page is for a person')
    }
    const { token, once } = (await atDesk(world, 'rita').look()).view
    expect((await agents.post(`/conversations/${id}/take`, { token, once })).status).toBe(403)
    expect(await standing(world, id)).toEqual([null, 'queued', 0])
  })

  it('keeps to itself: no store, no frame, nothing from elsewhere, no script of anybody’s, and no referrer', async () => {
    const { rita, id } = await openInbox()
    for (const [path, accept] of [
      ['', 'text/html'],
      [`/conversations/${id}`, 'text/html'],
      ['', 'application/json'],
      ['/operations/opn_a', 'text/html'],
    ] as const) {
      const { headers } = await rita.get(path, { accept })
      const policy = headers.get('content-security-policy')
      for (const part of [
        "default-src 'none'",
        "script-src 'self'",
        "form-action 'self'",
        "frame-ancestors 'none'",
        "base-uri 'none'",
      ])
        expect(policy).toContain(part)
      expect(policy).not.toMatch(/unsafe|\*|https?:|nonce|sha256/)
      expect(Object.fromEntries(headers)).toMatchObject({
        'cache-control': 'no-store',
        'x-content-type-options': 'nosniff',
        'x-frame-options': 'DENY',
        'referrer-policy': 'same-origin',
        'cross-origin-opener-policy': 'same-origin',
        'cross-origin-resource-policy': 'same-origin',
      })
      expect(headers.get('access-control-allow-origin')).toBeNull()
    }
    const { text } = await rita.page()
    const [script = ''] = /\/poppy\/inbox\/assets\/inbox-[0-9a-f]{12}\.js/.exec(text) ?? []
    const [styles = ''] = /\/poppy\/inbox\/assets\/inbox-[0-9a-f]{12}\.css/.exec(text) ?? []
    for (const [path, type] of [
      [script, 'text/javascript; charset=utf-8'],
      [styles, 'text/css; charset=utf-8'],
    ] as const) {
      const asset = await rita.get(path.slice('/poppy/inbox'.length))
      expect([asset.status, asset.headers.get('content-type')]).toEqual([200, type])
      expect(asset.headers.get('cache-control')).toContain('immutable')
    }
    const whole = await (await rita.get(script.slice('/poppy/inbox'.length))).text()
    for (const [accepted, encoding] of [
      ['gzip, deflate, br, zstd', 'br'],
      ['gzip', 'gzip'],
      ['br;q=0, gzip;q=0.5', 'gzip'],
      ['identity', null],
      ['brr, x-gzip;q=1', null],
    ] as const) {
      const asset = await rita.get(script.slice('/poppy/inbox'.length), { 'accept-encoding': accepted })
      expect([accepted, asset.headers.get('content-encoding')]).toEqual([accepted, encoding])
      const bytes = Buffer.from(await asset.arrayBuffer())
      const opened = encoding === null ? bytes : encoding === 'br' ? brotliDecompressSync(bytes) : gunzipSync(bytes)
      expect(opened.toString() === whole).toBe(true)
    }
    expect(text.match(/<script/g)).toHaveLength(3)
    expect(text).not.toMatch(/<style|style=|\son[a-z]+=/)
  })

  it('counts strangers’ forms by address, and nobody’s pages', async () => {
    const { world, id } = await openInbox({
      limits: { consentPerAddress: { requests: 3, seconds: 60 } },
      address: () => '203.0.113.7',
    })
    const nobody = atDesk(world, 'nobody')
    const statuses: number[] = []
    for (let n = 0; n < 5; n++) statuses.push((await nobody.post(`/conversations/${id}/take`, {})).status)
    expect(statuses.slice(-2)).toEqual([429, 429])
    const rita = atDesk(world, 'rita')
    for (let n = 0; n < 8; n++) expect((await rita.get()).status).toBe(200)
    expect((await rita.on(id, 'take')).status).toBe(200)
  })
})
