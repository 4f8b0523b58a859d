/**
 * Who is calling, as the Company's code sees it (4). Made on the server from a checked token, frozen, and passed down:
 * nothing that a model, a message, a tool argument or a page says can change it.
 */
export interface Principal {
  /** The Company's issuer (3.2). */
  readonly company: string
  /** The Personal Agent's `client_id` (4.1). */
  readonly clientId: string
  /** The User ID that the Personal Agent gave its User for this Company (4.2). */
  readonly userId: string
  readonly sessionId: string
  /** The Company's own id of the account that the Session is signed in to, or null when signed out. */
  readonly account: string | null
  /** The account scopes that this request has (4.4); empty when signed out. */
  readonly scopes: readonly string[]
  /** The service that the token is for (4.3), or null for one that works at all services but MCP. */
  readonly resource: string | null
  /** The sign-in that the rights come from, or null when signed out. */
  readonly grantId: string | null
}
