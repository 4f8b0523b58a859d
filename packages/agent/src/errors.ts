import { cleanText } from './net/text.ts'
import type { Operation } from './operations/operation.ts'

/** What the Personal Agent can do about an error: ask the person it acts for, try again later, or stop. */
export type AgentAction = 'ask_owner' | 'retry' | 'give_up'

/** Each code of an {@link AgentError}, with what can be done about it. */
export const agentErrors = {
  // 3: finding the Company
  not_a_company: 'give_up',
  unreachable: 'retry',
  bad_document: 'give_up',
  unsupported_version: 'give_up',
  untrusted_company: 'give_up',
  company_changed: 'give_up',
  // 4.1 to 4.3: Sessions and tokens
  client_refused: 'give_up',
  proof_refused: 'give_up',
  clock_differs: 'give_up',
  token_refused: 'retry',
  request_refused: 'give_up',
  bad_answer: 'give_up',
  company_error: 'retry',
  rate_limited: 'retry',
  // 4.4, 4.5 and 6: signing in
  sign_in_required: 'ask_owner',
  insufficient_scope: 'ask_owner',
  sign_in_unavailable: 'give_up',
  sign_in_declined: 'give_up',
  sign_in_failed: 'ask_owner',
  sign_in_expired: 'ask_owner',
  sign_in_unknown: 'give_up',
  revocation_failed: 'retry',
  // 5: web browsing
  browser_unavailable: 'give_up',
  // 3.3 and 6: calling
  extension_required: 'give_up',
  unknown_operation: 'give_up',
  invalid_input: 'give_up',
  foreign_origin: 'give_up',
  body_spent: 'retry',
  call_failed: 'give_up',
  // 7: conversations
  conversations_unavailable: 'give_up',
  conversation_not_found: 'give_up',
  conversation_closed: 'give_up',
  direct_conversation_open: 'retry',
  message_conflict: 'give_up',
  // Operations: confirming
  operations_unavailable: 'give_up',
  operation_not_found: 'give_up',
  approval_required: 'ask_owner',
  company_confirmation_required: 'ask_owner',
  confirmation_refused: 'give_up',
  terms_keep_changing: 'give_up',
  confirmed_otherwise: 'ask_owner',
  // this side
  store_unsafe: 'give_up',
  store_busy: 'retry',
  misconfigured: 'give_up',
} as const satisfies Record<string, AgentAction>

/** A code of the closed union of errors. */
export type AgentErrorCode = keyof typeof agentErrors

/** What an {@link AgentError} carries beside its code and sentence. */
export interface AgentErrorDetails {
  /** Scopes to ask the owner for: all that are needed, those already held included. */
  readonly scopes?: readonly string[] | undefined
  /** Seconds to wait before the same request may be sent again (4.3). */
  readonly retryAfter?: number | undefined
  /** HTTP status of the Company's answer. */
  readonly status?: number | undefined
  /** The Company's own error code, cleaned. */
  readonly companyCode?: string | undefined
  /** The operation that it is about, as the Company has it now. */
  readonly operation?: Operation | undefined
  /** The Company's own page, for the owner to open (`company_confirmation_required`). */
  readonly confirmationUrl?: string | undefined
  /** The conversation that stands in the way (`direct_conversation_open`). */
  readonly conversationId?: string | undefined
  /** Only where the usual action for the code doesn't fit. */
  readonly action?: AgentAction
}

/**
 * The one error of this library. `message` is a sentence for a person. Neither it nor any member holds a token, a code,
 * an assertion or a key; text of a Company is cleaned and cut.
 */
export class AgentError extends Error {
  override readonly name = 'AgentError'
  readonly code: AgentErrorCode
  readonly action: AgentAction
  readonly scopes: readonly string[] | undefined
  readonly retryAfter: number | undefined
  readonly status: number | undefined
  readonly companyCode: string | undefined
  readonly operation: Operation | undefined
  readonly confirmationUrl: string | undefined
  readonly conversationId: string | undefined

  constructor(code: AgentErrorCode, message: string, details: AgentErrorDetails = {}) {
    super(message)
    this.code = code
    this.action = details.action ?? agentErrors[code]
    this.scopes = details.scopes
    this.retryAfter = details.retryAfter
    this.status = details.status
    this.operation = details.operation
    this.confirmationUrl = details.confirmationUrl
    this.conversationId = details.conversationId
    this.companyCode = details.companyCode === undefined ? undefined : cleanText(details.companyCode, 80)
  }

  /** What a program or a model may read of it. */
  toJSON(): Record<string, unknown> {
    return {
      error: this.code,
      message: this.message,
      action: this.action,
      ...(this.scopes === undefined ? {} : { scopes: this.scopes }),
      ...(this.retryAfter === undefined ? {} : { retryAfter: this.retryAfter }),
      ...(this.status === undefined ? {} : { status: this.status }),
      ...(this.companyCode === undefined ? {} : { companyCode: this.companyCode }),
      ...(this.operation === undefined ? {} : { operation: this.operation }),
      ...(this.confirmationUrl === undefined ? {} : { confirmationUrl: this.confirmationUrl }),
      ...(this.conversationId === undefined ? {} : { conversationId: this.conversationId }),
    }
  }
}
