import { errorRow, formatChallenge, makeId, PoppyError, signatureAlgorithms } from '@poppyseed/protocol'
import type { Logger } from '../store/database.ts'

/** Responses: the one boundary at which a thrown error becomes an answer (6). */

const jsonType = { 'content-type': 'application/json' }

/** A JSON answer. */
export function json(value: unknown, status = 200, headers: Readonly<Record<string, string>> = {}): Response {
  return jsonText(JSON.stringify(value), status, headers)
}

/** The same for what is JSON text already. */
export function jsonText(text: string, status = 200, headers: Readonly<Record<string, string>> = {}): Response {
  return new Response(text, { status, headers: { ...jsonType, 'cache-control': 'no-store', ...headers } })
}

/** How an error is told at one kind of endpoint. */
export interface ErrorStyle {
  /** `DPoP` at APIs and the token endpoint, `Bearer` at MCP. */
  readonly scheme: 'DPoP' | 'Bearer'
  readonly atTokenEndpoint?: boolean
  /** RFC 9728: where an MCP client finds out whom to ask for a token. */
  readonly resourceMetadata?: string
  /** The nonce to use from now on (RFC 9449, section 8). */
  readonly nonce?: string | undefined
}

/**
 * Makes the answer to an error: status and header from the error table, the code also in a JSON body.
 * Anything but a PoppyError is a 500 with an id and no detail; the log gets the id and the error.
 */
export function errorResponse(
  thrown: unknown,
  style: ErrorStyle,
  log: Logger,
  random: (length: number) => Uint8Array,
): Response {
  const error = asPoppyError(thrown, log, random)
  const row = errorRow(error.code)
  const status = style.atTokenEndpoint ? (row.statusAtTokenEndpoint ?? row.status) : row.status
  const headers: Record<string, string> = {}
  if (row.challenge) {
    headers['www-authenticate'] = formatChallenge(style.scheme, {
      error: error.code,
      error_description: error.description,
      scope: error.scope,
      // 4.3: a client that can't make one of these signatures learns it here
      algs: style.scheme === 'DPoP' && error.code === 'invalid_dpop_proof' ? signatureAlgorithms.join(' ') : undefined,
      resource_metadata: style.resourceMetadata,
    })
  }
  if (style.nonce !== undefined) headers['dpop-nonce'] = style.nonce
  // 4.3: always with a 429, whoever threw it; whole seconds, so that no client has to guess
  if (error.retryAfter !== undefined || status === 429) headers['retry-after'] = String(wholeSeconds(error.retryAfter))
  if (error.code === 'method_not_allowed' && typeof error.extra?.allow === 'string') headers.allow = error.extra.allow
  return json(error.body(), status, headers)
}

/** Seconds to wait as `Retry-After` takes them: whole, and at least one. */
export function wholeSeconds(seconds = 1): number {
  return Number.isFinite(seconds) ? Math.max(1, Math.ceil(seconds)) : 1
}

function asPoppyError(thrown: unknown, log: Logger, random: (length: number) => Uint8Array): PoppyError {
  if (thrown instanceof PoppyError) {
    log.debug({ code: thrown.code, reason: thrown.reason }, 'request refused')
    return thrown
  }
  const id = makeId('err', random)
  log.error(
    { id, error: thrown instanceof Error ? { name: thrown.name, stack: thrown.stack } : { name: typeof thrown } },
    'request failed',
  )
  return new PoppyError('server_error', {
    description: 'Something went wrong on our side. Nothing of it is your fault.',
    extra: { error_id: id },
  })
}
