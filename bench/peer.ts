/** The peer: oidc-provider with DPoP and everything in memory. Calls go to userinfo, Session starts to client_credentials. */

import { createServer } from 'node:http'
import Provider from 'oidc-provider'
import { listen, readArguments, sayReady } from './parties.ts'

const { parties } = readArguments()

/** Its own in-memory adapter forgets beyond 1,000 entries; this one remembers everything. */
class MapAdapter {
  readonly #rows = new Map<string, Record<string, unknown>>()

  async upsert(id: string, payload: Record<string, unknown>): Promise<void> {
    this.#rows.set(id, payload)
  }

  async find(id: string): Promise<Record<string, unknown> | undefined> {
    return this.#rows.get(id)
  }

  async consume(id: string): Promise<void> {
    const row = this.#rows.get(id)
    if (row) row.consumed = Math.floor(Date.now() / 1000)
  }

  async destroy(id: string): Promise<void> {
    this.#rows.delete(id)
  }

  async findByUid(): Promise<undefined> {}
  async findByUserCode(): Promise<undefined> {}
  async revokeByGrantId(): Promise<void> {}
}

const server = createServer()
const { port } = await listen(server)
const issuer = `http://127.0.0.1:${port}`
const provider = new Provider(issuer, {
  adapter: MapAdapter,
  clients: parties.clients.map(({ id, keys }) => ({
    client_id: id,
    token_endpoint_auth_method: 'private_key_jwt',
    jwks: { keys: [{ ...keys.publicJwk, kid: keys.thumbprint, alg: 'ES256', use: 'sig' }] },
    grant_types: ['client_credentials'],
    redirect_uris: [],
    response_types: [],
  })),
  clientAuthMethods: ['private_key_jwt'],
  features: { clientCredentials: { enabled: true }, dPoP: { enabled: true }, devInteractions: { enabled: false } },
  findAccount: (_: unknown, accountId: string) => ({ accountId, claims: () => ({ sub: accountId }) }),
})
server.on('request', provider.callback())

const tokens: string[] = []
for (const [n, { thumbprint }] of parties.proofKeys.entries()) {
  const client = await provider.Client.find(parties.clients[n % parties.clients.length]?.id ?? '')
  const clientId = parties.clients[n % parties.clients.length]?.id
  const grant = new provider.Grant({ accountId: `account-${n}`, clientId })
  grant.addOIDCScope('openid')
  const token = new provider.AccessToken({
    accountId: `account-${n}`,
    client,
    grantId: await grant.save(),
    gty: 'authorization_code',
    scope: 'openid',
  })
  token.setThumbprint('jkt', thumbprint)
  tokens.push(await token.save())
}

sayReady({
  port,
  origin: issuer,
  call: { method: 'GET', path: '/me', body: '', tokens },
  start: { path: '/token', grant: 'client_credentials', audience: issuer },
})
