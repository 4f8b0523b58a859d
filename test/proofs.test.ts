import { describe, expect, it } from 'vitest'
import { makeInstances, sqliteFile } from './setup/instances.ts'
import { stores } from './setup/stores.ts'
import { type Bend, id, makeKeys, sha256, type WireAgent } from './setup/wire-agent.ts'
import { makeWorld, outcome, secret, type World } from './setup/world.ts'

const origin = 'https://miramar.example'
const echoUrl = `${origin}/poppy/tools/echo`
const tokenUrl = `${origin}/poppy/token`

/** Calls a tool with a proof that is bent, or with none of ours when it is given whole. */
async function callWith(world: World, token: string, bend: Bend | string, agent = world.agent): Promise<Response> {
  const proof = typeof bend === 'string' ? bend : await agent.proof('POST', echoUrl, token, bend)
  return agent.call('/poppy/tools/echo', token, { proof, body: { text: 'hello' } })
}

/** Starts a Session with a proof that is bent. */
const startWith = async (agent: WireAgent, bend: Bend) =>
  agent.startSession({}, { proof: await agent.proof('POST', tokenUrl, undefined, bend) })

const otherKeys = await makeKeys()

const wrong: Readonly<Record<string, Bend>> = {
  'another method': { claims: { htm: 'GET' } },
  'another URL': { claims: { htu: `${origin}/poppy/tools/my_bookings` } },
  'another host': { claims: { htu: 'https://other.example/poppy/tools/echo' } },
  'no URL': { claims: { htu: undefined } },
  'the hash of another token': { claims: { ath: sha256('another token') } },
  'no jti': { claims: { jti: undefined } },
  'no time': { claims: { iat: undefined } },
  'an hour-old time': { claims: { iat: Date.parse('2026-11-30T11:00:00Z') / 1000 } },
  'a time in an hour': { claims: { iat: Date.parse('2026-11-30T13:00:00Z') / 1000 } },
  'a time in a thousand years': { claims: { iat: 33_000_000_000 } },
  'another typ': { header: { typ: 'JWT' } },
  'a signature by another key than the one it shows': { key: otherKeys.privateKey },
  'a private key in the header': { header: { jwk: { ...otherKeys.publicJwk, d: 'AAAA' } } },
}

describe('a proof', () => {
  it.each(Object.entries(wrong))(
    'with %s is refused at an API and at the token endpoint [4.3.htm, 4.3.htu, 4.3.iat, 4.3.signature, 4.3.proof-type, 4.3.failed-proof, 6.invalid-dpop-proof, 6.challenge, 4.2.invalid-dpop-proof]',
    async (_, bend) => {
      const world = await makeWorld()
      const { access_token } = await world.start()
      const refused = await callWith(world, access_token, bend)
      expect(refused.headers.get('www-authenticate')).toMatch(/^DPoP error="invalid_dpop_proof"/)
      expect(await outcome(refused)).toBe('401 invalid_dpop_proof')
      const atToken = await startWith(world.agent, bend)
      expect(atToken.headers.get('www-authenticate')).toMatch(/^DPoP error="invalid_dpop_proof"/)
      expect(await outcome(atToken)).toBe('400 invalid_dpop_proof')
      expect(await outcome(await callWith(world, access_token, {}))).toBe('200')
    },
  )

  it('is made by the key of the token request, for the token beside it [4.3.bind, 4.3.bound-key, 4.3.ath]', async () => {
    const world = await makeWorld()
    const [first, second] = [await world.start(), await world.start()]
    const stolen = { header: { jwk: otherKeys.publicJwk }, key: otherKeys.privateKey }
    expect(await outcome(await callWith(world, first.access_token, stolen))).toBe('401 invalid_dpop_proof')
    const forSecond = await world.agent.proof('POST', echoUrl, second.access_token)
    expect(await outcome(await callWith(world, first.access_token, forSecond))).toBe('401 invalid_dpop_proof')
    expect(await outcome(await callWith(world, first.access_token, { claims: { ath: undefined } }))).toBe(
      '401 invalid_dpop_proof',
    )
    expect(await outcome(await callWith(world, second.access_token, forSecond))).toBe('200')
  })

  it('is needed beside the token, once [4.3.dpop-scheme]', async () => {
    const world = await makeWorld()
    const { access_token } = await world.start()
    const send = (dpop?: string) =>
      world.send(
        new Request(echoUrl, {
          method: 'POST',
          headers: { authorization: `DPoP ${access_token}`, ...(dpop === undefined ? {} : { dpop }) },
        }),
      )
    const proof = await world.agent.proof('POST', echoUrl, access_token)
    const another = await world.agent.proof('POST', echoUrl, access_token)
    expect(await outcome(await send())).toBe('401 invalid_dpop_proof')
    expect(await outcome(await send(''))).toBe('401 invalid_dpop_proof')
    expect(await outcome(await send(`${proof}, ${another}`))).toBe('401 invalid_dpop_proof')
    expect(await outcome(await send(access_token))).toBe('401 invalid_dpop_proof')
  })

  it('does not count query, fragment and spelling of the URL [4.3.htu]', async () => {
    const world = await makeWorld()
    const { access_token } = await world.start()
    for (const htu of [`${echoUrl}?a=b`, `${echoUrl}#x`, 'HTTPS://MIRAMAR.example:443/poppy/tools/%65cho'])
      expect(await outcome(await callWith(world, access_token, { claims: { htu } }))).toBe('200')
    const dpop = await world.agent.proof('POST', echoUrl, access_token)
    const headers = { authorization: `DPoP ${access_token}`, dpop, 'content-type': 'application/json' }
    const asked = new Request(`${echoUrl}?lang=en`, { method: 'POST', headers, body: '{"text":"hello"}' })
    expect(await outcome(await world.send(asked))).toBe('200')
  })
})

describe('a proof used twice', () => {
  it.each([
    ['now', 0],
    ['at the old edge of the window', -60],
    ['at the far edge of the clocks’ difference', 5],
  ])(
    'made for %s is accepted once, at an API and at the token endpoint [4.3.jti-once, 4.3.iat, K01]',
    async (_, at) => {
      const world = await makeWorld()
      const { access_token } = await world.start()
      const iat = world.clock.now / 1000 + at
      const proof = await world.agent.proof('POST', echoUrl, access_token, { claims: { iat } })
      expect(await outcome(await callWith(world, access_token, proof))).toBe('200')
      expect(await outcome(await callWith(world, access_token, proof))).toBe('401 invalid_dpop_proof')
      const atToken = await world.agent.proof('POST', tokenUrl, undefined, { claims: { iat } })
      expect(await outcome(await world.agent.startSession({}, { proof: atToken }))).toBe('200')
      expect(await outcome(await world.agent.startSession({}, { proof: atToken }))).toBe('400 invalid_dpop_proof')
      for (const later of [4999, 1, 30_000, 30_000, 1000]) {
        world.clock.now += later
        expect(await outcome(await callWith(world, access_token, proof))).toBe('401 invalid_dpop_proof')
        expect(await outcome(await world.agent.startSession({}, { proof: atToken }))).toBe('400 invalid_dpop_proof')
      }
    },
  )

  it('is refused just outside the window, before its use and after [4.3.iat]', async () => {
    const world = await makeWorld()
    const { access_token } = await world.start()
    for (const at of [-61, 6]) {
      const bend = { claims: { iat: world.clock.now / 1000 + at } }
      expect(await outcome(await callWith(world, access_token, bend))).toBe('401 invalid_dpop_proof')
      expect(await outcome(await startWith(world.agent, bend))).toBe('400 invalid_dpop_proof')
    }
  })

  it('is told by its jti and its key: another key may come to the same jti [4.3.jti-once]', async () => {
    const world = await makeWorld()
    const jti = id()
    const other = { header: { jwk: otherKeys.publicJwk }, key: otherKeys.privateKey }
    expect(await outcome(await startWith(world.agent, { claims: { jti } }))).toBe('200')
    expect(await outcome(await startWith(world.agent, { claims: { jti }, ...other }))).toBe('200')
    expect(await outcome(await startWith(world.agent, { claims: { jti } }))).toBe('400 invalid_dpop_proof')
  })

  it('is spent too when the request it came with was refused for another reason', async () => {
    const world = await makeWorld()
    const { access_token } = await world.start()
    const bookings = `${origin}/poppy/tools/my_bookings`
    const proof = await world.agent.proof('POST', bookings, access_token)
    const ask = async () => outcome(await world.agent.call('/poppy/tools/my_bookings', access_token, { proof }))
    expect([await ask(), await ask()]).toEqual(['403 sign_in_required', '401 invalid_dpop_proof'])
  })

  it('is refused after a restart as well [4.3.jti-once, K02]', async () => {
    const file = sqliteFile()
    const { agent, turnTo } = await makeInstances([{ store: file() }, { store: file() }])
    const first = turnTo(0)
    const { access_token } = await first.start(agent)
    const proof = await agent.proof('POST', echoUrl, access_token)
    expect(await outcome(await callWith(first, access_token, proof, agent))).toBe('200')
    await first.company.close()
    expect(await outcome(await callWith(turnTo(1), access_token, proof, agent))).toBe('401 invalid_dpop_proof')
  })

  for (const { name, missing, fresh } of stores) {
    describe.skipIf(missing)(`at two instances on ${name}`, () => {
      it('succeeds at one of them, in sequence and at the same moment [4.3.jti-once, K02]', async () => {
        const database = await fresh()
        const { agent, turnTo } = await makeInstances([{ store: database.store() }, { store: database.store() }])
        const [here, there] = [turnTo(0), turnTo(1)]
        const { access_token } = await here.start(agent)
        const request = async (proof: string) =>
          new Request(echoUrl, {
            method: 'POST',
            headers: { authorization: `DPoP ${access_token}`, dpop: proof, 'content-type': 'application/json' },
            body: '{"text":"hello"}',
          })
        const proof = await agent.proof('POST', echoUrl, access_token)
        expect(await outcome(await here.send(await request(proof)))).toBe('200')
        expect(await outcome(await there.send(await request(proof)))).toBe('401 invalid_dpop_proof')
        for (let round = 0; round < 5; round++) {
          const fresh = await agent.proof('POST', echoUrl, access_token)
          const requests = await Promise.all(Array.from({ length: 6 }, () => request(fresh)))
          const answers = requests.map((one, number) => (number % 2 ? here : there).send(one))
          const outcomes = await Promise.all((await Promise.all(answers)).map(outcome))
          expect(outcomes.filter((one) => one === '200')).toHaveLength(1)
          expect(new Set(outcomes)).toEqual(new Set(['200', '401 invalid_dpop_proof']))
        }
      })
    })
  }
})

describe('nonces', () => {
  const on = { nonces: { lifetime: 300 } }

  /** The two places that ask for nonces, with the status that each refuses with. */
  const places = (world: World, token: string) =>
    [
      ['401', (nonce: unknown) => callWith(world, token, { claims: { nonce } })],
      ['400', (nonce: unknown) => startWith(world.agent, { claims: { nonce } })],
    ] as const

  async function startWithNonce(world: World) {
    const refused = await startWith(world.agent, {})
    const nonce = refused.headers.get('dpop-nonce') ?? ''
    expect(await outcome(refused)).toBe('400 use_dpop_nonce')
    const answer = await startWith(world.agent, { claims: { nonce } })
    expect(answer.headers.get('dpop-nonce')).toBe(nonce)
    return { nonce, token: ((await answer.json()) as { access_token: string }).access_token }
  }

  it('are asked for when one is missing, stale or made up, and never called a failed proof [4.2.use-dpop-nonce, 6.use-dpop-nonce, 6.challenge, 4.3.failed-proof, K07]', async () => {
    const world = await makeWorld(on)
    const { nonce, token } = await startWithNonce(world)
    world.clock.now += 600_000
    for (const [status, use] of places(world, token)) {
      let newest = ''
      for (const wrong of [undefined, nonce, id(), '', 7, 'x'.repeat(3000)]) {
        const refused = await use(wrong)
        expect(refused.headers.get('www-authenticate')).toMatch(/^DPoP error="use_dpop_nonce"/)
        newest = refused.headers.get('dpop-nonce') ?? ''
        expect(newest).not.toBe(nonce)
        expect(await outcome(refused)).toBe(`${status} use_dpop_nonce`)
      }
      const accepted = await use(newest)
      expect([accepted.status, accepted.headers.get('dpop-nonce')]).toEqual([200, newest])
    }
  })

  it('overlap: the one before is accepted for a while after a rotation, and the answer brings the new one [K07]', async () => {
    const world = await makeWorld(on)
    const { nonce, token } = await startWithNonce(world)
    world.clock.now += 300_000
    for (const [, use] of places(world, token)) {
      const accepted = await use(nonce)
      expect(accepted.status).toBe(200)
      expect(accepted.headers.get('dpop-nonce')).toMatch(/^[\w-]{32}$/)
      expect(accepted.headers.get('dpop-nonce')).not.toBe(nonce)
    }
  })

  it('are known to each instance without asking the store, and outlive a rotated secret', async () => {
    const { agent, turnTo } = await makeInstances([
      { store: sqliteFile()(), config: on },
      {
        store: sqliteFile()(),
        config: { ...on, secret: ['a-newer-secret-of-more-than-thirty-two-characters-Q3', secret] },
      },
      { store: sqliteFile()(), config: { ...on, secret: 'a-newer-secret-of-more-than-thirty-two-characters-Q3' } },
    ])
    turnTo(0)
    const nonce = (await startWith(agent, {})).headers.get('dpop-nonce') ?? ''
    turnTo(1)
    expect((await startWith(agent, { claims: { nonce } })).status).toBe(200)
    turnTo(2)
    expect(await outcome(await startWith(agent, { claims: { nonce } }))).toBe('400 use_dpop_nonce')
  })

  it('come with other errors too, and are not spent by use', async () => {
    const world = await makeWorld(on)
    const { nonce, token } = await startWithNonce(world)
    const denied = await world.agent.call('/poppy/tools/my_bookings', token, {
      proof: await world.agent.proof('POST', `${origin}/poppy/tools/my_bookings`, token, { claims: { nonce } }),
    })
    expect([await outcome(denied), denied.headers.get('dpop-nonce')]).toEqual(['403 sign_in_required', nonce])
    for (const _ of [1, 2]) expect((await callWith(world, token, { claims: { nonce } })).status).toBe(200)
  })

  it('are not asked for where the company did not switch them on', async () => {
    const world = await makeWorld()
    const answer = await world.agent.startSession()
    expect([answer.status, answer.headers.get('dpop-nonce')]).toEqual([200, null])
  })
})

describe('behind a proxy', () => {
  it('the proof is compared with the public address, whatever the request looks like inside [4.3.htu, K04]', async () => {
    const world = await makeWorld()
    const { access_token } = await world.start()
    const call = async (htu: string, headers: Record<string, string>) => {
      const dpop = await world.agent.proof('POST', htu, access_token)
      const authorization = `DPoP ${access_token}`
      const all = { authorization, dpop, 'content-type': 'application/json', ...headers }
      const inner = 'http://127.0.0.1:3000/poppy/tools/echo'
      return outcome(await world.send(new Request(inner, { method: 'POST', headers: all, body: '{"text":"hello"}' })))
    }
    const forwarded = { 'x-forwarded-host': 'evil.test', 'x-forwarded-proto': 'http', host: 'localhost:3000' }
    for (const headers of [{}, forwarded]) {
      expect(await call(echoUrl, headers)).toBe('200')
      expect(await call('http://127.0.0.1:3000/poppy/tools/echo', headers)).toBe('401 invalid_dpop_proof')
      expect(await call('https://evil.test/poppy/tools/echo', headers)).toBe('401 invalid_dpop_proof')
    }
    const inner = new Request('http://127.0.0.1:3000/poppy/token', {
      method: 'POST',
      headers: { dpop: await world.agent.proof('POST', tokenUrl), ...forwarded },
      body: new URLSearchParams({
        grant_type: 'urn:ietf:params:oauth:grant-type:jwt-bearer',
        assertion: await world.agent.sessionAssertion(),
        client_id: world.agent.clientId,
        client_assertion_type: 'urn:ietf:params:oauth:client-assertion-type:jwt-bearer',
        client_assertion: await world.agent.clientAssertion(),
      }),
    })
    expect(await outcome(await world.send(inner))).toBe('200')
  })
})

describe('the Authorization header', () => {
  it('has its scheme in any letter case, and works without any cookie [4.3.no-cookies, K09]', async () => {
    const world = await makeWorld()
    const { access_token } = await world.start()
    for (const scheme of ['DPoP', 'dpop', 'DPOP', 'dPoP ']) {
      const headers = { authorization: `${scheme} ${access_token}` }
      const answer = await world.agent.call('/poppy/tools/echo', access_token, { headers, body: { text: 'hello' } })
      expect([scheme, await outcome(answer)]).toEqual([scheme, '200'])
    }
  })

  it('is never taken for no header at all when it is malformed, doubled or of another scheme [K09, 6.invalid-token]', async () => {
    const world = await makeWorld()
    const { access_token } = await world.start()
    for (const authorization of [
      '',
      'DPoP',
      'DPoP ',
      `DPoP\u00a0${access_token}`,
      `DPoP,${access_token}`,
      `DPoP ${access_token} x`,
      `DPoP "${access_token}"`,
      `DPoP token=${access_token}`,
      `DPoP ${access_token}, DPoP ${access_token}`,
      `DPoP ${access_token}, Bearer x`,
      access_token,
      `Basic ${access_token}`,
      `Bearer ${access_token}`,
      `Token ${access_token}`,
    ]) {
      const refused = await world.agent.call('/poppy/tools/echo', access_token, { headers: { authorization } })
      expect(refused.headers.get('www-authenticate')).toMatch(/^DPoP error="invalid_token"/)
      expect([authorization.slice(0, 20), await outcome(refused)]).toEqual([
        authorization.slice(0, 20),
        '401 invalid_token',
      ])
    }
    const anonymous = new Request(echoUrl, { method: 'POST', body: '{"text":"hello"}' })
    expect(await outcome(await world.send(anonymous))).toBe('401 invalid_token')
  })
})
