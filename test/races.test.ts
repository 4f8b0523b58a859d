import { beforeAll, describe, expect, it } from 'vitest'
import { stores } from './setup/stores.ts'
import { startTwoProcesses, type TwoProcesses } from './setup/two-processes.ts'
import { sha256 } from './setup/wire-agent.ts'
import { outcome, type Tokens, verifierOf } from './setup/world.ts'

// Two processes are one Company on one database, and the same thing reaches both at the same moment, several times over:
// it happens once.

const rounds = process.env.LONG ? 100 : 8
const copies = 3
const form = { 'content-type': 'application/x-www-form-urlencoded' }

/** Answers by how they ended, such as `{ '200': 1, '401 invalid_client': 5 }`. */
async function tally(answers: readonly Response[]): Promise<Record<string, number>> {
  const counts: Record<string, number> = {}
  for (const answer of answers) {
    const end = await outcome(answer.clone())
    counts[end] = (counts[end] ?? 0) + 1
  }
  return counts
}

const others = 2 * copies - 1
const started = async ({ agent }: TwoProcesses) => (await (await agent.startSession()).json()) as Tokens

/** A sealed form of the consent page. */
async function openForm({ agent, origin, send }: TwoProcesses): Promise<string> {
  const query = new URLSearchParams({
    response_type: 'code',
    client_id: agent.clientId,
    redirect_uri: agent.redirectUri,
    scope: 'poppy:read poppy:write',
    state: 'a-state',
    code_challenge: sha256(verifierOf(agent)),
    code_challenge_method: 'S256',
  })
  const page = await send(new Request(`${origin}/poppy/authorize?${query}`))
  return /name="request" value="([^"]+)"/.exec(await page.text())?.[1] ?? ''
}

function decision({ origin }: TwoProcesses, request: string): Request {
  const body = new URLSearchParams({ request, decision: 'approve' })
  for (const scope of ['poppy:read', 'poppy:write']) body.append('scope', scope)
  return new Request(`${origin}/poppy/authorize`, { method: 'POST', body, headers: { origin, ...form } })
}

async function getCode(two: TwoProcesses): Promise<string> {
  const answer = await two.send(decision(two, await openForm(two)))
  return new URL(answer.headers.get('location') ?? '').searchParams.get('code') ?? ''
}

const exchange = (two: TwoProcesses, code: string, session_id: string) =>
  two.agent.token({
    grant_type: 'authorization_code',
    code,
    redirect_uri: two.agent.redirectUri,
    code_verifier: verifierOf(two.agent),
    session_id,
  })

async function signIn(two: TwoProcesses): Promise<Tokens> {
  const { session_id } = await started(two)
  return (await (await exchange(two, await getCode(two), session_id)).json()) as Tokens
}

const tool = (two: TwoProcesses, name: string, token: string) =>
  two.agent.call(`/poppy/tools/${name}`, token, { body: name === 'echo' ? { text: 'x' } : {} })

const timeout = process.env.LONG ? 900_000 : 60_000

describe.each(stores)('at two processes on $name, at the same moment,', { timeout }, ({ name, missing }) => {
  let two: TwoProcesses
  beforeAll(async () => {
    if (missing !== null) return
    two = await startTwoProcesses(name)
    return two.close
  }, 120_000)
  const test = it.skipIf(missing !== null)

  test('the same proof opens a tool once [4.3.jti-once, K02]', async () => {
    const { access_token } = await started(two)
    for (let round = 0; round < rounds; round++) {
      const call = await two.caught(() => tool(two, 'echo', access_token))
      expect(await tally(await two.storm([call], copies))).toEqual({ '200': 1, '401 invalid_dpop_proof': others })
    }
  })

  test('the same proof, with fresh assertions each time, starts one Session [4.3.jti-once, K02]', async () => {
    for (let round = 0; round < rounds; round++) {
      const proof = await two.agent.proof('POST', two.agent.tokenUrl)
      const requests = []
      for (let at = 0; at < copies; at++) requests.push(await two.caught(() => two.agent.startSession({}, { proof })))
      const counts = await tally(await two.storm(requests, 1))
      expect(counts['200']).toBe(1)
      // The others carry an assertion twice as well, and which of the two is told is no matter.
      expect(
        Object.keys(counts).filter((end) => !/^(?:200|40[01] invalid_(?:dpop_proof|client|grant))$/.test(end)),
      ).toEqual([])
    }
  })

  test('the same client assertion, with all else fresh, starts one Session [K14]', async () => {
    for (let round = 0; round < rounds; round++) {
      const client_assertion = await two.agent.clientAssertion()
      const requests = []
      for (let at = 0; at < 2 * copies; at++)
        requests.push(await two.caught(() => two.agent.startSession({ client_assertion })))
      const answers = await Promise.all(requests.map((request, at) => two.send(request, at % 2 === 0 ? 0 : 1)))
      expect(await tally(answers)).toEqual({ '200': 1, '401 invalid_client': others })
    }
  })

  test('the same Session assertion, with all else fresh, starts one Session [4.2.jti-once, K14]', async () => {
    for (let round = 0; round < rounds; round++) {
      const assertion = await two.agent.sessionAssertion()
      const requests = []
      for (let at = 0; at < 2 * copies; at++)
        requests.push(await two.caught(() => two.agent.startSession({ assertion })))
      const answers = await Promise.all(requests.map((request, at) => two.send(request, at % 2 === 0 ? 0 : 1)))
      expect(await tally(answers)).toEqual({ '200': 1, '400 invalid_grant': others })
    }
  })

  test('the same client assertion at the token endpoint and at revocation counts once [K14]', async () => {
    for (let round = 0; round < rounds; round++) {
      const client_assertion = await two.agent.clientAssertion()
      const session = await two.caught(() => two.agent.startSession({ client_assertion }))
      const revocation = await two.caught(() => two.agent.revoke('pat_unknown', { client_assertion }))
      const answers = await Promise.all([two.send(session, 0), two.send(revocation, 1)])
      expect(await tally(answers)).toEqual({ '200': 1, '401 invalid_client': 1 })
    }
  })

  test('one code is exchanged once at most, and what it gave is taken back [4.5.code-once, K25]', async () => {
    for (let round = 0; round < rounds; round++) {
      const sessions = [await started(two), await started(two)]
      const code = await getCode(two)
      const requests = []
      for (const { session_id } of sessions) requests.push(await two.caught(() => exchange(two, code, session_id)))
      const answers = await Promise.all(requests.map((request, at) => two.send(request, at === 0 ? 0 : 1)))
      expect(await tally(answers)).toEqual({ '200': 1, '400 invalid_grant': 1 })
      const given = (await answers.find(({ status }) => status === 200)?.json()) as Tokens
      // 6749, 4.1.2: somebody else had the code
      expect((await tool(two, 'my_bookings', given.access_token)).status).toBe(403)
      const refresh = { grant_type: 'refresh_token', refresh_token: given.refresh_token ?? '' }
      expect(await outcome(await two.agent.token(refresh))).toBe('400 invalid_grant')
    }
  })

  test('ten refreshes of one Account Token all succeed, each with a token that works [4.8.with-session, 4.8.without-session]', async () => {
    const { session_id, refresh_token = '' } = await signIn(two)
    for (let round = 0; round < rounds; round++) {
      const requests = []
      for (let at = 0; at < 10; at++) {
        const more = at % 2 === 0 ? { session_id } : {}
        requests.push(await two.caught(() => two.agent.token({ grant_type: 'refresh_token', refresh_token, ...more })))
      }
      const answers = await Promise.all(requests.map((request, at) => two.send(request, at % 4 < 2 ? 0 : 1)))
      expect(await tally(answers)).toEqual({ '200': 10 })
      for (const answer of answers) {
        const given = (await answer.json()) as Tokens
        expect([given.signed_in, given.refresh_token]).toEqual([true, undefined])
        expect((await tool(two, 'my_bookings', given.access_token)).status).toBe(200)
      }
    }
  })

  test('one form of the consent page is answered once, with one code [4.5.redirect-carries]', async () => {
    for (let round = 0; round < rounds; round++) {
      const answers = await two.storm([decision(two, await openForm(two))], copies)
      const codes = answers.flatMap(({ headers }) => {
        const location = headers.get('location')
        return location === null ? [] : [new URL(location).searchParams.get('code')]
      })
      expect(answers.map(({ status }) => status).sort()).toEqual([303, ...Array.from({ length: others }, () => 400)])
      expect(codes).toHaveLength(1)
    }
  })

  test('a sign-out, with refreshes beside it, leaves nobody signed in [4.9.revoke, 4.9.signs-out-sessions]', async () => {
    for (let round = 0; round < rounds; round++) {
      const { refresh_token = '' } = await signIn(two)
      const requests = [await two.caught(() => two.agent.revoke(refresh_token))]
      for (let at = 0; at < 5; at++)
        requests.push(await two.caught(() => two.agent.token({ grant_type: 'refresh_token', refresh_token })))
      const answers = await Promise.all(requests.map((request, at) => two.send(request, at % 2 === 0 ? 0 : 1)))
      for (const end of Object.keys(await tally(answers))) expect(['200', '400 invalid_grant']).toContain(end)
      for (const answer of answers.slice(1)) {
        if (answer.status !== 200) continue
        const { access_token } = (await answer.json()) as Tokens
        expect((await tool(two, 'my_bookings', access_token)).status).toBe(403)
      }
    }
  })

  test('a device code gives its sign-in once [4.6.complete]', async () => {
    const { agent, origin, send } = two
    for (let round = 0; round < rounds; round++) {
      const { session_id } = await started(two)
      const begun = await agent.post(`${origin}/poppy/device-authorization`, { scope: 'poppy:read' }, { proof: null })
      const { device_code, verification_uri_complete } = (await begun.json()) as Record<string, string>
      const page = await send(new Request(verification_uri_complete ?? ''))
      const request = /name="request" value="([^"]+)"/.exec(await page.text())?.[1] ?? ''
      const body = new URLSearchParams({ request, decision: 'approve', scope: 'poppy:read' })
      await send(new Request(`${origin}/poppy/device`, { method: 'POST', body, headers: { origin, ...form } }))
      const grant_type = 'urn:ietf:params:oauth:grant-type:device_code'
      const requests = []
      for (let at = 0; at < 4; at++)
        requests.push(await two.caught(() => agent.token({ grant_type, device_code: device_code ?? '', session_id })))
      const answers = await Promise.all(requests.map((one, at) => send(one, at % 2 === 0 ? 0 : 1)))
      const counts = await tally(answers)
      expect(counts['200']).toBe(1)
      expect(answers.filter(({ status }) => status >= 500)).toEqual([])
    }
  })
})
