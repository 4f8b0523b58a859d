import { isFinalState, isJsonObject } from '@poppyseed/protocol'
import { AgentError } from '../errors.ts'
import { cleanText } from '../net/text.ts'
import type { ConfirmOptions, ConfirmResult } from './approval.ts'
import { confirmOperation } from './confirm.ts'
import { type OperationCopy, readCopy } from './copy.ts'
import { cancelAtCompany, checkId, type OperationParts, readAtCompany } from './desk.ts'
import { follow } from './follow.ts'
import type { Operation } from './operation.ts'
import { isOpen, type KnownOperation, type OperationRecord } from './records.ts'
import { type OperationRoom, openRoom } from './room.ts'
import { operationsService } from './service.ts'

/** The operations of one Session (Operations 2 to 6). */

/** How long to follow. */
export interface WaitOptions {
  readonly signal?: AbortSignal
  /** At most so many seconds; 600 when left out. Then the operation is given as it is. */
  readonly seconds?: number
}

/** What became of one operation that was taken up again. */
export interface Resumed {
  readonly id: string
  /** As the Company has it now; undefined where it couldn't be asked. */
  readonly operation: Operation | undefined
  /** What stood in the way: `approval_required` where the owner has to be asked, and there is no `approve` to ask by. */
  readonly error: AgentError | undefined
}

/** Operations of the account that a Session is signed in to: any Session of it may read, confirm and cancel them. */
export interface SessionOperations {
  /**
   * The operation in what a call gave: the result of {@link Session.call}, of an MCP tool or of a {@link CompanyTool}, an
   * answer's body, a message. Undefined where there is none. It is kept from then on, and `list` has it.
   * @param about `action`: the tool that was called for it, where this library doesn't know it by itself
   */
  readonly of: (result: unknown, about?: { readonly action?: string }) => Promise<Operation | undefined>
  /** Asks the Company. @throws AgentError `operation_not_found`, `operations_unavailable` and what any call may end in */
  readonly read: (id: string, options?: { readonly signal?: AbortSignal }) => Promise<Operation>
  /**
   * Confirms it, for exactly the revision that the owner approves: read anew, shown, asked, kept, sent. Where the terms
   * changed meanwhile the owner is asked again, with what is new. An approval that couldn't be used, because somebody has to
   * sign in first or the process died, holds for an hour and for just the same terms: call again.
   * @throws AgentError `approval_required`, `company_confirmation_required`, `confirmation_refused`, `terms_keep_changing`,
   *   `confirmed_otherwise` where the Company did other than was approved, and what any call may end in
   */
  readonly confirm: (id: string, options: ConfirmOptions) => Promise<ConfirmResult>
  /** Cancels it, or asks to where it is being done already: then it may come too late, and `state` says what became of it. */
  readonly cancel: (id: string, options?: { readonly signal?: AbortSignal }) => Promise<Operation>
  /** Follows it until it has ended or the time is over: `in_progress` then says that the outcome isn't known yet. */
  readonly wait: (id: string, options?: WaitOptions) => Promise<Operation>
  /** All that this agent knows of at this account, as last heard; asks nobody. */
  readonly list: () => Promise<readonly KnownOperation[]>
  /**
   * After a restart: what was approved is followed to its end, and sent where it wasn't, without asking or confirming
   * twice. What was only shown is asked again. What was approved and isn't known to the Company any more is asked about for
   * a week: its `error` says that it may have been done.
   */
  readonly resume: (options?: ConfirmOptions & WaitOptions) => Promise<readonly Resumed[]>
}

const usualSeconds = 600

async function shown(
  room: OperationRoom,
  before: OperationRecord | undefined,
  noted: OperationRecord,
  heard: OperationCopy,
  signal: AbortSignal | undefined,
): Promise<Operation> {
  const { record, copy } = await room.latest(before, noted, heard, signal)
  return room.show(record, copy)
}

/**
 * That a Company knows no operation doesn't say that nothing happened: whoever approved it has to know.
 * @param record what was heard and done before
 */
function unknownNow(error: AgentError, record: OperationRecord | undefined): AgentError {
  if (record === undefined || isFinalState(record.state)) return error
  const { company, step } = record
  if (step !== 'approved' && step !== 'confirmed') return error
  const before = step === 'confirmed' ? 'It had taken your confirmation' : 'You have approved it'
  return new AgentError(
    'operation_not_found',
    `${error.message} ${before}, so it may have been done all the same: ask ${company} before you do it another way.`,
    { status: error.status, companyCode: error.companyCode, action: 'ask_owner' },
  )
}

/** Makes the operations of a Session. */
export function createOperations(parts: OperationParts): SessionOperations {
  /** Does something with one operation; that the Company knows none such is kept, and told with what was heard before. */
  const at = async <T>(id: string, work: (room: OperationRoom) => Promise<T>): Promise<T> => {
    const room = await openRoom(parts)
    try {
      return await work(room)
    } catch (error) {
      if (!(error instanceof AgentError) || error.code !== 'operation_not_found') throw error
      throw unknownNow(error, await room.records.noteUnknown(id))
    }
  }
  const read: SessionOperations['read'] = async (id, { signal } = {}) =>
    at(checkId(id), async (room) => {
      const before = await room.records.get(id)
      const { copy } = await readAtCompany(parts, id, signal)
      // What was heard before stands against it: that is kept.
      return shown(room, before, await room.records.note(copy), copy, signal)
    })
  const wait: SessionOperations['wait'] = async (id, { signal, seconds = usualSeconds } = {}) =>
    at(checkId(id), async (room) => {
      let now = await room.records.get(id)
      let before = now
      const heard = async (copy: OperationCopy) => {
        before = now
        now = await room.records.note(copy)
      }
      const copy = await follow(parts, id, { signal, seconds, heard })
      return shown(room, before, await room.records.note(copy), copy, signal)
    })
  const confirm: SessionOperations['confirm'] = async (id, options) =>
    at(checkId(id), (room) => confirmOperation(room, id, options))
  return {
    read,
    wait,
    confirm,
    of: async (result, about = {}) => noteOperation(parts, result, about.action, false),
    cancel: async (id, { signal } = {}) =>
      at(checkId(id), async (room) => {
        const before = await room.records.get(id)
        const answer = await cancelAtCompany(parts, id, signal)
        const { copy } = answer
        if (answer.refusal && (!copy || !isFinalState(copy.wire.state))) throw answer.refusal
        if (!copy) throw new AgentError('bad_answer', 'The Company said nothing of the operation.')
        return shown(room, before, await room.records.note(copy), copy, signal)
      }),
    list: async () => (await openRoom(parts)).records.list(),
    resume: async (options = {}) => {
      const { records } = await openRoom(parts)
      const resumed: Resumed[] = []
      for (const { id } of await records.list()) {
        const record = await records.get(id)
        if (!record || !isOpen(record, parts.context.now())) continue
        try {
          const { outcome, operation } = await confirm(id, options)
          const isGoing = outcome === 'confirmed' && !operation.isFinal
          resumed.push({ id, operation: isGoing ? await wait(id, options) : operation, error: undefined })
        } catch (error) {
          options.signal?.throwIfAborted()
          if (!(error instanceof AgentError)) throw error
          resumed.push({ id, operation: error.operation, error })
        }
      }
      return resumed
    },
  }
}

/** Where an operation may stand in a result: as it is, under `structuredContent` of MCP, or in the body of a {@link CallResult}. */
function bodiesIn(result: unknown): readonly unknown[] {
  if (!isJsonObject(result)) return []
  return [result, result.structuredContent, result.body]
}

/**
 * Keeps the operation in what a call gave.
 * @param action the tool that was called
 * @param isSurelyOne where the answer says so: 202
 */
export async function noteOperation(
  parts: OperationParts,
  result: unknown,
  action: string | undefined,
  isSurelyOne: boolean,
): Promise<Operation | undefined> {
  const copy = bodiesIn(result)
    .map((body) => readCopy(body, isSurelyOne))
    .find((one) => one !== undefined)
  if (!copy) return undefined
  // 3.3: without the extension there is no endpoint, and what looks like an operation is none
  const found = await parts.find()
  if (!operationsService(found, parts.context.allowHttp)) return undefined
  const room = await openRoom(parts)
  const record = await room.records.noteHearsay(copy, action === undefined ? undefined : cleanText(action, 200))
  return room.show(record, copy)
}
