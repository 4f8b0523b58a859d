/**
 * The error table: every code that this implementation puts on the wire, with its status, its place in the
 * specification, and whether it stands in `WWW-Authenticate`. Company, Personal Agent and conformance suite read it.
 */

/** What the table says of a code. */
export interface ErrorRow {
  /** The section that the code comes from: of draft 0.1, or of the Operations extension where it says so. */
  readonly section: string
  /** HTTP status at APIs and pages. */
  readonly status: number
  /** HTTP status at the token and revocation endpoints, where it differs (4.2). */
  readonly statusAtTokenEndpoint?: number
  /** Whether the code is also written into `WWW-Authenticate` (6). */
  readonly challenge?: boolean
}

/** Each code with its status and the section it comes from. */
export const errorTable = {
  // 4.2: the OAuth error response
  invalid_request: { section: '4.2', status: 400 },
  invalid_client: { section: '4.1', status: 401 },
  invalid_grant: { section: '4.2', status: 400 },
  invalid_session: { section: '4.2', status: 400 },
  account_mismatch: { section: '4.4', status: 400 },
  invalid_scope: { section: '4.4', status: 400 },
  invalid_target: { section: '4.3', status: 400 },
  unsupported_grant_type: { section: '4.2', status: 400 },
  unauthorized_client: { section: '4.6', status: 400 },
  unsupported_response_type: { section: '4.5', status: 400 },
  unsupported_token_type: { section: '4.9', status: 400 },
  access_denied: { section: '4.5', status: 400 },
  authorization_pending: { section: '4.6', status: 400 },
  slow_down: { section: '4.6', status: 400 },
  expired_token: { section: '4.6', status: 400 },
  // 4.3 and 6: what a request with a Session Token can be told
  invalid_token: { section: '6', status: 401, challenge: true },
  invalid_dpop_proof: { section: '4.3', status: 401, statusAtTokenEndpoint: 400, challenge: true },
  use_dpop_nonce: { section: '4.3', status: 401, statusAtTokenEndpoint: 400, challenge: true },
  sign_in_required: { section: '6', status: 403, challenge: true },
  insufficient_scope: { section: '6', status: 403, challenge: true },
  extension_required: { section: '3.3', status: 403 },
  rate_limited: { section: '4.3', status: 429 },
  // Operations extension, version 1; the codes of 5.2 and of an unknown operation are our reading of it
  user_approval_required: { section: 'Operations 9', status: 403 },
  company_confirmation_required: { section: 'Operations 8', status: 403 },
  revision_conflict: { section: 'Operations 5.2', status: 409 },
  operation_not_found: { section: 'Operations 9', status: 404 },
  // 7.13: conversations
  conversation_not_found: { section: '7.13', status: 404 },
  conversation_closed: { section: '7.13', status: 409 },
  direct_conversation_open: { section: '7.10', status: 409 },
  message_id_conflict: { section: '7.3', status: 409 },
  invalid_cursor: { section: '7.5', status: 400 },
  cursor_expired: { section: '7.5', status: 410 },
  // Not standardised: plain HTTP
  not_found: { section: '7.13', status: 404 },
  method_not_allowed: { section: '7.13', status: 405 },
  misdirected_request: { section: '7.13', status: 421 },
  request_too_large: { section: '7.13', status: 413 },
  unsupported_media_type: { section: '7.13', status: 415 },
  // 6: what a tool can end in, the same words over HTTP and MCP
  tool_not_found: { section: '6', status: 404 },
  tool_failed: { section: '6', status: 422 },
  tool_timeout: { section: '6', status: 504 },
  // 7.9: what staff can't do at this moment, for the company's own people alone
  staff_conflict: { section: '7.9', status: 409 },
  server_error: { section: '7.13', status: 500 },
  temporarily_unavailable: { section: '7.13', status: 503 },
} as const satisfies Record<string, ErrorRow>

/** A code of the error table. */
export type ErrorCode = keyof typeof errorTable

const rows: Readonly<Record<ErrorCode, ErrorRow>> = errorTable

/** The table's row for a code. */
export function errorRow(code: ErrorCode): ErrorRow {
  return rows[code]
}

/** Whether a string is a code of the table. */
export function isErrorCode(value: string): value is ErrorCode {
  return Object.hasOwn(rows, value)
}

/** What a {@link PoppyError} carries beside its code. */
export interface PoppyErrorDetails {
  /** For the other side: what happened and what to do. Tells an attacker nothing and names no secret. */
  readonly description?: string
  /** For the log of this side only. Never holds a secret. */
  readonly reason?: string
  /** The scopes needed, space-separated (6, `insufficient_scope`). */
  readonly scope?: string
  /** The extension needed (3.3). */
  readonly extension?: string
  /** Seconds to wait (4.3, rate limits). */
  readonly retryAfter?: number
  /** Further members of the JSON body, such as a tool's validation issues. */
  readonly extra?: Readonly<Record<string, unknown>>
  readonly cause?: unknown
}

/** The one error of the protocol: rules throw it, one boundary on each side makes a response or a typed result of it. */
export class PoppyError extends Error {
  override readonly name = 'PoppyError'
  readonly code: ErrorCode
  readonly description: string | undefined
  readonly reason: string | undefined
  readonly scope: string | undefined
  readonly extension: string | undefined
  readonly retryAfter: number | undefined
  readonly extra: Readonly<Record<string, unknown>> | undefined

  constructor(code: ErrorCode, details: PoppyErrorDetails = {}) {
    super(
      details.description ?? code.replaceAll('_', ' '),
      details.cause === undefined ? undefined : { cause: details.cause },
    )
    this.code = code
    this.description = details.description
    this.reason = details.reason
    this.scope = details.scope
    this.extension = details.extension
    this.retryAfter = details.retryAfter
    this.extra = details.extra
  }

  /** The JSON body that goes with the code: `{ error, error_description?, scope?, extension?, … }`. */
  body(): Record<string, unknown> {
    // The code stands last to win: a further member never takes its place.
    return {
      ...this.extra,
      error: this.code,
      ...(this.description === undefined ? {} : { error_description: this.description }),
      ...(this.scope === undefined ? {} : { scope: this.scope }),
      ...(this.extension === undefined ? {} : { extension: this.extension }),
    }
  }
}

/** A document of the other side that can't be used: what is wrong, where, in a sentence for a person. */
export class DocumentError extends Error {
  override readonly name = 'DocumentError'
  readonly kind: 'invalid' | 'unsupported_version' | 'untrusted'
  constructor(kind: DocumentError['kind'], message: string) {
    super(message)
    this.kind = kind
  }
}
