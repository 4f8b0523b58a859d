import { beforeAll, describe, expect, it } from 'vitest'
import { stores } from './setup/stores.ts'
import { startTwoProcesses, type TwoProcesses } from './setup/two-processes.ts'
import { id, sha256 } from './setup/wire-agent.ts'
import { outcome, type Tokens, verifierOf } from './setup/world.ts'

// Two processes are one Company on one database, with every way in open and Account Tokens that rotate. What a person and
// an agent do at the same moment, here and there, has one outcome, and both are told the same.

const rounds = process.env.LONG ? 60 : 2
const timeout = process.env.LONG ? 900_000 : 90_000
const password = 'sea-view-42'

/** A person of this round's own: limits and accounts of one round never touch another's. */
const somebody = () => `guest-${id().replaceAll('_', 'x').toLowerCase()}`

const started = async ({ agent }: TwoProcesses) => (await (await agent.startSession()).json()) as Tokens

const formIn = (html: string) => /name="request" value="([^"]+)"/.exec(html)?.[1] ?? ''

/** A form that a page of ours gave `person`. */
async function formAt({ origin, send }: TwoProcesses, path: string, person: string, instance: 0 | 1 = 0) {
  const page = await send(new Request(origin + path, { headers: { cookie: `site=${person}` } }), instance)
  return formIn(await page.text())
}

function submission({ origin }: TwoProcesses, path: string, person: string, fields: [string, string][]): Request {
  return new Request(origin + path, {
    method: 'POST',
    body: new URLSearchParams(fields),
    headers: { origin, cookie: `site=${person}`, 'content-type': 'application/x-www-form-urlencoded' },
  })
}

const approval = (two: TwoProcesses, path: string, person: string, form: string, decision = 'approve') =>
  submission(two, path, person, [
    ['request', form],
    ['decision', decision],
    ['scope', 'poppy:read'],
    ['scope', 'poppy:write'],
  ])

/** A code that `person` approved (4.5). */
async function getCode(two: TwoProcesses, person: string, scope = 'poppy:read poppy:write'): Promise<string> {
  const { agent } = two
  const query = new URLSearchParams({
    response_type: 'code',
    client_id: agent.clientId,
    redirect_uri: agent.redirectUri,
    scope,
    state: 'a-state',
    code_challenge: sha256(verifierOf(agent)),
    code_challenge_method: 'S256',
  })
  const form = await formAt(two, `/poppy/authorize?${query}`, person)
  const answer = await two.send(approval(two, '/poppy/authorize', person, form))
  return new URL(answer.headers.get('location') ?? '').searchParams.get('code') ?? ''
}

const exchange = ({ agent }: TwoProcesses, code: string, session_id: string) =>
  agent.token({
    grant_type: 'authorization_code',
    code,
    redirect_uri: agent.redirectUri,
    code_verifier: verifierOf(agent),
    session_id,
  })

async function signIn(two: TwoProcesses, person: string, session_id?: string) {
  const session = session_id ?? (await started(two)).session_id
  const answer = await exchange(two, await getCode(two, person), session)
  expect(answer.status).toBe(200)
  return (await answer.json()) as Tokens & { readonly refresh_token: string }
}

const refresh = ({ agent }: TwoProcesses, refresh_token: string, session_id: string | null = null) =>
  agent.token(
    session_id === null
      ? { grant_type: 'refresh_token', refresh_token }
      : { grant_type: 'refresh_token', refresh_token, session_id },
  )

const tool = ({ agent }: TwoProcesses, name: string, token: string) =>
  agent.call(`/poppy/tools/${name}`, token, { body: {} })

interface Codes {
  readonly device_code: string
  readonly verification_uri_complete: string
}

async function begin({ agent, origin }: TwoProcesses): Promise<Codes> {
  const url = `${origin}/poppy/device-authorization`
  return (await (await agent.post(url, { scope: 'poppy:read poppy:write' }, { proof: null })).json()) as Codes
}

const pathOf = ({ verification_uri_complete }: Codes) =>
  verification_uri_complete.replace('https://miramar.example', '')

const poll = ({ agent }: TwoProcesses, { device_code }: Codes, session_id: string) =>
  agent.token({ grant_type: 'urn:ietf:params:oauth:grant-type:device_code', device_code, session_id })

const credentials = ({ agent }: TwoProcesses, token: string, email: string, secret = password) =>
  agent.call('/poppy/sign-in', token, { body: { scope: 'poppy:read', credentials: { email, password: secret } } })

const complete = ({ agent }: TwoProcesses, token: string, signInId: string, code: string) =>
  agent.call(`/poppy/sign-in/${signInId}`, token, { body: { code } })

/** A sign-in by credentials that waits for its code, and the code. */
async function waiting(two: TwoProcesses, token: string, person: string) {
  const answer = (await (await credentials(two, token, person)).json()) as {
    readonly sign_in_id: string
    readonly code: { readonly sent_to: string }
  }
  return { signInId: answer.sign_in_id, code: answer.code.sent_to.slice(-6) }
}

/** Requests that were made beforehand, sent at one moment by turns: one here, one there. */
const atOnce = (two: TwoProcesses, requests: readonly Request[], first = 0) =>
  Promise.all(requests.map((request, at) => two.send(request, (at + first) % 2 === 0 ? 0 : 1)))

const noneFailed = (answers: readonly Response[]) =>
  expect(answers.map(({ status }) => status).filter((status) => status >= 500)).toEqual([])

const statusOf = async (answer: Response) =>
  answer.status === 200 ? ((await answer.clone().json()) as { readonly status: string }).status : String(answer.status)

describe.each(stores)('with every way in, at two processes on $name,', { timeout }, ({ name, missing }) => {
  let two: TwoProcesses
  beforeAll(async () => {
    if (missing !== null) return
    two = await startTwoProcesses(name, { allWays: true })
    return two.close
  }, 120_000)
  const test = it.skipIf(missing !== null)

  test('ten refreshes at once have one successor, and everybody goes on with it [K19]', async () => {
    const person = somebody()
    let { session_id, refresh_token: current } = await signIn(two, person)
    let before = current
    for (let round = 0; round < rounds; round++) {
      const requests: Request[] = []
      // From the second round on half of them come with the token from before: an agent with several processes.
      for (let at = 0; at < 10; at++)
        requests.push(
          await two.caught(() => refresh(two, at % 4 < 2 ? current : before, at % 3 === 0 ? null : session_id)),
        )
      const answers = await atOnce(two, requests, round)
      expect(answers.map(({ status }) => status)).toEqual(Array.from({ length: 10 }, () => 200))
      const given = (await Promise.all(answers.map((answer) => answer.json()))) as Tokens[]
      const successors = new Set(given.map((one) => one.refresh_token))
      // Whoever was behind got the newest of its moment; all of them lead to the same one.
      const ends = new Set<string | undefined>()
      for (const one of successors) {
        const again = await refresh(two, one ?? '')
        expect(again.status).toBe(200)
        ends.add(((await again.json()) as Tokens).refresh_token)
      }
      if (round === 0) expect(successors.size).toBe(1)
      expect(ends.has(undefined)).toBe(false)
      for (const { access_token } of given) expect((await tool(two, 'my_bookings', access_token)).status).toBe(200)
      before = current
      current = [...ends].at(-1) ?? ''
    }
  })

  test('a person approves here and declines there: one page says so, and the poll says the same [4.6.complete, 4.6.access-denied]', async () => {
    const seen = new Set<string>()
    for (let round = 0; round < rounds * 2; round++) {
      const person = somebody()
      const { session_id } = await started(two)
      const codes = await begin(two)
      const forms = [await formAt(two, pathOf(codes), person, 0), await formAt(two, pathOf(codes), person, 1)]
      const decisions = round % 2 === 0 ? ['approve', 'decline'] : ['decline', 'approve']
      const pages = await atOnce(
        two,
        forms.map((form, at) => approval(two, '/poppy/device', person, form, decisions[at])),
        Math.floor(round / 2),
      )
      expect(pages.map(({ status }) => status).sort()).toEqual([200, 400])
      const won = decisions[pages.findIndex(({ status }) => status === 200)] ?? ''
      seen.add(won)
      await two.moveClocks(5_000)
      expect(await outcome(await poll(two, codes, session_id))).toBe(won === 'approve' ? '200' : '400 access_denied')
    }
    expect(seen.size).toBeGreaterThan(0)
  })

  test('a person approves at the last moment: the page says that the agent is in only where it gets in [4.6.expired-token, K29]', async () => {
    // How long before the end, and by how much the other instance's clock is ahead.
    for (const [left, ahead] of [
      [1, 0],
      [1, 1],
      [1, 2_000],
      [3_000, 2_000],
      [4_999, 0],
      [5_001, 0],
      [9_999, 0],
      [10_001, 0],
      [12_001, 1_000],
      [30_000, 1_000],
    ] as const) {
      const person = somebody()
      const { session_id } = await started(two)
      const codes = await begin(two)
      const form = await formAt(two, pathOf(codes), person)
      await two.moveClocks(600_000 - left, ahead)
      // It asked a moment ago: the next time is an interval away.
      const asked = await two.caught(() => poll(two, codes, session_id))
      const [page, first] = await Promise.all([
        two.send(approval(two, '/poppy/device', person, form), 0),
        two.send(asked, 1),
      ])
      await two.moveClocks(5_000, ahead)
      const polled = first?.status === 200 ? '200' : await outcome(await poll(two, codes, session_id))
      expect({ left, ahead, page: page.status, polled }).toEqual(
        page.status === 200
          ? { left, ahead, page: 200, polled: '200' }
          : { left, ahead, page: 400, polled: expect.stringMatching(/^400 (expired_token|authorization_pending)$/) },
      )
      // Whoever was told that nothing was changed is right about it for good.
      if (page.status === 200) continue
      await two.moveClocks(60_000)
      expect(await outcome(await poll(two, codes, session_id))).toBe('400 expired_token')
    }
    await two.moveClocks(0)
  })

  const ends = {
    'disconnects the agent': (person: string, form: string) =>
      submission(two, '/poppy/agents', person, [
        ['request', form],
        ['act', 'disconnect'],
        ['client_id', two.agent.clientId],
      ]),
    'ends all access': (person: string, form: string) =>
      submission(two, '/poppy/agents', person, [
        ['request', form],
        ['act', 'disconnect'],
      ]),
    'takes the only right away': (person: string, form: string) =>
      submission(two, '/poppy/agents', person, [
        ['request', form],
        ['act', 'take_away'],
        ['client_id', two.agent.clientId],
        ['scope', 'poppy:read'],
      ]),
  }

  test.each(Object.entries(ends))(
    'a person %s while every way in is under way: no access is left of it [4.9.disconnect, 4.9.at-once]',
    async (what, end) => {
      for (let round = 0; round < rounds; round++) {
        const person = somebody()
        const [a, b, c, d] = [await started(two), await started(two), await started(two), await started(two)]
        // While the agent is new, its credentials want a code.
        const { signInId, code: oneTime } = await waiting(two, d.access_token, person)
        const before = await signIn(two, person, a.session_id)
        const codes = await begin(two)
        await two.send(approval(two, '/poppy/device', person, await formAt(two, pathOf(codes), person)))
        const code = await getCode(two, person)
        const caught = [
          await two.caught(() => refresh(two, before.refresh_token, a.session_id)),
          await two.caught(() => refresh(two, before.refresh_token)),
          await two.caught(() => poll(two, codes, b.session_id)),
          await two.caught(() => exchange(two, code, c.session_id)),
          await two.caught(() => complete(two, d.access_token, signInId, oneTime)),
          await two.caught(() => tool(two, 'my_bookings', before.access_token)),
        ]
        await two.moveClocks(1)
        const ending = end(person, await formAt(two, '/poppy/agents', person))
        const requests = [...caught]
        requests.splice(round % (caught.length + 1), 0, ending)
        const answers = await atOnce(two, requests, round)
        noneFailed(answers)
        const ended = answers[round % (caught.length + 1)]
        expect(ended?.status).toBe(200)
        const isPartial = what === 'takes the only right away'
        for (const answer of [...answers, Response.json(before)]) {
          if (answer === ended || answer.status !== 200) continue
          const given = (await answer.json()) as Partial<Tokens>
          if (given.access_token === undefined) continue
          const now = await outcome(await tool(two, 'my_bookings', given.access_token))
          expect({ what, round, now }).toEqual({ what, round, now: expect.stringMatching(/^403 /) })
          if (given.refresh_token === undefined) continue
          const again = await refresh(two, given.refresh_token)
          // Of a right that was taken away the others stay.
          if (isPartial && again.status === 200)
            expect(((await again.json()) as Tokens).scope.split(' ')).not.toContain('poppy:read')
          else expect(await outcome(again)).toBe('400 invalid_grant')
        }
        // Nor does anything come afterwards that was approved before.
        await two.moveClocks(5_000)
        expect(await outcome(await poll(two, codes, b.session_id))).toMatch(/^400 (access_denied|invalid_grant)$/)
        expect(await outcome(await exchange(two, code, c.session_id))).toBe('400 invalid_grant')
        expect(await statusOf(await complete(two, d.access_token, signInId, oneTime))).toBe('failed')
      }
    },
  )

  test('a stronger sign-in in one Session and the end of the old one touch nobody who has moved [4.9.signs-out-sessions]', async () => {
    for (let round = 0; round < rounds * 2; round++) {
      const person = somebody()
      const [mine, other] = [await started(two), await started(two)]
      const old = await signIn(two, person, mine.session_id)
      const beside = (await (await refresh(two, old.refresh_token, other.session_id)).json()) as Tokens
      const newer = await signIn(two, person, mine.session_id)
      const oldToken = beside.refresh_token ?? old.refresh_token
      const moves = round % 2 === 0
      const requests = [
        await two.caught(() => two.agent.revoke(oldToken)),
        // The other Session moves to the new one, or goes on with the old one, at this moment.
        await two.caught(() => refresh(two, moves ? newer.refresh_token : oldToken, other.session_id)),
        await two.caught(() => tool(two, 'my_bookings', newer.access_token)),
        await two.caught(() => tool(two, 'my_bookings', beside.access_token)),
      ]
      const [revoked, refreshed, mineCalled, besideCalled] = (await atOnce(two, requests, round >> 1)) as [
        Response,
        Response,
        Response,
        Response,
      ]
      expect([revoked.status, mineCalled.status]).toEqual([200, 200])
      expect(['200', '403 sign_in_required']).toContain(await outcome(besideCalled))
      expect((await tool(two, 'my_bookings', newer.access_token)).status).toBe(200)
      if (moves) {
        expect(refreshed.status).toBe(200)
        const { access_token } = (await refreshed.json()) as Tokens
        expect(await outcome(await tool(two, 'my_bookings', access_token))).toBe('200')
      } else {
        if (refreshed.status === 200) {
          const { access_token } = (await refreshed.json()) as Tokens
          expect(await outcome(await tool(two, 'my_bookings', access_token))).toBe('403 sign_in_required')
        } else expect(await outcome(refreshed)).toBe('400 invalid_grant')
        expect(await outcome(await tool(two, 'my_bookings', beside.access_token))).toBe('403 sign_in_required')
        expect(await outcome(await refresh(two, oldToken))).toBe('400 invalid_grant')
      }
    }
  })

  test('a one-time code completes once, however often it comes at once', async () => {
    for (let round = 0; round < rounds; round++) {
      const person = somebody()
      const { access_token } = await started(two)
      const { signInId, code } = await waiting(two, access_token, person)
      const requests: Request[] = []
      for (let at = 0; at < 6; at++) requests.push(await two.caught(() => complete(two, access_token, signInId, code)))
      const answers = await atOnce(two, requests, round)
      noneFailed(answers)
      const ends = await Promise.all(answers.map(statusOf))
      expect(ends.filter((one) => one === 'complete')).toHaveLength(1)
      expect(ends.filter((one) => one === 'failed')).toHaveLength(5)
      const given = (await answers[ends.indexOf('complete')]?.json()) as Tokens
      expect((await tool(two, 'my_bookings', given.access_token)).status).toBe(200)
    }
  })

  test('guesses at a one-time code are five, however many come at once [4.7.wrong-code]', async () => {
    for (let round = 0; round < rounds; round++) {
      const person = somebody()
      const { access_token } = await started(two)
      const { signInId, code } = await waiting(two, access_token, person)
      const requests: Request[] = []
      for (let at = 1; at <= 16; at++) {
        const guess = String((Number(code) + at) % 1_000_000).padStart(6, '0')
        requests.push(await two.caught(() => complete(two, access_token, signInId, guess)))
      }
      const answers = await atOnce(two, requests, round)
      noneFailed(answers)
      const ends = await Promise.all(answers.map(statusOf))
      expect(ends.filter((one) => one === 'code_required')).toHaveLength(4)
      expect(ends.filter((one) => one === 'failed')).toHaveLength(12)
      expect(await statusOf(await complete(two, access_token, signInId, code))).toBe('failed')
    }
  })

  test('guesses at credentials are ten for a person, and guesses at user codes too [4.7.rate-limit]', async () => {
    const person = somebody()
    const requests: Request[] = []
    const forms: Request[] = []
    for (let at = 0; at < 30; at++) {
      // Another User each time: whom they are about is what counts.
      two.agent.userId = `usr_${id()}`
      const { access_token } = await started(two)
      requests.push(await two.caught(() => credentials(two, access_token, person, `wrong-${at}`)))
      forms.push(
        submission(two, '/poppy/device', person, [['user_code', `BCDFGH${'BCDFGHJKLM'[at % 10]}${'BCD'[at % 3]}`]]),
      )
    }
    const count = async (answers: readonly Response[], end: string) =>
      (await Promise.all(answers.map(statusOf))).filter((one) => one === end).length
    const tried = await atOnce(two, requests)
    expect([await count(tried, 'failed'), await count(tried, '429')]).toEqual([10, 20])
    const pages = await atOnce(two, forms)
    expect(pages.map(({ status }) => status).sort()).toEqual([
      ...Array.from({ length: 10 }, () => 400),
      ...Array.from({ length: 20 }, () => 429),
    ])
  })

  test('a browser assertion lets one browser in [5.jti-once]', async () => {
    const { agent, origin } = two
    for (let round = 0; round < rounds; round++) {
      const { session_id } = await started(two)
      const assertion = await agent.browserAssertion(session_id, `${origin}/bookings`)
      const answers = await two.storm(
        [
          new Request(`${origin}/poppy/browser-session`, {
            method: 'POST',
            body: new URLSearchParams({ assertion }),
            headers: { origin: 'null', 'content-type': 'application/x-www-form-urlencoded' },
          }),
        ],
        3,
      )
      expect(answers.map(({ status }) => status).sort()).toEqual([303, 400, 400, 400, 400, 400])
      expect(answers.filter(({ headers }) => headers.has('set-cookie'))).toHaveLength(1)
    }
  })
})
