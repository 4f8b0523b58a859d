import { createHmac, createPublicKey } from 'node:crypto'
import type { ErrorCode } from '@poppyseed/protocol'
import { type KeyPair, makeKeyPair, privateJwk, randomId, signed, withSignature } from './keys.ts'
import type { Addressee, MadeUpAgent, ProofFor } from './made-up-agent.ts'

/** Assertions and proofs that no Company may take (4.1, 4.2, 4.3), each made anew when it is asked for. */

/** One of them. */
export interface HostileJwt {
  readonly name: string
  /** The code that it is to be refused with. */
  readonly refusal: ErrorCode
  readonly make: () => string
}

/** What a hostile JWT is bent from. */
interface Right {
  readonly header: Readonly<Record<string, unknown>>
  readonly claims: Readonly<Record<string, unknown>>
  readonly key: KeyPair
}

function partsOf(jwt: string): Pick<Right, 'header' | 'claims'> {
  const [header = '', claims = ''] = jwt.split('.')
  const read = (part: string) => JSON.parse(Buffer.from(part, 'base64url').toString('utf8')) as Record<string, unknown>
  return { header: read(header), claims: { ...read(claims), jti: randomId() } }
}

/** What is wrong with any JWT, whatever it is for. */
function anyJwt(right: () => Right): readonly (readonly [string, () => string])[] {
  const bent = (header: object, claims: object = {}) => {
    const { header: h, claims: c, key } = right()
    return signed({ ...h, ...header }, { ...c, ...claims }, key.privateKey)
  }
  const raw = (change: (header: string, claims: string) => readonly [string, string]) => {
    const { header, claims, key } = right()
    return signed(...change(JSON.stringify(header), JSON.stringify(claims)), key.privateKey)
  }
  const hmac = (secretOf: (key: KeyPair) => string | Buffer) => {
    const { header, claims, key } = right()
    return withSignature({ ...header, alg: 'HS256' }, claims, (text) =>
      createHmac('sha256', secretOf(key)).update(text).digest(),
    )
  }
  const spki = (key: KeyPair, format: 'pem' | 'der') =>
    createPublicKey({ key: key.publicJwk as never, format: 'jwk' }).export({ type: 'spki', format } as never)
  return [
    ['alg none, unsigned', () => bent({ alg: 'none' }).replace(/[^.]*$/, '')],
    ['alg none, with a signature', () => bent({ alg: 'none' })],
    ['alg NONE', () => bent({ alg: 'NONE' })],
    ['HS256 with the public key as PEM', () => hmac((key) => spki(key, 'pem') as string)],
    ['HS256 with the public key as DER', () => hmac((key) => spki(key, 'der') as unknown as Buffer)],
    ['HS256 with the public JWK', () => hmac((key) => JSON.stringify(key.publicJwk))],
    ['an alg that does not fit the key', () => bent({ alg: 'ES384' })],
    ['RS256 with an EC key', () => bent({ alg: 'RS256' })],
    ['no alg', () => bent({ alg: undefined })],
    ['a critical extension', () => bent({ crit: ['exp'], exp: 1 })],
    ['no signature', () => bent({}).replace(/[^.]*$/, '')],
    ['a signature of zeros', () => withSignature(right().header, right().claims, () => Buffer.alloc(64))],
    ['a signature cut short', () => bent({}).slice(0, -8)],
    ['a letter changed in the claims', () => swapLetter(bent({}))],
    [
      'a member twice in the claims',
      () => raw((h, c) => [h, c.replace('{', '{"iss":"https://evil.example","jti":"x",')]),
    ],
    ['a member twice in the header', () => raw((h, c) => [h.replace('{', '{"alg":"none",'), c])],
    ['claims that are an array', () => raw((h, c) => [h, `[${c}]`])],
    ['claims that are no JSON', () => raw((h) => [h, 'iss=me'])],
    ['claims nested deeply', () => raw((h, c) => [h, c.replace('{', `{"x":${'['.repeat(500)}${']'.repeat(500)},`)])],
    ['claims of twenty kilobytes', () => bent({}, { x: 'a'.repeat(20_000) })],
    ['no jti', () => bent({}, { jti: undefined })],
    ['a jti that is a number', () => bent({}, { jti: 7 })],
    ['an empty jti', () => bent({}, { jti: '' })],
    ['a jti of a kilobyte', () => bent({}, { jti: 'j'.repeat(1024) })],
    ['an iat that is a text', () => bent({}, { iat: 'now' })],
    ['white space inside it', () => bent({}).replace('.', ' .')],
    ['padding', () => `${bent({})}=`],
    ['four parts', () => `${bent({})}.${Buffer.from('{}').toString('base64url')}`],
    ['the JSON serialisation', () => JSON.stringify({ payload: bent({}) })],
  ]
}

function swapLetter(jwt: string): string {
  const [header = '', claims = '', signature = ''] = jwt.split('.')
  const text = Buffer.from(claims, 'base64url').toString('utf8')
  const changed = text.replace(/"jti":"(.)/, (_, letter: string) => `"jti":"${letter === 'a' ? 'b' : 'a'}`)
  return [header, Buffer.from(changed).toString('base64url'), signature].join('.')
}

/** Signed by somebody else, in every way that could make it look like the agent's. */
function foreignKeys(right: () => Right): readonly (readonly [string, () => string])[] {
  const stranger = makeKeyPair()
  const by = (header: object) => () => {
    const { header: h, claims } = right()
    return signed({ ...h, ...header }, claims, stranger.privateKey)
  }
  return [
    ['another key under the right name', by({})],
    ['another key under its own name', by({ kid: stranger.kid })],
    ['another key without a name', by({ kid: undefined })],
    ['another key that comes along in the header', by({ jwk: stranger.publicJwk })],
    [
      'another key that the header says where to find',
      by({ jku: 'https://evil.example/jwks.json', kid: stranger.kid }),
    ],
    ['a name that leads out of the folder', by({ kid: '../../../../dev/null' })],
  ]
}

/** Times that an assertion can't have (4.1, 4.2). */
function badTimes(right: () => Right, now: () => number): readonly (readonly [string, () => string])[] {
  const bent = (claims: object) => () => {
    const { header, claims: c, key } = right()
    return signed(header, { ...c, ...claims }, key.privateKey)
  }
  const seconds = () => Math.floor(now() / 1000)
  return [
    ['expired an hour ago', () => bent({ iat: seconds() - 3660, exp: seconds() - 3600 })()],
    ['made in an hour', () => bent({ iat: seconds() + 3600, exp: seconds() + 3660 })()],
    ['good for a year', () => bent({ exp: seconds() + 31_536_000 })()],
    ['good for ever', bent({ exp: 1e300 })],
    ['no exp', bent({ exp: undefined })],
    ['an exp that is a text', () => bent({ exp: String(seconds() + 60) })()],
    ['an exp before its iat', () => bent({ exp: seconds() + 1, iat: seconds() + 4 })()],
    ['not valid before tomorrow', () => bent({ nbf: seconds() + 86_400 })()],
  ]
}

/** Client assertions that no Company may take (4.1). */
export function hostileClientAssertions(agent: MadeUpAgent, to: Addressee, now: () => number): readonly HostileJwt[] {
  const right = () => ({ ...partsOf(agent.clientAssertion(to)), key: agent.keys[0] as KeyPair })
  const bent =
    (claims: object, header: object = {}) =>
    () =>
      agent.clientAssertion(to, { claims: { ...claims }, header: { ...header } })
  return named('invalid_client', [
    ...anyJwt(right),
    ...foreignKeys(right),
    ...badTimes(right, now),
    ['an iss of somebody else', bent({ iss: 'https://evil.example/agent.json' })],
    ['no iss', bent({ iss: undefined })],
    ['a sub of somebody else', bent({ sub: 'https://evil.example/agent.json' })],
    ['no sub', bent({ sub: undefined })],
    ['an aud of another Company', bent({ aud: 'https://other.example/token' })],
    ['an aud of two, one of them another Company', bent({ aud: [to.tokenEndpoint, 'https://other.example'] })],
    ['an empty aud', bent({ aud: [] })],
    ['an aud with a slash more', bent({ aud: `${to.issuer}/` })],
    ['no aud', bent({ aud: undefined })],
    ['the typ of a proof', bent({}, { typ: 'dpop+jwt' })],
    ['the typ of a browser assertion', bent({}, { typ: 'poppy-browser+jwt' })],
    ['a Session assertion in its place', () => agent.sessionAssertion(to)],
  ])
}

/** Session assertions that no Company may take (4.2). */
export function hostileSessionAssertions(agent: MadeUpAgent, to: Addressee, now: () => number): readonly HostileJwt[] {
  const right = () => ({ ...partsOf(agent.sessionAssertion(to)), key: agent.keys[0] as KeyPair })
  const bent =
    (claims: object, header: object = {}) =>
    () =>
      agent.sessionAssertion(to, { claims: { ...claims }, header: { ...header } })
  return named('invalid_grant', [
    ...anyJwt(right),
    ...foreignKeys(right),
    ...badTimes(right, now),
    ['an iss of somebody else', bent({ iss: 'https://evil.example/agent.json' })],
    ['an aud that is an array', bent({ aud: [to.tokenEndpoint] })],
    ['an aud that is the issuer', bent({ aud: to.issuer })],
    ['an aud of another Company', bent({ aud: 'https://other.example/token' })],
    ['no iat', bent({ iat: undefined })],
    ['no sub', bent({ sub: undefined })],
    ['a sub that is a number', bent({ sub: 7 })],
    ['a sub that is the client', bent({ sub: agent.clientId })],
    ['a sub of a kilobyte', bent({ sub: 'u'.repeat(1024) })],
    ['the typ of a browser assertion', bent({}, { typ: 'poppy-browser+jwt' })],
    ['a client assertion in its place', () => agent.clientAssertion(to)],
  ])
}

/** Proofs that no Company may take (4.3). */
export function hostileProofs(agent: MadeUpAgent, request: ProofFor, now: () => number): readonly HostileJwt[] {
  const right = () => ({ ...partsOf(agent.proof(request)), key: agent.dpopKey })
  const bent =
    (claims: object, header: object = {}) =>
    () =>
      agent.proof(request, { claims: { ...claims }, header: { ...header } })
  const seconds = () => Math.floor(now() / 1000)
  const { url, method } = request
  return named('invalid_dpop_proof', [
    ...anyJwt(right),
    ['made two minutes ago', () => bent({ iat: seconds() - 120 })()],
    ['made in an hour', () => bent({ iat: seconds() + 3600 })()],
    ['no iat', bent({ iat: undefined })],
    ['another method', bent({ htm: method === 'GET' ? 'POST' : 'GET' })],
    ['the method in lower case', bent({ htm: method.toLowerCase() })],
    ['another path', bent({ htu: `${url}/more` })],
    ['another host', bent({ htu: url.replace('://', '://evil.') })],
    ['a path that only looks the same', bent({ htu: url.replace(/\/([^/]+)$/, '/x/..//$1') })],
    ['no htu', bent({ htu: undefined })],
    ['the typ of any JWT', bent({}, { typ: 'JWT' })],
    ['no typ', bent({}, { typ: undefined })],
    ['a private key in its header', bent({}, { jwk: privateJwk(agent.dpopKey) })],
    ['a symmetric key in its header', bent({}, { jwk: { kty: 'oct', k: 'c2VjcmV0' } })],
    ['no key in its header', bent({}, { jwk: undefined })],
    ['a key of somebody else in its header', bent({}, { jwk: makeKeyPair().publicJwk })],
    ['a published key by name instead', bent({}, { jwk: undefined, kid: agent.keys[0]?.kid })],
    ...(request.token === undefined
      ? ([['an ath where no token is', bent({ ath: randomId() })]] as const)
      : ([
          ['no ath', bent({ ath: undefined })],
          ['the ath of another token', bent({ ath: randomId() })],
          ['another key than the token is bound to', () => byAnotherKey(agent, request)],
        ] as const)),
  ])
}

function byAnotherKey(agent: MadeUpAgent, request: ProofFor): string {
  const key = makeKeyPair()
  return agent.proof(request, { key, header: { jwk: key.publicJwk } })
}

function named(refusal: ErrorCode, list: readonly (readonly [string, () => string])[]): readonly HostileJwt[] {
  return list.map(([name, make]) => ({ name, refusal, make }))
}
