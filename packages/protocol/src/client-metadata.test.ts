import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { isClientId, readClientMetadata } from './client-metadata.ts'
import { DocumentError } from './errors.ts'

const CLIENT = 'https://agent.example/agent.json'

/** The document of 4.1. */
const example = {
  client_id: CLIENT,
  client_name: 'Example Agent',
  logo_uri: 'https://agent.example/logo.png',
  jwks_uri: 'https://agent.example/jwks.json',
  redirect_uris: ['https://agent.example/oauth/callback'],
  token_endpoint_auth_method: 'private_key_jwt',
  extensions: { operations: { version: '1' } },
}

const read = (changes: Record<string, unknown> = {}, url = CLIENT, allowHttp = false) =>
  readClientMetadata({ ...example, ...changes }, url, allowHttp)

const fault = (document: unknown, url = CLIENT): string => {
  try {
    readClientMetadata(document, url)
    return 'accepted'
  } catch (error) {
    if (!(error instanceof DocumentError)) throw error
    return `${error.kind} ${error.message}`
  }
}
const faultOf = (changes: Record<string, unknown>) => fault({ ...example, ...changes })

describe('a client metadata document', () => {
  it('is read as the specification shows it', () => {
    expect(read()).toEqual({
      clientId: CLIENT,
      name: 'Example Agent',
      logoUri: 'https://agent.example/logo.png',
      jwksUri: 'https://agent.example/jwks.json',
      authentication: 'private_key_jwt',
      redirectUris: ['https://agent.example/oauth/callback'],
      extensions: { operations: '1' },
    })
  })

  it('may hold members that we do not know, and leave out what is not needed [3.3.ignore-unknown, K15]', () => {
    expect(read({ grant_types: ['x'], 'x-y': { deep: [] }, contacts: null })).toEqual(read())
    expect(readClientMetadata({ client_id: CLIENT, jwks_uri: example.jwks_uri }, CLIENT)).toEqual({
      clientId: CLIENT,
      name: undefined,
      logoUri: undefined,
      jwksUri: example.jwks_uri,
      authentication: 'private_key_jwt',
      redirectUris: [],
      extensions: {},
    })
  })

  it('loses a name, a logo or a list of extensions that is no such thing, and nothing else', () => {
    for (const wrong of [null, 7, [], 'x'.repeat(20_000)]) expect(read({ client_name: wrong }).name).toBeUndefined()
    for (const wrong of [
      null,
      '',
      7,
      'javascript:alert(1)',
      'http://agent.example/l.png',
      'data:image/png,x',
      '/l.png',
    ]) {
      expect(read({ logo_uri: wrong }).logoUri).toBeUndefined()
    }
    for (const wrong of [null, [], 'operations', 7]) expect(read({ extensions: wrong }).extensions).toEqual({})
    const { extensions } = read({ extensions: { a: { version: '1' }, b: { version: 1 }, c: '1', d: null, e: [] } })
    expect(extensions).toEqual({ a: '1' })
  })

  it('lists no extension that it does not name', () => {
    const { extensions } = readClientMetadata(
      JSON.parse(
        `{"client_id":"${CLIENT}","jwks_uri":"${example.jwks_uri}","extensions":{"__proto__":{"version":"1"}}}`,
      ),
      CLIENT,
    )
    expect(extensions.constructor).toBeUndefined()
    expect(extensions.version).toBeUndefined()
  })

  it('states the very URL that it was fetched from [4.1.client-id-exact]', () => {
    for (const client_id of [
      `${CLIENT}/`,
      `${CLIENT}?`,
      `${CLIENT}#`,
      'https://AGENT.example/agent.json',
      'https://agent.example:443/agent.json',
      'https://agent.example/./agent.json',
      'https://evil.example/agent.json',
    ]) {
      expect(faultOf({ client_id })).toMatch('client_id is not the URL of the document')
    }
  })

  it('keeps its keys on HTTPS on the host of the client_id [4.1.jwks-same-domain]', () => {
    for (const jwks_uri of [
      'https://keys.agent.example/jwks.json',
      'https://example/jwks.json',
      'https://agent.example.evil.example/jwks.json',
      'https://agent.example@evil.example/jwks.json',
      'https://agent.example:8443/jwks.json',
      'http://agent.example/jwks.json',
      'https://agent.example/jwks.json#a',
      'https://169.254.169.254/',
      '/jwks.json',
      'jwks.json',
    ]) {
      expect(faultOf({ jwks_uri })).toMatch('must be HTTPS on the host of client_id')
    }
    expect(faultOf({ jwks_uri: 'https://agent.example:443/jwks.json' })).toBe('accepted')
    for (const jwks_uri of [undefined, null, '', 7, [], 'x'.repeat(3000)])
      expect(faultOf({ jwks_uri })).toMatch('jwks_uri')
  })

  it('keeps its redirect_uris there too, each of them [4.1.redirect-uris-same-domain]', () => {
    const good = example.redirect_uris[0]
    for (const bad of [
      'https://evil.example/callback',
      'http://agent.example/callback',
      'http://localhost/callback',
      'http://127.0.0.1:1234/callback',
      'com.agent.example:/callback',
      'https://agent.example@evil.example/callback',
      'https://agent.example/callback#x',
      'https://agent.example\\@evil.example/',
      'https://agent.example/\ncallback',
    ]) {
      expect(faultOf({ redirect_uris: [good, bad] })).toMatch('must be HTTPS on the host of client_id')
    }
    for (const redirect_uris of [null, 'https://agent.example/a', {}, [7], ['']]) {
      expect(faultOf({ redirect_uris })).toMatch('redirect_uris')
    }
  })

  it('keeps redirect_uris as they were spelled', () => {
    const spelled = ['https://agent.example:443/CB?a=%2f', 'https://AGENT.example']
    expect(read({ redirect_uris: spelled }).redirectUris).toEqual(spelled)
  })

  it('names no other way of authentication than private_key_jwt [4.1.auth-method]', () => {
    expect(faultOf({ token_endpoint_auth_method: undefined })).toBe('accepted')
    for (const method of ['client_secret_basic', 'PRIVATE_KEY_JWT', '']) {
      expect(faultOf({ token_endpoint_auth_method: method })).toMatch('must be private_key_jwt')
    }
    for (const method of [null, 7, ['private_key_jwt']]) {
      expect(faultOf({ token_endpoint_auth_method: method })).toMatch('token_endpoint_auth_method')
    }
  })

  it('of an MCP client that can’t authenticate has no keys, and no address but those on its own host [4.1.redirect-uris-same-domain]', () => {
    const method = { token_endpoint_auth_method: 'none' }
    const own = 'https://agent.example/back'
    const listening = ['http://127.0.0.1:33418/', 'http://localhost/back', 'com.agent.example:/back']
    const elsewhere = [
      'https://evil.example/back',
      'https://agent.example@evil.example/',
      'https://agent.example/back#x',
    ]
    const redirect_uris = [...listening, own, ...elsewhere]
    for (const jwks_uri of [undefined, example.jwks_uri, 'https://evil.example/jwks.json'])
      expect(read({ ...method, jwks_uri, redirect_uris })).toMatchObject({
        authentication: 'none',
        jwksUri: undefined,
        redirectUris: [own],
      })
    for (const nowhere of [listening, elsewhere, [], undefined])
      expect(faultOf({ ...method, redirect_uris: nowhere })).toMatch('none of the redirect_uris is HTTPS on the host')
  })

  it('is refused in any other shape, with its own error alone', () => {
    for (const document of [null, undefined, [], [example], 'x', 7, {}, true]) {
      expect(fault(document)).toMatch(/^invalid client metadata/)
    }
    for (const url of ['', 'not a url', 'http://agent.example/agent.json']) {
      expect(fault({ ...example, client_id: url }, url)).toMatch(/^invalid client metadata/)
    }
    const keys = fc.constantFrom(...Object.keys(example))
    fc.assert(
      fc.property(fc.dictionary(keys, fc.jsonValue({ maxDepth: 3 })), (changes) => {
        expect(faultOf(changes)).toMatch(/^(accepted|invalid client metadata)/)
      }),
      { numRuns: 300 },
    )
  })

  it('may be on this machine in development', () => {
    const url = 'http://localhost:4000/agent.json'
    const local = {
      client_id: url,
      jwks_uri: 'http://localhost:4000/jwks.json',
      redirect_uris: ['http://localhost:4000/cb'],
      logo_uri: 'http://localhost:4000/l.png',
    }
    expect(read(local, url, true)).toMatchObject({ clientId: url, logoUri: local.logo_uri })
    expect(fault({ ...example, ...local }, url)).toMatch('must be HTTPS')
    expect(() => read({ ...local, jwks_uri: 'http://localhost:5000/jwks.json' }, url, true)).toThrow(
      'host of client_id',
    )
  })
})

describe('a client_id [4.1.client-id-https]', () => {
  it.each([
    CLIENT,
    'https://agent.example/a/b?c=d',
    'https://agent.example:8443/agent',
    'https://xn--bcher-kva.example/a',
  ])('may be %s', (value) => {
    expect(isClientId(value)).toBe(true)
  })

  it.each([
    'http://agent.example/agent.json',
    'https://agent.example',
    'https://agent.example/',
    'https://agent.example/?a=b',
    'https://agent.example/agent.json#',
    'https://agent.example/agent.json#a',
    'https://user@agent.example/agent.json',
    'https://@agent.example/agent.json',
    'https://AGENT.example/agent.json',
    'HTTPS://agent.example/agent.json',
    'https://agent.example:443/agent.json',
    'https://agent.example/a/../agent.json',
    'https://agent.example/a/%2e%2e/agent.json',
    'https://agent.example/a b',
    'https://0x7f.1/agent.json',
    'https://2130706433/agent.json',
    'https://bücher.example/agent.json',
    ' https://agent.example/agent.json',
    'agent',
    '',
    `https://agent.example/${'x'.repeat(2048)}`,
  ])('is never %j', (value) => {
    expect(isClientId(value)).toBe(false)
  })

  it('may be plain HTTP on this machine in development', () => {
    expect(isClientId('http://localhost:4000/agent.json', true)).toBe(true)
    expect(isClientId('http://localhost:4000/agent.json')).toBe(false)
    expect(isClientId('http://agent.example/agent.json', true)).toBe(false)
  })
})
