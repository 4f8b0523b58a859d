/** Who a request turned out to be from: noted where it is known, read where the request is logged and traced. */

/** What may be said of a caller: a Session ID is no credential (4.2); User ID and account are a person's, and left out. */
export interface Caller {
  /** The `client_id` of a client that was authenticated (4.1, 4.3). */
  readonly clientId: string
  readonly sessionId?: string | undefined
}

/** On the request itself, so that nothing in between has to hand it on. A WeakMap would cost more than all the rest. */
const key = Symbol('caller')

type Called = Request & { [key]?: Caller }

/** Notes who is calling, once that is proved: by a client assertion, a proof, or a token that we sealed. */
export function noteCaller(request: Request, caller: Caller): void {
  ;(request as Called)[key] = caller
}

/** Notes the Session that an authenticated request is about. */
export function noteSession(request: Request, sessionId: string): void {
  const known = callerOf(request)
  if (known) noteCaller(request, { ...known, sessionId })
}

/** Who called, if that was proved. */
export function callerOf(request: Request): Caller | undefined {
  return (request as Called)[key]
}
