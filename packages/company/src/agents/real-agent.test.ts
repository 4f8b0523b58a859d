import { createHmac, createPublicKey, type JsonWebKey } from 'node:crypto'
import { once } from 'node:events'
import { createServer, type Server } from 'node:https'
import type { AddressInfo } from 'node:net'
import { checkClientAssertion, importPublicKey } from '@poppyseed/protocol'
import { type CryptoKey, exportJWK, generateKeyPair, type JWK, SignJWT } from 'jose'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { testTls } from '../../../../test/setup/tls.ts'
import { createDocumentFetcher } from '../net/fetch-document.ts'
import { type AgentDirectory, createAgentDirectory } from './directory.ts'

/** A Personal Agent's real HTTPS host, with every kind of key that agents sign with. */

const algorithms = ['ES256', 'ES384', 'RS256', 'PS256', 'EdDSA', 'Ed25519'] as const
type Algorithm = (typeof algorithms)[number]

const tokenEndpoint = 'https://auth.example.com/oauth/token'
const fetchDocument = createDocumentFetcher({
  ca: testTls().ca,
  lookup: async () => ['127.0.0.1'],
  isAllowedAddress: (address) => address === '127.0.0.1',
})
const keys = new Map<Algorithm, { readonly privateKey: CryptoKey; readonly jwk: JWK }>()
let published: JWK[] = []
let server: Server
let origin: string
let directory: AgentDirectory

beforeAll(async () => {
  for (const algorithm of algorithms) {
    const { privateKey, publicKey } = await generateKeyPair(algorithm)
    keys.set(algorithm, { privateKey, jwk: { ...(await exportJWK(publicKey)), kid: `key-${algorithm}`, use: 'sig' } })
  }
  published = [{ kty: 'AKP', alg: 'ML-DSA-44', kid: 'future', pub: 'AA' }, ...[...keys.values()].map(({ jwk }) => jwk)]
  server = createServer(testTls().certFor('agent.example'), (request, response) => {
    response.setHeader('content-type', request.url === '/jwks.json' ? 'application/jwk-set+json' : 'application/json')
    const document = {
      client_id: `${origin}${request.url}`,
      client_name: 'Example Agent',
      client_uri: origin,
      logo_uri: 'https://cdn.example/logo.png',
      tos_uri: `${origin}/terms`,
      jwks_uri: `${origin}/jwks.json`,
      redirect_uris: [`${origin}/oauth/callback`],
      grant_types: ['authorization_code', 'refresh_token', 'urn:ietf:params:oauth:grant-type:jwt-bearer'],
      response_types: ['code'],
      token_endpoint_auth_method: 'private_key_jwt',
      token_endpoint_auth_signing_alg: 'RS256',
      contacts: ['agent@agent.example'],
      extensions: { operations: { version: '1', more: { deep: [1] } }, odd: true },
    }
    response.end(JSON.stringify(request.url === '/jwks.json' ? { keys: published, note: 'more' } : document))
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  origin = `https://agent.example:${(server.address() as AddressInfo).port}`
  directory = createAgentDirectory({
    fetchDocument,
    now: () => 1_790_900_000_000,
    importKey: importPublicKey,
    log: { warn: () => {} },
  })
})

afterAll(() => {
  fetchDocument.close()
  server.closeAllConnections()
  server.close()
})

function claims() {
  const clientId = `${origin}/agent.json`
  const now = 1_790_900_000
  return { iss: clientId, sub: clientId, aud: tokenEndpoint, jti: crypto.randomUUID(), iat: now, exp: now + 60 }
}

async function check(assertion: string) {
  const { findKeys } = await directory.find(`${origin}/agent.json`)
  return checkClientAssertion(assertion, {
    clientId: `${origin}/agent.json`,
    now: 1_790_900_000,
    skew: 30,
    maxLifetime: 300,
    audiences: [tokenEndpoint],
    findKeys,
  })
}

function keyOf(algorithm: Algorithm) {
  return keys.get(algorithm) ?? expect.fail('no key')
}

/** Signs a text as the algorithm does, whatever its header claims. */
async function signRaw(algorithm: Algorithm, text: string): Promise<string> {
  const hash = algorithm === 'ES384' ? 'SHA-384' : 'SHA-256'
  const { privateKey } = keyOf(algorithm)
  const how = { name: privateKey.algorithm.name, hash, saltLength: 32 }
  return Buffer.from(await crypto.subtle.sign(how, privateKey, Buffer.from(text))).toString('base64url')
}

const encode = (value: unknown) => Buffer.from(JSON.stringify(value)).toString('base64url')

describe("a real Personal Agent's document and keys", () => {
  it('reads a document with more in it than we know [K15, 3.3.ignore-unknown]', async () => {
    const { metadata } = await directory.find(`${origin}/agent.json`)
    expect(metadata.name).toBe('Example Agent')
    expect(metadata.redirectUris).toEqual([`${origin}/oauth/callback`])
    expect(metadata.extensions).toEqual({ operations: '1' })
  })

  it.each(algorithms)(
    'accepts an assertion signed with %s, with and without a key name [K15, 4.1.private-key-jwt]',
    async (alg) => {
      for (const header of [{ alg, kid: `key-${alg}` }, { alg }]) {
        const assertion = await new SignJWT(claims()).setProtectedHeader(header).sign(keyOf(alg).privateKey)
        await expect(check(assertion)).resolves.toMatchObject({ passesUntil: 1_790_900_090 })
      }
    },
  )

  it.each([undefined, 'key-RS256', 'key-ES256'])('refuses alg none, with the key name %s [K15]', async (kid) => {
    for (const alg of ['none', 'None', 'NONE', '']) {
      const unsigned = `${encode({ alg, kid })}.${encode(claims())}`
      for (const assertion of [`${unsigned}.`, `${unsigned}.AA`, unsigned]) {
        await expect(check(assertion)).rejects.toMatchObject({ code: 'invalid_client' })
      }
    }
  })

  it.each(['ES256', 'RS256', 'EdDSA'] as const)(
    'refuses HS256 keyed with the public %s key [K15]',
    async (algorithm) => {
      const { jwk } = keyOf(algorithm)
      const publicKey = createPublicKey({ key: jwk as JsonWebKey, format: 'jwk' })
      const secrets = [
        publicKey.export({ type: 'spki', format: 'pem' }),
        publicKey.export({ type: 'spki', format: 'der' }),
        JSON.stringify(jwk),
        JSON.stringify(published),
      ]
      for (const secret of secrets) {
        for (const alg of ['HS256', 'hs256', algorithm]) {
          const signed = `${encode({ alg, kid: jwk.kid })}.${encode(claims())}`
          const assertion = `${signed}.${createHmac('sha256', secret).update(signed).digest('base64url')}`
          await expect(check(assertion)).rejects.toMatchObject({ code: 'invalid_client' })
        }
      }
    },
  )

  it('refuses an algorithm that does not fit the key [K15]', async () => {
    for (const signer of algorithms) {
      for (const claimed of algorithms) {
        // EdDSA and Ed25519 are two names of one algorithm.
        if (signer === claimed || (signer.startsWith('Ed') && claimed.startsWith('Ed'))) continue
        // Signed with one key and said to be of another; and said to be of another algorithm.
        for (const header of [
          { alg: signer, kid: `key-${claimed}` },
          { alg: claimed, kid: `key-${signer}` },
          { alg: claimed },
        ]) {
          const text = `${encode(header)}.${encode(claims())}`
          await expect(check(`${text}.${await signRaw(signer, text)}`)).rejects.toMatchObject({
            code: 'invalid_client',
          })
        }
      }
    }
    // The same hand, with nothing out of place.
    const text = `${encode({ alg: 'PS256', kid: 'key-PS256' })}.${encode(claims())}`
    await expect(check(`${text}.${await signRaw('PS256', text)}`)).resolves.toBeDefined()
  })

  it('refuses a key that comes along in the header [K15]', async () => {
    const { privateKey, publicKey } = await generateKeyPair('ES256')
    const jwk = await exportJWK(publicKey)
    for (const header of [
      { jwk },
      { jwk, kid: 'key-ES256' },
      { jku: `${origin}/other.json` },
      { kid: '../other.json' },
    ]) {
      const assertion = await new SignJWT(claims()).setProtectedHeader({ alg: 'ES256', ...header }).sign(privateKey)
      await expect(check(assertion)).rejects.toMatchObject({ code: 'invalid_client' })
    }
  })
})
