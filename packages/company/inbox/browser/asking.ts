import type { InboxView } from '../../src/inbox/view.ts'

/** Asks the server for a view. What comes back is one of few things. */

/** See above. `lost`: nobody knows whether it arrived. */
export type Answer =
  | { readonly kind: 'view'; readonly view: InboxView; readonly isDone: boolean; readonly order: number }
  | { readonly kind: 'signed-out' | 'failed' | 'lost' | 'aborted' }

let count = 0

/** How many questions were asked until now: an answer of that `order`, or of a lower one, may be of before this moment. */
export const askedUntilNow = (): number => count

/** Asks, in this tab's own order: an answer to an earlier question never replaces that to a later one. */
export async function ask(address: string, init: RequestInit = {}): Promise<Answer> {
  count += 1
  const order = count
  const { signal, ...rest } = init
  try {
    const response = await fetch(address, {
      ...rest,
      headers: { ...rest.headers, accept: 'application/json' },
      credentials: 'same-origin',
      cache: 'no-store',
      redirect: 'manual',
      signal: signal ?? AbortSignal.timeout(60_000),
    })
    // A company's own guard may send whoever is signed out to its login.
    if (response.status === 401 || response.type === 'opaqueredirect') return { kind: 'signed-out' }
    const body: unknown = await response.json().catch(() => null)
    if (isView(body)) return { kind: 'view', view: body, isDone: response.ok, order }
    return { kind: response.status >= 500 ? 'lost' : 'failed' }
  } catch {
    return { kind: signal?.aborted ? 'aborted' : 'lost' }
  }
}

function isView(body: unknown): body is InboxView {
  return typeof body === 'object' && body !== null && 'counts' in body && 'list' in body
}
