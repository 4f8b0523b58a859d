import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { DocumentError } from './errors.ts'
import { oauthMetadataUrl, readOAuthMetadata } from './oauth-metadata.ts'

/** The metadata of 3.2. */
const example = {
  issuer: 'https://auth.example.com',
  token_endpoint: 'https://auth.example.com/oauth/token',
  revocation_endpoint: 'https://auth.example.com/oauth/revoke',
  authorization_endpoint: 'https://auth.example.com/oauth/authorize',
  device_authorization_endpoint: 'https://auth.example.com/oauth/device',
  poppy_domains: ['example.com', 'example.co.uk'],
}
const expected = { issuer: example.issuer, domain: 'example.com', direct: true, device: true }

const fault = (document: unknown, wanted: Parameters<typeof readOAuthMetadata>[1] = expected): string => {
  try {
    readOAuthMetadata(document, wanted)
    return 'accepted'
  } catch (error) {
    if (!(error instanceof DocumentError)) throw error
    return `${error.kind} ${error.message}`
  }
}
const faultOf = (changes: Record<string, unknown>, wanted = expected) => fault({ ...example, ...changes }, wanted)

describe('OAuth metadata', () => {
  it('is read as the specification shows it, with what we do not know left out [3.2.unknown-metadata]', () => {
    expect(readOAuthMetadata(example, expected)).toEqual(example)
    expect(readOAuthMetadata({ ...example, mtls_endpoint_aliases: {}, jwks_uri: 7 }, expected)).toEqual(example)
    const more = { ...example, grant_types_supported: ['refresh_token'], client_id_metadata_document_supported: true }
    expect(readOAuthMetadata(more, expected)).toEqual(more)
  })

  it('counts a malformed field that nobody needs as left out [3.2.unknown-metadata]', () => {
    const odd = {
      ...example,
      scopes_supported: null,
      grant_types_supported: 'refresh_token',
      dpop_signing_alg_values_supported: [256],
      authorization_response_iss_parameter_supported: 'yes',
    }
    expect(JSON.parse(JSON.stringify(readOAuthMetadata(odd, expected)))).toEqual(example)
  })

  it('has the very issuer of poppy.json [3.2.issuer-exact]', () => {
    for (const issuer of [
      'https://auth.example.com/',
      'https://AUTH.example.com',
      'https://auth.example.com:443',
      'HTTPS://auth.example.com',
      'http://auth.example.com',
      'https://auth.example.com ',
      'https://auth.example.org',
      'https://example.com',
    ]) {
      expect(faultOf({ issuer })).toMatch(/^untrusted/)
      expect(faultOf({}, { ...expected, issuer })).toMatch(/^untrusted/)
    }
    for (const issuer of [undefined, null, '', 7, [example.issuer]]) expect(faultOf({ issuer })).toMatch(/^invalid/)
  })

  it('lists the domain, in any case, and whole [3.2.poppy-domains-agent]', () => {
    expect(faultOf({ poppy_domains: ['EXAMPLE.com'] })).toBe('accepted')
    expect(faultOf({}, { ...expected, domain: 'Example.Co.UK' })).toBe('accepted')
    for (const poppy_domains of [
      [],
      ['example.org'],
      ['www.example.com'],
      ['evilexample.com'],
      ['example.com.evil.example'],
      ['*.com'],
      ['*'],
      ['com'],
      ['https://example.com'],
      ['example.com.'],
    ]) {
      expect(faultOf({ poppy_domains })).toMatch(/^untrusted/)
    }
    for (const poppy_domains of [undefined, null, 'example.com', { 0: 'example.com' }, [7]]) {
      expect(faultOf({ poppy_domains })).toMatch(/^invalid/)
    }
  })

  it('has the endpoints that are needed, each on HTTPS', () => {
    for (const name of [
      'token_endpoint',
      'revocation_endpoint',
      'authorization_endpoint',
      'device_authorization_endpoint',
    ]) {
      for (const wrong of [
        undefined,
        null,
        '',
        7,
        [],
        'http://auth.example.com/x',
        'http://localhost/x',
        'https://user:secret@auth.example.com/x',
        'https://auth.example.com/x#y',
        '/oauth/token',
        'javascript:alert(1)',
      ]) {
        const message = faultOf({ [name]: wrong })
        expect(message).toMatch(/^invalid/)
        expect(message).toMatch(name)
        expect(message).not.toMatch('secret')
      }
    }
  })

  it('loses the endpoint of a sign-in that is not offered, when it is unusable', () => {
    const none = { ...expected, direct: false, device: false }
    for (const wrong of [undefined, null, 7, 'http://auth.example.com/x', 'nothing']) {
      const document = { ...example, authorization_endpoint: wrong, device_authorization_endpoint: wrong }
      const metadata = readOAuthMetadata(document, none)
      expect(metadata.authorization_endpoint).toBeUndefined()
      expect(metadata.device_authorization_endpoint).toBeUndefined()
    }
    expect(readOAuthMetadata(example, none).authorization_endpoint).toBe(example.authorization_endpoint)
  })

  it('is refused in any other shape, with its own error alone', () => {
    for (const document of [null, undefined, [], [example], 'x', 7, {}]) expect(fault(document)).toMatch(/^invalid/)
    fc.assert(
      fc.property(fc.dictionary(fc.constantFrom(...Object.keys(example)), fc.jsonValue({ maxDepth: 3 })), (changes) => {
        expect(faultOf(changes)).toMatch(/^(accepted|invalid|untrusted)/)
      }),
      { numRuns: 300 },
    )
  })

  it('may be on this machine in development', () => {
    const issuer = 'http://localhost:3000'
    const local = { ...example, issuer, token_endpoint: `${issuer}/t`, revocation_endpoint: `${issuer}/r` }
    const wanted = { ...expected, issuer, allowHttp: true }
    expect(fault(local, wanted)).toBe('accepted')
    expect(fault(local, { ...wanted, allowHttp: false })).toMatch(/^invalid/)
    expect(fault({ ...local, token_endpoint: 'http://example.com/t' }, wanted)).toMatch(/^invalid/)
  })
})

describe('the place of OAuth metadata', () => {
  it.each([
    ['https://auth.example.com', 'https://auth.example.com/.well-known/oauth-authorization-server'],
    ['https://auth.example.com/', 'https://auth.example.com/.well-known/oauth-authorization-server'],
    ['https://example.com/a/b', 'https://example.com/.well-known/oauth-authorization-server/a/b'],
    ['https://example.com/a/', 'https://example.com/.well-known/oauth-authorization-server/a'],
    ['http://localhost:3000/a', 'http://localhost:3000/.well-known/oauth-authorization-server/a'],
  ])('of %s is %s', (issuer, url) => {
    expect(oauthMetadataUrl(issuer)).toBe(url)
  })
})
