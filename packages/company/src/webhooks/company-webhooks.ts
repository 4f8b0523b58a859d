import { PoppyError } from '@poppyseed/protocol'
import { auditId, findAudit, insertAudit, type NewAudit } from '../audit/audit.ts'
import { isPlain } from '../config-shapes.ts'
import { checkKey, isStorable, type StaffOptions } from '../conversations/staff-input.ts'
import { type ChangedBy, checkBy } from '../operations/changed-by.ts'
import type { Scope } from '../store/database.ts'
import { type GivenUpRow, listGivenUp, sendManyAgain, sendOneAgain } from './given-up.ts'
import type { WebhookEndpoint } from './settings.ts'

/** `company.webhooks`: what was given up, seen and sent again by the company's own code and staff. */

/** A delivery that was given up. What was said in it isn't here. */
export interface GivenUpDelivery {
  /** The `webhook-id` that its receiver saw, and sees again. */
  readonly id: string
  /** Its address, by its place in the configuration, such as `webhooks[0]`; null where `webhooks` no longer has it. */
  readonly webhook: string | null
  /** What it tells of, such as `conversation.message`. */
  readonly event: string
  /** How often it was tried. */
  readonly tries: number
  /** What came of the last try: `status 503`, `ECONNREFUSED`, `no answer in 10000 ms`; null where there was none. */
  readonly lastTry: string | null
  readonly conversation: string | null
  readonly operation: string | null
  /** Milliseconds since 1970. */
  readonly createdAt: number
  /** Milliseconds since 1970. */
  readonly givenUpAt: number
}

/** Which of them are asked for. */
export interface GivenUpAsked {
  /** Milliseconds since 1970: those that were given up since then. All when left out. */
  readonly since?: number
  /** `after` of the page before. */
  readonly after?: string
  /** How many at most: 50 when left out, at most 200. */
  readonly limit?: number
}

/** A page of them, what was given up last first. */
export interface GivenUpPage {
  readonly deliveries: readonly GivenUpDelivery[]
  /** Gives the next page; null where there is none. */
  readonly after: string | null
}

/** What is sent again: one, or all that were given up since a time, in milliseconds since 1970. */
export type SendAgain = { readonly delivery: string } | { readonly since: number }

/** `company.webhooks`. */
export interface CompanyWebhooks {
  /**
   * Deliveries that were given up, kept for 30 days.
   * @throws TypeError for a filter that is none
   */
  readonly givenUp: (asked?: GivenUpAsked) => Promise<GivenUpPage>
  /**
   * Has what was given up sent again: at once, with its `webhook-id`, signed anew with the secrets of this moment, and tried
   * for three days more. Of many, at most 10,000 at a time, the earliest first: call it again until it gives 0. What goes to an
   * address that `webhooks` no longer has stays as it is. It stands in the audit, in the same transaction; with `options.key` it is
   * done once, and gives the same number the next time.
   * @throws PoppyError `not_found` where the one delivery was not given up, or its address is gone
   */
  readonly sendAgain: (
    what: SendAgain,
    by: { readonly by: ChangedBy },
    options?: StaffOptions,
  ) => Promise<{ readonly number: number }>
}

/** What {@link createCompanyWebhooks} needs. */
export interface CompanyWebhooksOptions {
  readonly scope: () => Promise<Scope>
  readonly endpoints: readonly WebhookEndpoint[]
  /** Milliseconds since 1970. */
  readonly now: () => number
  readonly random: (length: number) => Uint8Array
  /** Has what is due delivered, without making anybody wait. */
  readonly poke: () => void
}

const mostOnPage = 200
const mostAtOnce = 10_000

/** Makes `company.webhooks`. */
export function createCompanyWebhooks({
  scope,
  endpoints,
  now,
  random,
  poke,
}: CompanyWebhooksOptions): CompanyWebhooks {
  const names = new Map(endpoints.map(({ id, name }) => [id, name]))
  const known = [...names.keys()]

  const deliveryOf = (row: GivenUpRow): GivenUpDelivery =>
    Object.freeze({
      id: row.id,
      webhook: names.get(row.endpoint) ?? null,
      event: row.event,
      tries: row.attempts,
      lastTry: row.last_try,
      conversation: row.conversation_id,
      operation: row.operation_id,
      createdAt: row.created_at,
      givenUpAt: row.given_up_at,
    })

  /** @throws nothingSent: then nothing is written either */
  async function sendWanted(
    opened: Scope,
    wanted: SendAgain,
    { now: time, ...row }: Pick<NewAudit, 'id' | 'by'> & { readonly now: number },
  ): Promise<number> {
    const one = 'delivery' in wanted ? await sendOneAgain(opened, { id: wanted.delivery, known, now: time }) : undefined
    const number =
      'since' in wanted
        ? await sendManyAgain(opened, { since: wanted.since, known, limit: mostAtOnce, now: time })
        : Number(one !== null)
    if (number === 0) throw nothingSent
    const isNew = await insertAudit(
      opened,
      {
        ...row,
        act: 'sent_again',
        conversation: one?.conversation_id ?? null,
        operation: one?.operation_id ?? null,
        detail: { ...wanted, number },
      },
      time,
    )
    if (!isNew) throw nothingSent
    return number
  }

  return {
    async givenUp(asked = {}) {
      const { since = 0, after, limit = 50 } = asked
      if (!Number.isInteger(limit) || limit < 1 || limit > mostOnPage)
        throw new TypeError(`limit is a whole number from 1 to ${mostOnPage}.`)
      const from = after === undefined ? null : readAfter(after)
      const rows = await listGivenUp(await scope(), { since: checkTime(since), from, limit: limit + 1 })
      const shown = rows.slice(0, limit)
      const last = shown.at(-1)
      return {
        deliveries: shown.map(deliveryOf),
        after: rows.length > limit && last !== undefined ? `${last.given_up_at}.${last.id}` : null,
      }
    },

    async sendAgain(what, by, options = {}) {
      const wanted = checkWanted(what)
      if (!isPlain(by)) throw new TypeError("Say who does it, for the record: { by: { id: 'rita', name: 'Rita' } }.")
      const who = checkBy(by.by)
      const key = checkKey(options)
      const about = 'delivery' in wanted ? wanted.delivery : `since ${wanted.since}`
      const id = auditId({ key, by: who, what: ['sent_again', about] }, random)
      const opened = await scope()
      const before = key === undefined ? null : await numberOf(opened, id)
      if (before !== null) return { number: before }
      const number = await opened.db
        .transaction(() => sendWanted(opened, wanted, { id, by: who, now: now() }))
        .catch(async (error: unknown) => {
          // Of two at once with the same key, the second finds that it was done.
          const done = key !== undefined && error === nothingSent ? await numberOf(opened, id) : null
          if (done !== null) return done
          if (error !== nothingSent) throw error
          if ('delivery' in wanted) throw notGivenUp()
          return 0
        })
      if (number > 0) poke()
      return { number }
    },
  }
}

/** What is thrown inside, where nothing is to be sent or it was sent before: all that was about to be written is taken back. */
const nothingSent = new Error('Nothing was sent again.')

/** How many were sent again by an act that was done; null where it wasn't. */
async function numberOf(scope: Scope, auditId: string): Promise<number | null> {
  const done = await findAudit(scope, auditId)
  return done === null ? null : Number(done.detail.number ?? 0)
}

const notGivenUp = () =>
  new PoppyError('not_found', {
    description: 'There is no such delivery that was given up, to an address that is there.',
  })

function checkWanted(what: SendAgain): SendAgain {
  const { delivery, since } = (isPlain(what) ? what : {}) as { readonly delivery?: unknown; readonly since?: unknown }
  if (typeof delivery === 'string' && since === undefined) {
    // What no id can be, a database may take offence at.
    if (!isStorable(delivery) || delivery.length > 200) throw notGivenUp()
    return { delivery }
  }
  if (delivery !== undefined || since === undefined)
    throw new TypeError("Say what is sent again: { delivery: 'dlv_…' }, or { since } in milliseconds since 1970.")
  return { since: checkTime(since) }
}

function checkTime(time: unknown): number {
  if (typeof time === 'number' && Number.isSafeInteger(time) && time >= 0) return time
  throw new TypeError('since is a time, in whole milliseconds since 1970.')
}

/** @throws TypeError */
function readAfter(after: string): { readonly at: number; readonly id: string } {
  const [, at, id] = (typeof after === 'string' && /^([0-9]{1,16})\.([A-Za-z0-9_-]{1,200})$/.exec(after)) || []
  if (at === undefined || id === undefined) throw new TypeError('after is what the page before gave as `after`.')
  return { at: Number(at), id }
}
