import { createPublicKey, createSecretKey } from 'node:crypto'
import { type CryptoKey, type JWK, SignJWT } from 'jose'
import { describe, expect, it } from 'vitest'
import { bent, type Stage, setStage } from './setup/refusals.ts'
import { id, makeKeys, sha256, type WireAgent } from './setup/wire-agent.ts'

const origin = 'https://miramar.example'
const tokenUrl = `${origin}/poppy/token`
const now = Date.parse('2026-11-30T12:00:00Z') / 1000
const base64url = (text: string | Uint8Array) => Buffer.from(text).toString('base64url')

/** A JWT in the making: header and payload as they will be written, and the right key. */
interface Draft {
  readonly header: Record<string, unknown>
  readonly payload: Record<string, unknown>
  readonly key: CryptoKey
  /** The public half, which everybody has. */
  readonly publicJwk: JWK
}

/** Signs texts as they are, so that they may say what no serialiser writes. */
async function signTexts(header: string, payload: string, key: CryptoKey): Promise<string> {
  const input = `${base64url(header)}.${base64url(payload)}`
  const signature = await crypto.subtle.sign({ name: 'ECDSA', hash: 'SHA-256' }, key, Buffer.from(input))
  return `${input}.${base64url(new Uint8Array(signature))}`
}

const texts = ({ header, payload }: Draft) => [JSON.stringify(header), JSON.stringify(payload)] as const
const sign = (draft: Draft) => signTexts(...texts(draft), draft.key)
const withClaims = (claims: Record<string, unknown>) => (draft: Draft) =>
  sign({ ...draft, payload: { ...draft.payload, ...claims } })
const withHeader = (header: Record<string, unknown>) => (draft: Draft) =>
  sign({ ...draft, header: { ...draft.header, ...header } })
const unsigned = (alg: string) => async (draft: Draft) => {
  const [, payload] = texts(draft)
  return `${base64url(JSON.stringify({ ...draft.header, alg }))}.${base64url(payload)}.`
}
const hmac = (secret: (jwk: JWK) => string | Uint8Array) => (draft: Draft) =>
  new SignJWT(draft.payload)
    .setProtectedHeader({ ...draft.header, alg: 'HS256' })
    .sign(createSecretKey(Buffer.from(secret(draft.publicJwk))))
const pem = (jwk: JWK) => createPublicKey({ key: jwk as never, format: 'jwk' }).export({ type: 'spki', format: 'pem' })

const stranger = await makeKeys()
const rsa = await makeKeys('RS256')

/** What is wrong with each kind of JWT alike. */
const wrongEverywhere: Readonly<Record<string, (draft: Draft) => string | Promise<string>>> = {
  'alg none': unsigned('none'),
  'alg None': unsigned('None'),
  'alg none and a signature': async (draft) => `${await unsigned('none')(draft)}AAAA`,
  'no signature': async (draft) => (await sign(draft)).replace(/[^.]*$/, ''),
  'HS256 with the public JWK': hmac((jwk) => JSON.stringify(jwk)),
  'HS256 with the public key as PEM': hmac((jwk) => pem(jwk).toString()),
  'HS256 with x of the public key': hmac((jwk) => Buffer.from(jwk.x ?? '', 'base64url')),
  'HS256 with nothing': hmac(() => '\0'),
  'the key of a stranger': (draft) => sign({ ...draft, key: stranger.privateKey }),
  'RS256 by a stranger': (draft) =>
    new SignJWT(draft.payload).setProtectedHeader({ ...draft.header, alg: 'RS256' }).sign(rsa.privateKey),
  'a changed signature': async (draft) =>
    (await sign(draft)).replace(/\.(.)([^.]*)$/, (_, one, rest) => `.${one === 'A' ? 'B' : 'A'}${rest}`),
  'a changed payload': async (draft) => {
    const [head = '', , signature = ''] = (await sign(draft)).split('.')
    return `${head}.${base64url(JSON.stringify({ ...draft.payload, jti: id() }))}.${signature}`
  },
  'typ of a browser assertion': withHeader({ typ: 'poppy-browser+jwt' }),
  'typ of an access token': withHeader({ typ: 'at+jwt' }),
  'typ that is no text': withHeader({ typ: ['JWT'] }),
  'a critical extension': withHeader({ crit: ['b64'], b64: true }),
  'a member twice in the payload': (draft) => {
    const [header, payload] = texts(draft)
    return signTexts(header, payload.replace('{', '{"jti":"x",'), draft.key)
  },
  'a member twice in the payload, spelled in two ways': (draft) => {
    const [header, payload] = texts(draft)
    return signTexts(header, payload.replace('{', '{"\\u006ati":"x",'), draft.key)
  },
  'a member twice in the header': (draft) => {
    const [header, payload] = texts(draft)
    return signTexts(header.replace('{', '{"alg":"none",'), payload, draft.key)
  },
  'a member twice, deep inside': (draft) => {
    const [header, payload] = texts(draft)
    return signTexts(header, payload.replace('{', '{"more":{"a":1,"a":2},'), draft.key)
  },
  'deep JSON': (draft) => {
    const [header, payload] = texts(draft)
    return signTexts(header, payload.replace('{', `{"more":${'['.repeat(50)}${']'.repeat(50)},`), draft.key)
  },
  'a payload that is a list': (draft) => signTexts(texts(draft)[0], '[]', draft.key),
  'a payload that is no JSON': (draft) => signTexts(texts(draft)[0], 'jti=x', draft.key),
  'a header that is null': (draft) => signTexts('null', texts(draft)[1], draft.key),
  'no jti': withClaims({ jti: undefined }),
  'an empty jti': withClaims({ jti: '' }),
  'a jti that is a number': withClaims({ jti: 7 }),
  'an endless jti': withClaims({ jti: 'x'.repeat(300) }),
  'an iat in an hour': withClaims({ iat: now + 3600, exp: now + 3660 }),
  'an iat in a thousand years': withClaims({ iat: now + 31e9, exp: now + 31e9 + 60 }),
  'an iat that is a text': withClaims({ iat: String(now) }),
  'an iat that is infinite': (draft) => {
    const [header, payload] = texts(draft)
    return signTexts(header, payload.replace(/"iat":\d+/, '"iat":1e999'), draft.key)
  },
  '10,000 characters': withClaims({ more: 'x'.repeat(10_000) }),
  'five parts': async (draft) => `${await sign(draft)}.x.y`,
  'a line break behind it': async (draft) => `${await sign(draft)}\n`,
  padding: async (draft) => (await sign(draft)).replace('.', '=.'),
}

/** What is wrong with assertions; a proof has no exp. */
const wrongAsAssertion: typeof wrongEverywhere = {
  'typ of a proof': withHeader({ typ: 'dpop+jwt' }),
  'no exp': withClaims({ exp: undefined }),
  'an exp that is over': withClaims({ iat: now - 120, exp: now - 60 }),
  'an exp in a day': withClaims({ exp: now + 86_400 }),
  'an exp in a thousand years': withClaims({ exp: now + 31e9 }),
  'an exp before its iat': withClaims({ iat: now + 20, exp: now + 10 }),
  'an exp that is a text': withClaims({ exp: String(now + 60) }),
  'an nbf in an hour': withClaims({ nbf: now + 3600 }),
  'another iss': withClaims({ iss: 'https://other.example/agent.json' }),
  'no iss': withClaims({ iss: undefined }),
  'no sub': withClaims({ sub: undefined }),
  'no aud': withClaims({ aud: undefined }),
  'another aud': withClaims({ aud: 'https://other.example/poppy/token' }),
  'an aud that is almost right': withClaims({ aud: `${tokenUrl}/` }),
  'an aud that names another one too': withClaims({ aud: [tokenUrl, 'https://other.example'] }),
  'an empty list as aud': withClaims({ aud: [] }),
  'an unknown kid': withHeader({ kid: 'unknown' }),
  'a kid that is a path': withHeader({ kid: '../../etc/passwd' }),
  'a key of its own in the header': (draft) =>
    sign({ ...draft, header: { alg: 'ES256', jwk: stranger.publicJwk }, key: stranger.privateKey }),
  'a key set of its own in the header': (draft) =>
    sign({ ...draft, header: { alg: 'ES256', jku: 'https://evil.test/jwks.json' }, key: stranger.privateKey }),
}

const wrongAsSessionAssertion: typeof wrongEverywhere = {
  'no iat': withClaims({ iat: undefined }),
  'aud as a list': withClaims({ aud: [tokenUrl] }),
  'the issuer as aud': withClaims({ aud: origin }),
  'the client as sub': (draft) => withClaims({ sub: draft.payload.iss })(draft),
  'a sub that is no text': withClaims({ sub: 7 }),
}
const wrongAsClientAssertion: typeof wrongEverywhere = { 'another sub': withClaims({ sub: 'usr_x' }) }
const wrongAsProof: typeof wrongEverywhere = {
  'typ JWT': withHeader({ typ: 'JWT' }),
  'no typ': withHeader({ typ: undefined }),
  'no iat': withClaims({ iat: undefined }),
  'a day-old iat': withClaims({ iat: now - 86_400 }),
  'no key': withHeader({ jwk: undefined }),
  'a symmetric key': withHeader({ jwk: { kty: 'oct', k: 'AAAA' } }),
  'a key that is a text': withHeader({ jwk: 'key' }),
  'a point that is not on the curve': withHeader({ jwk: { kty: 'EC', crv: 'P-256', x: 'AAAA', y: 'AAAA' } }),
}

function draftOf(
  kind: 'client' | 'session' | 'proof',
  agent: WireAgent,
  at = { htm: 'POST', htu: tokenUrl, ath: '' },
): Draft {
  const times = { iat: now, exp: now + 60, jti: id() }
  const { publicJwk, privateKey: key } = kind === 'proof' ? agent.dpop : agent.signing
  const header = { alg: 'ES256', kid: agent.keyId }
  switch (kind) {
    case 'client':
      return { header, payload: { iss: agent.clientId, sub: agent.clientId, aud: tokenUrl, ...times }, key, publicJwk }
    case 'session':
      return { header, payload: { iss: agent.clientId, sub: agent.userId, aud: tokenUrl, ...times }, key, publicJwk }
    case 'proof': {
      const { htm, htu, ath } = at
      const payload = { jti: times.jti, iat: now, htm, htu, ...(ath === '' ? {} : { ath }) }
      return { header: { typ: 'dpop+jwt', alg: 'ES256', jwk: publicJwk }, payload, key, publicJwk }
    }
  }
}

const entries = (...tables: (typeof wrongEverywhere)[]) => tables.flatMap((table) => Object.entries(table))

/** A header can't hold every text: what no HTTP client would send is left out. */
const isHeaderValue = (text: string) => !/[\r\n]/.test(text)

async function callTool({ world, token }: Stage, dpop: string): Promise<Response> {
  const headers = { authorization: `DPoP ${token}`, dpop, 'content-type': 'application/json' }
  return world.send(new Request(`${origin}/poppy/tools/echo`, { method: 'POST', headers, body: '{"text":"a"}' }))
}

describe('a JWT that is wrong in any way', () => {
  it('as a client assertion is invalid_client, at both endpoints and for each grant [4.1.private-key-jwt, 4.2.signature, 4.2.invalid-client]', async () => {
    const stage = await setStage()
    const requests = ['a Session', 'a revocation', 'a refresh', 'a code'] as const
    const wrong = entries(wrongEverywhere, wrongAsAssertion, wrongAsClientAssertion)
    for (const [number, [name, make]] of wrong.entries()) {
      const client_assertion = await make(draftOf('client', stage.world.agent))
      // One reader serves them all: each of them gets every fourth, and the revocation endpoint each.
      for (const request of new Set([requests[number % 4] ?? 'a Session', 'a revocation' as const])) {
        const form = bent(await stage.right(request), { client_assertion })
        await stage.refused(`${name}, for ${request}`, stage.post(request, form), '401 invalid_client')
      }
    }
    const fine = await sign(draftOf('client', stage.world.agent))
    const form = bent(await stage.right('a code'), { client_assertion: fine })
    expect((await stage.post('a code', form)).status).toBe(200)
  })

  it('as a Session assertion is invalid_grant [4.2.signature, 4.2.iss-client-id, 4.2.aud-exact, 4.2.exp-short, 4.2.invalid-grant]', async () => {
    const stage = await setStage()
    for (const [name, make] of entries(wrongEverywhere, wrongAsAssertion, wrongAsSessionAssertion)) {
      const assertion = await make(draftOf('session', stage.world.agent))
      const form = bent(await stage.right('a Session'), { assertion })
      await stage.refused(name, stage.post('a Session', form), '400 invalid_grant')
    }
    const fine = await sign(draftOf('session', stage.world.agent))
    const form = bent(await stage.right('a Session'), { assertion: fine })
    expect((await stage.post('a Session', form)).status).toBe(200)
  })

  it('as a proof is invalid_dpop_proof, at the token endpoint and at a tool [4.3.signature, 4.3.proof-type, 4.3.iat, 4.3.failed-proof, 4.2.invalid-dpop-proof, 6.invalid-dpop-proof]', async () => {
    const stage = await setStage()
    const { agent } = stage.world
    const atTool = { htm: 'POST', htu: `${origin}/poppy/tools/echo`, ath: sha256(stage.token) }
    for (const [name, make] of entries(wrongEverywhere, wrongAsProof)) {
      const proof = await make(draftOf('proof', agent))
      if (!isHeaderValue(proof)) continue
      const form = bent(await stage.right('a code'), {})
      await stage.refused(name, stage.post('a code', form, { proof }), '400 invalid_dpop_proof')
      await stage.refused(name, callTool(stage, await make(draftOf('proof', agent, atTool))), '401 invalid_dpop_proof')
    }
    expect((await callTool(stage, await sign(draftOf('proof', agent, atTool)))).status).toBe(200)
    const proof = await sign(draftOf('proof', agent))
    expect((await stage.post('a code', bent(await stage.right('a code'), {}), { proof })).status).toBe(200)
  })
})

describe('a JWT that was made for something else', () => {
  it('is refused: a proof, an assertion of either kind, a Session Token or an Account Token in another’s place', async () => {
    const stage = await setStage()
    const { agent } = stage.world
    const { refresh_token = '' } = await stage.right('a refresh')
    const made = {
      'a client assertion': await agent.clientAssertion(),
      'a Session assertion': await agent.sessionAssertion(),
      'a proof': await agent.proof('POST', tokenUrl),
      'a Session Token': stage.token,
      'an Account Token': refresh_token,
    }
    for (const [name, one] of Object.entries(made)) {
      const forSession = async (bend: Record<string, string>) => bent(await stage.right('a Session'), bend)
      if (name !== 'a Session assertion')
        await stage.refused(
          `${name} as assertion`,
          stage.post('a Session', await forSession({ assertion: one })),
          '400 invalid_grant',
        )
      if (name !== 'a client assertion')
        await stage.refused(
          `${name} as client_assertion`,
          stage.post('a Session', await forSession({ client_assertion: one })),
          '401 invalid_client',
        )
      if (name !== 'a proof')
        await stage.refused(
          `${name} as proof`,
          stage.post('a Session', await forSession({}), { proof: one }),
          '400 invalid_dpop_proof',
        )
      const code = bent(await stage.right('a code'), { code: one })
      await stage.refused(`${name} as code`, stage.post('a code', code), '400 invalid_grant')
      if (name !== 'an Account Token') {
        const refresh = bent(await stage.right('a refresh'), { refresh_token: one })
        await stage.refused(`${name} as Account Token`, stage.post('a refresh', refresh), '400 invalid_grant')
      }
      if (name !== 'a Session Token') {
        const call = agent.call('/poppy/tools/echo', one, { body: { text: 'a' } })
        await stage.refused(`${name} as Session Token`, call, '401 invalid_token')
      }
    }
  })

  it('is refused when the agent or its key are no longer what they were', async () => {
    const stage = await setStage()
    const { agent } = stage.world
    const jwks = Object.keys(agent.documents).find((url) => url.endsWith('jwks.json')) ?? ''
    agent.documents[jwks] = { keys: [{ ...stranger.publicJwk, kid: agent.keyId }] }
    // Key sets are kept for a day at most, and for no longer than their headers say.
    stage.world.clock.now += 86_400_000
    await stage.refused('a key taken back', agent.startSession(), '401 invalid_client')
  })
})
