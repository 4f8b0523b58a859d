import { readReturnTo } from '../browser/return-to.ts'
import { AgentError } from '../errors.ts'
import { contradiction, objectionTo } from './agreement.ts'
import type { ConfirmResult } from './approval.ts'
import type { OperationCopy } from './copy.ts'
import { type OperationParts, readAtCompany } from './desk.ts'
import { isConfirmed, type Operation, operationOf } from './operation.ts'
import { actionOf, type OperationRecord, type OperationRecords, operationRecords, type RecordPlace } from './records.ts'
import { operationsService } from './service.ts'

/** What reading, confirming and following have in common: the place, the records, and how an operation is shown. */
export interface OperationRoom {
  readonly parts: OperationParts
  readonly place: RecordPlace
  readonly records: OperationRecords
  readonly actionOf: (record: OperationRecord) => string | undefined
  /** Runs work on one operation while nobody else who shares the store does. */
  readonly alone: <T>(id: string, work: () => Promise<T>) => Promise<T>
  /** An address that the owner may be sent to: the Company's own, by HTTPS; else undefined. */
  readonly pageOf: (url: unknown) => Promise<string | undefined>
  /** The public object, with what stands against it. */
  readonly show: (record: OperationRecord, copy: OperationCopy) => Promise<Operation>
  readonly showing: (record: OperationRecord, copy: OperationCopy, page: string | undefined) => Operation
  /**
   * What was heard, and what is kept of it. Where the two can't both be, and could when it was asked for, it is asked for once
   * more: while the answer was on its way, another process with the same store has heard a newer one.
   * @param before what was kept when it was asked for: what stands against that is the Company's contradiction
   */
  readonly latest: (
    before: OperationRecord | undefined,
    record: OperationRecord,
    copy: OperationCopy,
    signal?: AbortSignal,
  ) => Promise<Heard>
  /**
   * The end of a confirmation that isn't proposed any more.
   * @param before what was kept when it was asked for, as for {@link latest}
   * @throws AgentError `confirmed_otherwise` where it isn't what was approved
   */
  readonly ended: (
    before: OperationRecord | undefined,
    record: OperationRecord,
    copy: OperationCopy,
  ) => Promise<ConfirmResult>
}

/** An operation as the Company has it, with what is kept of it. */
export interface Heard {
  readonly record: OperationRecord
  readonly copy: OperationCopy
}

/** Opens the room of one account at one Company. */
export async function openRoom(parts: OperationParts): Promise<OperationRoom> {
  const { context, tokens, address } = parts
  const found = await parts.find()
  const place: RecordPlace = { ...tokens.place, company: found.name, domain: found.domain, address }
  const pageOf: OperationRoom['pageOf'] = async (url) => {
    const service = operationsService(found, context.allowHttp)
    if (typeof url !== 'string' || !service) return undefined
    return readReturnTo(url, found.domain, service.endpoint, context.allowHttp) ?? undefined
  }
  const showing: OperationRoom['showing'] = (record, copy, confirmationUrl) =>
    operationOf(copy, {
      action: actionOf(record),
      company: { name: found.name, domain: found.domain },
      account: place.account,
      objection: objectionTo(record, copy),
      confirmationUrl,
    })
  const show: OperationRoom['show'] = async (record, copy) =>
    showing(record, copy, await pageOf(copy.wire.confirmation_url))
  const records = operationRecords(context, place)
  const latest: OperationRoom['latest'] = async (before, record, copy, signal) => {
    const wasOvertaken =
      contradiction(record, copy.wire) !== undefined &&
      (before === undefined || contradiction(before, copy.wire) === undefined)
    if (!wasOvertaken) return { record, copy }
    const { copy: now } = await readAtCompany(parts, copy.wire.operation_id, signal)
    return { record: await records.note(now), copy: now }
  }
  return {
    parts,
    place,
    records,
    latest,
    actionOf,
    alone: (id, work) =>
      context.alone(JSON.stringify(['operation', place.userKey, place.issuer, place.account, id]), work),
    pageOf,
    show,
    showing,
    ended: async (before, noted, heard) => {
      const { record, copy } = await latest(before, noted, heard)
      const operation = await show(record, copy)
      if (operation.objection !== undefined) {
        throw new AgentError('confirmed_otherwise', operation.objection, { operation })
      }
      const outcome = isConfirmed(copy) ? 'confirmed' : 'not_confirmed'
      return { outcome, approvedBy: outcome === 'confirmed' ? record.approval?.by : undefined, operation }
    },
  }
}
