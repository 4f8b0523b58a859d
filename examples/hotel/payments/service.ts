import { setTimeout as wait } from 'node:timers/promises'
import type { Charge, ChargeRequest, Ledger } from './ledger.ts'

/**
 * A payment service as shops know them, and as they fear them: it can be told to be slow, to answer 500 after it took the
 * money, and to hang.
 *
 *   POST /charges              { amount, currency, reference }, with an Idempotency-Key if the shop likes
 *   GET  /charges?reference=…  what was taken under a reference
 *   POST /charges/{id}/refund  gives it back
 *   GET, PUT /behaviour        how it behaves from now on
 */

/** How the service behaves. */
export type Behaviour = {
  /**
   * `normal`; `slow`: takes the money and answers after `milliseconds`; `error`: takes it and answers 500; `hang`: takes it
   * and never answers; `refuse`: takes nothing and says so; `dead`: never answers, and takes nothing.
   */
  readonly mode: 'normal' | 'slow' | 'error' | 'hang' | 'refuse' | 'dead'
  /** How long `slow` takes. */
  readonly milliseconds: number
  /** For how many charges; then `normal` again. Null for all. */
  readonly times: number | null
  /** Whether a second charge with the same Idempotency-Key gives the first one. */
  readonly deduplicates: boolean
}

const atFirst: Behaviour = { mode: 'normal', milliseconds: 0, times: null, deduplicates: true }

const modes = ['normal', 'slow', 'error', 'hang', 'refuse', 'dead'] as const

export type PaymentsOptions = {
  readonly ledger: Ledger
  /** What a shop shows as `Authorization: Bearer …`. */
  readonly key: string
  readonly behaviour?: Behaviour
}

/** Makes the service. */
export function createPayments({ ledger, key, behaviour: first = atFirst }: PaymentsOptions) {
  let behaviour = first

  function modeOfNext(): Behaviour['mode'] {
    const { mode, times } = behaviour
    if (times === null) return mode
    if (times <= 0) return 'normal'
    behaviour = { ...behaviour, times: times - 1 }
    return mode
  }

  async function charge(request: Request): Promise<Response> {
    const wanted = readCharge(await request.json().catch(() => null))
    if (wanted === null) return answer(400, { error: 'A charge has amount (cents), currency and reference.' })
    const mode = modeOfNext()
    if (mode === 'refuse') return answer(402, { error: 'The card was declined.' })
    if (mode === 'dead') return never(request)
    const taken = ledger.charge(wanted, behaviour.deduplicates ? request.headers.get('idempotency-key') : null)
    if (taken === 'other_charge_with_this_key')
      return answer(409, { error: 'Another charge was made with this Idempotency-Key.' })
    if (mode === 'slow') await wait(behaviour.milliseconds, undefined, { ref: false })
    if (mode === 'error') return answer(500, { error: 'Something went wrong here.' })
    if (mode === 'hang') return never(request)
    return answer(201, taken)
  }

  return async function fetch(request: Request): Promise<Response> {
    const { pathname, searchParams } = new URL(request.url)
    if (request.headers.get('authorization') !== `Bearer ${key}`) return answer(401, { error: 'Which shop is this?' })
    const route = `${request.method} ${pathname}`
    if (route === 'POST /charges') return charge(request)
    if (route === 'GET /charges')
      return answer(200, { charges: ledger.byReference(searchParams.get('reference') ?? '') })
    if (route === 'GET /behaviour') return answer(200, behaviour)
    if (route === 'PUT /behaviour') {
      const next = readBehaviour(await request.json().catch(() => null))
      if (next === null) return answer(400, { error: `A behaviour has a mode: ${modes.join(', ')}.` })
      behaviour = next
      return answer(200, behaviour)
    }
    const refund = /^POST \/charges\/([\w-]+)\/refund$/.exec(route)
    const refunded = refund?.[1] === undefined ? null : ledger.refund(refund[1])
    return refunded === null ? answer(404, { error: 'Nothing is here.' }) : answer(200, refunded)
  }
}

/** Ends with the connection. */
function never(request: Request): Promise<Response> {
  return new Promise((resolve) => {
    request.signal.addEventListener('abort', () => resolve(answer(499, { error: 'The shop went away.' })))
  })
}

function answer(status: number, body: Charge | object): Response {
  return Response.json(body, { status: status === 499 ? 503 : status })
}

function readCharge(body: unknown): ChargeRequest | null {
  if (typeof body !== 'object' || body === null) return null
  const { amount, currency, reference } = body as Record<string, unknown>
  if (!Number.isInteger(amount) || (amount as number) <= 0) return null
  if (typeof currency !== 'string' || typeof reference !== 'string' || reference === '') return null
  return { amount: amount as number, currency, reference }
}

function readBehaviour(body: unknown): Behaviour | null {
  if (typeof body !== 'object' || body === null) return null
  const { mode, milliseconds = 0, times = null, deduplicates = true } = body as Record<string, unknown>
  const known = modes.find((one) => one === mode)
  if (known === undefined || typeof milliseconds !== 'number' || typeof deduplicates !== 'boolean') return null
  if (times !== null && !Number.isInteger(times)) return null
  return { mode: known, milliseconds, times: times as number | null, deduplicates }
}
