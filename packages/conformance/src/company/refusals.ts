import { errorRow, PoppyError } from '@poppyseed/protocol'
import { type Reply, reply } from '../delivery.ts'
import { writeChallenge } from './challenges.ts'
import type { Exchange } from './exchange.ts'
import type { Ledger } from './ledger.ts'
import { hostileText } from './words.ts'

/** 4.2, 6: errors as the table has them, in the challenge and in the body. */
export function refusal(
  exchange: Exchange,
  thrown: unknown,
  origin: string,
): { readonly reply: Reply; readonly code: string } {
  const error =
    thrown instanceof PoppyError
      ? thrown
      : new PoppyError('server_error', { description: thrown instanceof Error ? thrown.message : 'unknown' })
  const { code } = error
  const row = errorRow(code)
  const isOAuth = ['token', 'revoke', 'device'].includes(exchange.route)
  const status = (isOAuth ? row.statusAtTokenEndpoint : undefined) ?? row.status
  const body =
    exchange.switches.words === 'escapes' ? { ...error.body(), error_description: hostileText } : error.body()
  if (!row.challenge) return { reply: reply(status, body), code }
  const scheme = exchange.route === 'mcp' ? 'Bearer' : 'DPoP'
  const { lines, inBody } = writeChallenge(scheme, { error: code, scope: error.scope }, exchange.switches.challenge)
  const metadata = `, resource_metadata="${origin}/.well-known/oauth-protected-resource/mcp"`
  const last = lines.length - 1
  const written = lines.map((line, at) => (scheme === 'Bearer' && at === last ? line + metadata : line))
  const headers = written.length === 0 ? {} : { 'www-authenticate': written }
  return { reply: reply(status, inBody ? body : {}, headers), code }
}

/** Remembers what a refusal says for good: that a Session is over, or an Account Token. */
export function remember(ledger: Ledger, exchange: Exchange, error: string): void {
  const token = exchange.form.get('refresh_token')
  const grant = token === null ? undefined : ledger.grants.get(token)
  const sessionId = exchange.form.get('session_id')
  if (sessionId !== null && (error === 'invalid_session' || error === 'account_mismatch'))
    ledger.endings.set(sessionId, { by: exchange, error, account: grant?.account ?? null })
  if (error === 'invalid_grant' && exchange.route === 'token' && grant) grant.refused = exchange
}
