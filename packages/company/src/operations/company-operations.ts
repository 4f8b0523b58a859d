import { type OperationState, operationStates, PoppyError } from '@poppyseed/protocol'
import { type AskedParts, askedOf, requireSameAsked } from '../audit/asked.ts'
import { auditId, findAudit, insertAudit } from '../audit/audit.ts'
import { checkKey, isStorable, longestSentence, type StaffOptions } from '../conversations/staff-input.ts'
import type { Logger } from '../store/database.ts'
import type { StoredOperation, TrailEntry } from './agreement.ts'
import { cancel } from './cancelling.ts'
import { actorOfStaff, type ChangedBy, channelOf, checkBy } from './changed-by.ts'
import type { Proposal } from './definition.ts'
import { digestOf } from './digest.ts'
import type { Failed, Succeeded } from './outcome.ts'
import { currentOperation, type OperationParts } from './parts.ts'
import { checkProposal } from './proposal.ts'
import { type Settlement, settle } from './settle.ts'
import { addRevision, listOperations, trailOf } from './store.ts'
import { type OperationView, viewOf } from './view.ts'

/** `company.operations`: what the company's own code and staff see and do. */

/** An operation as `company.operations` gives it. */
export interface OperationRecord extends OperationView {
  /** The page on which the person can see and confirm it; null for one that was proposed signed out. */
  readonly page: string | null
}

/** Which operations `company.operations.list` gives. */
export interface OperationsAsked {
  readonly account?: string
  readonly clientId?: string
  readonly name?: string
  readonly state?: OperationState
  /** Only those whose outcome nobody knows; then the longest unknown come first. */
  readonly isUnsettled?: true
  /** `after` of the page before. */
  readonly after?: string
  /** How many at most: 50 when left out, at most 200. */
  readonly limit?: number
}

/** A page of operations, newest first. */
export interface OperationsPage {
  readonly operations: readonly OperationRecord[]
  /** Gives the next page; null where there is none. */
  readonly after: string | null
}

/** Who does something: a member of staff with id and name, or in the company's words, such as a job. It stands in the trail. */
export interface OperationChangedBy {
  readonly by: ChangedBy
}

/** What `company.operations.revise` is given: which revision it replaces, and a whole proposal. `data` left out stays. */
export interface OperationRevision extends Proposal<Readonly<Record<string, unknown>> | null> {
  /** The revision that is the latest now, as far as you know. */
  readonly revision: number
}

/**
 * `company.operations`. What is changed stands in the audit with who did it, in the same transaction. With `options.key` it is done
 * once: the same one with the same key gets the operation as it is the next time.
 */
export interface CompanyOperations {
  /** An operation, or null. */
  readonly get: (id: string) => Promise<OperationRecord | null>
  /** @throws TypeError for a filter that is none */
  readonly list: (asked?: OperationsAsked) => Promise<OperationsPage>
  /** All that happened to an operation, in order: what, when, by whom and by which channel. Empty when there is none. */
  readonly trail: (id: string) => Promise<readonly TrailEntry[]>
  /**
   * Replaces the terms of a proposal: the revision before can't be confirmed any more.
   * @throws PoppyError `operation_not_found`; `revision_conflict` when another revision is the latest, or nobody may
   * confirm it any more
   */
  readonly revise: (
    id: string,
    revision: OperationRevision,
    by: OperationChangedBy,
    options?: StaffOptions,
  ) => Promise<OperationRecord>
  /**
   * Cancels what has not begun; what has, its `cancel` is asked to stop, and that may come too late. Gives the operation as
   * it is then.
   * @throws PoppyError `operation_not_found`
   */
  readonly cancel: (
    id: string,
    by: OperationChangedBy & { readonly reason?: string },
    options?: StaffOptions,
  ) => Promise<OperationRecord>
  /** Those whose outcome nobody knows, the longest unknown first; 200 at most. */
  readonly unsettled: () => Promise<readonly OperationRecord[]>
  /**
   * Writes what came of an operation whose outcome nobody knows: `succeeded(…)` or `failed(…)`. One that is `repeatable` may be
   * performed again at this very moment: it is failed only where what you call takes its key no more.
   * @throws PoppyError `operation_not_found`; `revision_conflict` when its outcome is known, or `perform` has its time still
   */
  readonly settle: (
    id: string,
    outcome: Succeeded | Failed,
    settlement: Settlement,
    options?: StaffOptions,
  ) => Promise<OperationRecord>
}

const mostOnPage = 200

/** What is thrown inside, where the audit has the row already: all that was about to be written is taken back. */
const doneBefore = new Error('This was done before.')

/** Makes `company.operations`. */
export function createCompanyOperations(
  parts: OperationParts,
  { pageOf, log, askedHash }: { readonly pageOf: (id: string) => string; readonly log: Logger } & AskedParts,
): CompanyOperations {
  const withPage = (view: OperationView): OperationRecord =>
    Object.freeze({ ...view, page: view.account === null ? null : pageOf(view.id) })
  const recordOf = (stored: StoredOperation) => withPage(viewOf(stored, parts.now()))

  /** Null for what no id can be: a database may take offence at it. */
  async function current(id: unknown): Promise<StoredOperation | null> {
    return typeof id === 'string' && isStorable(id) ? currentOperation(parts, id) : null
  }

  async function existing(id: string): Promise<StoredOperation> {
    const found = await current(id)
    if (found === null) throw new PoppyError('operation_not_found', { description: `There is no operation ${id}.` })
    return found
  }

  function rowOf<Act extends 'revised' | 'cancelled' | 'settled'>(
    act: Act,
    id: string,
    by: unknown,
    options: StaffOptions,
  ) {
    const who = checkBy(by)
    const row = { by: who, act, operation: id } as const
    return { ...row, id: auditId({ key: checkKey(options), by: who, what: [act, id] }, parts.random) }
  }

  /** The row of an act in the audit, and whether it was done before. */
  async function acting(
    {
      act,
      id,
      by,
      asked,
    }: { readonly act: 'revised' | 'cancelled'; readonly id: string; readonly by: unknown; readonly asked: unknown },
    options: StaffOptions,
  ) {
    const row = rowOf(act, id, by, options)
    const { key } = options
    const scope = await parts.scope()
    const before = key === undefined ? null : await findAudit(scope, row.id)
    requireSameAsked({ askedHash }, before, { id: row.id, asked })
    return {
      row,
      asked,
      wasDone: before !== null,
      write: async ({ conversation_id }: Pick<StoredOperation['operation'], 'conversation_id'>, detail: object) => {
        const same = askedOf({ askedHash }, { id: row.id, key, asked })
        const audit = { ...row, conversation: conversation_id, detail: { ...detail }, asked: same }
        if (!(await insertAudit(scope, audit, parts.now()))) throw doneBefore
      },
    }
  }

  /** Of two at once with the same key, the second finds that it was done. */
  async function once(
    id: string,
    { row, asked }: { readonly row: { readonly id: string }; readonly asked?: unknown },
    run: () => Promise<OperationRecord>,
    isSame: (detail: Readonly<Record<string, unknown>>) => boolean = () => true,
  ): Promise<OperationRecord> {
    try {
      return await run()
    } catch (error) {
      const isTheirs = error instanceof PoppyError && error.code === 'revision_conflict'
      if (error !== doneBefore && !isTheirs) throw error
      const before = await findAudit(await parts.scope(), row.id)
      requireSameAsked({ askedHash }, before, { id: row.id, asked })
      if (before !== null && isSame(before.detail)) return recordOf(await existing(id))
      throw error
    }
  }

  return {
    async get(id) {
      const found = await current(id)
      return found === null ? null : recordOf(found)
    },

    async list(asked = {}) {
      const { account, clientId, name, state, isUnsettled, after, limit = 50 } = asked
      if (!Number.isInteger(limit) || limit < 1 || limit > mostOnPage)
        throw new TypeError(`limit is a whole number from 1 to ${mostOnPage}.`)
      for (const [filter, value] of Object.entries({ account, clientId, name })) {
        if (value !== undefined && typeof value !== 'string')
          throw new TypeError(`${filter} is a text, or is left out.`)
      }
      if (state !== undefined && !operationStates.includes(state))
        throw new TypeError(`state is one of: ${operationStates.join(', ')}.`)
      // Nothing is of what can't be kept.
      if (![account, clientId, name].every((one = '') => isStorable(one))) return { operations: [], after: null }
      if (isUnsettled !== undefined && isUnsettled !== true) throw new TypeError('isUnsettled is true, or is left out.')
      const found = await listOperations(await parts.scope(), {
        ...(account === undefined ? {} : { account }),
        ...(clientId === undefined ? {} : { clientId }),
        ...(name === undefined ? {} : { name }),
        ...(state === undefined ? {} : { state }),
        ...(isUnsettled === undefined ? {} : { unsettled: true }),
        ...(after === undefined ? {} : { after: readCursor(after) }),
        limit: limit + 1,
      })
      const shown = found.slice(0, limit)
      const last = shown.at(-1)?.operation
      const at = isUnsettled ? last?.unknown_since : last?.created_at
      return {
        operations: shown.map(recordOf),
        after: found.length > limit && last !== undefined ? `${at}.${last.id}` : null,
      }
    },

    trail: async (id) => (isStorable(id) ? trailOf(await parts.scope(), id) : []),

    async revise(id, { revision: from, ...proposal }, { by }, options = {}) {
      const act = await acting({ act: 'revised', id, by, asked: [from, proposal] }, options)
      const { operation, revision: latest } = await existing(id)
      if (act.wasDone) return recordOf(await existing(id))
      const definition = parts.operations.get(operation.name)
      if (definition === undefined) throw new TypeError(`The company has no operation named ${operation.name}.`)
      const now = parts.now()
      const { data = latest.data, ...checked } = checkProposal(proposal, { operation: definition, now })
      if (checked.approval === 'page' && (!parts.hasPage || operation.account === null))
        throw new TypeError(
          "approval 'page' takes `account` and `signInPage`, and an operation that belongs to an account.",
        )
      const revision = {
        operation_id: id,
        revision: from + 1,
        summary: checked.summary,
        terms: checked.terms,
        input: latest.input,
        data,
        approval: checked.approval,
        expires_at: checked.expiresAt,
      }
      const scope = await parts.scope()
      return once(id, act, async () => {
        await scope.db.transaction(async () => {
          const changed = await addRevision(scope, {
            id,
            now,
            from,
            revision: { ...revision, digest: digestOf(revision), created_at: now },
            entry: { event: 'revised', channel: channelOf(by), who: actorOfStaff(by), revision: from + 1 },
            tells: parts.tells('revised'),
          })
          if (changed === null)
            throw new PoppyError('revision_conflict', {
              description: `Operation ${id} can't be revised from revision ${from}: it has another, or is no longer proposed.`,
            })
          await act.write(operation, { revision: from + 1 })
        })
        parts.changes.changed(id)
        return recordOf(await existing(id))
      })
    },

    async cancel(id, { by, reason }, options = {}) {
      const act = await acting({ act: 'cancelled', id, by, asked: [reason] }, options)
      if (
        reason !== undefined &&
        (typeof reason !== 'string' || reason.trim() === '' || reason.length > longestSentence)
      )
        throw new TypeError(
          `reason is a sentence for the person, of at most ${longestSentence} characters, or is left out.`,
        )
      const found = await existing(id)
      if (act.wasDone) return recordOf(found)
      return once(id, act, async () => {
        const also = () => act.write(found.operation, reason === undefined ? {} : { reason })
        const how = { channel: channelOf(by), who: actorOfStaff(by), reason, also } as const
        return recordOf(await cancel(parts, found, how))
      })
    },

    async unsettled() {
      const found = await listOperations(await parts.scope(), { unsettled: true, limit: mostOnPage })
      return found.map(recordOf)
    },

    async settle(id, outcome, settlement, options = {}) {
      const row = rowOf('settled', id, settlement.by, options)
      // What no id can be is told as one that isn't there.
      if (!isStorable(id)) return recordOf(await existing(id))
      const run = async () => {
        const settled = await settle(await parts.scope(), id, outcome, settlement, {
          now: parts.now,
          tells: parts.tells,
          complain: (why) => log.error({ operation: id }, why),
          id: row.id,
        })
        parts.changes.changed(id)
        return withPage(settled)
      }
      // Settled with the same key as something else, it is known by now, and this was not written.
      return once(id, { row }, run, ({ as, why }) => as === outcome.outcome && why === settlement.why)
    },
  }
}

function readCursor(after: string): { readonly at: number; readonly id: string } {
  const [, at, id] = (typeof after === 'string' && /^([0-9]{1,16})\.([A-Za-z0-9_-]{1,64})$/.exec(after)) || []
  if (at === undefined || id === undefined) throw new TypeError('after is what the page before gave as `after`.')
  return { at: Number(at), id }
}
