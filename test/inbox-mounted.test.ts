import { createCompany, operation, succeeded } from 'poppyseed'
import { sqlite } from 'poppyseed/sqlite'
import { describe, expect, it, onTestFinished } from 'vitest'
import { staffLogin } from './setup/inbox.ts'
import { listen } from './setup/listen.ts'
import { namedFetch, type Rewrite, tlsProxy } from './setup/names.ts'
import { secret } from './setup/world.ts'

// The staff inbox on a real listener, below a prefix that its proxy keeps or takes away: each address that it writes is the
// browser's.

const host = 'https://miramar.example'
const basePath = '/svc2'

const keeps: Rewrite = ({ path, headers }) => (path.startsWith(`${basePath}/`) ? { path, headers } : null)
const strips: Rewrite = ({ path, headers }) =>
  path.startsWith(`${basePath}/`) ? { path: path.slice(basePath.length), headers } : null

describe.each([
  ['keeps the prefix', keeps, {}],
  ['takes it away', strips, { proxy: { stripsBasePath: true } }],
] as const)('behind a proxy that %s', { timeout: 60_000 }, (_, rewrite, config) => {
  it('the inbox is where the browser thinks it is: pages, files, forms, and the way to the sign-in', async () => {
    const company = createCompany({
      organization: { name: 'Hotel Miramar', domain: 'miramar.example' },
      origin: host,
      basePath,
      secret,
      store: sqlite(':memory:'),
      log: { debug() {}, info() {}, warn() {}, error() {} },
      conversations: {},
      operations: [
        operation({
          name: 'book',
          description: 'Books.',
          propose: () => ({ summary: 'A room.' }),
          perform: () => succeeded(),
        }),
      ],
      ...staffLogin,
      ...config,
    })
    onTestFinished(() => company.close())
    const { port } = await listen(() => (request) => company.fetch(request), { origin: host })
    const fetch = namedFetch({ 'miramar.example': await tlsProxy('miramar.example', port, rewrite) })
    const ask = (path: string, init: { method?: string; headers?: Record<string, string>; body?: string } = {}) =>
      fetch(`${host}${path}`, {
        redirect: 'manual',
        ...init,
        headers: { cookie: 'desk=rita', 'sec-fetch-site': 'same-origin', ...init.headers },
      })
    const page = await ask('/svc2/poppy/inbox')
    const text = await page.text()
    expect(page.status).toBe(200)
    // An empty picture stands for the icon, so that no browser asks the site for one.
    for (const [, path = ''] of text.replace('href="data:,"', '').matchAll(/(?:src|href)="([^"#]+)"/g))
      expect(path).toMatch(/^\/svc2\/poppy\/inbox/)
    for (const [path = ''] of text.matchAll(/\/svc2\/poppy\/inbox\/assets\/[^"]+/g))
      expect([path, (await ask(path)).status]).toEqual([path, 200])
    const view = JSON.parse(/id="inbox-view">(.*?)<\/script>/s.exec(text)?.[1] ?? '{}') as Record<string, string>
    expect(view.path).toBe('/svc2/poppy/inbox')
    const sent = await ask('/svc2/poppy/inbox/take-next', {
      method: 'POST',
      headers: { origin: host, 'content-type': 'application/x-www-form-urlencoded' },
      body: new URLSearchParams({ token: view.token ?? '', once: view.once ?? '' }).toString(),
    })
    expect([sent.status, sent.headers.get('location')]).toEqual([303, `${host}/svc2/poppy/inbox?done=nobodyWaits`])
    const stranger = await ask('/svc2/poppy/inbox?list=open', { headers: { cookie: '' } })
    expect(stranger.headers.get('location')).toBe(
      `${host}/staff/login?next=${encodeURIComponent('/svc2/poppy/inbox?list=open')}`,
    )
  })
})
