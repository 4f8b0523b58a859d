import type { Scope } from '../store/database.ts'
import { type AuditedBy, auditId, didSince, insertAudit } from './audit.ts'

/** Who read what: a conversation, or an operation in detail. */

/** Milliseconds in which reading the same thing again, as a live page does, is written down once. */
const readAgain = 600_000

/** What is read. */
export type ReadThing =
  | { readonly conversation: string; readonly operation: null }
  | { readonly conversation: null; readonly operation: string }

/** Writes down that a member of staff read it, unless they did within ten minutes. */
export async function noteReading(
  parts: {
    readonly scope: () => Promise<Scope>
    /** Milliseconds since 1970. */
    readonly now: () => number
    readonly random: (length: number) => Uint8Array
  },
  { id, name }: AuditedBy,
  thing: ReadThing,
): Promise<void> {
  const by = { id, name }
  const scope = await parts.scope()
  const now = parts.now()
  if (await didSince(scope, { by: id, act: 'read', ...thing, since: now - readAgain })) return
  // Of two pages at once, one writes it.
  const key = String(Math.floor(now / readAgain))
  const what = ['read', thing.conversation ?? thing.operation]
  await insertAudit(scope, { id: auditId({ key, by, what }, parts.random), by, act: 'read', ...thing }, now)
}
