import { isJsonObject } from '@poppyseed/protocol'
import type { AuditEntry } from '../audit/reading.ts'
import { inPlainSight } from '../operations/terms.ts'
import type { AuditView } from './view.ts'

/** Who did what, as it stands beside a conversation or an operation. */

/** How many lines of it stand there, the newest first. */
export const auditLines = 30

/** Makes a line. */
export function auditLine({ at, staff, act, detail }: AuditEntry): AuditView {
  const words = Object.entries(detail ?? {}).flatMap(([name, value]) => (shownOfAudit.has(name) ? [wordOf(value)] : []))
  const text = words.filter((word) => word !== '').join(' · ')
  return { at, by: inPlainSight(staff.name), act, detail: text === '' ? null : inPlainSight(text).slice(0, 300) }
}

/** What of an act's detail says something to a person. */
const shownOfAudit: ReadonlySet<string> = new Set(['tool', 'to', 'scope', 'reason', 'error', 'as', 'why'])

/** A colleague by their name. */
function wordOf(value: unknown): string {
  if (typeof value === 'string') return value
  return isJsonObject(value) && typeof value.name === 'string' ? value.name : ''
}
