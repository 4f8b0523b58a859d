import { createHash } from 'node:crypto'
import { PoppyError } from '@poppyseed/protocol'
import type { FaultPoint } from '../../packages/company/src/faults/faults.ts'
import type { StoredOperation } from '../../packages/company/src/operations/agreement.ts'
import { cancelByAgent } from '../../packages/company/src/operations/cancelling.ts'
import { confirmByAgent } from '../../packages/company/src/operations/confirming.ts'
import type { Operation } from '../../packages/company/src/operations/definition.ts'
import type { OperationHooks } from '../../packages/company/src/operations/hooks.ts'
import { cancelled, failed, succeeded, tooLate, unknown } from '../../packages/company/src/operations/outcome.ts'
import { findRevision, listOperations, trailOf } from '../../packages/company/src/operations/store.ts'
import { stateOf } from '../../packages/company/src/operations/view.ts'
import { backlog } from '../../packages/company/src/outbox/store.ts'
import type { Database, Scope } from '../../packages/company/src/store/database.ts'
import { compileSchema } from '../../packages/company/src/tools/schema.ts'
import { createDownstream } from './downstream.ts'
import { Died, type Instance, startInstance } from './modelled-instance.ts'
import {
  type Act,
  type Kind,
  type Known,
  kinds,
  objections,
  objectionsToTrail,
  type Revision,
  type Seen,
  type State,
  stateAt,
} from './operations-model.ts'
import { grantRow, sessionRow, now as start } from './rows.ts'

/** Operations of one Company at two instances that die and come back, and a model that watches them. */

/** How a function of the company's behaves. `before` and `after`: with regard to what happens outside. */
export const performs = [
  'ok',
  'refused',
  'throws before',
  'throws after',
  'unknown before',
  'unknown after',
  'waits before',
  'waits after',
  'dies before',
  'dies after',
  'nonsense after',
] as const
export const answers = ['truth', 'unknown', 'throws', 'waits', 'dies', 'nonsense'] as const

export interface Script {
  readonly perform: readonly (typeof performs)[number][]
  readonly reconcile: readonly (typeof answers)[number][]
  readonly cancel: readonly (typeof answers)[number][]
}

type At = { readonly instance: 0 | 1 }
/** `which`: counted from the newest. */
type On = At & { readonly which: number }
type Approval = 'user' | 'standing_permission'

export type Step =
  | (At & {
      readonly do: 'propose'
      readonly kind: Kind
      readonly thing: string | null
      readonly approval: Approval
      readonly seconds: number
      readonly script: Script
    })
  | (On & { readonly do: 'confirm'; readonly off: -1 | 0 | 1; readonly by: Approval })
  | (On & { readonly do: 'revise'; readonly off: -1 | 0; readonly approval: Approval; readonly seconds: number })
  | (On & { readonly do: 'cancel'; readonly by: 'agent' | 'staff' })
  | (On & { readonly do: 'settle' })
  | (At & { readonly do: 'sweep' | 'kill' })
  | (At & { readonly do: 'arm'; readonly point: FaultPoint })
  | { readonly do: 'clock'; readonly seconds: number }
  | { readonly do: 'release' }
  | { readonly do: 'break hooks'; readonly times: number }
  | { readonly do: 'at once'; readonly steps: readonly Step[] }

type Proposal = Step & { readonly do: 'propose' }

function asProposed(id: string, { kind, thing, approval, seconds }: Proposal, at: number): Known {
  const revision = { terms: { thing: thing ?? '', version: 1 }, approval, expiresAt: at + seconds * 1000 }
  return {
    ...{ id, kind, thing, state: 'proposed', revisions: [revision], confirmation: null, result: null },
    wasCancelAsked: false,
    isUnknown: false,
  }
}

const company = (number: number) => `https://of-${number}.example`
const clientId = 'https://agent.example/client'
const scopes = ['poppy:read', 'poppy:write']
const anything = compileSchema({ type: 'object' }, 'input', 'test')
let companies = 0

/** Makes a world and takes the steps in it; then everything comes back, time passes, and it has to end well. */
export async function live(dbs: readonly Database[], steps: readonly Step[]): Promise<void> {
  const world = await createWorld(dbs)
  try {
    for (const [index, step] of steps.entries()) await world.take(step, `step ${index}, ${step.do}`)
    await world.endWell()
  } finally {
    world.end()
  }
}

async function createWorld(dbs: readonly Database[]) {
  companies += 1
  const scope: Scope = { db: dbs[0] as Database, company: company(companies) }
  const principal = {
    company: scope.company,
    clientId,
    userId: 'user',
    sessionId: 's',
    account: 'ada',
    scopes,
    resource: null,
    grantId: 'g',
  }
  await scope.db.query
    .insertInto('poppy_sessions')
    .values({ ...sessionRow(), company: scope.company })
    .execute()
  // A confirmation holds the sign-in that its rights come from.
  await scope.db.query
    .insertInto('poppy_grants')
    .values({ ...grantRow({ expires_at: null }), company: scope.company })
    .execute()

  const downstream = createDownstream()
  const known: Known[] = []
  const scripts: Script[] = []
  const unheard: { readonly step: Proposal; readonly script: number; readonly at: number }[] = []
  const unheardRevisions: { readonly of: Known; readonly after: number; readonly revision: Revision }[] = []
  const performed = new Map<string, number>()
  const wrong: string[] = []
  const told = new Map<string, { event: string; id: string; times: number }>()
  let now = start
  let ids = 0
  let brokenHooks = 0
  let proposals = 0
  let gate = Promise.withResolvers<void>()
  const all: Instance[] = []
  const instances: Instance[] = []

  const hook: NonNullable<OperationHooks['finished']> = ({ key, event, operation }) => {
    const before = told.get(key)
    if (before !== undefined && (before.event !== event || before.id !== operation.id))
      wrong.push(`the key ${key} stands for two events`)
    if (brokenHooks > 0) {
      brokenHooks -= 1
      throw new Error('the records are closed')
    }
    told.set(key, { event, id: operation.id, times: (before?.times ?? 0) + 1 })
  }
  const hooks: OperationHooks = { proposed: hook, revised: hook, confirmed: hook, finished: hook }

  function operationsOf(instance: Instance): Operation[] {
    return kinds.map((kind): Operation => {
      const truth = (id: string) =>
        downstream.settle(id) ? succeeded({ happened: true }) : failed('It certainly did not happen.')
      const gateOf = (signal: AbortSignal) => instance.atGate(gate.promise, signal, kind !== 'quick')
      const scriptOf = (agreement: { readonly input: unknown }) =>
        scripts[(agreement.input as { readonly script: number }).script] as Script
      return {
        name: kind,
        title: undefined,
        description: 'Does it.',
        input: anything,
        scopes: ['poppy:write'],
        extension: undefined,
        annotations: undefined,
        approval: 'user',
        expiresIn: 900_000,
        timeout: 30_000,
        performTimeout: kind === 'quick' ? 4 : 60_000,
        repeatable: kind === 'repeatable',
        identity: (input) => (input as { readonly thing?: string }).thing,
        propose(input) {
          const { thing, approval, seconds } = input as { thing?: string; approval: Approval; seconds: number }
          proposals += 1
          return { summary: 'This.', terms: { thing: thing ?? '', version: 1 }, approval, expiresIn: seconds }
        },
        async perform(agreement, { key, attempt, signal }) {
          if (instance.isDead()) throw new Died()
          const model = known.find(({ id }) => id === key)
          const times = (performed.get(key) ?? 0) + 1
          performed.set(key, times)
          if (times > 1 && kind !== 'repeatable') wrong.push(`${key} was performed ${times} times`)
          const { terms } = model?.revisions[agreement.revision - 1] ?? {}
          if (model?.state === 'expired' || JSON.stringify(agreement.terms) !== JSON.stringify(terms))
            wrong.push(`${key} was performed with ${JSON.stringify(agreement.terms)}`)
          const how = scriptOf(agreement).perform[attempt - 1] ?? 'ok'
          const take = () => downstream.take(key, kind === 'repeatable')
          if (how === 'refused') return truth(key)
          if (how === 'throws before') throw new Error('the line broke')
          if (how === 'unknown before') return unknown()
          if (how === 'dies before') return instance.die()
          if (how === 'waits before') await gateOf(signal)
          if (!take()) return failed('It was ruled out.')
          if (how === 'throws after') throw new Error('the line broke')
          if (how === 'unknown after') return unknown()
          if (how === 'dies after') return instance.die()
          if (how === 'nonsense after') return { outcome: 'failed', reason: 'It says so.' }
          if (how === 'waits after') await gateOf(signal)
          return succeeded({ happened: true })
        },
        reconcile:
          kind === 'blind' || kind === 'repeatable'
            ? undefined
            : async (agreement, { key, attempt, signal }) => {
                if (instance.isDead()) throw new Died()
                // The first attempt was to perform it.
                const how = scriptOf(agreement).reconcile[attempt - 2] ?? 'truth'
                if (how === 'unknown') return unknown()
                if (how === 'throws') throw new Error('the line broke')
                if (how === 'nonsense') return { outcome: 'failed', reason: 'It says so.' }
                if (how === 'dies') return instance.die()
                if (how === 'waits') await gateOf(signal)
                return truth(key)
              },
        cancel:
          kind === 'blind'
            ? undefined
            : async (agreement, { key, attempt, signal }) => {
                if (instance.isDead()) throw new Died()
                const how = scriptOf(agreement).cancel[attempt - 1] ?? 'truth'
                if (how === 'unknown') return unknown()
                if (how === 'throws') throw new Error('the line broke')
                if (how === 'nonsense') return { outcome: 'cancelled', reason: 'It says so.' }
                if (how === 'dies') return instance.die()
                if (how === 'waits') await gateOf(signal)
                return downstream.settle(key) ? tooLate() : cancelled('It was stopped.')
              },
      }
    })
  }

  function instanceOf(number: 0 | 1): Instance {
    const there = instances[number]
    if (there !== undefined && !there.isDead()) return there
    const random = (length: number) => createHash('sha512').update(`${ids++}`).digest().subarray(0, length)
    const db = dbs[number] ?? (dbs[0] as Database)
    const started = startInstance({ db, company: scope.company, now: () => now, random, operationsOf, hooks })
    all.push(started)
    instances[number] = started
    return started
  }

  function seenOf({ operation }: StoredOperation): Seen {
    const { confirmed_revision, approved_by, confirmed_at, started_at, unknown_since, cancel_asked_at } = operation
    return {
      state: operation.state,
      revision: operation.revision,
      confirmation: confirmed_revision === null ? null : `${confirmed_revision} ${approved_by} ${confirmed_at}`,
      result: operation.result,
      isStarted: started_at !== null,
      isUnknown: unknown_since !== null,
      isCancelAsked: cancel_asked_at !== null,
    }
  }

  /** Compares all that there is with what it may have become. */
  async function compare(acts: ReadonlyMap<Known, readonly Act[]>, when: string): Promise<void> {
    await findUnheard()
    const rows = new Map((await listOperations(scope, { limit: 500 })).map((row) => [row.operation.id, seenOf(row)]))
    if (rows.size !== known.length) wrong.push(`there are ${rows.size} operations`)
    for (const one of known) {
      const seen = rows.get(one.id)
      if (seen === undefined) throw new Error(`${when}: ${one.id} is gone`)
      const effects = downstream.effects(one.id)
      // A process may die over a revision that is kept already: nobody heard of it, and it holds all the same.
      const lost = unheardRevisions.find(({ of, after }) => of === one && after === one.revisions.length)
      if (lost !== undefined && seen.revision === lost.after + 1) one.revisions.push(lost.revision)
      wrong.push(...objections(one, seen, { acts: acts.get(one) ?? [], now, effects }))
      one.state = seen.state
      one.confirmation = seen.confirmation
      one.result = seen.result
      one.wasCancelAsked ||= seen.isCancelAsked
      one.isUnknown = seen.isUnknown
    }
    unheardRevisions.length = 0
    if (wrong.length > 0) throw new Error(`${when}: ${wrong.join('; ')}`)
  }

  /** What an attempt came to: a code, or that the process died over it. */
  async function attempt(work: () => Promise<{ answer: string; confirmation?: string | null }>) {
    try {
      return await work()
    } catch (error) {
      if (error instanceof Died) return { answer: 'died' }
      if (error instanceof PoppyError) return { answer: error.code }
      throw error
    }
  }

  async function propose(step: Proposal, script: number, isAlone: boolean): Promise<void> {
    const { kind, thing, approval, seconds } = step
    const { operations } = instanceOf(step.instance)
    const definition = operations.parts.operations.get(kind) as Operation
    const open = known.find(
      (one) =>
        one.kind === kind && one.thing !== null && one.thing === thing && /^(?:prop|in_)/.test(stateAt(one, now)),
    )
    const before = proposals
    const input = { ...(thing === null ? {} : { thing }), approval, seconds, script }
    const context = { principal, signal: new AbortController().signal, via: 'http' } as const
    const { operation } = await operations.propose(definition, input, context)
    const { operation_id: id } = operation
    if (isAlone && open !== undefined && open.id !== id) wrong.push(`asking again for ${open.id} gave ${id}`)
    if (isAlone && open !== undefined && proposals !== before) wrong.push(`${id} was worked out again`)
    if (known.some((one) => one.id === id)) {
      if (isAlone && open === undefined) wrong.push(`${id} was given for something that it is not open for`)
      return
    }
    if (open !== undefined && stateAt(open, now) === open.state && isAlone) wrong.push(`${id} is a second one`)
    known.push(asProposed(id, step, now))
  }

  /** A process may die over a proposal that is kept already: nobody heard of it, and it is there all the same. */
  async function findUnheard(): Promise<void> {
    if (unheard.length === 0) return
    for (const { operation, revision } of await listOperations(scope, { limit: 500 })) {
      const { script } = JSON.parse(revision.input) as { readonly script: number }
      const lost = unheard.find((one) => one.script === script)
      if (lost === undefined || known.some(({ id }) => id === operation.id)) continue
      known.push(asProposed(operation.id, lost.step, lost.at))
    }
    unheard.length = 0
  }

  async function actOn(one: Known, step: Extract<Step, { readonly which: number }>): Promise<Act> {
    const { operations } = instanceOf(step.instance)
    const { id } = one
    const latest = one.revisions.length
    if (step.do === 'confirm') {
      const revision = Math.max(latest + step.off, 1)
      const came = await attempt(async () => {
        const { operation } = await confirmByAgent(operations.parts, id, { revision, approvedBy: step.by }, principal)
        const { confirmed_revision, approved_by, confirmed_at } = operation
        return {
          answer: stateOf(operation, now),
          confirmation: confirmed_revision === null ? null : `${confirmed_revision} ${approved_by} ${confirmed_at}`,
        }
      })
      return { act: 'confirm', revision, by: step.by, ...came }
    }
    if (step.do === 'cancel') {
      const came = await attempt(async () => {
        if (step.by === 'staff') return { answer: (await operations.ofCompany.cancel(id, { by: 'Rita' })).state }
        return { answer: stateOf((await cancelByAgent(operations.parts, id, principal)).operation, now) }
      })
      return { act: 'cancel', ...came }
    }
    if (step.do === 'revise') {
      const revision = Math.max(latest + step.off, 1)
      const terms = { thing: one.thing ?? '', version: revision + 1 }
      const next = { terms, approval: step.approval, expiresIn: step.seconds }
      const kept = (): Revision => ({ terms, approval: step.approval, expiresAt: now + step.seconds * 1000 })
      const asked = kept()
      const came = await attempt(async () => {
        await operations.ofCompany.revise(id, { revision, summary: 'That.', ...next }, { by: 'Rita' })
        one.revisions.push(kept())
        return { answer: 'revised' }
      })
      if (came.answer === 'died') unheardRevisions.push({ of: one, after: revision, revision: asked })
      return { act: 'revise', revision, ...came }
    }
    // Staff says what they found out.
    const came = await attempt(async () => {
      const outcome = downstream.settle(id) ? succeeded({ happened: true }) : failed('It certainly did not happen.')
      return { answer: (await operations.ofCompany.settle(id, outcome, { by: 'Rita', why: 'She looked.' })).state }
    })
    return { act: 'settle', ...came }
  }

  async function run(step: Step, acts: Map<Known, Act[]>, isAlone = true): Promise<void> {
    if (step.do === 'at once') {
      await Promise.all(step.steps.map((one) => run(one, acts, false)))
    } else if (step.do === 'propose') {
      const [script, at] = [scripts.push(step.script) - 1, now]
      const { answer } = await attempt(() => propose(step, script, isAlone).then(() => ({ answer: '' })))
      if (answer === 'died') unheard.push({ step, script, at })
    } else if ('which' in step) {
      const one = known.at(-1 - (step.which % Math.max(known.length, 1)))
      if (one === undefined) return
      const act = await actOn(one, step)
      acts.set(one, [...(acts.get(one) ?? []), act])
    } else if (step.do === 'sweep')
      await attempt(() =>
        instanceOf(step.instance)
          .sweep()
          .then(() => ({ answer: '' })),
      )
    else if (step.do === 'kill') await attempt(async () => instanceOf(step.instance).die())
    else if (step.do === 'arm') instanceOf(step.instance).arm(step.point)
    else if (step.do === 'clock') now += step.seconds * 1000
    else if (step.do === 'break hooks') brokenHooks = step.times
    else {
      gate.resolve()
      gate = Promise.withResolvers()
    }
  }

  const idle = () => Promise.all(all.map((instance) => instance.idle()))

  async function take(step: Step, when: string): Promise<void> {
    const acts = new Map<Known, Act[]>()
    await run(step, acts)
    await idle()
    await compare(acts, when)
  }

  /** Everything goes on again, nothing waits any more, and time passes. */
  async function endWell(): Promise<void> {
    brokenHooks = 0
    const isOver = async () =>
      (await backlog(scope, { now: Number.MAX_SAFE_INTEGER })).waiting === 0 &&
      known.every(({ state }) => state !== 'proposed')
    // What waits is taken for lost, and somebody else looks after it, before it comes back.
    now += 200_000
    for (const instance of [0, 1] as const) await take({ do: 'sweep', instance }, 'nobody answers')
    for (let hours = 0; hours < 60 && !(hours > 0 && (await isOver())); hours++) {
      for (const instance of [0, 1] as const) {
        await take({ do: 'release' }, 'the end')
        await take({ do: 'sweep', instance }, 'the end')
      }
      now += 7_200_000
      // What can't be asked about stays as it is until somebody says what came of it.
      if (hours > 3) {
        const listed = await listOperations(scope, { unsettled: true, limit: 200 })
        for (const [index, one] of known.toReversed().entries()) {
          if (one.state !== 'in_progress') continue
          if (one.kind !== 'blind') continue
          if (!listed.some(({ operation }) => operation.id === one.id)) throw new Error(`nobody lists ${one.id}`)
          await take({ do: 'settle', instance: 0, which: index }, 'settling')
        }
      }
    }
    if (!(await isOver())) throw new Error('it does not end')
    for (const one of known) await checkRecords(one)
    if (wrong.length > 0) throw new Error(wrong.join('; '))
  }

  async function checkRecords(one: Known): Promise<void> {
    const { id, revisions } = one
    const trail = await trailOf(scope, id)
    wrong.push(...objectionsToTrail(trail, one).map((what) => `the trail of ${id}: ${what}`))
    for (const [index, { terms, approval, expiresAt }] of revisions.entries()) {
      const row = await findRevision(scope, { id, revision: index + 1 })
      if (row?.terms !== JSON.stringify(terms) || row.approval !== approval || row.expires_at !== expiresAt)
        wrong.push(`revision ${index + 1} of ${id} changed`)
    }
    const keys = [...told].filter(([, event]) => event.id === id)
    const tellings = (event: string) => keys.filter(([, { event: name }]) => name === event).length
    const isConfirmed = one.confirmation !== null
    const right = { proposed: 1, revised: revisions.length - 1, confirmed: isConfirmed ? 1 : 0, finished: 1 }
    for (const [event, count] of Object.entries(right)) {
      if (tellings(event) !== count) wrong.push(`the company was told ${tellings(event)} times that ${id} is ${event}`)
    }
  }

  return {
    take,
    endWell,
    end() {
      for (const instance of all) instance.end()
      gate.resolve()
    },
  }
}

export type { Kind, State }
