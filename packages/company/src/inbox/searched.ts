import { auditId, insertAudit } from '../audit/audit.ts'
import type { InboxParts, Reader } from './parts.ts'

/** Milliseconds in which the same search, which a live page repeats, is written down once. */
const span = 600_000

/** Writes down that a member of staff searched; not what for. */
export async function noteSearch(
  parts: Pick<InboxParts, 'scope' | 'now' | 'random'>,
  { me }: Pick<Reader, 'me'>,
  text: string,
) {
  const now = parts.now()
  const by = { id: me.id, name: me.name }
  const id = auditId({ key: `${Math.floor(now / span)}`, by, what: ['searched', text] }, parts.random)
  await insertAudit(await parts.scope(), { id, by, act: 'searched', conversation: null, operation: null }, now)
}
