import { approvals, isFinalState, operationStates } from '@poppyseed/protocol'
import { z } from 'zod'
import type { AgentContext } from '../context.ts'
import { cleanText } from '../net/text.ts'
import type { SessionPlace } from '../sessions/records.ts'
import { type StoredValue, storeKey } from '../store/store.ts'
import { contradiction } from './agreement.ts'
import type { OperationCopy } from './copy.ts'

/** What is kept of operations: which there are, what the owner approved, how far it came. No token, and no terms. */

const agreedSchema = z.object({ revision: z.number(), summary: z.string(), terms: z.string().nullable() })
const approvalSchema = agreedSchema.extend({
  by: z.enum(approvals),
  /** The rule that it stands on, for a standing permission. */
  permission: z.string().nullable(),
  /** Unix time in milliseconds. */
  at: z.number(),
})
const recordSchema = z.object({
  version: z.literal(1),
  company: z.string(),
  domain: z.string(),
  /** What the Company was opened by. */
  address: z.string(),
  session: z.string(),
  /** Tools that answered with it, as this agent called them: with more than one it is nobody's. */
  actions: z.array(z.string()),
  /** The newest copy, as far as it matters: its terms as a digest. */
  revision: z.number(),
  agreed: agreedSchema,
  state: z.enum(operationStates),
  summary: z.string(),
  /**
   * How far it came: seen; shown to the owner, whose answer isn't there; declined; approved, and then it may have been sent;
   * confirmed, as the Company said.
   */
  step: z.enum(['seen', 'shown', 'declined', 'approved', 'confirmed']),
  approval: approvalSchema.nullable(),
  /** Whether the Company said last that it knows no such operation (Operations 9): what became of it isn't known then. */
  isUnknown: z.boolean().default(false),
  /** Unix time in milliseconds: when the Company was last heard. */
  heardAt: z.number(),
})

/** An operation as it is kept. */
export type OperationRecord = z.infer<typeof recordSchema>
/** What was approved, as it is kept. */
export type ApprovalRecord = z.infer<typeof approvalSchema>

/** An operation that this agent knows of, as it was last heard; asks nobody. */
export interface KnownOperation {
  readonly id: string
  readonly company: { readonly name: string; readonly domain: string }
  /** What to open the Company by. */
  readonly address: string
  readonly account: string
  readonly session: string
  readonly action: string | undefined
  readonly revision: number
  readonly state: OperationRecord['state']
  readonly summary: string
  /** How far it came here: `approved` may have been sent, and is followed by `resume`. */
  readonly step: OperationRecord['step']
  /** Whether the Company said last that it knows no such operation: `state` is what it was before. */
  readonly isUnknown: boolean
  /** Unix time in milliseconds. */
  readonly heardAt: number
}

/** Ended ones are kept for a week, and so are proposals that nobody came back to. Unix time in milliseconds. */
const keptFor = 7 * 24 * 3600 * 1000
/** As many of one User at one account are kept; those under way are never given up. */
const maxKept = 200

/** Reads and writes what is kept of the operations of one account at one Company. */
export interface OperationRecords {
  readonly get: (id: string) => Promise<OperationRecord | undefined>
  /** Takes over what a copy says, and changes the record with it; makes one where there is none. */
  readonly note: (
    copy: OperationCopy,
    change?: (before: OperationRecord) => Partial<OperationRecord>,
  ) => Promise<OperationRecord>
  /** The same for what something else than the endpoint said of it: of what was approved it changes nothing. */
  readonly noteHearsay: (copy: OperationCopy, action: string | undefined) => Promise<OperationRecord>
  /** That the Company knows no such operation. Changes nothing of what was heard before; undefined where nothing was. */
  readonly noteUnknown: (id: string) => Promise<OperationRecord | undefined>
  readonly list: () => Promise<readonly KnownOperation[]>
}

/** As many tools are kept of one operation; two are as bad as ten. */
const maxActions = 2

/** Who an operation is kept for. */
export interface RecordPlace extends SessionPlace {
  readonly company: string
  readonly domain: string
  readonly address: string
}

/** The records of one account at one Company. */
export function operationRecords({ store, now }: AgentContext, place: RecordPlace): OperationRecords {
  const prefix = storeKey('operation', place.userKey, place.issuer, place.account)
  const keyOf = (id: string) => `${prefix}/${encodeURIComponent(id)}`
  const save = async (copy: OperationCopy, next: (before: OperationRecord) => OperationRecord) => {
    let isNew = false
    const saved = await store.update(keyOf(copy.wire.operation_id), (stored) => {
      const kept = read(stored)
      isNew = kept === undefined
      return { ...next(kept ?? fresh(copy, place)), heardAt: now() }
    })
    const record = read(saved)
    if (record === undefined) throw new Error('A record was written that can’t be read.')
    if (isNew) await prune(store, now(), `${prefix}/`)
    return record
  }
  // What can't be after what was is told as an objection, and not believed here.
  const isLater = (before: OperationRecord, { wire }: OperationCopy) => contradiction(before, wire) === undefined
  return {
    get: async (id) => read(await store.get(keyOf(id))),
    note: (copy, change = () => ({})) =>
      save(copy, (before) => ({
        ...{ ...before, isUnknown: false },
        ...(isLater(before, copy) ? seenIn(copy) : {}),
        ...change(before),
      })),
    noteUnknown: async (id) =>
      read(
        await store.update(keyOf(id), (stored) => {
          const kept = read(stored)
          return kept === undefined ? stored : { ...kept, isUnknown: true }
        }),
      ),
    noteHearsay: (copy, action) =>
      save(copy, (before) => {
        const isIdle = before.step !== 'approved' && before.step !== 'confirmed'
        const isNews = isIdle && copy.wire.state === 'proposed' && isLater(before, copy)
        const actions = [...new Set([...before.actions, ...(action === undefined ? [] : [action])])].slice(
          0,
          maxActions,
        )
        return { ...before, ...(isNews ? seenIn(copy) : {}), actions }
      }),
    list: () => listed(store, `${prefix}/`),
  }
}

function fresh(copy: OperationCopy, { company, domain, address, session }: RecordPlace): OperationRecord {
  return {
    ...{ version: 1, company, domain, address, session, actions: [] },
    ...seenIn(copy),
    ...{ step: 'seen', approval: null, isUnknown: false, heardAt: 0 },
  }
}

function seenIn({ wire, agreed }: OperationCopy) {
  return { revision: wire.revision, agreed, state: wire.state, summary: cleanText(wire.summary, 200) }
}

/** All that a User's agent knows of, at every Company. */
export function knownOperations({ store }: AgentContext, userKey: string): Promise<readonly KnownOperation[]> {
  return listed(store, `${storeKey('operation', userKey)}/`)
}

async function listed(store: AgentContext['store'], prefix: string): Promise<readonly KnownOperation[]> {
  const known: KnownOperation[] = []
  for (const key of await store.keys(prefix)) {
    const record = read(await store.get(key))
    const [account = '', id = ''] = key.split('/').slice(3).map(decodeURIComponent)
    if (record) known.push(knownOf(record, account, id))
  }
  return known.sort((left, right) => right.heardAt - left.heardAt)
}

function knownOf(record: OperationRecord, account: string, id: string): KnownOperation {
  const { company: name, domain, address, session, revision, state, summary, step, isUnknown, heardAt } = record
  return {
    ...{ id, company: { name, domain }, address, account, session, action: actionOf(record) },
    ...{ revision, state, summary, step, isUnknown, heardAt },
  }
}

/** The tool that an operation comes from, where there is one and no doubt. */
export function actionOf({ actions }: OperationRecord): string | undefined {
  return actions.length === 1 ? actions[0] : undefined
}

/** Forgets what ended or was left lying. What was approved stays until it has ended. */
async function prune(store: AgentContext['store'], now: number, prefix: string): Promise<void> {
  const keys = await store.keys(prefix)
  const records = await Promise.all(keys.map(async (key) => ({ key, record: read(await store.get(key)) })))
  const idle = records
    .filter(({ record }) => !record || !isUnderWay(record))
    .sort((left, right) => (left.record?.heardAt ?? 0) - (right.record?.heardAt ?? 0))
  const tooMany = Math.max(0, keys.length - maxKept)
  for (const [at, { key, record }] of idle.entries()) {
    if (at >= tooMany && record && now - record.heardAt < keptFor) continue
    await store.update(key, (before) => {
      const found = read(before)
      return found && isUnderWay(found) ? before : undefined
    })
  }
}

/** Whether something was approved that hasn't ended, as far as anybody knows. */
function wasApproved({ step, state }: OperationRecord): boolean {
  return (step === 'approved' || step === 'confirmed') && !isFinalState(state)
}

/** Whether something was approved that hasn't ended, and that the Company knows of. */
function isUnderWay(record: OperationRecord): boolean {
  return wasApproved(record) && !record.isUnknown
}

/** Whether the Company is to be asked what became of it: for some time also where it said that it knows nothing of it. */
export function isOpen(record: OperationRecord, now: number): boolean {
  if (record.isUnknown) return wasApproved(record) && now - record.heardAt < keptFor
  return wasApproved(record) || (record.step === 'shown' && record.state === 'proposed')
}

function read(value: StoredValue | undefined): OperationRecord | undefined {
  const parsed = recordSchema.safeParse(value)
  return parsed.success ? parsed.data : undefined
}
