import { checkBrowserAssertion, importPublicKey, type PublicKey, readJwt } from '@poppyseed/protocol'
import { describe, expect, it, onTestFinished } from 'vitest'
import { errorOf, keySetOf, startVisit } from '../../test/visit.ts'
import { readReturnTo } from './return-to.ts'

const endpoint = 'http://localhost:4000/poppy/browser-session'

async function start() {
  const visit = await startVisit()
  visit.fake.switches.poppy = (document) => ({ ...document, web: { browser_session_endpoint: endpoint } })
  const session = await visit.session()
  const join = async (returnTo?: string) => {
    const page = await session.joinBrowser(returnTo === undefined ? {} : { returnTo })
    onTestFinished(page.close)
    return page
  }
  return { ...visit, here: session, join }
}

const assertionIn = (html: string) => /name="assertion" value="([^"]+)"/.exec(html)?.[1] ?? ''

describe('the page for an agent’s browser', () => {
  it('posts an assertion of a minute in the body, signed with a published key, to the endpoint alone [5.typ-agent, 5.exp-60-agent, 5.body-only-agent]', async () => {
    const { agent, clock, here, join, fake } = await start()
    const page = await join('http://localhost:4000/bookings?a=1')
    expect(page.expiresAt).toBe(clock.now + 30_000)
    clock.now += 20_000
    const answer = await fetch(page.url)
    const html = await answer.text()
    expect(await page.opened).toBe(true)
    expect(answer.headers.get('cache-control')).toBe('no-store')
    expect(answer.headers.get('referrer-policy')).toBe('no-referrer')
    expect(answer.headers.get('content-security-policy')).toMatch(
      /^default-src 'none'; style-src 'sha256-[\w+/]{43}='; script-src 'nonce-[\w-]{22}'; frame-ancestors 'none'; base-uri 'none'$/,
    )
    expect(answer.headers.get('x-frame-options')).toBe('DENY')
    expect(html.match(/<script/g)).toHaveLength(1)
    expect(html).not.toMatch(/ on\w+=| src=| href=/)
    expect(html).toContain('If this is your own browser, close this window.')
    expect(html).toContain(`<form method="post" action="${endpoint}"`)
    const assertion = assertionIn(html)
    // Once on the page, as the value of a field, and nowhere in an address.
    expect(html.split(assertion)).toHaveLength(2)
    const checked = await checkBrowserAssertion(assertion, {
      endpoint,
      now: clock.now / 1000,
      skew: 0,
      findClient: async () => ({
        findKeys: async () => {
          const { keys } = await keySetOf(agent)()
          const found = await Promise.all(keys.map((key) => importPublicKey(key, 'ES256')))
          return found.filter((key): key is PublicKey => key !== null)
        },
      }),
    })
    expect(checked).toMatchObject({
      clientId: agent.clientId,
      sessionId: (await here.state()).sessionId,
      returnTo: 'http://localhost:4000/bookings?a=1',
      userId: [...fake.sessions.values()][0]?.userId,
    })
    // As young as the page: it is made when it is asked for.
    const jwt = readJwt(assertion)
    const { iat, exp } = typeof jwt === 'string' ? {} : jwt.payload
    expect([iat, exp]).toEqual([clock.now / 1000, clock.now / 1000 + 60])
  })

  it('shows a Company’s name as text, whatever it is made of', async () => {
    const { fake, user, clock } = await startVisit()
    const name = `<script>alert(1)</script>"><form action=//evil> \u202e${'x'.repeat(440)}`
    fake.switches.poppy = (document) => ({
      ...document,
      organization: { name, domain: 'localhost' },
      web: { browser_session_endpoint: endpoint },
    })
    clock.now += 3600_000
    const page = await (await user.company(fake.origin)).session().joinBrowser()
    onTestFinished(page.close)
    const html = await (await fetch(page.url)).text()
    expect([html.match(/<script/g)?.length, html.match(/<form/g)?.length]).toEqual([1, 1])
    expect(html).not.toContain('\u202e')
    expect(html.length).toBeLessThan(10_000)
  })

  it('is given out once, to a browser that navigates to it by its address, and in its time', async () => {
    const { clock, join } = await start()
    const page = await join()
    const { port } = new URL(page.url)
    for (const [url, init] of [
      [`http://127.0.0.1:${port}/`, {}],
      [`${page.url}x`, {}],
      [`http://localhost:${port}${new URL(page.url).pathname}`, {}],
      [page.url, { method: 'HEAD' }],
      [page.url, { method: 'POST' }],
      [page.url, { headers: { 'sec-fetch-dest': 'iframe' } }],
    ] as const)
      expect((await fetch(url, init)).status).toBe(404)
    const answers = await Promise.allSettled([fetch(page.url), fetch(page.url), fetch(page.url)])
    const statuses = answers.map((one) => (one.status === 'fulfilled' ? one.value.status : 'refused'))
    expect(statuses.filter((one) => one === 200)).toHaveLength(1)
    await expect(fetch(page.url)).rejects.toThrow('fetch failed')

    const late = await join()
    clock.now += 30_000
    expect((await fetch(late.url)).status).toBe(404)
    late.close()
    expect(await late.opened).toBe(false)
  })

  it('is refused in clear words where the Company lists no endpoint, and nothing is sent [5.ordinary-visitor-agent]', async () => {
    const { fake, session } = await startVisit()
    const here = await session()
    fake.take()
    const error = await errorOf(here.joinBrowser())
    expect([error.code, error.action, error.message]).toEqual([
      'browser_unavailable',
      'give_up',
      "Fake Company has no way for an agent's browser to join a Session: browse its website as an ordinary visitor, signed out.",
    ])
    expect(fake.paths().filter((path) => path.startsWith('POST'))).toEqual([])
  })

  it('opens pages of the Company alone [5.return-to-agent]', async () => {
    const { join, fake } = await start()
    fake.take()
    for (const page of ['https://evil.example/', 'http://127.0.0.1:4000/', 'https://localhost.evil.example/', ''])
      expect((await errorOf(join(page))).code).toBe('foreign_origin')
    expect(fake.paths().filter((path) => path.startsWith('POST'))).toEqual([])
  })

  it('tells the Company’s addresses from others [5.return-to-agent]', () => {
    const read = (value: string) =>
      readReturnTo(value, 'example.com', 'https://auth.example.com:8443/poppy/browser-session', false)
    for (const good of [
      'https://example.com/orders',
      'https://shop.example.com/?a=1#b',
      'https://a.b.example.com/',
      'https://example.com:8443/',
    ])
      expect(read(good)).toBe(good)
    for (const bad of [
      'http://example.com/',
      'http://localhost/',
      'https://example.com.evil.test/',
      'https://evilexample.com/',
      'https://example.com@evil.test/',
      'https://@example.com/',
      'https://evil.test\\@example.com/',
      'https://evil.test\\.example.com/',
      'https:example.com/',
      'https:///example.com/',
      '//example.com/',
      '/orders',
      'javascript://example.com/%0aalert(1)',
      'https://example.com:444/',
      'https://..example.com/',
      'https://example.com/\n',
      ' https://example.com/',
      `https://example.com/${'a'.repeat(2048)}`,
    ])
      expect([bad, read(bad)]).toEqual([bad, null])
  })
})
