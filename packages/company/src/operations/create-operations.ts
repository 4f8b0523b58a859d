import { createChanges } from './changes.ts'
import { type CompanyOperations, createCompanyOperations } from './company-operations.ts'
import type { Operation } from './definition.ts'
import type { Propose } from './operation-tool.ts'
import type { OperationParts } from './parts.ts'
import { createProposing } from './proposing.ts'
import { toWire } from './wire.ts'

/** Operations, put together. */

/** What {@link createOperations} needs. */
export interface OperationsOptions
  extends Pick<OperationParts, 'scope' | 'now' | 'random' | 'hasPage' | 'tells' | 'poke'> {
  readonly operations: readonly Operation[]
  /** The address of the company's own page for an operation. */
  readonly pageOf: (id: string) => string
}

/** See {@link createOperations}. */
export interface Operations {
  readonly parts: OperationParts
  readonly propose: Propose
  readonly ofCompany: CompanyOperations
}

/** Makes what proposes, confirms and cancels. */
export function createOperations({ operations, pageOf, ...options }: OperationsOptions): Operations {
  const parts: OperationParts = {
    ...options,
    operations: new Map(operations.map((operation) => [operation.name, operation])),
    changes: createChanges(),
    write: (stored) => toWire(stored, { now: options.now(), pageOf }),
  }
  return { parts, propose: createProposing(parts), ofCompany: createCompanyOperations(parts, pageOf) }
}
