/** Who a request turned out to be from: noted where it is known, read where the request is logged and traced. */

/** What may be said of a caller: a Session ID is no credential (4.2); User ID and account are a person's, and left out. */
export interface Caller {
  /** The `client_id` of a client that was authenticated (4.1, 4.3). */
  readonly clientId: string
  readonly sessionId?: string | undefined
}

// By the request itself, so that nothing in between has to hand it on, and nothing of it stays when the request is gone.
const callers = new WeakMap<Request, Caller>()

/** Notes who is calling, once that is proved: by a client assertion, a proof, or a token that we sealed. */
export function noteCaller(request: Request, caller: Caller): void {
  callers.set(request, caller)
}

/** Notes the Session that an authenticated request is about. */
export function noteSession(request: Request, sessionId: string): void {
  const known = callers.get(request)
  if (known) callers.set(request, { ...known, sessionId })
}

/** Who called, if that was proved. */
export function callerOf(request: Request): Caller | undefined {
  return callers.get(request)
}
