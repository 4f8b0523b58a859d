import { isFinalState } from '@poppyseed/protocol'
import type { StoredOperation } from './agreement.ts'
import { currentOperation, type OperationParts } from './parts.ts'

/** An answer that is put off until there is news, or the time is up. */

/** How {@link waitFor} is asked. */
export interface WaitOptions {
  readonly milliseconds: number
  /** The Session that waits: only so many answers of one are put off at once. */
  readonly session: string
  readonly signal: AbortSignal
  /** Whether it is worth an answer, beside being final. */
  readonly isNews: (stored: StoredOperation) => boolean
}

/** Milliseconds between two looks, for what other instances do. */
const interval = 1000
/** Waits for an operation to become final, or worth an answer. */
export async function waitFor(
  parts: OperationParts,
  found: StoredOperation,
  { milliseconds, session, signal, isNews }: WaitOptions,
): Promise<{ readonly stored: StoredOperation; readonly hasWaited: boolean }> {
  const { id } = found.operation
  const isOver = (stored: StoredOperation) => isFinalState(stored.operation.state) || isNews(stored)
  if (isOver(found)) return { stored: found, hasWaited: false }
  const leave = parts.changes.enter({ session, client: found.operation.client_id })
  if (leave === null) return { stored: found, hasWaited: false }
  try {
    const end = performance.now() + milliseconds
    let stored = found
    for (;;) {
      // Watched before it is read: what changes between the two is not missed.
      const watch = parts.changes.watch(id)
      try {
        const current = await currentOperation(parts, id)
        if (current === null) return { stored, hasWaited: true }
        stored = current
        const left = end - performance.now()
        if (isOver(stored) || left <= 0 || signal.aborted) return { stored, hasWaited: true }
        await watch.within(Math.min(left, interval), signal)
      } finally {
        watch.release()
      }
    }
  } finally {
    leave()
  }
}
