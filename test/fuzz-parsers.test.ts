import * as protocol from '@poppyseed/protocol'
import fc from 'fast-check'
import { afterAll, describe, expect, it } from 'vitest'
import { bentJson, json, oddText } from './setup/fuzz.ts'
import { conversationParsers } from './setup/fuzzed-conversations.ts'
import { fuzz, orRefused, orRefusedLater, text, tried } from './setup/fuzzed-parser.ts'
import { makeKeys, makeWireAgent } from './setup/wire-agent.ts'

/** Anything at every parser: an answer or its own error, never another, and what comes out is what it says. */

const { DocumentError, JsonError, PoppyError } = protocol
const origin = 'https://miramar.example'

const now = Date.parse('2026-11-30T12:00:00Z')
const keys = await makeKeys()
const agent = await makeWireAgent({
  clientId: 'https://agent.example/agent.json',
  now: () => now,
  origin,
  send: () => Promise.reject(new Error('nothing is sent')),
})
const [proofOnce, assertionOnce] = [await agent.proof('POST', agent.tokenUrl), await agent.clientAssertion()]
const publicKey = await protocol.importPublicKey(agent.signing.publicJwk, 'ES256')
if (!publicKey) throw new Error('no key')
const expectation = {
  clientId: agent.clientId,
  now: now / 1000,
  skew: 5,
  maxLifetime: 300,
  findKeys: async () => [publicKey],
}

/** A JWT with something done to its text. */
function bentJwt(jwt: string): fc.Arbitrary<string> {
  const [head = '', body = '', signature = ''] = jwt.split('.')
  return fc.oneof(
    fc
      .tuple(fc.nat(jwt.length - 2), fc.constantFrom(...'aZ09-_.=+ \0'))
      .map(([at, letter]) => jwt.slice(0, at) + letter + jwt.slice(at + 1)),
    fc
      .tuple(fc.nat(jwt.length), fc.nat(jwt.length))
      .map(([from, to]) => jwt.slice(Math.min(from, to), Math.max(from, to))),
    fc.constantFrom(
      `${head}.${body}.`,
      `${head}..${signature}`,
      `${body}.${head}.${signature}`,
      `${jwt}.`,
      `${jwt}${jwt}`,
    ),
    text,
  )
}
const claimNames = [
  'iss',
  'sub',
  'aud',
  'jti',
  'iat',
  'exp',
  'nbf',
  'htm',
  'htu',
  'ath',
  'nonce',
  'session_id',
  'return_to',
  'x',
]
const claims = fc.dictionary(fc.constantFrom(...claimNames), fc.oneof(json, oddText, fc.constantFrom(undefined)), {
  minKeys: 1,
  maxKeys: 3,
})
const headers = fc.dictionary(
  fc.constantFrom('typ', 'alg', 'kid', 'crit', 'jwk', 'jku', 'b64'),
  fc.oneof(json, oddText),
  { maxKeys: 1 },
)

describe('JSON and forms', () => {
  fuzz(
    ['parseStrictJson', 'JsonError'],
    fc.oneof(
      fc.json(),
      text,
      fc.json().map((one) => `${one}${one}`),
    ),
    (input) => {
      const read = orRefused(JsonError, () => ({ value: protocol.parseStrictJson(input) }))
      if (read) expect(read.value).toEqual(JSON.parse(input))
    },
  )
  fuzz(['parseStrictJson'], fc.tuple(fc.string(), json, json), ([name, one, other]) => {
    const member = (value: unknown) => `${JSON.stringify(name)}:${JSON.stringify(value)}`
    expect(() => protocol.parseStrictJson(`{${member(one)},${member(other)}}`)).toThrow(JsonError)
  })
  fuzz(['isJsonObject'], json, (input) => {
    expect(protocol.isJsonObject(input)).toBe(Object.prototype.toString.call(input) === '[object Object]')
  })
  fuzz(
    ['readParameters', 'PoppyError'],
    fc.oneof(
      text,
      fc
        .array(fc.tuple(text, text))
        .map((pairs) =>
          String(
            new URLSearchParams(
              pairs.map(([name, value]): [string, string] => [name.toWellFormed(), value.toWellFormed()]),
            ),
          ),
        ),
    ),
    (input) => {
      const read = orRefused(PoppyError, () => protocol.readParameters(input))
      const names = [...new URLSearchParams(input).keys()].filter((name) => name !== 'resource')
      expect(read === null).toBe(new Set(names).size !== names.length)
      for (const name of names) if (read) expect(read.has(name)).toBe(true)
    },
  )
})

describe('JWTs', () => {
  fuzz(
    ['readJwt', 'readText', 'readTime'],
    fc.oneof(
      text,
      fc.constant(null).chain(() => bentJwt('eyJhbGciOiJFUzI1NiJ9.eyJpYXQiOjF9.AAAA')),
    ),
    (input) => {
      const read = protocol.readJwt(input)
      if (typeof read === 'string') return
      expect(protocol.signatureAlgorithms).toContain(read.algorithm)
      const time = protocol.readTime(read.payload, 'iat')
      expect(time === undefined || Number.isFinite(time)).toBe(true)
      expect(protocol.readText(read.payload, 'iat')).toBe(undefined)
    },
  )
  fuzz(
    ['isPublicKeyFor', 'importPublicKey', 'hasValidSignature'],
    bentJson({ ...keys.publicJwk, alg: 'ES256', use: 'sig' }),
    async (jwk) => {
      if (!protocol.isJsonObject(jwk)) return
      for (const algorithm of protocol.signatureAlgorithms) {
        const key = await protocol.importPublicKey(jwk, algorithm)
        if (!protocol.isPublicKeyFor(jwk, algorithm)) expect(key).toBe(null)
        if (!key) continue
        expect(Object.keys(jwk)).not.toContain('d')
        const jwt = protocol.readJwt(await agent.clientAssertion())
        if (typeof jwt !== 'string') expect(await protocol.hasValidSignature(jwt, key)).toBe(false)
      }
    },
  )
  fuzz(['checkClientAssertion'], fc.tuple(claims, headers), async ([bent, header]) => {
    const assertion = await agent.clientAssertion({ claims: bent, header }).catch(() => 'unsigned')
    const checked = await orRefusedLater(['invalid_client'], () =>
      protocol.checkClientAssertion(assertion, { ...expectation, audiences: [agent.tokenUrl, origin] }),
    )
    if (checked)
      expect([checked.id.length > 0, checked.passesUntil > now / 1000, checked.passesUntil < now / 1000 + 310]).toEqual(
        [true, true, true],
      )
  })
  fuzz(['checkSessionAssertion'], fc.tuple(claims, headers), async ([bent, header]) => {
    const assertion = await agent.sessionAssertion({ claims: bent, header }).catch(() => 'unsigned')
    const checked = await orRefusedLater(['invalid_grant'], () =>
      protocol.checkSessionAssertion(assertion, { ...expectation, tokenEndpoint: agent.tokenUrl }),
    )
    if (checked) expect(checked.userId).not.toBe(agent.clientId)
  })
  fuzz(['checkBrowserAssertion'], fc.tuple(claims, headers), async ([bent, header]) => {
    const endpoint = `${origin}/poppy/browser-session`
    const right = { aud: endpoint, session_id: 'ses_1', return_to: `${origin}/` }
    const assertion = await agent
      .sessionAssertion({ claims: { ...right, ...bent }, header: { typ: 'poppy-browser+jwt', ...header } })
      .catch(() => 'unsigned')
    const find = async (clientId: string) => {
      if (clientId !== agent.clientId) throw new PoppyError('invalid_client')
      return { findKeys: async () => [publicKey] }
    }
    await orRefusedLater(['invalid_request', 'invalid_client'], () =>
      protocol.checkBrowserAssertion(assertion, { endpoint, now: now / 1000, skew: 5, findClient: find as never }),
    )
  })
  fuzz(['checkProof'], fc.tuple(claims, headers), async ([bent, header]) => {
    const url = `${origin}/poppy/tools/echo`
    const proof = await agent.proof('POST', url, 'a-token', { claims: bent, header }).catch(() => 'unsigned')
    const { ath } = JSON.parse(
      Buffer.from((await agent.proof('POST', url, 'a-token')).split('.')[1] ?? '', 'base64url').toString(),
    ) as { ath: string }
    const checked = await orRefusedLater(['invalid_dpop_proof'], () =>
      protocol.checkProof(proof, {
        method: 'POST',
        url,
        now: now / 1000,
        window: 60,
        skew: 5,
        tokenHash: ath,
        importKey: protocol.importPublicKey,
      }),
    )
    if (checked) expect(Math.abs(checked.issuedAt - now / 1000)).toBeLessThanOrEqual(60)
  })
  fuzz(
    ['checkProof', 'checkClientAssertion'],
    fc.tuple(bentJwt(proofOnce), bentJwt(assertionOnce)),
    async ([proof, assertion]) => {
      if (proof !== proofOnce)
        expect(
          await orRefusedLater(['invalid_dpop_proof'], () =>
            protocol.checkProof(proof, {
              method: 'POST',
              url: agent.tokenUrl,
              now: now / 1000,
              window: 60,
              skew: 5,
              importKey: protocol.importPublicKey,
            }),
          ),
        ).toBe(null)
      if (assertion !== assertionOnce)
        expect(
          await orRefusedLater(['invalid_client'], () =>
            protocol.checkClientAssertion(assertion, { ...expectation, audiences: [agent.tokenUrl] }),
          ),
        ).toBe(null)
    },
  )
})

describe('headers, scopes, ids, addresses', () => {
  fuzz(
    ['parseChallenges', 'findChallenge'],
    fc.oneof(
      text,
      fc
        .array(fc.constantFrom('DPoP', ' ', '=', '"', ',', '\\', 'error', 'scope', 'a', '\t'))
        .map((parts) => parts.join('')),
    ),
    (input) => {
      for (const { scheme, parameters } of protocol.parseChallenges(input)) {
        expect(scheme).toMatch(/^[!#$%&'*+\-.^_`|~0-9A-Za-z]+$/)
        for (const name of Object.keys(parameters)) expect(name).toBe(name.toLowerCase())
      }
      protocol.findChallenge(protocol.parseChallenges(input), 'dpop')
    },
  )
  fuzz(
    ['formatChallenge', 'parseChallenges'],
    fc.dictionary(fc.stringMatching(/^[a-z_]{1,9}$/), fc.string({ unit: 'grapheme-ascii' }), { minKeys: 1 }),
    (parameters) => {
      const [read] = protocol
        .parseChallenges(`Basic realm="x, y", ${protocol.formatChallenge('DPoP', parameters)}`)
        .filter(({ scheme }) => scheme === 'DPoP')
      expect({ ...read?.parameters }).toEqual(
        Object.fromEntries(
          Object.entries(parameters).map(([name, value]) => [name, value.replace(/[^\x20-\x7e]/g, '')]),
        ),
      )
    },
  )
  fuzz(
    ['parseAuthorization'],
    fc.oneof(
      text,
      text.map((one) => `DPoP ${one}`),
      fc.constantFrom(null, undefined),
    ),
    (input) => {
      const read = protocol.parseAuthorization(input)
      if (read === null) expect(input == null).toBe(true)
      else if (read !== 'malformed') expect(input?.toLowerCase().startsWith(read.scheme)).toBe(true)
    },
  )
  fuzz(
    ['parseScope', 'isScope', 'formatScope', 'intersectScopes', 'coversScopes'],
    fc.oneof(
      text,
      fc.array(fc.constantFrom('poppy:read', 'a', 'a', '', ' ', '"')).map((parts) => parts.join(' ')),
    ),
    (input) => {
      const read = protocol.parseScope(input)
      if (read === null) return
      expect(read.every(protocol.isScope)).toBe(true)
      expect(protocol.parseScope(protocol.formatScope(read))).toEqual(read)
      expect([protocol.coversScopes(read, read), protocol.intersectScopes(read, [])]).toEqual([true, []])
    },
  )
  fuzz(
    ['isId', 'makeId', 'base64url'],
    fc.tuple(text, fc.uint8Array({ minLength: 16, maxLength: 16 })),
    ([input, bytes]) => {
      if (protocol.isId(input)) expect(encodeURIComponent(input)).toBe(input)
      expect(protocol.isId(protocol.makeId('ses', () => bytes))).toBe(true)
      expect(protocol.base64url(bytes)).toMatch(/^[\w-]{22}$/)
    },
  )
  const address = fc.oneof(
    text,
    text.map((one) => `https://a.example/${one}`),
    text.map((one) => `https://${one}`),
    fc.webUrl({ withFragments: true, withQueryParameters: true }),
  )
  fuzz(['isServiceUrl', 'isLoopbackHost', 'isClientId'], address, (input) => {
    if (protocol.isClientId(input)) expect(protocol.isServiceUrl(input)).toBe(true)
    if (!protocol.isServiceUrl(input)) return
    const url = new URL(input)
    expect([url.protocol, url.username, url.password, url.hash]).toEqual(['https:', '', '', ''])
    protocol.isLoopbackHost(url.hostname)
  })
  fuzz(['oauthMetadataUrl', 'resourceMetadataUrl'], address, (input) => {
    if (!protocol.isServiceUrl(input)) return
    for (const made of [protocol.oauthMetadataUrl(input), protocol.resourceMetadataUrl(input)])
      expect(new URL(made).origin).toBe(new URL(input).origin)
  })
  fuzz(['extensionDomain', 'extensionVersion'], fc.tuple(text, fc.oneof(json, text)), ([name, version]) => {
    protocol.extensionDomain(name)
    protocol.extensionVersion(version)
  })
  fuzz(['isErrorCode', 'errorRow'], text, (input) => {
    if (protocol.isErrorCode(input)) expect(protocol.errorRow(input).status).toBeGreaterThanOrEqual(400)
  })
})

describe('documents', () => {
  const clientId = 'https://agent.example/agent.json'
  const metadata = {
    client_id: clientId,
    client_name: 'Agent',
    logo_uri: 'https://agent.example/logo.png',
    jwks_uri: 'https://agent.example/jwks.json',
    redirect_uris: ['https://agent.example/callback'],
    token_endpoint_auth_method: 'private_key_jwt',
    extensions: { operations: { version: '1' } },
  }
  fuzz(['readClientMetadata', 'DocumentError'], fc.oneof(bentJson(metadata), json), (document) => {
    const read = orRefused(DocumentError, () => protocol.readClientMetadata(document, clientId))
    if (!read) return
    expect(read.jwksUri === undefined).toBe(read.authentication === 'none')
    for (const uri of [read.clientId, read.jwksUri ?? clientId, ...read.redirectUris])
      expect(new URL(uri).host).toBe('agent.example')
    expect(read.clientId).toBe(clientId)
  })
  const poppy = {
    protocol_version: '0.1',
    organization: { name: 'Hotel', domain: 'miramar.example' },
    auth: {
      issuer: origin,
      direct: { scopes: ['poppy:read'] },
      device: { scopes: [] },
      mediated: { endpoint: `${origin}/m`, fields: [{ name: 'a', label: 'b', secret: true }], scopes: ['a'] },
      custom_scopes: { addresses: 'Addresses' },
    },
    agent: { protocols: [{ type: 'poppy', endpoint: `${origin}/c` }] },
    web: { browser_session_endpoint: `${origin}/b` },
    apis: [
      { type: 'openapi', url: `${origin}/o`, description: 'x', resource: `${origin}/r` },
      { type: 'mcp', url: `${origin}/mcp` },
    ],
    extensions: { operations: { version: '1', endpoint: `${origin}/e` } },
  }
  fuzz(['codecFor', 'checkEdition'], fc.oneof(bentJson(poppy), json), (document) => {
    const read = orRefused(DocumentError, () => {
      const discovery = protocol.codecFor(document).readDiscovery(document, false)
      protocol.checkEdition(discovery.protocolVersion, undefined)
      return discovery
    })
    if (!read) return
    for (const url of [read.issuer, ...read.apis.map((api) => api.url)])
      if (url !== undefined) expect(protocol.isServiceUrl(url)).toBe(true)
    for (const name of Object.keys(read.customScopes)) expect(name.startsWith('poppy:')).toBe(false)
  })
  const oauth = {
    issuer: origin,
    token_endpoint: `${origin}/t`,
    revocation_endpoint: `${origin}/r`,
    authorization_endpoint: `${origin}/a`,
    device_authorization_endpoint: `${origin}/d`,
    poppy_domains: ['miramar.example'],
    scopes_supported: ['a'],
  }
  fuzz(['readOAuthMetadata', 'oauthMetadataSchema'], fc.oneof(bentJson(oauth), json), (document) => {
    const read = orRefused(DocumentError, () =>
      protocol.readOAuthMetadata(document, { issuer: origin, domain: 'miramar.example', direct: true, device: false }),
    )
    if (!read) return
    expect(read.issuer).toBe(origin)
    for (const url of [read.token_endpoint, read.revocation_endpoint, read.authorization_endpoint])
      expect(protocol.isServiceUrl(url ?? '')).toBe(true)
  })
  fuzz(
    ['resourceMetadataSchema'],
    fc.oneof(bentJson({ resource: origin, authorization_servers: [origin] }), json),
    (document) => {
      const { success, data } = protocol.resourceMetadataSchema.safeParse(document)
      if (success) expect(data.resource).not.toBe('')
    },
  )
  const tokens = {
    access_token: 'a',
    token_type: 'DPoP',
    expires_in: 3600,
    scope: '',
    session_id: 's',
    signed_in: false,
    refresh_token: 'r',
    refresh_token_expires_in: 1,
  }
  fuzz(['tokenResponseSchema'], fc.oneof(bentJson(tokens), json), (document) => {
    const { success, data } = protocol.tokenResponseSchema.safeParse(document)
    if (success)
      expect([
        data.expires_in > 0,
        new Headers({ authorization: `DPoP ${data.access_token}` }).get('authorization'),
      ]).toEqual([true, `DPoP ${data.access_token}`])
  })
  fuzz(
    ['errorResponseSchema'],
    fc.oneof(bentJson({ error: 'x', error_description: 'y', scope: 'z' }), json),
    (document) => {
      const { success, data } = protocol.errorResponseSchema.safeParse(document)
      if (success) expect(data.error).not.toBe('')
    },
  )
})

describe('operations', () => {
  const operation = {
    operation_id: 'opn_1',
    revision: 2,
    state: 'in_progress',
    summary: 'Two nights.',
    terms: { nights: 2, price: { amount: '260.00', currency: 'EUR' } },
    expires_at: '2027-03-01T12:00:00Z',
    user_approval_required: true,
    confirmation: { revision: 2, approved_by: 'user', confirmed_at: '2027-02-27T09:00:00+01:00' },
    result: { booking: 'B1' },
  }
  const bodies = fc.oneof(bentJson({ operation }), bentJson({ ...operation, id: 'x', status: 'failed' }), json)
  fuzz(['readOperation', 'operationSchema', 'confirmationSchema'], bodies, (body) => {
    const read = protocol.readOperation(body)
    if (read === null) return
    expect(read.operation_id).toMatch(/^[A-Za-z0-9_-]{1,256}$/)
    expect(protocol.operationStates).toContain(read.state)
    expect(Number.isInteger(read.revision) && read.revision >= 1).toBe(true)
    expect(protocol.readOperation({ operation: read })).toEqual(read)
  })
  fuzz(
    ['confirmRequestSchema'],
    fc.oneof(bentJson({ revision: 1, approved_by: 'standing_permission' }), json),
    (body) => {
      const read = protocol.confirmRequestSchema.safeParse(body)
      if (read.success) expect(protocol.approvals).toContain(read.data.approved_by)
    },
  )
})

describe('conversations', () => {
  for (const { names, inputs: all, check } of conversationParsers) fuzz(names, all, check)
})

/** Exports that read nothing from strangers. */
const makers = ['isFinalState', 'makeBrowserAssertion', 'makeClientAssertion', 'makeProof', 'makeSessionAssertion']

describe('every parser of the protocol', () => {
  it('has stood above', () => {
    const functions = Object.entries(protocol).filter(
      ([, value]) => typeof value === 'function' || (typeof value === 'object' && 'safeParse' in value),
    )
    expect(functions.map(([name]) => name).filter((name) => !tried.has(name) && !makers.includes(name))).toEqual([])
  })
  afterAll(() => expect(tried.size).toBeGreaterThan(50))
})
