// The floor: the same work by the same driver, pragmas, rows and signature library, and nothing else. Not for use.
import { createPublicKey, createSecretKey, hash, type KeyObject, randomBytes } from 'node:crypto'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import * as jose from 'jose'
import { payloadOf } from './client.ts'
import { openStore } from './floor-store.ts'
import { listen, readArguments, sayReady } from './parties.ts'

const { parties, folder } = readArguments()
const origin = 'https://company.example'
const [company, day] = [origin, 86_400_000]
const keys = new Map<string, KeyObject>()
const secret = createSecretKey(randomBytes(32))
const store = openStore(`${folder}/floor.db`)
const sha256 = (text: string) => hash('sha256', text, 'base64url')
const importKey = (jwk: jose.JWK) => createPublicKey({ format: 'jwk', key: jwk as Record<string, string> })
for (const { id, keys: own } of parties.clients) keys.set(id, importKey(own.publicJwk))
type Token = { sid: string; jkt: string; scope: string; exp: number }
const opened = new Map<string, Token>()

function checkProof(request: IncomingMessage, bound?: { ath: string; jkt: string }): string {
  const proof = String(request.headers.dpop)
  const jwk = jose.decodeProtectedHeader(proof).jwk as jose.JWK
  const thumbprint = sha256(`{"crv":"${jwk.crv}","kty":"${jwk.kty}","x":"${jwk.x}","y":"${jwk.y}"}`)
  const key = keys.get(thumbprint) ?? importKey(jwk)
  keys.set(thumbprint, key)
  const claims = payloadOf(proof, key)
  const good = claims.htm === request.method && claims.htu === origin + request.url && claims.ath === bound?.ath
  const iat = Number(claims.iat)
  if (!good || Math.abs(Date.now() / 1000 - iat) > 60 || (bound && thumbprint !== bound.jkt)) throw new Error('proof')
  const { changes } = store.claimProof.run(company, thumbprint, sha256(String(claims.jti)), (iat + 60) * 1000)
  if (!changes) throw new Error('replay')
  return thumbprint
}

const seal = (sid: string, jkt: string, scope: string) =>
  new jose.EncryptJWT({ sid, jkt, scope, exp: Math.floor(Date.now() / 1000) + 3600 })
    .setProtectedHeader({ alg: 'dir', enc: 'A256GCM' })
    .encrypt(secret)

async function call(request: IncomingMessage, body: string): Promise<object> {
  const token = String(request.headers.authorization).slice(5)
  const ath = sha256(token)
  const claims = opened.get(ath) ?? (await jose.jwtDecrypt<Token>(token, secret)).payload
  opened.set(ath, claims)
  if (claims.exp * 1000 < Date.now()) throw new Error('expired')
  checkProof(request, { ath, jkt: claims.jkt })
  const row = store.readSession.get(company, claims.sid)
  if (!row || row.ended_at || row.revoked_at || !String(row.scopes).includes('poppy:read')) throw new Error('session')
  return { account: row.account, input: JSON.parse(body) }
}

async function start(request: IncomingMessage, body: string): Promise<object> {
  const form = Object.fromEntries(new URLSearchParams(body)) as Record<string, string>
  const key = keys.get(form.client_id ?? '') as KeyObject
  const assertion = (jwt = '', audience: string) => {
    const claims = payloadOf(jwt, key)
    const good = claims.aud === audience && claims.iss === form.client_id && claims.sub
    if (good && Number(claims.exp) * 1000 > Date.now()) return claims
    throw new Error('assertion')
  }
  const client = assertion(form.client_assertion, origin)
  const session = assertion(form.assertion, origin + request.url)
  const thumbprint = checkProof(request)
  const [id, now] = [`ses_${randomBytes(12).toString('base64url')}`, Date.now()]
  store.begin.run()
  const claim = (kind: string, { iss, jti, exp }: jose.JWTPayload) =>
    store.claimId.run(company, kind, String(iss), sha256(String(jti)), Number(exp) * 1000).changes > 0
  const isNew = claim('client_assertion', client) && claim('session_assertion', session)
  if (isNew) store.addSession.run(company, id, String(client.iss), String(session.sub), null, null, now, now, now + day)
  store.commit.run()
  if (!isNew) throw new Error('replay')
  const access_token = await seal(id, thumbprint, '')
  return { access_token, token_type: 'DPoP', expires_in: 3600, scope: '', session_id: id, signed_in: false }
}

async function answer(request: IncomingMessage, response: ServerResponse) {
  let body = ''
  for await (const chunk of request) body += chunk
  const work = request.url === '/oauth/token' ? start : call
  const text = await work(request, body).then(JSON.stringify, () => undefined)
  response.statusCode = text ? 200 : 401
  response.setHeader('content-type', 'application/json').setHeader('cache-control', 'no-store').end(text)
}

const tokens = parties.proofKeys.map(({ thumbprint }, n) => {
  const [user, account, grant, now] = [`usr_${n}`, `account-${n}`, `grt_${n}`, Date.now()]
  store.addGrant.run(company, grant, 'client', user, account, 'poppy:read')
  store.addSession.run(company, `ses_${n}`, 'client', user, account, grant, now, now, now + day)
  return seal(`ses_${n}`, thumbprint, 'poppy:read')
})
const { port } = await listen(createServer((request, response) => void answer(request, response)))
const calls = {
  method: 'POST',
  path: '/poppy/tools/my_bookings',
  body: '{}',
  tokens: await Promise.all(tokens),
} as const
sayReady({ port, origin, call: calls, start: { path: '/oauth/token', grant: 'session', audience: origin } })
