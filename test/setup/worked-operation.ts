import { expect } from 'vitest'
import type { FaultPoint } from '../../packages/company/src/faults/faults.ts'
import type { Operation } from '../../packages/company/src/operations/definition.ts'
import { digestOf } from '../../packages/company/src/operations/digest.ts'
import { type OperationHooks, tellsOf } from '../../packages/company/src/operations/hooks.ts'
import { succeeded } from '../../packages/company/src/operations/outcome.ts'
import {
  confirmOperation,
  findOperation,
  insertOperation,
  trailOf,
} from '../../packages/company/src/operations/store.ts'
import { createWorker, type OperationWorker } from '../../packages/company/src/operations/worker.ts'
import type { Logger, Scope } from '../../packages/company/src/store/database.ts'
import { compileSchema } from '../../packages/company/src/tools/schema.ts'
import { operationRow, revisionRow, now as start } from './rows.ts'
import { silent } from './stores.ts'

/** One operation in a store, and a worker that does it. */

/** The Company. */
export const company = 'https://miramar.example'
/** The operation's id. */
export const id = 'opn_1'

/** A moment that tests move. */
export interface Clock {
  now: number
}

/** An operation of the company's, with other parts where a test wants them. */
export const definition = (parts: Partial<Operation> = {}): Operation => ({
  name: 'book_room',
  title: undefined,
  description: 'Books a room.',
  input: compileSchema({ type: 'object' }, 'input', 'test'),
  scopes: ['poppy:write'],
  extension: undefined,
  annotations: undefined,
  approval: 'user',
  expiresIn: 900_000,
  timeout: 30_000,
  performTimeout: 1000,
  repeatable: false,
  identity: undefined,
  propose: () => ({ summary: 'Two nights.' }),
  perform: () => succeeded({ booking: 'B1' }),
  reconcile: undefined,
  cancel: undefined,
  ...parts,
})

/** A worker on a store, and what waits until it has nothing to do. */
export function workerOf(
  scope: Scope,
  clock: Clock,
  operation: Operation | null,
  more: {
    readonly hooks?: OperationHooks
    readonly at?: (point: FaultPoint) => void | Promise<void>
    readonly log?: Logger
    readonly givenUp?: AbortSignal
  } = {},
) {
  const running = new Set<Promise<unknown>>()
  const hooks = more.hooks ?? {}
  const worker: OperationWorker = createWorker({
    scope: async () => scope,
    operations: new Map(operation === null ? [] : [[operation.name, operation]]),
    hooks,
    tells: tellsOf(hooks),
    now: () => clock.now,
    log: more.log ?? silent,
    givenUp: more.givenUp ?? new AbortController().signal,
    at: more.at ?? (() => {}),
    changed: () => {},
    track(work) {
      running.add(work)
      void work.finally(() => running.delete(work))
      return work
    },
  })
  /** Pokes, and waits until nothing runs any more. */
  const perform = async () => {
    worker.poke(id)
    while (running.size > 0) await Promise.allSettled(running)
  }
  return { ...worker, perform }
}

/** Keeps a proposal. */
export async function proposed(scope: Scope, { hooks = {} }: { readonly hooks?: OperationHooks } = {}) {
  const revision = revisionRow({ operation_id: id, summary: 'Two nights.' })
  await insertOperation(scope, {
    operation: operationRow({ id, trail: 0 }),
    revision: { ...revision, digest: digestOf(revision) },
    entry: { event: 'proposed', channel: 'http', who: { clientId: 'https://agent.example/client' }, revision: 1 },
    tells: tellsOf(hooks)('proposed'),
  })
}

/** Keeps a proposal and confirms it. */
export async function confirmed(scope: Scope, { hooks = {} }: { readonly hooks?: OperationHooks } = {}) {
  await proposed(scope, { hooks })
  const done = await confirmOperation(scope, {
    grantId: null,
    grantScopes: null,
    id,
    confirmed: 1,
    approvedBy: 'user',
    scopes: 'poppy:read poppy:write',
    now: start,
    dueAt: start,
    entry: { event: 'confirmed', channel: 'endpoint', who: {}, revision: 1 },
    tells: tellsOf(hooks)('confirmed'),
  })
  expect(done).not.toBeNull()
}

/** How the operation stands. */
export const stateOf = async (scope: Scope) => (await findOperation(scope, id))?.operation.state
/** What happened to the operation, in order. */
export const eventsOf = async (scope: Scope) => (await trailOf(scope, id)).map(({ event }) => event)
