import { inspect } from 'node:util'
import { describe, expect, it } from 'vitest'
import { errorOf, startVisit } from '../../test/visit.ts'
import { AgentError, type CodeRequest, memoryStore } from '../index.ts'

const password = 'canary-password-s3cret'
const oneTime = 'canary-code-471'
const credentials = { email: 'maya@example.com', password }
const scopes = ['poppy:read']
const fields = [
  { name: 'email', label: 'Email', secret: false },
  { name: 'password', label: 'Password\u001b[2J', secret: true },
]

const complete = (more: object = {}) => ({
  status: 'complete',
  access_token: 'access-of-mediated',
  token_type: 'DPoP',
  expires_in: 3600,
  refresh_token: 'pat_of-mediated',
  scope: 'poppy:read',
  session_id: 'ses_mediated',
  signed_in: true,
  ...more,
})
const codeRequired = (more: object = {}) => ({
  status: 'code_required',
  sign_in_id: 'sgn_3Hq8',
  code: { sent_to: 'Text to the phone number ending in 71' },
  expires_at: '2026-11-30T12:15:00Z',
  ...more,
})

interface Sent {
  readonly url: string
  readonly body: string
  readonly redirect: string | undefined
  readonly authorization: string | null
  readonly proof: string | null
}

/** A Company whose endpoint answers as the test says; all else is the fake's. */
async function start(answers: (object | Response)[], endpoint = '/sign-in') {
  const sent: Sent[] = []
  const all: string[] = []
  const store = memoryStore()
  const visit = await startVisit({
    store,
    maxWaitSeconds: 30,
    fetch: async (url, init) => {
      if (!url.includes(endpoint)) {
        all.push(`${url} ${String(init.body)} ${JSON.stringify([...new Headers(init.headers)])}`)
        return fetch(url, init)
      }
      const headers = new Headers(init.headers)
      const [authorization, proof] = [headers.get('authorization'), headers.get('dpop')]
      sent.push({ url, body: String(init.body), redirect: init.redirect, authorization, proof })
      const [answer] = answers.splice(0, 1)
      return answer instanceof Response ? answer : Response.json(answer ?? { status: 'failed' })
    },
  })
  visit.fake.switches.poppy = (document) => ({
    ...document,
    auth: { ...(document.auth as object), mediated: { endpoint: visit.fake.origin + endpoint, fields, scopes } },
  })
  const here = await visit.session()
  return { ...visit, here, sent, all, store }
}

describe('Mediated Sign-In', () => {
  it('sends every listed field and nothing else, with the current Session Token, and ends signed in [4.7.every-field-agent, 4.4.scope-required-agent]', async () => {
    const { fake, here, sent } = await start([complete()])
    const extra = { ...credentials, shoe_size: '38' }
    expect(await here.signInMediated({ scopes, credentials: extra })).toEqual({
      granted: scopes,
      asked: scopes,
      missing: [],
      replaced: 'none',
      switched: false,
    })
    expect(sent).toEqual([
      {
        url: `${fake.origin}/sign-in`,
        body: JSON.stringify({ scope: 'poppy:read', credentials }),
        redirect: 'manual',
        authorization: expect.stringMatching(/^DPoP access-/),
        proof: expect.stringMatching(/^eyJ/),
      },
    ])
    expect(await here.state()).toMatchObject({ sessionId: 'ses_mediated', signedIn: true, account: { scopes } })
  })

  it('asks the User for what the Company lists, in clean words, and for a code, again where it was wrong [4.7.only-code-agent]', async () => {
    const { clock, fake, here, sent } = await start([
      codeRequired({ code: { sent_to: `To \u001b[2J 71, not ${password}` } }),
      { status: 'code_required', sign_in_id: 'sgn_other' },
      complete(),
    ])
    const asked: CodeRequest[] = []
    const labels: string[] = []
    await here.signInMediated({
      scopes,
      ask: (listed) => {
        labels.push(...listed.map(({ label, secret }) => `${label} ${secret}`))
        return credentials
      },
      code: (request) => {
        asked.push(request)
        return oneTime
      },
    })
    expect(labels).toEqual(['Email false', 'Password [2J true'])
    const expiresAt = clock.now + 15 * 60_000
    const sentTo = 'To [2J 71, not [secret]'
    expect(asked).toEqual([
      { sentTo, expiresAt, isRepeated: false },
      { sentTo, expiresAt, isRepeated: true },
    ])
    expect(sent.slice(1).map(({ url, body }) => [url, body])).toEqual([
      [`${fake.origin}/sign-in/sgn_3Hq8`, JSON.stringify({ code: oneTime })],
      [`${fake.origin}/sign-in/sgn_other`, JSON.stringify({ code: oneTime })],
    ])
  })

  it('leaves nothing of credentials and codes in store, errors, results or other requests, whatever the Company repeats [4.7.secret-agent, 4.7.credentials-only-there-agent]', async () => {
    const echo = `${password} ${oneTime}`
    const elsewhere = new Response(null, { status: 307, headers: { location: 'https://evil.example/' } })
    for (const answers of [
      [complete()],
      [codeRequired(), complete()],
      [{ status: 'failed', reason: echo }],
      [{ status: echo }],
      [complete({ scope: `poppy:read ${password}` })],
      [complete({ session_id: password })],
      [complete({ refresh_token: `pat_${password}` })],
      [elsewhere],
      [codeRequired({ sign_in_id: `../../${password}` })],
      [codeRequired(), { status: 'expired' }],
      [Response.json({ error: password, error_description: echo }, { status: 400 })],
      [Response.json({ error: echo }, { status: 500 })],
      [new Response(echo, { status: 403 })],
      [new Response(echo, { status: 429, headers: { 'retry-after': '600' } })],
      [new Response(echo, { status: 200 })],
    ]) {
      const { here, all, store, sent } = await start(answers)
      const told: unknown[] = []
      await here
        .signInMediated({
          scopes,
          credentials,
          code: (request) => {
            told.push(request)
            return oneTime
          },
        })
        .then(
          (result) => told.push(result),
          (error: unknown) => {
            expect(error).toBeInstanceOf(AgentError)
            told.push(error)
          },
        )
      told.push(await here.state(), here)
      for (const key of await store.keys('')) told.push(key, await store.get(key))
      const texts = [
        ...all,
        ...told.map((one) => `${inspect(one, { depth: 9, showHidden: true })}${JSON.stringify(one)}`),
      ]
      for (const secret of [password, oneTime]) expect(texts.filter((text) => text.includes(secret))).toEqual([])
      for (const { url } of sent) expect(url).not.toMatch(/canary|evil/)
    }
  })

  it('revokes later what came with an answer that holds a credential, unless the credential stands in it [4.7.credentials-only-there-agent]', async () => {
    const { here, user, clock, fake } = await start([
      complete({ scope: `poppy:read ${password}` }),
      complete({ refresh_token: `pat_${password}` }),
    ])
    for (const left of [1, 1]) {
      expect((await errorOf(here.signInMediated({ scopes, credentials }))).code).toBe('bad_answer')
      expect((await user.companies())[0]?.unrevoked).toBe(left)
    }
    fake.take()
    clock.now += 3600_000
    await here.call('echo')
    expect(fake.requests.filter(({ path }) => path === '/revoke').map(({ form }) => form.get('token'))).toEqual([
      'pat_of-mediated',
    ])
  })

  it('tells failed, expired, limited and refused apart, and leaves what it had', async () => {
    for (const [answers, code] of [
      [[{ status: 'failed' }], 'sign_in_failed'],
      [[codeRequired(), { status: 'failed' }], 'sign_in_failed'],
      [[codeRequired(), { status: 'expired' }], 'sign_in_expired'],
      [[codeRequired({ expires_at: '2026-11-30T11:59:00Z' })], 'sign_in_expired'],
      [[Response.json({ error: 'invalid_scope' }, { status: 400 })], 'sign_in_failed'],
      [[new Response('', { status: 503 })], 'company_error'],
      [[new Response('<html>', { status: 200 })], 'bad_answer'],
      [[complete({ token_type: 'Bearer' })], 'bad_answer'],
      [[complete({ refresh_token: undefined })], 'bad_answer'],
      [[new Response('', { status: 429, headers: { 'retry-after': '600' } })], 'rate_limited'],
      [Array.from({ length: 20 }, () => codeRequired()), 'sign_in_failed'],
    ] as const) {
      const { here, sent } = await start([...answers])
      await here.start()
      const before = await here.state()
      expect((await errorOf(here.signInMediated({ scopes, credentials, code: () => oneTime }))).code).toBe(code)
      expect(await here.state()).toEqual(before)
      expect(sent.length).toBeLessThan(12)
    }
  })

  it('waits as long as it is told after 429, and sends a fresh proof then [4.3.retry-after-agent]', async () => {
    const { here, sent, waits } = await start([
      new Response('', { status: 429, headers: { 'retry-after': '20' } }),
      complete(),
    ])
    await here.signInMediated({ scopes, credentials })
    expect(waits).toEqual([20_000])
    expect(new Set(sent.map(({ proof }) => proof)).size).toBe(2)
  })

  it('gives up where a field is missing, the code is not entered, or the Company offers nothing [4.4.only-listed-agent]', async () => {
    const { here, sent } = await start([codeRequired(), codeRequired()])
    const missing = await errorOf(here.signInMediated({ scopes, credentials: { email: 'maya@example.com' } }))
    expect([missing.code, missing.message]).toEqual(['invalid_input', 'This sign-in needs password (Password [2J).'])
    expect((await errorOf(here.signInMediated({ scopes: ['poppy:write'], credentials }))).code).toBe(
      'sign_in_unavailable',
    )
    expect(sent).toEqual([])
    expect((await errorOf(here.signInMediated({ scopes, credentials }))).code).toBe('sign_in_failed')
    expect((await errorOf(here.signInMediated({ scopes, credentials, code: () => undefined }))).code).toBe(
      'sign_in_failed',
    )
    const other = await (await startVisit()).session()
    expect((await errorOf(other.signInMediated({ scopes, credentials }))).code).toBe('sign_in_unavailable')
  })

  it('takes a new Session where this one is another account’s, once [4.4.account-mismatch-agent]', async () => {
    const mismatch = () => Response.json({ error: 'account_mismatch' }, { status: 400 })
    const { here, sent } = await start([mismatch(), complete()])
    const { sessionId } = await here.start()
    expect(await here.signInMediated({ scopes, credentials })).toMatchObject({ granted: scopes })
    expect(sent[0]?.authorization).not.toBe(sent[1]?.authorization)
    expect((await here.state()).sessionId).not.toBe(sessionId)
    const never = await start([mismatch(), mismatch(), mismatch()])
    expect((await errorOf(never.here.signInMediated({ scopes, credentials }))).code).toBe('sign_in_failed')
    expect(never.sent).toHaveLength(2)
  })

  it('uses an Account Token that covers the task before it asks for credentials [4.4.look-before-sign-in-agent]', async () => {
    const { here, signIn, sent } = await start([])
    await signIn(here, scopes)
    const ask = () => {
      throw new Error('It should not have asked.')
    }
    expect(await here.signIn({ scopes, ask })).toMatchObject({ granted: scopes })
    expect(sent).toEqual([])
  })
})
