import type { AskedParts } from '../audit/asked.ts'
import type { FaultSettings } from '../faults/faults.ts'
import type { DurableWork } from '../lifecycle.ts'
import { type CompanyOperations, createCompanyOperations } from './company-operations.ts'
import type { Operation } from './definition.ts'
import { type OperationHooks, tellsOf } from './hooks.ts'
import type { Propose } from './operation-tool.ts'
import type { OperationParts } from './parts.ts'
import { createProposing } from './proposing.ts'
import { createRevising, type Revising } from './revising.ts'
import { toWire } from './wire.ts'
import { createWorker, type WorkerOptions } from './worker.ts'

/** Operations, put together. */

/** What {@link createOperations} needs. */
export interface OperationsOptions
  extends Pick<OperationParts, 'scope' | 'now' | 'random' | 'hasPage' | 'changes'>,
    AskedParts,
    Pick<WorkerOptions, 'log' | 'watch' | 'givenUp' | 'track' | 'news' | 'outgoing'> {
  readonly operations: readonly Operation[]
  readonly hooks: OperationHooks
  readonly faults: FaultSettings | null
  /** The address of the company's own page for an operation. */
  readonly pageOf: (id: string) => string
}

/** See {@link createOperations}. */
export interface Operations {
  readonly parts: OperationParts
  readonly propose: Propose
  /** For staff in a conversation. */
  readonly revising: Revising
  readonly ofCompany: CompanyOperations
  /** What performs them, and finds what was left lying. */
  readonly durable: DurableWork
}

/** Makes what proposes, confirms, cancels and performs. */
export function createOperations(options: OperationsOptions): Operations {
  const { scope, now, random, hasPage, changes, hooks, faults, pageOf, log } = options
  const operations = new Map(options.operations.map((operation) => [operation.name, operation]))
  const tells = tellsOf(hooks, Boolean(options.news))
  const at: OperationParts['at'] = (point, id) => faults?.atPoint?.(point, id)
  const { changed } = changes
  const worker = createWorker({ ...options, operations, tells, at, changed })
  const parts: OperationParts = {
    scope,
    now,
    random,
    operations,
    changes,
    write: (stored) => toWire(stored, { now: now(), pageOf }),
    tells,
    hasPage,
    begin: worker.poke,
    at,
  }
  return {
    parts,
    propose: createProposing(parts),
    revising: createRevising(parts),
    ofCompany: createCompanyOperations(parts, { pageOf, log, askedHash: options.askedHash }),
    durable: { sweep: () => worker.sweep(), stop: worker.stop },
  }
}
