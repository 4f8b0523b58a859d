import type { Staff } from 'poppyseed'
import { headersOf } from './staff.ts'

/** The JSON API of the Company's staff inbox, as far as the adapter asks it. `/poppy/inbox/api/openapi.json` has all of it. */

/** A message, as it travelled. */
export interface SaidEvent {
  readonly id: string
  readonly type: string
  readonly message?: {
    readonly role: 'user' | 'company'
    readonly sender: 'agent' | 'human'
    readonly text?: string
    readonly data?: Readonly<Record<string, unknown>>
    readonly operation?: { readonly summary: string; readonly state: string }
  }
}

/** A conversation, as far as it is needed. */
export interface ReadConversation {
  readonly conversation: { readonly id: string; readonly status: string; readonly agent: { readonly host: string } }
  readonly events: readonly SaidEvent[]
  readonly before: number | null
}

/** What the Company refused. */
export class CompanyRefused extends Error {
  override readonly name = 'CompanyRefused'
  readonly status: number
  readonly code: string
  /** Why, for `staff_conflict`. */
  readonly because: string | undefined

  constructor(status: number, body: { readonly error?: string; readonly because?: string }) {
    super(`${status} ${body.error ?? ''} ${body.because ?? ''}`.trim())
    this.status = status
    this.code = body.error ?? ''
    this.because = body.because
  }

  /** Whether asking again can't change it. */
  get isFinal(): boolean {
    return this.status >= 400 && this.status < 500 && ![401, 408, 429].includes(this.status)
  }
}

/** See {@link companyApi}. */
export type CompanyApi = ReturnType<typeof companyApi>

/**
 * Makes it.
 * @param inbox the inbox's address, such as `https://miramar.example/poppy/inbox`
 */
export function companyApi({ inbox, token }: { readonly inbox: string; readonly token: string }) {
  async function call(
    by: Staff,
    path: string,
    { body, key }: { readonly body?: object; readonly key?: string } = {},
  ): Promise<unknown> {
    const response = await fetch(`${inbox}/api${path}`, {
      method: body === undefined ? 'GET' : 'POST',
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      headers: {
        ...headersOf(token, by),
        ...(body === undefined ? {} : { 'content-type': 'application/json' }),
        ...(key === undefined ? {} : { 'idempotency-key': key }),
      },
      signal: AbortSignal.timeout(8000),
    })
    const answer: unknown = await response.json().catch(() => ({}))
    if (!response.ok) throw new CompanyRefused(response.status, answer as { readonly error?: string })
    return answer
  }
  const at = (id: string, what = '') => `/conversations/${encodeURIComponent(id)}${what}`

  return {
    read: async (by: Staff, id: string, before: number | null = null) =>
      (await call(by, at(id, before === null ? '' : `?before=${before}`))) as ReadConversation,
    /** A sign of life: whoever gives none for two minutes loses what they have to the queue. */
    present: (by: Staff) => call(by, '/present', { body: {} }),
    take: (by: Staff, id: string) => call(by, at(id, '/take'), { body: {} }),
    reply: (by: Staff, id: string, text: string, key: string) => call(by, at(id, '/reply'), { body: { text }, key }),
    note: (by: Staff, id: string, text: string, key: string) => call(by, at(id, '/note'), { body: { text }, key }),
    handBack: (by: Staff, id: string, key: string) => call(by, at(id, '/hand-back'), { body: {}, key }),
    close: (by: Staff, id: string, key: string) => call(by, at(id, '/close'), { body: {}, key }),
  }
}
