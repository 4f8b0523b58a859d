import { once } from 'node:events'
import { connect } from 'node:net'
import type { CompanyConfig } from 'poppyseed'
import { createTestCompany } from 'poppyseed/testing'
import { describe, expect, it } from 'vitest'
import { en } from '../packages/company/src/words/en.ts'
import { authorizationQuery, decideOn, formOn, openForm, openPage } from './setup/consent.ts'
import { openSite } from './setup/site.ts'
import { makeWorld, type World } from './setup/world.ts'

// What a person reads is in their language, on every page that the library draws; what programs read is the same for all.

const german = { 'accept-language': 'de-AT,de;q=0.9,en;q=0.5' }
const scopes = {
  'poppy:read': { en: 'See your bookings', de: 'Ihre Buchungen sehen' },
  'poppy:write': { en: 'Change your bookings', de: 'Ihre Buchungen ändern' },
  loyalty: { en: 'See your points', de: 'Ihre Punkte sehen', fr: 'Voir vos points' },
}
const whole = {
  scopes,
  browser: true,
  signIn: { direct: ['poppy:read', 'poppy:write', 'loyalty'], device: ['poppy:read', 'poppy:write'] },
} satisfies Partial<CompanyConfig>

/** Whole pieces of the library's English, as they would stand on a page that somebody forgot. */
const english = [
  ...Object.values(en)
    .flatMap((text) => text.split(/\{\w+\}/))
    .filter((piece) => piece.trim().length > 6),
  ...Object.values(scopes).map((texts) => texts.en),
]

/** Text of a page that has to be German, and says so. */
async function inGerman(answer: Response): Promise<string> {
  const page = await answer.text()
  expect(page).toContain('<html lang="de">')
  expect(answer.headers.get('content-language')).toBe('de')
  expect(answer.headers.get('vary')).toBe('Accept-Language')
  expect(english.filter((piece) => page.includes(piece))).toEqual([])
  return page
}

const post = (world: World, path: string, fields: Record<string, string>, headers: Record<string, string> = {}) =>
  world.send(
    new Request(world.origin + path, {
      method: 'POST',
      body: new URLSearchParams(fields),
      headers: { origin: world.origin, ...german, ...headers },
    }),
  )
const get = (world: World, url: string, headers: Record<string, string> = german) =>
  world.send(new Request(new URL(url, world.origin), { headers }))

async function askForCode(
  world: World,
): Promise<{ readonly user_code: string; readonly verification_uri_complete: string }> {
  const url = `${world.origin}/poppy/device-authorization`
  const answer = await world.agent.post(url, { scope: 'poppy:read poppy:write' }, { proof: null })
  return (await answer.json()) as Awaited<ReturnType<typeof askForCode>>
}

describe('a person whose browser asks for German', () => {
  it('lets an agent in, or is told why not, in German [4.5.shows-agent, 4.5.shows-scopes]', async () => {
    const world = await makeWorld(whole)
    const query = authorizationQuery(world.agent)
    const page = await inGerman(await openPage(world, query, german))
    expect(page).toContain('Example Agent bittet um Zugriff auf Ihr Konto')
    expect(page).toContain('von <strong>agent.example</strong>')
    expect(page).toContain('<span lang="de">Ihre Buchungen sehen</span>')
    expect(page).toContain('Das gilt 90 Tage, falls Sie es nicht vorher unter <a ')

    const form = await openForm(world)
    const told = async (answer: Response | Promise<Response>) => {
      const response = await answer
      return `${response.status} ${/<h1>([^<]+)/.exec(await inGerman(response))?.[1]}`
    }
    const decide = (decision: Parameters<typeof decideOn>[2] & object, sealed = form) =>
      decideOn(world, sealed, { ...decision, headers: { ...german, ...decision.headers } })
    expect(await told(decide({ headers: { 'sec-fetch-site': 'cross-site' } }))).toBe(
      '403 Dieses Formular kam von woanders',
    )
    expect(await told(decide({ decision: 'perhaps' }))).toBe('400 Dieses Formular ist nicht vollständig')
    expect(await inGerman(await decide({ scopes: [] }))).toContain('Wählen Sie mindestens ein Recht aus')
    expect((await decide({})).status).toBe(303)
    expect(await told(decide({}))).toBe('400 Sie haben das schon beantwortet')

    const other = await openForm(world)
    world.site.account = { id: 'acc-jonas', name: 'jonas@example.com' }
    expect(await told(decide({}, other))).toBe('403 Sie sind nicht mehr wie zuvor angemeldet')
    world.clock.now += 31 * 60_000
    expect(await told(decide({}, other))).toBe('400 Diese Seite ist zu alt')

    expect(await told(openPage(world, 'client_id=https://nobody.example/agent.json', german))).toBe(
      '400 Dieser Anfrage ist nicht zu trauen',
    )
    expect(
      await told(world.send(new Request(`${world.origin}/poppy/authorize`, { method: 'PUT', headers: german }))),
    ).toBe('405 Diese Anfrage war nicht zu lesen')
  })

  it('brings a code in German, and is told in German what became of it [4.6.consent-page]', async () => {
    const world = await makeWorld(whole)
    expect(await inGerman(await get(world, '/poppy/device'))).toContain('Geben Sie den Code ein, den Ihr Agent anzeigt')
    expect(await inGerman(await get(world, '/poppy/device?user_code=BBBB-BBBB'))).toContain('kein Agent angezeigt')

    const codes = await askForCode(world)
    world.clock.now += 4 * 60_000
    const opened = await get(world, codes.verification_uri_complete)
    const page = await inGerman(opened.clone())
    expect(page).toContain(`Angefragt vor 4 Minuten, mit dem Code <strong class="usercode">${codes.user_code}</strong>`)
    const request = await formOn(opened)
    const fields = { request, decision: 'approve', scope: 'poppy:read' }
    expect(await inGerman(await post(world, '/poppy/device', fields, { origin: 'https://else.example' }))).toContain(
      'woanders',
    )
    expect(await inGerman(await post(world, '/poppy/device', fields))).toContain('Ihr Agent hat jetzt Zugriff')
    expect(await inGerman(await post(world, '/poppy/device', fields))).toContain('Dieser Code ist schon beantwortet')

    const late = await askForCode(world)
    const declined = await formOn(await get(world, late.verification_uri_complete))
    expect(await inGerman(await post(world, '/poppy/device', { request: declined, decision: 'decline' }))).toContain(
      'Abgelehnt',
    )
    const never = await askForCode(world)
    world.clock.now += 11 * 60_000
    expect(await inGerman(await get(world, never.verification_uri_complete))).toContain('Dieser Code ist abgelaufen')

    let guess = await get(world, '/poppy/device?user_code=BBBB-BBBB')
    for (let times = 0; times < 20 && guess.status !== 429; times++)
      guess = await get(world, '/poppy/device?user_code=BBBB-BBBB')
    expect(await inGerman(guess)).toMatch(/zu viele falsche Codes eingegeben. Warten Sie \d+ Minuten und/)
  })

  it('sees and ends what agents may do, in German and with days as they are written there', async () => {
    const world = await makeWorld(whole)
    const session = await world.start()
    await world.signIn(world.agent, session.session_id)
    world.clock.now += 3 * 86_400_000
    const opened = await get(world, '/poppy/agents')
    const page = await inGerman(opened.clone())
    expect(page).toContain('Verbunden am 30. November 2026, durch Ihre Zustimmung auf unserer Seite.')
    expect(page).toContain('aria-label="Entziehen: Ihre Buchungen ändern"')
    const request = await formOn(opened)
    const agent = { request, client_id: world.agent.clientId }
    const takenAway = await post(world, '/poppy/agents', { ...agent, act: 'take_away', scope: 'poppy:write' })
    expect(await inGerman(takenAway)).toContain('Erledigt. Der Agent kann das nicht mehr tun.')
    expect(await inGerman(await post(world, '/poppy/agents', { ...agent, act: 'disconnect' }))).toContain(
      'Kein Agent hat Zugriff',
    )
    expect(await inGerman(await post(world, '/poppy/agents', { act: 'disconnect' }))).toContain(
      'Gehen Sie zurück zu /poppy/agents',
    )
  })

  it('is told in German why an agent’s browser wasn’t let in, and where a limit was met [5.error-page]', async () => {
    const world = await makeWorld({ ...whole, limits: { consentPerAccount: { requests: 1, seconds: 600 } } })
    const refused = await post(world, '/poppy/browser-session', { assertion: 'nothing' })
    expect([refused.status, refused.headers.get('set-cookie')]).toEqual([400, null])
    expect(await inGerman(refused)).toContain('Dieser Browser wurde nicht angenommen')

    const decide = async () => decideOn(world, await openForm(world), { decision: 'decline', headers: german })
    let answer = await decide()
    for (let times = 0; times < 5 && answer.status !== 429; times++) answer = await decide()
    expect(answer.headers.get('retry-after')).toBe('600')
    expect(await inGerman(answer)).toContain('Warten Sie 10 Minuten, gehen Sie dann zurück')
  })

  it('is told in German that something failed on our side', async () => {
    const world = await makeWorld({
      ...whole,
      account() {
        throw new Error('the site is ill')
      },
    })
    const answer = await get(world, '/poppy/agents')
    expect(answer.status).toBe(500)
    expect(await inGerman(answer)).toContain('Bei uns ist etwas schiefgegangen')
  })
})

describe('a person whose browser asks for something else', () => {
  it('reads English, or what the company says', async () => {
    const languageOf = async (config: Partial<CompanyConfig>, header: string | null) => {
      const world = await makeWorld({ ...whole, ...config })
      const answer = await get(world, '/poppy/device', header === null ? {} : { 'accept-language': header })
      return answer.headers.get('content-language')
    }
    for (const header of [null, '', '*', 'fr, nl;q=0.5', 'de;q=0', '"', 'x'.repeat(9000)])
      expect(await languageOf({}, header)).toBe('en')
    expect(await languageOf({ language: 'de' }, null)).toBe('de')
    expect(await languageOf({ language: 'de' }, 'fr')).toBe('de')
    expect(await languageOf({ language: 'de' }, 'en-US,en;q=0.9')).toBe('en')
  })

  it('reads the company’s own words, and a language that only the company has', async () => {
    const dutch = Object.fromEntries(Object.entries(en).map(([word, text]) => [word, `NL ${text}`]))
    const world = await makeWorld({
      ...whole,
      words: { nl: dutch, he: dutch, en: { 'consent.approve': 'Allow' } },
    })
    const open = async (header: string) =>
      (await openPage(world, authorizationQuery(world.agent), { 'accept-language': header })).text()
    expect(await open('en')).toMatch(/class="primary">Allow<\/button>/)
    const page = await open('nl-BE')
    expect(page).toContain('<html lang="nl">')
    expect(page).toContain('NL Example Agent asks for access')
    expect(await open('he')).toContain('<html lang="he" dir="rtl">')
    // The page's other language says which it is.
    expect(page).toContain('<span lang="en">See your bookings</span>')
  })

  it('sends what they want on the wire: two lines, and far too much', async () => {
    const site = await openSite({ language: 'en' })
    const ask = async (lines: readonly string[]) => {
      const socket = connect(site.port, '127.0.0.1')
      let text = ''
      socket.setEncoding('utf8').on('data', (part: string) => {
        text += part
      })
      const path = '/poppy/authorize?client_id=x'
      socket.write(
        [`GET ${path} HTTP/1.1`, `host: localhost:${site.port}`, 'connection: close', ...lines, '', ''].join('\r\n'),
      )
      await once(socket, 'close')
      return /content-language: (\w+)/i.exec(text)?.[1]
    }
    expect(await ask(['accept-language: fr', 'accept-language: de'])).toBe('de')
    expect(await ask([`accept-language: ${'fr,'.repeat(3000)}de`])).toBe('en')
    expect(await ask(['accept-language: \u00fc\u00fc;;;q=,,,'])).toBe('en')
  })
})

describe('what programs read', () => {
  it('is the same in every language: documents, and errors in English', async () => {
    const world = await makeWorld(whole)
    for (const path of ['/.well-known/poppy.json', '/.well-known/oauth-authorization-server', '/poppy/openapi.json']) {
      const one = await get(world, path)
      expect(one.status).toBe(200)
      expect(one.headers.get('vary') ?? '').not.toContain('Accept-Language')
      expect(await one.text()).toBe(await (await get(world, path, { 'accept-language': 'en' })).text())
    }
    const document = (await (await get(world, '/.well-known/poppy.json')).json()) as { auth: { custom_scopes: object } }
    expect(JSON.stringify(document)).toContain('"See your points"')
    expect(JSON.stringify(document)).not.toContain('Ihre Punkte')
    const error = await post(world, '/poppy/token', { grant_type: 'nothing' })
    expect(error.headers.get('content-language')).toBeNull()
    expect(await error.json()).toMatchObject({
      error: expect.stringMatching(/^[a-z_]+$/),
      error_description: expect.stringMatching(/^[ -~’]+$/),
    })
  })

  it('is in the company’s language where scopes are described', async () => {
    const world = await makeWorld({ ...whole, language: 'de-CH' })
    const text = await (await get(world, '/.well-known/poppy.json', {})).text()
    expect(text).toContain('Ihre Punkte sehen')
  })
})

describe('a site that draws its own page', () => {
  it('has the rights of connected agents in any language that the company gave', async () => {
    const world = await makeWorld(whole)
    const session = await world.start()
    await world.signIn(world.agent, session.session_id, {
      scope: 'poppy:read loyalty',
      approve: ['poppy:read', 'loyalty'],
    })
    const rights = async (locale?: string | null) => {
      const [agent] = await world.company.accounts.connectedAgents('acc-maya', { locale })
      return agent?.rights.map(({ text, language }) => `${language} ${text}`)
    }
    expect(await rights('de')).toEqual(['de Ihre Buchungen sehen', 'de Ihre Punkte sehen'])
    expect(await rights('fr-CH, en;q=0.5')).toEqual(['en See your bookings', 'fr Voir vos points'])
    const [plain] = await world.company.accounts.connectedAgents('acc-maya')
    expect(plain?.rights.map(({ text }) => text)).toEqual(['See your bookings', 'See your points'])
  })
})

describe('a configuration', () => {
  it('may have both kinds of scope text, and is refused with a sentence for a wrong one', async () => {
    await using test = await createTestCompany({ scopes: { ...scopes, plain: 'See the menu' } })
    expect(test.origin).toBe('https://company.example')
    const wrong: readonly (readonly [Partial<CompanyConfig>, string])[] = [
      [{ scopes: { loyalty: { en: '' } } }, "`scopes`: say what 'loyalty' means for the person in 'en' too"],
      [{ scopes: { loyalty: { deutsch: 'Ihre Punkte sehen' } } }, "which is not a language tag such as 'de'"],
      [{ language: 'fr' }, "`language` is 'fr', and there are no words in it"],
      [{ words: { fr: { 'consent.approve': 'Autoriser' } } }, 'so it needs all words. Missing: account.yours'],
      [{ words: { de: { 'agent.from': 'vom Agenten' } } }, "`words.de['agent.from']` has these places"],
    ]
    for (const [config, sentence] of wrong) await expect(makeWorld(config)).rejects.toThrow(sentence)
  })
})
