/** A small load client: requests signed before the clock starts, keep-alive connections, one request in flight on each. */

import { createHash, createPrivateKey, type KeyObject, randomBytes, sign, verify } from 'node:crypto'
import { once } from 'node:events'
import { connect } from 'node:net'
import type { Client, Keys, Parties, Ready } from './parties.ts'

const privateKeys = new Map<string, KeyObject>()

function jwt(header: object, payload: object, keys: Keys): string {
  let key = privateKeys.get(keys.thumbprint)
  if (!key) {
    key = createPrivateKey({ key: { ...keys.privateJwk }, format: 'jwk' })
    privateKeys.set(keys.thumbprint, key)
  }
  const encode = (part: object) => Buffer.from(JSON.stringify(part)).toString('base64url')
  const input = `${encode({ alg: 'ES256', ...header })}.${encode(payload)}`
  return `${input}.${sign('sha256', Buffer.from(input), { key, dsaEncoding: 'ieee-p1363' }).toString('base64url')}`
}

export const sha256 = (text: string) => createHash('sha256').update(text).digest('base64url')
const newId = () => randomBytes(16).toString('base64url')
const now = () => Math.floor(Date.now() / 1000)

function pick<T>(from: readonly T[], n: number): T {
  return from[n % from.length] as T
}

/** A DPoP Proof (4.3). */
export function proof(keys: Keys, method: string, url: string, ath?: string): string {
  const claims = { jti: newId(), htm: method, htu: url, iat: now(), ...(ath && { ath }) }
  return jwt({ typ: 'dpop+jwt', jwk: keys.publicJwk }, claims, keys)
}

function assertion({ id, keys }: Client, sub: string, aud: string): string {
  return jwt({ kid: keys.thumbprint }, { iss: id, sub, aud, iat: now(), exp: now() + 60, jti: newId() }, keys)
}

/** A client assertion (4.1). */
export function clientAssertion(client: Client, audience: string): string {
  return assertion(client, client.id, audience)
}

/** A Session assertion (4.2). */
export function sessionAssertion(client: Client, userId: string, tokenEndpoint: string): string {
  return assertion(client, userId, tokenEndpoint)
}

/** The form of a token request. */
export function asForm(client: Client, parameters: Readonly<Record<string, string>>): URLSearchParams {
  const type = 'urn:ietf:params:oauth:client-assertion-type:jwt-bearer'
  return new URLSearchParams({ ...parameters, client_id: client.id, client_assertion_type: type })
}

function request(ready: Ready, method: string, path: string, headers: Record<string, string>, body: string): Buffer {
  const all = { host: new URL(ready.origin).host, ...headers }
  const lines = Object.entries(all).map(([name, value]) => `${name}: ${value}`)
  if (method !== 'GET') lines.push(`content-length: ${Buffer.byteLength(body)}`)
  return Buffer.from(`${method} ${path} HTTP/1.1\r\n${lines.join('\r\n')}\r\n\r\n${method === 'GET' ? '' : body}`)
}

/** DPoP-protected calls (4.3), each with a proof of its own. */
export function prepareCalls(parties: Parties, ready: Ready, count: number): readonly Buffer[] {
  if (!ready.call) throw new Error('there is nothing to call')
  const { method, path, body, tokens } = ready.call
  const hashes = tokens.map(sha256)
  return Array.from({ length: count }, (_, n) => {
    const dpop = proof(pick(parties.proofKeys, n), method, ready.origin + path, pick(hashes, n))
    const headers = { authorization: `DPoP ${pick(tokens, n)}`, dpop, 'content-type': 'application/json' }
    return request(ready, method, path, headers, body)
  })
}

/** Session starts (4.2), or the peer's nearest: each with assertions and a proof of its own. */
export function prepareStarts(parties: Parties, ready: Ready, count: number): readonly Buffer[] {
  if (!ready.start) throw new Error('there is nothing to start')
  const { path, grant, audience } = ready.start
  const endpoint = ready.origin + path
  return Array.from({ length: count }, (_, n) => {
    const client = pick(parties.clients, n)
    const own: Record<string, string> =
      grant === 'session'
        ? {
            grant_type: 'urn:ietf:params:oauth:grant-type:jwt-bearer',
            assertion: sessionAssertion(client, `usr_${n % 97}`, endpoint),
          }
        : { grant_type: grant }
    const form = asForm(client, { ...own, client_assertion: clientAssertion(client, audience) })
    const dpop = proof(pick(parties.proofKeys, n), 'POST', endpoint)
    const headers = { dpop, 'content-type': 'application/x-www-form-urlencoded' }
    return request(ready, 'POST', path, headers, form.toString())
  })
}

const envelope = {
  'io.modelcontextprotocol/protocolVersion': '2026-07-28',
  'io.modelcontextprotocol/clientInfo': { name: 'bench', version: '1' },
  'io.modelcontextprotocol/clientCapabilities': {},
}

/** MCP `tools/call` (6) as the official client sends it, in one of the revisions. */
export function prepareMcpCalls(revision: '2025-11-25' | '2026-07-28') {
  return (_: Parties, ready: Ready, count: number): readonly Buffer[] => {
    if (!ready.mcp) throw new Error('there is no MCP server')
    const { path, tokens } = ready.mcp
    const isNew = revision === '2026-07-28'
    return Array.from({ length: count }, (_, id) => {
      const params = { name: 'my_bookings', arguments: {}, ...(isNew ? { _meta: envelope } : {}) }
      const headers = {
        authorization: `Bearer ${pick(tokens, id)}`,
        'content-type': 'application/json',
        accept: 'application/json, text/event-stream',
        'mcp-protocol-version': revision,
        ...(isNew ? { 'mcp-method': 'tools/call', 'mcp-name': 'my_bookings' } : {}),
      }
      return request(ready, 'POST', path, headers, JSON.stringify({ jsonrpc: '2.0', id, method: 'tools/call', params }))
    })
  }
}

/**
 * Sends every request once.
 * @param isOnce whether each may be sent only once
 * @returns requests a second, until the last answer
 * @throws when an answer is not 200 or an error of MCP's, or when the first request, sent again although it may not, is
 */
export async function load(
  port: number,
  requests: readonly Buffer[],
  isOnce: boolean,
  connections = 32,
): Promise<number> {
  let next = 0
  const begin = process.hrtime.bigint()
  await Promise.all(
    Array.from({ length: connections }, () =>
      converse(
        port,
        () => requests[next++],
        (status, answer) => {
          if (status !== 200 || answer.includes('"isError":true') || answer.includes('"error":{'))
            throw new Error(`${status}: ${answer.slice(0, 800)}`)
        },
      ),
    ),
  )
  const perSecond = requests.length / (Number(process.hrtime.bigint() - begin) / 1e9)
  if (!isOnce) return perSecond
  // A server that forgets the replay check is fast.
  let [first] = requests
  await converse(
    port,
    () => {
      const once = first
      first = undefined
      return once
    },
    (status) => {
      if (status < 400) throw new Error('a used proof was accepted again')
    },
  )
  return perSecond
}

/** One connection: writes what `take` gives until it gives nothing, and hands each answer to `check`. */
async function converse(port: number, take: () => Buffer | undefined, check: (status: number, answer: string) => void) {
  const socket = connect({ port, host: '127.0.0.1', noDelay: true })
  await once(socket, 'connect')
  await new Promise<void>((resolve, reject) => {
    let received = ''
    const send = () => {
      const request = take()
      if (request) socket.write(request)
      else resolve()
    }
    socket.setEncoding('latin1')
    socket.on('data', (chunk: string) => {
      received += chunk
      if (!isWhole(received)) return
      try {
        check(Number(received.slice(9, 12)), received)
      } catch (error) {
        reject(error)
        return
      }
      received = ''
      send()
    })
    socket.on('error', reject)
    socket.on('close', () => reject(new Error('the server hung up')))
    send()
  }).finally(() => socket.destroy())
}

function isWhole(received: string): boolean {
  const end = received.indexOf('\r\n\r\n')
  if (end < 0) return false
  const length = /\r\ncontent-length: *(\d+)/i.exec(received)
  if (length) return received.length >= end + 4 + Number(length[1])
  return received.endsWith('\r\n0\r\n\r\n')
}

/** The payload of an ES256 JWT, once its signature is known to be the key's. For the floor. */
export function payloadOf(jwt: string, key: KeyObject): Record<string, unknown> {
  const [header = '', payload = '', signature = ''] = jwt.split('.')
  const made = Buffer.from(signature, 'base64url')
  const body = Buffer.concat([derInteger(made.subarray(0, 32)), derInteger(made.subarray(32))])
  const der = Buffer.concat([Buffer.from([0x30, body.length]), body])
  const isGood = verify('sha256', Buffer.from(`${header}.${payload}`), key, der)
  if (!isGood) throw new Error('signature')
  return JSON.parse(Buffer.from(payload, 'base64url').toString())
}

/** As the product does it: OpenSSL takes DER, and Node's own conversion costs more than the check. */
function derInteger(bytes: Buffer): Buffer {
  let start = 0
  while (start < 31 && bytes[start] === 0) start++
  const sign = (bytes[start] ?? 0) >= 0x80 ? [0] : []
  return Buffer.concat([Buffer.from([2, 32 - start + sign.length, ...sign]), bytes.subarray(start)])
}
