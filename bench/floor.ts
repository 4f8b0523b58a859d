/**
 * The floor: what the same work costs with nothing around it. Bare node:http, jose, node:sqlite; the same driver, pragmas,
 * rows and signature library as the product. Not a server to use: it checks what costs time and little else.
 */

import { createHash, createSecretKey, randomBytes } from 'node:crypto'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import { DatabaseSync } from 'node:sqlite'
import {
  type CryptoKey,
  compactVerify,
  decodeProtectedHeader,
  EncryptJWT,
  importJWK,
  type JWK,
  jwtDecrypt,
  jwtVerify,
} from 'jose'
import { tables } from './floor-tables.ts'
import { listen, readArguments, sayReady } from './parties.ts'

const { parties, folder } = readArguments()
const origin = 'https://company.example'
const [company, day] = [origin, 86_400_000]
const secret = createSecretKey(randomBytes(32))

const db = new DatabaseSync(`${folder}/floor.db`, { timeout: 5000 })
db.exec(`pragma journal_mode = wal; pragma synchronous = full; attach '${folder}/floor-replay.db' as replay;
pragma replay.journal_mode = wal; pragma replay.synchronous = normal;
${tables}`)
const begin = db.prepare('begin immediate')
const commit = db.prepare('commit')
const addSession = db.prepare('insert into sessions values (?, ?, ?, ?, ?, ?, 0, ?, ?, ?, null)')
const addGrant = db.prepare('insert into grants values (?, ?, ?, ?, ?, ?, null, null)')
const claimId = db.prepare('insert into used_ids values (?, ?, ?, ?, ?) on conflict do nothing')
const claimProof = db.prepare('insert into replay.proofs values (?, ?, ?, ?) on conflict do nothing')
const readSession = db.prepare(`select s.*, g.scopes, g.revoked_at, g.expires_at as grant_expires_at from sessions s
left join grants g on g.company = s.company and g.id = s.grant_id where s.company = ? and s.id = ?`)

const sha256 = (text: string) => createHash('sha256').update(text).digest('base64url')
const keys = new Map<string, CryptoKey | Uint8Array>()
const clientKeys = new Map<string, CryptoKey | Uint8Array>()
for (const { id, keys } of parties.clients) clientKeys.set(id, await importJWK(keys.publicJwk, 'ES256'))
const opened = new Map<string, { sid: string; jkt: string; scope: string; exp: number }>()

async function checkProof(request: IncomingMessage, bound?: { hash: string; jkt: string }): Promise<string> {
  const proof = String(request.headers.dpop)
  const jwk = decodeProtectedHeader(proof).jwk as JWK
  const thumbprint = sha256(`{"crv":"${jwk.crv}","kty":"${jwk.kty}","x":"${jwk.x}","y":"${jwk.y}"}`)
  const key = keys.get(thumbprint) ?? (await importJWK(jwk, 'ES256'))
  keys.set(thumbprint, key)
  const claims = JSON.parse(new TextDecoder().decode((await compactVerify(proof, key)).payload))
  const good = claims.htm === request.method && claims.htu === origin + request.url && claims.ath === bound?.hash
  if (!good || Math.abs(Date.now() / 1000 - claims.iat) > 60) throw new Error('proof')
  if (bound && thumbprint !== bound.jkt) throw new Error('key')
  if (!claimProof.run(company, thumbprint, sha256(claims.jti), (claims.iat + 60) * 1000).changes)
    throw new Error('replay')
  return thumbprint
}

const seal = (sid: string, jkt: string, scope: string) =>
  new EncryptJWT({ sid, jkt, scope, exp: Math.floor(Date.now() / 1000) + 3600 })
    .setProtectedHeader({ alg: 'dir', enc: 'A256GCM' })
    .encrypt(secret)

async function call(request: IncomingMessage, body: string): Promise<object> {
  const token = String(request.headers.authorization).slice(5)
  const hash = sha256(token)
  const claims =
    opened.get(hash) ??
    ((await jwtDecrypt(token, secret)).payload as { sid: string; jkt: string; scope: string; exp: number })
  opened.set(hash, claims)
  if (claims.exp * 1000 < Date.now()) throw new Error('expired')
  await checkProof(request, { hash, jkt: claims.jkt })
  const row = readSession.get(company, claims.sid)
  if (!row || row.ended_at || row.revoked_at || !String(row.scopes).includes('poppy:read')) throw new Error('session')
  return { account: row.account, input: JSON.parse(body) }
}

async function start(request: IncomingMessage, body: string): Promise<object> {
  const form = Object.fromEntries(new URLSearchParams(body)) as Record<string, string>
  const key = clientKeys.get(form.client_id ?? '')
  if (!key) throw new Error('client')
  const verify = async (jwt = '', audience: string) =>
    (await jwtVerify(jwt, key, { audience, issuer: form.client_id ?? '', requiredClaims: ['jti', 'exp', 'sub'] }))
      .payload
  const client = await verify(form.client_assertion, origin)
  const session = await verify(form.assertion, origin + request.url)
  const thumbprint = await checkProof(request)
  const [id, now] = [`ses_${randomBytes(12).toString('base64url')}`, Date.now()]
  begin.run()
  for (const [kind, { iss, jti, exp }] of [
    ['client_assertion', client],
    ['session_assertion', session],
  ] as const)
    if (!claimId.run(company, kind, String(iss), sha256(String(jti)), Number(exp) * 1000).changes)
      throw new Error('replay')
  addSession.run(company, id, String(client.iss), String(session.sub), null, null, now, now, now + day)
  commit.run()
  return {
    access_token: await seal(id, thumbprint, ''),
    token_type: 'DPoP',
    expires_in: 3600,
    scope: '',
    session_id: id,
    signed_in: false,
  }
}

async function answer(request: IncomingMessage, response: ServerResponse) {
  let body = ''
  for await (const chunk of request) body += chunk
  const result = request.url === '/oauth/token' ? start(request, body) : call(request, body)
  const [status, value] = await result.then(
    (value) => [200, value] as const,
    () => [401, {}] as const,
  )
  const text = JSON.stringify(value)
  response
    .writeHead(status, {
      'content-type': 'application/json',
      'cache-control': 'no-store',
      'content-length': Buffer.byteLength(text),
    })
    .end(text)
}

const tokens = await Promise.all(
  parties.proofKeys.map(({ thumbprint }, n) => {
    addGrant.run(company, `grt_${n}`, 'client', `usr_${n}`, `account-${n}`, 'poppy:read')
    addSession.run(
      company,
      `ses_${n}`,
      'client',
      `usr_${n}`,
      `account-${n}`,
      `grt_${n}`,
      Date.now(),
      Date.now(),
      Date.now() + day,
    )
    return seal(`ses_${n}`, thumbprint, 'poppy:read')
  }),
)
const { port } = await listen(createServer((request, response) => void answer(request, response)))
sayReady({
  port,
  origin,
  call: { method: 'POST', path: '/poppy/tools/my_bookings', body: '{}', tokens },
  start: { path: '/oauth/token', grant: 'session', audience: origin },
})
