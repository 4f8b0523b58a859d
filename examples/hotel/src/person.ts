/** A person at a browser, played with plain requests: keeps cookies, follows redirects, fills in the pages' own forms. */
export interface Page {
  readonly url: string
  readonly status: number
  readonly html: string
}

export interface Person {
  readonly open: (url: string) => Promise<Page>
  /**
   * Submits the page's form that has all the named fields, with its hidden fields as they stand.
   * @param fields what the person fills in; a list stands for the ticked boxes of that name
   */
  readonly submit: (page: Page, fields: Readonly<Record<string, string | readonly string[]>>) => Promise<Page>
}

const maxRedirects = 10

/** @param fetch for every request; the global one when left out */
export function createPerson(fetch: (request: Request) => Promise<Response> = globalThis.fetch): Person {
  const jars = new Map<string, Map<string, string>>()

  async function go(url: string, init: RequestInit): Promise<Page> {
    let [at, how] = [url, init]
    for (let hop = 0; hop <= maxRedirects; hop++) {
      const { origin, host } = new URL(at)
      const jar = jars.get(host) ?? new Map<string, string>()
      jars.set(host, jar)
      const headers = new Headers(how.headers)
      if (jar.size > 0) headers.set('cookie', [...jar].map(([name, value]) => `${name}=${value}`).join('; '))
      if (how.method === 'POST') headers.set('origin', origin)
      const response = await fetch(new Request(at, { ...how, headers, redirect: 'manual' }))
      keepCookies(jar, response)
      const location = response.headers.get('location')
      if (location === null || response.status < 300 || response.status > 399) {
        return { url: at, status: response.status, html: await response.text() }
      }
      await response.body?.cancel()
      at = new URL(location, at).href
      how = {}
    }
    throw new Error('The site redirects in circles.')
  }

  return {
    open: (url) => go(url, {}),
    submit(page, fields) {
      const form = findForm(page.html, Object.keys(fields))
      const body = new URLSearchParams(form.hidden)
      for (const [name, value] of Object.entries(fields)) {
        for (const one of typeof value === 'string' ? [value] : value) body.append(name, one)
      }
      return go(new URL(form.action, page.url).href, { method: 'POST', body })
    },
  }
}

function keepCookies(jar: Map<string, string>, response: Response): void {
  for (const line of response.headers.getSetCookie()) {
    const pair = line.split(';', 1)[0] ?? ''
    const at = pair.indexOf('=')
    if (/;\s*max-age=0(;|$)/i.test(line)) jar.delete(pair.slice(0, at).trim())
    else jar.set(pair.slice(0, at).trim(), pair.slice(at + 1).trim())
  }
}

interface Form {
  readonly action: string
  readonly hidden: readonly [string, string][]
}

function findForm(html: string, names: readonly string[]): Form {
  for (const [, head = '', body = ''] of html.matchAll(/<form\b([^>]*)>([\s\S]*?)<\/form>/g)) {
    const controls = [...body.matchAll(/<(?:input|button|textarea|select)\b([^>]*)>/g)].map(([, tag = '']) =>
      attributes(tag),
    )
    if (!names.every((name) => controls.some((control) => control.name === name))) continue
    const hidden = controls.flatMap(({ type, name, value }): [string, string][] =>
      type === 'hidden' && name ? [[name, value ?? '']] : [],
    )
    return { action: attributes(head).action ?? '', hidden }
  }
  throw new Error(`The page has no form with ${names.join(', ')}.`)
}

function attributes(tag: string): Readonly<Record<string, string>> {
  return Object.fromEntries(
    [...tag.matchAll(/([\w-]+)="([^"]*)"/g)].map(([, name = '', value = '']) => [name, decode(value)]),
  )
}

function decode(text: string): string {
  const named: Readonly<Record<string, string>> = { amp: '&', lt: '<', gt: '>', quot: '"' }
  return text.replace(/&(?:#(\d+)|(\w+));/g, (whole, code?: string, name?: string) =>
    code === undefined ? (named[name ?? ''] ?? whole) : String.fromCodePoint(Number(code)),
  )
}
