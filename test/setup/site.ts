import { randomBytes } from 'node:crypto'
import { type Company, type CompanyConfig, createCompany } from 'poppyseed'
import { sqlite } from 'poppyseed/sqlite'
import { onTestFinished } from 'vitest'
import { type Handler, type ListenOptions, listen } from './listen.ts'
import { secret, testTools } from './world.ts'

/** A Company behind a real listener, with the smallest site around it: a sign-in page with a form, and a cookie. */

export interface Site {
  readonly origin: string
  readonly port: number
  readonly company: Company
  /** Breaks off every connection; the Company itself stays. */
  readonly closeListener: () => Promise<void>
  /** Every line of the log, at its most talkative, fields included. */
  readonly log: string[]
}

/** Guests of the site and their passwords. */
export const guests = {
  maya: { user: 'maya', password: 'sea-view-42' },
  jonas: { user: 'jonas', password: 'harbour-7' },
}

/** What takes every level, as one line with its fields. */
export function talkativeLog(lines: string[]): NonNullable<CompanyConfig['log']> {
  const write = (level: string) => (fields: object, message: string) =>
    void lines.push(`${level} ${message} ${JSON.stringify(fields)}`)
  return { debug: write('debug'), info: write('info'), warn: write('warn'), error: write('error') }
}

/** Opens the site; listener and Company are closed when the test is over. */
export async function openSite(config: Partial<CompanyConfig> = {}, options: ListenOptions = {}): Promise<Site> {
  const log: string[] = []
  const pages = makeSitePages(config.basePath)
  let company: Company | undefined
  const { origin, port, close } = await listen((origin) => {
    company = createSiteCompany({ origin, pages, log }, config)
    return siteHandler(company, pages)
  }, options)
  if (!company) throw new Error('no Company')
  const made = company
  await made.start()
  onTestFinished(() => made.close())
  return { origin, port, company: made, closeListener: close, log }
}

/** The Company of such a site; several may share pages, origin and store. */
export function createSiteCompany(
  { origin, pages, log }: { readonly origin: string; readonly pages: SitePages; readonly log: string[] },
  config: Partial<CompanyConfig> = {},
): Company {
  const isLocal = origin.startsWith('http:')
  return createCompany({
    organization: { name: 'Hotel Miramar', domain: new URL(origin).hostname },
    origin,
    secret,
    store: sqlite(':memory:'),
    account: pages.account,
    signInPage: (returnTo) => `${config.basePath ?? ''}/login?next=${encodeURIComponent(returnTo)}`,
    scopes: { 'poppy:read': 'See your bookings', 'poppy:write': 'Change your bookings', loyalty: 'See your points' },
    signIn: { direct: ['poppy:read', 'poppy:write', 'loyalty'] },
    tools: testTools(),
    log: talkativeLog(log),
    ...(isLocal ? { development: true } : {}),
    ...config,
  })
}

/** The Company's own paths, and the pages everywhere else. */
export function siteHandler(company: Company, pages: SitePages): Handler {
  return (request) => (company.owns(request) ? company.fetch(request) : pages.fetch(request))
}

export interface SitePages {
  readonly account: NonNullable<CompanyConfig['account']>
  readonly fetch: Handler
}

/** @param basePath the public path prefix; a proxy may have taken it away */
export function makeSitePages(basePath = ''): SitePages {
  const signedIn = new Map<string, string>()
  return {
    account(request) {
      const id = /(?:^|; )site=([^;]+)/.exec(request.headers.get('cookie') ?? '')?.[1]
      const user = id === undefined ? undefined : signedIn.get(id)
      return user === undefined ? null : { id: `acc-${user}`, name: `${user}@example.com` }
    },
    async fetch(request) {
      const url = new URL(request.url)
      if (url.pathname !== '/login' && url.pathname !== `${basePath}/login`)
        return new Response('There is no such page.', { status: 404 })
      const next = url.searchParams.get('next') ?? '/'
      if (request.method === 'GET') return loginPage(`${basePath}/login${url.search}`)
      const form = new URLSearchParams(await request.text())
      const guest = Object.values(guests).find(({ user }) => user === form.get('user'))
      if (!guest || guest.password !== form.get('password')) return new Response('Wrong password.', { status: 403 })
      const id = randomBytes(16).toString('base64url')
      signedIn.set(id, guest.user)
      return new Response(null, {
        status: 303,
        headers: { location: next, 'set-cookie': `site=${id}; HttpOnly; Path=/; SameSite=Lax` },
      })
    },
  }
}

function loginPage(action: string): Response {
  const html = `<!doctype html><title>Sign in</title><form method="post" action="${action.replaceAll('&', '&amp;')}">
    <input name="user"><input name="password" type="password"><button>Sign in</button></form>`
  return new Response(html, { headers: { 'content-type': 'text/html; charset=utf-8' } })
}
