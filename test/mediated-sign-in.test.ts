import type { CompanyConfig } from 'poppyseed'
import { describe, expect, it } from 'vitest'
import { stores } from './setup/stores.ts'
import type { WireAgent } from './setup/wire-agent.ts'
import { makeWorld, outcome, type Tokens, type World } from './setup/world.ts'

// Section 4.7: an agent signs in with credentials that its User gave it, where the company chose so.

const password = 'canary-password-s3cret'
const people: Readonly<Record<string, { readonly id: string; readonly password: string }>> = {
  'maya@example.com': { id: 'acc-maya', password },
  'jonas@example.com': { id: 'acc-jonas', password: 'harbour-7' },
}

type Mediated = NonNullable<NonNullable<CompanyConfig['signIn']>['mediated']>

/** What the company wrote, and the codes that it sent. */
function site(bend: Partial<Mediated> = {}) {
  const sent: string[] = []
  const mediated: Mediated = {
    scopes: ['poppy:read'],
    fields: [
      { name: 'email', label: 'Email', secret: false },
      { name: 'password', label: 'Password', secret: true },
    ],
    verify: ({ email = '', password: given }) => {
      const person = people[email.toLowerCase()]
      return person !== undefined && person.password === given ? person.id : null
    },
    ...bend,
  }
  return { sent, config: { signIn: { direct: ['poppy:read', 'poppy:write', 'loyalty'], mediated } } as const }
}

function withCodes(bend: Partial<Mediated> = {}) {
  const made = site({
    sendCode: (code) => {
      made.sent.push(code)
      return 'Text to the phone number ending in 71'
    },
    ...bend,
  })
  return made
}

const path = '/poppy/sign-in'
const good = { scope: 'poppy:read', credentials: { email: 'maya@example.com', password } }

const ask = (world: World, session: Tokens, body: unknown = good, agent: WireAgent = world.agent) =>
  agent.call(path, session.access_token, { body })

const submit = (world: World, session: Tokens, id: string, body: unknown, agent: WireAgent = world.agent) =>
  agent.call(`${path}/${id}`, session.access_token, { body })

interface Answer extends Partial<Tokens> {
  readonly status: string
  readonly sign_in_id?: string
  readonly code?: { readonly sent_to: string }
  readonly expires_at?: string
  readonly error?: string
}

async function read(answer: Response, status = 200): Promise<Answer> {
  expect(answer.status).toBe(status)
  const text = await answer.text()
  expect(text).not.toContain(password)
  return JSON.parse(text) as Answer
}

describe.each(stores)('Mediated Sign-In on $name', ({ missing, fresh }) => {
  const test = it.skipIf(missing !== null)
  const start = async (made: ReturnType<typeof site> = site(), bend: Partial<CompanyConfig> = {}) =>
    makeWorld({ ...made.config, ...bend }, (await fresh()).store())

  test('signs the Session in with right credentials [4.7.complete, 4.7.never-returns-credentials]', async () => {
    const world = await start()
    const session = await world.start()
    const tokens = await read(await ask(world, session))
    expect(tokens).toMatchObject({
      status: 'complete',
      token_type: 'DPoP',
      scope: 'poppy:read',
      session_id: session.session_id,
      signed_in: true,
    })
    expect(tokens.refresh_token).toMatch(/^pat_/)
    expect((await world.agent.call('/poppy/tools/my_bookings', tokens.access_token ?? '', { body: {} })).status).toBe(
      200,
    )
    // 4.8: with the Account Token the credentials aren't needed any more
    const refresh = await world.agent.token({ grant_type: 'refresh_token', refresh_token: tokens.refresh_token ?? '' })
    expect(await refresh.json()).toMatchObject({ scope: 'poppy:read', signed_in: true })
    expect(await world.company.accounts.connectedAgents('acc-maya')).toMatchObject([{ signIn: 'mediated' }])
  })

  test('says failed to wrong ones, and tells nothing of why', async () => {
    const world = await start()
    const session = await world.start()
    for (const credentials of [
      { email: 'maya@example.com', password: 'wrong' },
      { email: 'nobody@example.com', password },
    ])
      expect(await read(await ask(world, session, { ...good, credentials }))).toEqual({ status: 'failed' })
  })

  test('asks a new agent for a one-time code, and a known one not [4.7.code-required, 4.7.unusual-code]', async () => {
    const made = withCodes()
    const world = await start(made)
    const session = await world.start()
    const asked = await read(await ask(world, session))
    expect(asked).toEqual({
      status: 'code_required',
      sign_in_id: expect.stringMatching(/^sgn_/),
      code: { sent_to: 'Text to the phone number ending in 71' },
      expires_at: '2026-11-30T12:10:00.000Z',
    })
    expect(made.sent).toEqual([expect.stringMatching(/^[0-9]{6}$/)])
    const [code = ''] = made.sent
    const id = asked.sign_in_id ?? ''
    const done = await read(await submit(world, session, id, { code: `${code.slice(0, 3)} ${code.slice(3)}` }))
    expect(done).toMatchObject({ status: 'complete', signed_in: true, scope: 'poppy:read' })
    expect(await read(await submit(world, session, id, { code }))).toEqual({ status: 'failed' })
    expect((await read(await ask(world, await world.start()))).status).toBe('complete')
    expect(made.sent).toHaveLength(1)
  })

  test('asks another User of a known agent for a code: many people use one agent [4.7.code-required, 4.7.unusual-code]', async () => {
    const made = withCodes()
    const world = await start(made)
    await world.signIn(world.agent, (await world.start()).session_id)
    // The same Personal Agent, and somebody else at it, who has Maya's password.
    const assertion = await world.agent.sessionAssertion({ claims: { sub: 'usr_somebody_else' } })
    const theirs = (await (await world.agent.startSession({ assertion })).json()) as Tokens
    expect((await read(await ask(world, theirs))).status).toBe('code_required')
    expect((await read(await ask(world, await world.start()))).status).toBe('complete')
    expect(made.sent).toHaveLength(1)
  })

  test('takes five tries at a code and no more, one after the other or at once [4.7.wrong-code]', async () => {
    for (const atOnce of [false, true]) {
      const made = withCodes()
      const world = await start(made)
      const session = await world.start()
      const id = (await read(await ask(world, session))).sign_in_id ?? ''
      const right = made.sent[0] ?? ''
      const wrong = right === '000000' ? '000001' : '000000'
      const statuses: string[] = []
      if (atOnce) {
        const answers = await Promise.all(Array.from({ length: 12 }, () => submit(world, session, id, { code: wrong })))
        for (const answer of answers) statuses.push((await read(answer)).status)
      } else {
        for (let times = 0; times < 5; times++) {
          const answer = await read(await submit(world, session, id, { code: wrong }))
          statuses.push(answer.status)
          if (answer.status === 'code_required')
            expect(answer).toMatchObject({ sign_in_id: id, code: { sent_to: expect.any(String) } })
        }
      }
      expect(statuses.filter((one) => one === 'code_required')).toHaveLength(4)
      expect(new Set(statuses.filter((one) => one !== 'code_required'))).toEqual(new Set(['failed']))
      expect(await read(await submit(world, session, id, { code: right }))).toEqual({ status: 'failed' })
    }
  })

  test('lets only the Session that began it finish it [4.7.same-session]', async () => {
    const made = withCodes()
    const world = await start(made)
    const [session, another] = [await world.start(), await world.start()]
    const stranger = await world.newAgent()
    const theirs = await world.start(stranger)
    const id = (await read(await ask(world, session))).sign_in_id ?? ''
    const code = made.sent[0] ?? ''
    for (let times = 0; times < 6; times++) {
      expect(await read(await submit(world, another, id, { code }))).toEqual({ status: 'failed' })
      expect(await read(await submit(world, theirs, id, { code }, stranger))).toEqual({ status: 'failed' })
    }
    // None of it took a try away. A renewed token of the same Session is as good as the first.
    const renewed = await world.agent.startSession({ session_id: session.session_id })
    expect((await read(await submit(world, (await renewed.json()) as Tokens, id, { code }))).status).toBe('complete')
  })

  test('a code is good for ten minutes', async () => {
    const made = withCodes()
    const world = await start(made)
    const session = await world.start()
    const id = (await read(await ask(world, session))).sign_in_id ?? ''
    world.clock.now += 600_000
    expect(await read(await submit(world, session, id, { code: made.sent[0] }))).toEqual({ status: 'expired' })
  })

  test('of many right codes at once one signs in', async () => {
    const made = withCodes()
    const world = await start(made)
    const session = await world.start()
    const id = (await read(await ask(world, session))).sign_in_id ?? ''
    const answers = await Promise.all(
      Array.from({ length: 5 }, () => submit(world, session, id, { code: made.sent[0] })),
    )
    const statuses = await Promise.all(answers.map(async (answer) => (await read(answer)).status))
    expect(statuses.filter((one) => one === 'complete')).toHaveLength(1)
    expect(await world.company.accounts.connectedAgents('acc-maya')).toHaveLength(1)
  })

  test('attempts are limited by whom they are about, whoever makes them [4.7.rate-limit]', async () => {
    const world = await start()
    const wrong = { ...good, credentials: { email: 'Maya@Example.com ', password: 'wrong' } }
    for (let times = 0; times < 10; times++) {
      const agent = await world.newAgent()
      expect((await read(await ask(world, await world.start(agent), wrong, agent))).status).toBe('failed')
    }
    const session = await world.start()
    const limited = await ask(world, session)
    expect(limited.headers.get('retry-after')).toBe('900')
    expect(await outcome(limited)).toBe('429 rate_limited')
    const other = { ...good, credentials: { email: 'jonas@example.com', password: 'harbour-7' } }
    expect((await read(await ask(world, session, other))).status).toBe('complete')
    world.clock.now += 900_000
    expect((await read(await ask(world, await world.start()))).status).toBe('complete')
  })

  test('attempts are limited by who makes them, and a success takes none back [4.7.rate-limit]', async () => {
    const world = await start()
    const session = await world.start()
    const wrong = (times: number) => ({ ...good, credentials: { email: `a${times}@example.com`, password: 'wrong' } })
    for (let times = 0; times < 9; times++) await read(await ask(world, session, wrong(times)))
    expect((await read(await ask(world, session))).status).toBe('complete')
    expect((await read(await ask(world, session, wrong(10)))).status).toBe('failed')
    expect(await outcome(await ask(world, session))).toBe('429 rate_limited')
    const many = await Promise.all(
      Array.from({ length: 20 }, async (_, times) => {
        const agent = await world.newAgent()
        return (await ask(world, await world.start(agent), wrong(100 + times), agent)).status
      }),
    )
    expect(new Set(many)).toEqual(new Set([200]))
  })

  test('a person’s phone isn’t filled with codes', async () => {
    const made = withCodes()
    const world = await start(made)
    const statuses: number[] = []
    for (let times = 0; times < 6; times++) {
      const agent = await world.newAgent()
      statuses.push((await ask(world, await world.start(agent), good, agent)).status)
    }
    expect(statuses).toEqual([200, 200, 200, 200, 200, 429])
    expect(made.sent).toHaveLength(5)
  })

  test('a Session of another account takes none, also after sign-out, and disconnecting ends what waits [4.4.one-account]', async () => {
    const made = withCodes()
    const world = await start(made)
    world.site.account = { id: 'acc-jonas', name: 'jonas@example.com' }
    const session = await world.start()
    const tokens = await world.signIn(world.agent, session.session_id)
    expect(await outcome(await ask(world, tokens))).toBe('400 account_mismatch')
    // Nor after sign-out: it has had its account.
    await world.company.accounts.disconnect('acc-jonas', world.agent.clientId)
    expect(await outcome(await ask(world, tokens))).toBe('400 account_mismatch')
    const fresh = await world.start()
    const id = (await read(await ask(world, fresh))).sign_in_id ?? ''
    await world.company.accounts.revokeAll('acc-maya')
    expect(await read(await submit(world, fresh, id, { code: made.sent[0] }))).toEqual({ status: 'failed' })
  })
})

describe('the endpoint of Mediated Sign-In', () => {
  it('limits the attempts of one agent, whoever its Users are and whomever they are about; others go on [4.7.rate-limit]', async () => {
    const world = await makeWorld({ ...site().config, limits: false })
    const mine = world.agent.userId
    let guess = 0
    const ofOneUser = async () => {
      world.agent.userId = `usr_${guess}`
      const session = await world.start()
      const statuses: number[] = []
      for (let times = 0; times < 10; times++) {
        const credentials = { email: `a${guess++}@example.com`, password: 'wrong' }
        statuses.push((await ask(world, session, { ...good, credentials })).status)
      }
      return statuses
    }
    for (let users = 0; users < 20; users++) expect(await ofOneUser()).toEqual(Array.from({ length: 10 }, () => 200))
    expect(new Set(await ofOneUser())).toEqual(new Set([429]))
    world.agent.userId = mine
    expect(await outcome(await ask(world, await world.start()))).toBe('429 rate_limited')
    const other = await world.newAgent()
    expect((await read(await ask(world, await world.start(other), good, other))).status).toBe('complete')
  })

  it.each<[string, unknown, string]>([
    ['no scope', { credentials: good.credentials }, '400 invalid_scope'],
    ['an empty scope', { ...good, scope: '' }, '400 invalid_scope'],
    ['a scope as a list', { ...good, scope: ['poppy:read'] }, '400 invalid_scope'],
    ['a scope that this type can’t grant', { ...good, scope: 'poppy:read poppy:write' }, '400 invalid_scope'],
    ['no credentials', { scope: 'poppy:read' }, '400 invalid_request'],
    ['credentials as a list', { ...good, credentials: ['a', 'b'] }, '400 invalid_request'],
    ['a missing field', { ...good, credentials: { email: 'maya@example.com' } }, '400 invalid_request'],
    ['an empty field', { ...good, credentials: { email: '', password } }, '400 invalid_request'],
    ['a field as a number', { ...good, credentials: { email: 7, password } }, '400 invalid_request'],
    ['a huge field', { ...good, credentials: { email: 'x'.repeat(2000), password } }, '400 invalid_request'],
    ['a huge body', { ...good, more: 'x'.repeat(20_000) }, '413 request_too_large'],
    ['a body that is a list', [good], '400 invalid_request'],
    ['a nested body', { ...good, more: JSON.parse(`${'['.repeat(50)}${']'.repeat(50)}`) }, '400 invalid_request'],
  ])('refuses %s [4.4.scope-required, 4.4.invalid-scope]', async (_, body, expected) => {
    const world = await makeWorld(site().config)
    const answer = await ask(world, await world.start(), body)
    const text = await answer.clone().text()
    expect(text).not.toContain(password)
    expect(await outcome(answer)).toBe(expected)
  })

  it('wants a Session Token with its proof, and takes none that is for another service', async () => {
    const world = await makeWorld(site().config)
    const session = await world.start()
    const bare = new Request(`${world.origin}${path}`, { method: 'POST', body: JSON.stringify(good) })
    expect(await outcome(await world.send(bare))).toBe('401 invalid_token')
    const proof = await world.agent.proof('POST', `${world.origin}/elsewhere`, session.access_token)
    expect(await outcome(await world.agent.call(path, session.access_token, { body: good, proof }))).toBe(
      '401 invalid_dpop_proof',
    )
    const narrow = await world.agent.startSession({ resource: `${world.origin}/poppy/openapi.json` })
    expect(await outcome(await ask(world, (await narrow.json()) as Tokens))).toBe('401 invalid_token')
  })

  it('doesn’t take credentials together with a code', async () => {
    const world = await makeWorld(withCodes().config)
    const session = await world.start()
    const id = (await read(await ask(world, session))).sign_in_id ?? ''
    for (const body of [{}, { code: '' }, { code: 123456 }, { code: '123456', ...good }])
      expect(await outcome(await submit(world, session, id, body))).toBe('400 invalid_request')
    for (const odd of ['x', 'sgn_%00', '%ff', '..', 'a'.repeat(3000)])
      expect([200, 404]).toContain((await submit(world, session, odd, { code: '123456' })).status)
  })

  it('keeps credentials and codes out of the log, also when the company’s own functions fail with them', async () => {
    const boom = (text: string) => () => {
      throw new Error(`could not reach the database for ${text} ${password}`)
    }
    for (const bend of [
      { verify: boom('maya') },
      { sendCode: (code: string) => Promise.reject(new Error(`no phone for ${code} ${password}`)) },
      { needsCode: boom('maya'), sendCode: () => 'a phone' },
      { verify: () => 7 as never },
      { sendCode: () => '' },
    ] as readonly Partial<Mediated>[]) {
      const world = await makeWorld(site(bend).config)
      const answer = await ask(world, await world.start())
      expect([500, 503]).toContain(answer.status)
      expect(await answer.text()).not.toContain(password)
      expect(world.log.join('\n')).not.toContain(password)
      expect(await world.company.accounts.connectedAgents('acc-maya')).toEqual([])
    }
  })

  it('asks for a code whenever the company finds it unusual [4.7.unusual-code]', async () => {
    const seen: unknown[] = []
    const made = withCodes({
      needsCode: (signIn) => {
        seen.push(signIn)
        return signIn.clientId !== 'https://agent.example/agent.json'
      },
    })
    const world = await makeWorld(made.config)
    expect((await read(await ask(world, await world.start()))).status).toBe('complete')
    const agent = await world.newAgent()
    expect((await read(await ask(world, await world.start(agent), good, agent))).status).toBe('code_required')
    expect(seen[0]).toEqual({
      clientId: world.agent.clientId,
      userId: world.agent.userId,
      scopes: ['poppy:read'],
      account: 'acc-maya',
      isNewAgent: true,
    })
  })

  it('is published with its fields where it is offered [3.1.mediated-fields]', async () => {
    const discover = async (world: World) =>
      (await world.send(new Request(`${world.origin}/.well-known/poppy.json`))).json() as Promise<{ auth: object }>
    const world = await makeWorld(site().config)
    expect((await discover(world)).auth).toMatchObject({
      mediated: {
        endpoint: 'https://miramar.example/poppy/sign-in',
        fields: [
          { name: 'email', label: 'Email', secret: false },
          { name: 'password', label: 'Password', secret: true },
        ],
        scopes: ['poppy:read'],
      },
    })
    const without = await makeWorld()
    expect((await discover(without)).auth).not.toHaveProperty('mediated')
    expect((await ask(without, await without.start())).status).toBe(404)
  })
})
