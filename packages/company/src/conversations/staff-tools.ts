import { makeId, PoppyError } from '@poppyseed/protocol'
import { askedOf, requireSameAsked } from '../audit/asked.ts'
import { completeAudit, findAudit, insertAudit } from '../audit/audit.ts'
import type { ToolOutcome } from '../company-agent/turn.ts'
import type { Principal } from '../sessions/principal.ts'
import type { Scope } from '../store/database.ts'
import { proposed, requireHeld, type Staff, staffConflict } from './held.ts'
import type { ConversationParts } from './parts.ts'
import { standingNow } from './rights-now.ts'
import type { ConversationRow } from './row.ts'
import type { CompanyConversations } from './staff.ts'
import { actId, existing, seen } from './staff-change.ts'
import { checkKey, checkStaff } from './staff-input.ts'
import type { Telling } from './telling.ts'
import type { OfferedTools } from './turn-tools.ts'

/**
 * Tools and operations in the hands of staff: with the rights that the conversation has at that moment (reading 22), and written
 * down before anything runs.
 */

/** A tool that a member of staff calls. */
export interface StaffCall {
  readonly name: string
  readonly input: unknown
  /** The same for no other call. */
  readonly callId: string
  readonly signal: AbortSignal
  /** The member of staff, by the company's id for them. */
  readonly staff: string
  /** Called with whom it is called for, once rights and input are found right and before anything runs. */
  readonly before?: (principal: Principal) => Promise<void>
  /** How what it proposes is told. */
  readonly telling: Telling
}

/** An operation that a member of staff revises. */
export interface StaffRevision {
  readonly operation: string
  /** The revision that is the latest now, as far as they know. */
  readonly revision: number
  readonly input: unknown
  readonly callId: string
  readonly signal: AbortSignal
  readonly staff: Staff
  /** Checks and writes what goes with the revision, in its transaction. */
  readonly within: (scope: Scope, principal: Principal) => Promise<void>
}

/** What staff do with tools. */
export interface ToolsForStaff {
  /** Calls a tool with the rights that the conversation has now (reading 22). */
  readonly callTool: (row: ConversationRow, call: StaffCall) => Promise<ToolOutcome>
  /** Whether there is an operation of this name. */
  readonly proposes: (name: string) => boolean
  /** What there is for the rights that the conversation has now. */
  readonly offered: (row: ConversationRow) => Promise<OfferedTools>
  /** Revises an operation with the rights that the conversation has now. */
  readonly revise: (row: ConversationRow, revision: StaffRevision) => Promise<ToolOutcome>
  /** An operation as it is now, for the rights that the conversation has. */
  readonly operation: (row: ConversationRow, id: string) => Promise<ToolOutcome>
  /** Aborts when the Company closes and waits no longer for what runs. */
  readonly givenUp: AbortSignal
}

/** The part of `company.conversations` that is about tools. */
export type StaffTools = Pick<CompanyConversations, 'callTool' | 'reviseOperation' | 'offered'>

/** How often a call is begun again because the conversation changed before anything ran. */
const mostTries = 10

/** What is thrown before anything runs, where the rights aren't those that were looked at. */
const changed = new Error('The rights of the conversation changed.')

/** Makes it. */
export function createStaffTools(parts: ConversationParts & ToolsForStaff): StaffTools {
  /** Whether they still have it, with the same rights: looked at in the transaction that writes what they do. */
  async function requireSame(id: string, who: Staff, principal: Principal): Promise<void> {
    const row = await existing(parts, id)
    requireHeld(row, who)
    const { principal: now, session } = await standingNow(parts, row)
    // 4.1: signed out and blocked look alike but for this.
    if (session === 'blocked' || rightsOf(now) !== rightsOf(principal)) throw changed
  }

  async function again(run: () => Promise<ToolOutcome>): Promise<ToolOutcome> {
    for (let tries = 0; tries < mostTries; tries++) {
      try {
        return await run()
      } catch (error) {
        if (error !== changed) throw error
      }
    }
    throw new PoppyError('temporarily_unavailable', {
      description: 'The conversation changes faster than this can be begun. Try again.',
    })
  }

  return {
    async offered(id, staff) {
      checkStaff(staff)
      return parts.offered(await existing(parts, id))
    },

    async callTool(id, staff, name, input, options = {}) {
      const key = checkKey(options)
      const who = await seen(parts, staff)
      // A key is for one call of whatever tool.
      const auditId = actId(parts, { key, staff: who, act: 'ran', on: id })
      const what = { id: auditId, key, asked: [name, input] }
      const asked = askedOf(parts, what)
      const messageId = makeId('msg', parts.random)
      let isBegun = false
      const outcome = await again(async () => {
        const row = await existing(parts, id)
        const done = key === undefined ? null : await cameOf(row)
        if (done !== null) return done
        requireHeld(row, who)
        const refused: { error?: unknown } = {}
        const noting = async <T>(run: () => T | Promise<T>) => {
          try {
            return await run()
          } catch (error) {
            refused.error = error
            throw error
          }
        }
        const telling: Telling = {
          decide: (current, operation) =>
            noting(() => proposed(current, who, { id: messageId, key: `staff:${auditId}`, operation })),
          also: (scope, { operation_id: operation, revision }) =>
            completeAudit(scope, { id: auditId, act: 'proposed', operation, detail: { tool: name, revision }, asked }),
        }
        const before = (principal: Principal) => noting(() => begin(principal))
        const call = { name, input, callId: auditId, signal: parts.givenUp, staff: who.id, before, telling }
        const came = await parts.callTool(row, call)
        if (refused.error !== undefined) throw refused.error
        return came
      })
      if (isBegun && !outcome.ok) {
        const detail = { tool: name, error: outcome.error }
        await completeAudit(await parts.scope(), { id: auditId, act: 'ran', operation: null, detail, asked })
      }
      return outcome

      async function begin(principal: Principal): Promise<void> {
        const scope = await parts.scope()
        const mayRun = await scope.db.transaction(async () => {
          await requireSame(id, who, principal)
          const row = { id: auditId, by: who, act: 'ran', conversation: id, operation: null, asked } as const
          if (await insertAudit(scope, { ...row, detail: { tool: name } }, parts.now())) return true
          const before = await findAudit(scope, auditId)
          requireSameAsked(parts, before, what)
          // The same form, sent at the same moment, has proposed it: then it is looked at again.
          if (before !== null && before.operation !== null) throw changed
          return isUnfinished(before)
        })
        if (!mayRun) throw staffConflict('already_done')
        isBegun = true
      }

      /** What came of the same form before: what it proposed, for whoever has the conversation still; null where it may run. */
      async function cameOf(row: ConversationRow): Promise<ToolOutcome | null> {
        const audit = await findAudit(await parts.scope(), auditId)
        if (audit !== null) requireSameAsked(parts, audit, what)
        if (audit === null || isUnfinished(audit)) return null
        if (audit.operation === null || audit.detail.tool !== name || row.held_by !== who.id)
          throw staffConflict('already_done')
        return parts.operation(row, audit.operation)
      }

      /** Proposing changes nothing before its proposal is kept: where all ended before that, it is done now. */
      function isUnfinished(audit: Awaited<ReturnType<typeof findAudit>>): boolean {
        const { tool, error } = audit?.detail ?? {}
        return parts.proposes(name) && tool === name && error === undefined && audit?.operation == null
      }
    },

    async reviseOperation(id, staff, { operation, revision, input }, options = {}) {
      const key = checkKey(options)
      if (typeof operation !== 'string' || !Number.isInteger(revision))
        throw new TypeError("Write { operation: 'opn_…', revision: 1, input: { … } }.")
      const who = await seen(parts, staff)
      const auditId = actId(parts, { key, staff: who, act: 'revised', on: id })
      const what = { id: auditId, key, asked: [operation, revision, input] }
      const isMine = async (row: ConversationRow) => {
        const before = key === undefined ? null : await findAudit(await parts.scope(), auditId)
        requireSameAsked(parts, before, what)
        return before?.operation == null ? null : parts.operation(row, before.operation)
      }
      return again(async () => {
        const row = await existing(parts, id)
        requireHeld(row, who)
        const before = await isMine(row)
        if (before !== null) return before
        const refused: { error?: unknown } = {}
        const within = async (scope: Scope, principal: Principal) => {
          try {
            await requireSame(id, who, principal)
            const act = { id: auditId, by: who, act: 'revised', conversation: id, operation } as const
            const row = { ...act, detail: { revision: revision + 1 }, asked: askedOf(parts, what) }
            if (!(await insertAudit(scope, row, parts.now()))) throw staffConflict('already_done')
          } catch (error) {
            refused.error = error
            throw error
          }
        }
        const call = { operation, revision, input, callId: auditId, signal: parts.givenUp, staff: who, within }
        const came = await parts.revise(row, call)
        // Of two at once with the same key, the other one did it.
        const other = came.ok ? null : await isMine(row)
        if (other !== null) return other
        if (refused.error !== undefined) throw refused.error
        return came
      })
    },
  }
}

function rightsOf({ account, grantId, sessionId, scopes }: Principal): string {
  return JSON.stringify([account, grantId, sessionId, ...scopes])
}
