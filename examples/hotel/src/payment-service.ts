/** The payment service, as the hotel asks it: each question is bounded in time, and an answer that is lost is told as that. */

/** Where the service is and what the hotel shows there. */
export type PaymentsAccess = {
  /** Such as `http://127.0.0.1:4100`. */
  readonly address: string
  readonly key: string
  /** Milliseconds that an answer may take; 5,000 when left out. */
  readonly patience?: number
}

/** Money that was taken. `refundedAt` in milliseconds, null while it was not given back. */
export type Charge = { readonly id: string; readonly refundedAt: number | null }

/** See {@link createPaymentService}. */
export type PaymentService = {
  /**
   * Takes money, once for its key. `declined`: this request took none. `lost`: there was no answer that says either.
   * @param order `amount` in cents
   */
  readonly charge: (
    order: { readonly amount: number; readonly key: string },
    signal: AbortSignal,
  ) => Promise<Charge | 'declined' | 'lost'>
  /** What was taken for a key, which is its reference too; null for nothing so far. */
  readonly find: (key: string, signal: AbortSignal) => Promise<Charge | null | 'lost'>
  /** Gives it back. However often it is asked, only once. */
  readonly refund: (charge: string, signal: AbortSignal) => Promise<Charge | 'lost'>
}

/** Makes the hotel's side of the payment service. */
export function createPaymentService({ address, key, patience = 5000 }: PaymentsAccess): PaymentService {
  async function ask(
    path: string,
    signal: AbortSignal,
    post?: { readonly body?: object; readonly idempotencyKey?: string },
  ): Promise<{ readonly status: number; readonly body: unknown } | 'lost'> {
    try {
      const response = await fetch(`${address}${path}`, {
        method: post ? 'POST' : 'GET',
        headers: {
          authorization: `Bearer ${key}`,
          ...(post?.body ? { 'content-type': 'application/json' } : {}),
          ...(post?.idempotencyKey ? { 'idempotency-key': post.idempotencyKey } : {}),
        },
        ...(post?.body ? { body: JSON.stringify(post.body) } : {}),
        redirect: 'error',
        signal: AbortSignal.any([signal, AbortSignal.timeout(patience)]),
      })
      return { status: response.status, body: await response.json() }
    } catch {
      // No answer, half of one, or none that can be read: whether it was done can't be told from here.
      return 'lost'
    }
  }

  return {
    async charge({ amount, key: idempotencyKey }, signal) {
      const body = { amount, currency: 'EUR', reference: idempotencyKey }
      const answer = await ask('/charges', signal, { body, idempotencyKey })
      if (answer === 'lost') return 'lost'
      // Only this one says that nothing was taken. An error of theirs may come after the money.
      if (answer.status === 402) return 'declined'
      return (answer.status === 201 && chargeIn(answer.body)) || 'lost'
    },
    async find(reference, signal) {
      const answer = await ask(`/charges?reference=${encodeURIComponent(reference)}`, signal)
      if (answer === 'lost' || answer.status !== 200) return 'lost'
      const { charges } = (answer.body ?? {}) as { readonly charges?: unknown }
      if (!Array.isArray(charges)) return 'lost'
      return charges.length === 0 ? null : (chargeIn(charges[0]) ?? 'lost')
    },
    async refund(charge, signal) {
      const answer = await ask(`/charges/${encodeURIComponent(charge)}/refund`, signal, {})
      const refunded = answer !== 'lost' && answer.status === 200 ? chargeIn(answer.body) : null
      return refunded?.refundedAt ? refunded : 'lost'
    },
  }
}

function chargeIn(body: unknown): Charge | null {
  if (typeof body !== 'object' || body === null) return null
  const { id, refundedAt = null } = body as Record<string, unknown>
  if (typeof id !== 'string' || id === '' || (refundedAt !== null && typeof refundedAt !== 'number')) return null
  return { id, refundedAt }
}
