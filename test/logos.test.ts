import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import fc from 'fast-check'
import type { CompanyConfig } from 'poppyseed'
import { describe, expect, it, onTestFinished } from 'vitest'
import { createGuardedFetch } from '../packages/company/src/net/guarded-fetch.ts'
import { type AgentHost, openAgentHost } from './setup/agent-host.ts'
import { authorizationQuery, openPage } from './setup/consent.ts'
import { evilSvg, gif, png } from './setup/pictures.ts'
import { openSite } from './setup/site.ts'
import { makeWorld, type World } from './setup/world.ts'

const minute = 60_000

/** A Company and an agent's host, both on real ports, and a person who is signed in. */
async function open(config: Partial<CompanyConfig> = {}) {
  const clock = { now: Date.parse('2026-11-30T12:00:00Z') }
  const now = () => clock.now
  const blocked = new Set<string>()
  const site = await openSite({
    now,
    account: () => ({ id: 'acc-maya', name: 'maya@example.com' }),
    ...config,
    agents: { block: (clientId) => blocked.has(clientId), ...config.agents },
  })
  const host = await openAgentHost({ company: site.origin, now })
  const openConsent = (prefix = '') =>
    fetch(`${site.origin}${prefix}/poppy/authorize?${authorizationQuery(host.agent)}`)
  /** Opens the page, and gives the address of the picture on it. */
  const logoOn = async () => /<img[^>]* src="([^"]+)"/.exec(await (await openConsent()).text())?.[1]
  const get = (path: string | undefined) => fetch(new URL(path ?? 'none', site.origin))
  return { clock, site, host, blocked, openConsent, logoOn, get }
}

/** Publishes a logo on the agent's own host, and what answers there. */
function showLogo(host: AgentHost, body: string | Uint8Array, headers: Record<string, string> = {}, status = 200) {
  host.publish({ logo_uri: `${host.origin}/logo` })
  host.answers.set('/logo', (_request, response) => {
    response.writeHead(status, { 'content-type': 'image/png', ...headers }).end(body)
  })
}

/** Whether an answer is the one for every logo that isn't to be had: a clear pixel, for browsers to draw. */
async function nothingIn(answer: Response): Promise<boolean> {
  expect([answer.status, answer.headers.get('cache-control')]).toEqual([404, 'no-store'])
  expect(answer.headers.get('content-type')).toBe('image/png')
  expect(answer.headers.get('x-content-type-options')).toBe('nosniff')
  return (await answer.arrayBuffer()).byteLength === 68
}

describe('an agent’s logo', () => {
  it('is on the consent page, from our own origin, and the page doesn’t wait for it [4.5.shows-logo]', async () => {
    const { host, openConsent, logoOn, get } = await open()
    const logo = png(64, 64)
    showLogo(host, logo)
    const page = await openConsent()
    expect(page.headers.get('content-security-policy')).toMatch(/^default-src 'none'; .*img-src 'self'; /)
    const html = await page.text()
    expect(html).toMatch(/<img class="logo" src="\/poppy\/agents\/logo\/[\w.-]+" width="48" height="48" alt=""/)
    expect(html).not.toContain('/logo"')
    expect(host.count('/logo')).toBe(0)
    const path = await logoOn()
    const picture = await get(path)
    expect(picture.status).toBe(200)
    expect(Buffer.from(await picture.arrayBuffer()).equals(logo)).toBe(true)
    expect(Object.fromEntries(picture.headers)).toMatchObject({
      'content-type': 'image/png',
      'x-content-type-options': 'nosniff',
      'content-security-policy': "default-src 'none'; sandbox",
      'cross-origin-resource-policy': 'same-origin',
      'content-disposition': 'attachment; filename="logo"',
      'cache-control': 'private, max-age=3600',
    })
    expect(picture.headers.has('access-control-allow-origin')).toBe(false)
    // Fetched once for everybody, and at an address that a browser can keep it under.
    await Promise.all(Array.from({ length: 50 }, () => get(path)))
    expect(await logoOn()).toBe(path)
    expect(host.count('/logo')).toBe(1)
  })

  it('is below the path prefix, where there is one', async () => {
    const { host, openConsent, get } = await open({ basePath: '/svc2' })
    showLogo(host, png(8, 8))
    const path = /<img class="logo" src="([^"]+)"/.exec(await (await openConsent('/svc2')).text())?.[1]
    expect(path).toMatch(/^\/svc2\/poppy\/agents\/logo\//)
    expect((await get(path)).status).toBe(200)
  })

  it('is on the page for a code from another device too [4.5.shows-logo]', async () => {
    const { host, site, get } = await open({ signIn: { device: ['poppy:read'] }, tools: [] })
    showLogo(host, png(8, 8))
    const { agent } = host
    const begun = await agent.post(
      `${site.origin}/poppy/device-authorization`,
      { scope: 'poppy:read' },
      { proof: null },
    )
    const { verification_uri_complete } = (await begun.json()) as { verification_uri_complete: string }
    const page = await fetch(verification_uri_complete)
    expect(page.headers.get('content-security-policy')).toContain("img-src 'self'")
    const path = /<img class="logo" src="([^"]+)"/.exec(await page.text())?.[1]
    expect((await get(path)).status).toBe(200)
  })

  it('says what it is by its bytes, whatever its host calls it', async () => {
    const { host, logoOn, get } = await open()
    showLogo(host, gif(), { 'content-type': 'text/html' })
    expect((await get(await logoOn())).headers.get('content-type')).toBe('image/gif')
  })

  it('may be on another host than the agent, as from a network that delivers pictures', async () => {
    const { host, site, logoOn, get } = await open()
    const other = await openAgentHost({ company: site.origin, now: () => 0 })
    showLogo(other, png(8, 8))
    host.publish({ logo_uri: `${other.origin}/logo` })
    expect((await get(await logoOn())).status).toBe(200)
  })

  it('that changes has another address; the old one gives what the agent has now', async () => {
    const { host, clock, logoOn, get } = await open()
    showLogo(host, png(8, 8))
    const before = await logoOn()
    host.answers.set('/new', (_request, response) => void response.end(gif()))
    host.publish({ logo_uri: `${host.origin}/new` })
    clock.now += 5 * minute
    const after = await logoOn()
    expect(after).not.toBe(before)
    for (const path of [before, after]) expect((await get(path)).headers.get('content-type')).toBe('image/gif')
  })

  it('stays while its host is away, as long as the agent is known; one that was never had is asked for again after a minute', async () => {
    const { host, clock, logoOn, get } = await open()
    showLogo(host, png(8, 8))
    const path = await logoOn()
    host.answers.set('/logo', (_request, response) => void response.writeHead(500).end())
    expect((await get(path)).status).toBe(404)
    expect((await get(path)).status).toBe(404)
    expect(host.count('/logo')).toBe(1)
    clock.now += minute
    showLogo(host, png(8, 8))
    expect((await get(path)).status).toBe(200)
    await host.goAway()
    clock.now += 61 * minute
    expect((await get(path)).status).toBe(200)
    clock.now += 5 * minute
    expect((await get(path)).status).toBe(404)
  })
})

describe('the address of a logo', () => {
  it('can’t be made by anybody else: nothing is fetched for one that was made up [K34]', async () => {
    const { host, site, logoOn, get } = await open()
    showLogo(host, png(8, 8))
    const path = (await logoOn()) ?? ''
    const [id = '', tag = '', mark = ''] = path.slice('/poppy/agents/logo/'.length).split('.')
    const other = await openAgentHost({ company: site.origin, now: () => 0 })
    showLogo(other, png(8, 8))
    const encode = (text: string) => Buffer.from(text).toString('base64url')
    for (const part of [
      `${encode(other.agent.clientId)}.${tag}.${mark}`,
      `${id}.AAAAAAAA.${mark}`,
      `${id}.${tag}.${'A'.repeat(43)}`,
      `${id}.${tag}.${mark.slice(0, 42)}`,
      `${id}.${tag}.${mark}A`,
      `${id}.${tag}`,
      encode(`${other.origin}/logo`),
      encodeURIComponent(`${other.origin}/logo`),
      `${id}%00.${tag}.${mark}`,
      `${'A'.repeat(5000)}.${tag}.${mark}`,
      '__proto__',
    ]) {
      const answer = await get(`/poppy/agents/logo/${part}`)
      expect(await nothingIn(answer)).toBe(true)
    }
    expect((await get(`/poppy/agents/logo/${id}.${tag}.${mark}/x`)).status).toBe(404)
    expect((await get(`/poppy/agents/logo/`)).status).toBe(404)
    expect([other.asked, host.count('/logo')]).toEqual([[], 0])
    expect((await get(path)).status).toBe(200)
  })

  // LONG=1 writes two hundred times as many, which takes half a minute alone.
  it('leads nowhere, whatever is written there', { timeout: process.env.LONG ? 600_000 : 60_000 }, async () => {
    const world = await makeWorld({ agents: { logos: () => expect.fail('fetched') } })
    const parts = fc.oneof(
      fc.string({ unit: 'binary' }),
      fc.webUrl(),
      fc.stringMatching(/^[\w-]{1,90}\.[\w-]{8}\.[\w-]{43}$/),
      fc.constantFrom('..', '%2e%2e', '%', '%00', '.'.repeat(3), 'a.b.c'),
    )
    await fc.assert(
      fc.asyncProperty(parts, async (part) => {
        for (const written of [part, encodeURIComponent(part.toWellFormed())]) {
          const url = URL.parse(`${world.origin}/poppy/agents/logo/${written}`)
          if (url?.pathname.startsWith('/poppy/agents/logo/'))
            expect((await world.send(new Request(url))).status).toBe(404)
        }
      }),
      { numRuns: process.env.LONG ? 100_000 : 500 },
    )
    expect(world.log.filter((line) => line.startsWith('error'))).toEqual([])
  })

  it('ends after a day or two, and at once for an agent that is blocked', async () => {
    const { host, clock, blocked, logoOn, get } = await open()
    showLogo(host, png(8, 8))
    const path = await logoOn()
    clock.now += 24 * 60 * minute
    expect((await get(path)).status).toBe(200)
    blocked.add(host.agent.clientId)
    expect((await get(path)).status).toBe(404)
    blocked.clear()
    clock.now += 24 * 60 * minute
    expect((await get(path)).status).toBe(404)
    expect((await get(await logoOn())).status).toBe(200)
  })

  it('is good at each instance, and by each secret that is still in the list', async () => {
    const { host, site, logoOn } = await open()
    showLogo(host, png(8, 8))
    const path = (await logoOn()) ?? ''
    const old = 'test-secret-of-more-than-thirty-two-characters-9x7'
    const other = await open({ secret: ['another-secret-of-more-than-thirty-two-chars-5k2', old] })
    expect((await other.get(path)).status).toBe(200)
    const stranger = await open({ secret: 'another-secret-of-more-than-thirty-two-chars-5k2' })
    expect((await stranger.get(path)).status).toBe(404)
    expect(site.log.join()).not.toContain(path)
  })

  it('takes GET and HEAD alone, and is never cross-origin', async () => {
    const { host, site, logoOn } = await open()
    showLogo(host, png(8, 8))
    const path = (await logoOn()) ?? ''
    const head = await fetch(site.origin + path, { method: 'HEAD' })
    expect([head.status, head.headers.get('content-type')]).toEqual([200, 'image/png'])
    for (const method of ['POST', 'OPTIONS']) {
      const answer = await fetch(site.origin + path, { method })
      expect([answer.status, answer.headers.get('access-control-allow-origin')]).toEqual([405, null])
    }
  })
})

describe('a logo that is none', () => {
  it.each([
    'javascript:alert(1)',
    'data:image/png;base64,iVBORw0KGgo=',
    'http://agent.example/logo.png',
    'ftp://agent.example/logo.png',
    '//agent.example/logo.png',
    'https://user@agent.example/logo.png',
    'https://agent.example/logo.png#x',
    ' https://agent.example/logo.png',
    'https://agent.example\\@10.0.0.1/logo.png',
    '',
    7,
    null,
    ['https://agent.example/logo.png'],
    `https://agent.example/${'x'.repeat(3000)}`,
  ])('as at %j isn’t on the page at all, which is as good without [K34]', async (logo_uri) => {
    const { host, openConsent } = await open()
    host.publish({ logo_uri })
    const page = await openConsent()
    expect(page.status).toBe(200)
    expect(page.headers.get('content-security-policy')).not.toContain('img-src')
    const html = await page.text()
    expect(html).not.toContain('<img')
    expect(html).toContain('Example Agent asks for access')
  })

  it.each([
    'https://10.0.0.1/logo.png',
    'https://169.254.169.254/latest/meta-data',
    'https://167772161/logo.png',
    'https://0x0a000001/logo.png',
    'https://[::ffff:10.0.0.1]/logo.png',
    'https://[fd00::1]/logo.png',
    'https://100.64.0.1/logo.png',
    'https://8.8.8.8/logo.png',
  ])('as at the private or odd address %s is never dialled [K34, K17]', async (logo_uri) => {
    const { host, site, logoOn, get } = await open()
    host.publish({ logo_uri })
    const path = await logoOn()
    // Some are no address at all; for the others the page has a place that stays empty.
    if (path !== undefined) expect((await get(path)).status).toBe(404)
    expect(site.log.filter((line) => line.includes('was not had') && !line.includes('literal_address'))).toEqual([])
  })

  it('as behind a name that leads inside, or to both sides, is never dialled [K34, K16]', async () => {
    const inner = createServer((_request, response) => void response.end(png(8, 8)))
    inner.listen(0, '127.0.0.1')
    await once(inner, 'listening')
    onTestFinished(() => void inner.close())
    let dialled = 0
    inner.on('connection', () => {
      dialled += 1
    })
    const { port } = inner.address() as AddressInfo
    for (const addresses of [['127.0.0.1'], ['93.184.216.34', '127.0.0.1'], ['169.254.169.254'], ['::1']]) {
      const guardedFetch = createGuardedFetch({ lookup: async () => addresses })
      const world = await makeWorld({
        agents: {
          logos: async (url, { maxBytes }) => (await guardedFetch(url, { accept: 'image/png', maxBytes })).body,
        },
      })
      expect(await pictureOf(world, `https://inner.example:${port}/logo.png`)).toBe(404)
    }
    expect(dialled).toBe(0)
  })

  it('as behind a redirect inward isn’t followed [K34, K16]', async () => {
    const { host, site, logoOn, get } = await open()
    const inner = await openAgentHost({ company: site.origin, now: () => 0 })
    showLogo(inner, png(8, 8))
    for (const status of [301, 302, 303, 307, 308]) {
      showLogo(host, '', { location: `${inner.origin}/logo` }, status)
      expect((await get(await logoOn())).status).toBe(404)
    }
    expect(inner.asked).toEqual([])
  })

  it.each([
    ['HTML that says it is a picture', '<!doctype html><script>alert(1)</script>'],
    ['an SVG with a script', evilSvg],
    ['a picture that claims four gigapixels', png(1, 1, { claims: [65_535, 65_535] })],
    ['a picture that moves', gif({ frames: 2 })],
    ['nothing', ''],
    ['ten megabytes', Buffer.concat([png(8, 8), Buffer.alloc(10_000_000)])],
    ['a little more than it may be', Buffer.concat([png(8, 8), Buffer.alloc(131_072)])],
  ])('as %s is not served, and asked for once a minute [K34]', async (_, body) => {
    const { host, logoOn, get } = await open()
    showLogo(host, body)
    const path = await logoOn()
    for (let times = 0; times < 3; times++) {
      expect(await nothingIn(await get(path))).toBe(true)
    }
    expect(host.count('/logo')).toBe(1)
  })

  it('as one whose body never ends, or never begins, keeps nobody waiting for the page [K34]', async () => {
    for (const kind of ['never ends', 'never begins', 'is packed']) {
      const guardedFetch = createGuardedFetch({ allowLoopback: true, timeout: 1000 })
      const { host, openConsent, logoOn, get } = await open({
        agents: {
          logos: async (url, { maxBytes }) => (await guardedFetch(url, { accept: 'image/png', maxBytes })).body,
        },
      })
      host.publish({ logo_uri: `${host.origin}/logo` })
      host.answers.set('/logo', (_request, response) => {
        if (kind === 'is packed') return void response.writeHead(200, { 'content-encoding': 'gzip' }).end(png(8, 8))
        if (kind === 'never begins') return
        response.writeHead(200)
        const drip = setInterval(() => response.write(' '), 5)
        response.on('close', () => clearInterval(drip))
      })
      const waiting = get(await logoOn())
      expect((await openConsent()).status).toBe(200)
      expect((await waiting).status).toBe(404)
    }
  })
})

/** Asks for the logo of a world's agent, and tells the status. */
async function pictureOf(world: World, logo_uri: string): Promise<number | null> {
  const { agent } = world
  agent.documents[agent.clientId] = { ...(agent.documents[agent.clientId] as object), logo_uri }
  const html = await (await openPage(world, authorizationQuery(agent))).text()
  const path = /<img[^>]* src="([^"]+)"/.exec(html)?.[1]
  return path === undefined ? null : (await world.send(new Request(world.origin + path))).status
}

describe('a company’s own say about logos', () => {
  const uri = 'https://cdn.example/logo.png'
  it('is false for none, and none by itself where documents are fetched its own way', async () => {
    expect(await pictureOf(await makeWorld(), uri)).toBeNull()
    expect(await pictureOf(await makeWorld({ agents: { logos: true } }), uri)).toBeNull()
    const { host, openConsent } = await open({ agents: { logos: false } })
    showLogo(host, png(8, 8))
    expect(await (await openConsent()).text()).not.toContain('<img')
  })

  it('may be a function, whose bytes are looked at like any other’s', async () => {
    const asked: string[] = []
    const answer = (bytes: unknown) =>
      makeWorld({
        agents: {
          logos: async (url, { signal, maxBytes }) => {
            asked.push(`${url} ${signal.aborted} ${maxBytes}`)
            return bytes as Uint8Array
          },
        },
      })
    expect(await pictureOf(await answer(png(8, 8)), uri)).toBe(200)
    expect(asked).toEqual([`${uri} false 131072`])
    for (const bytes of [evilSvg, Buffer.from(evilSvg), undefined, Buffer.alloc(131_073)])
      expect(await pictureOf(await answer(bytes), uri)).toBe(404)
    const failing = await makeWorld({ agents: { logos: () => Promise.reject(new Error('proxy password hunter2')) } })
    expect(await pictureOf(failing, uri)).toBe(404)
    expect(failing.log.join()).not.toContain('hunter2')
  })
})
