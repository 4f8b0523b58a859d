import { isJsonObject } from '@poppyseed/protocol'
import type { AuditEntry } from '../audit/reading.ts'
import { inPlainSight } from '../operations/terms.ts'
import type { Wording } from '../words/wording.ts'
import type { AuditView } from './view.ts'

/** Who did what, as it stands beside a conversation or an operation. */

/** How many lines of it stand there, the newest first. */
export const auditLines = 30

/** Makes a line. */
export function auditLine({ at, staff, act, detail }: AuditEntry, wording: Wording): AuditView {
  const words = Object.entries(detail ?? {}).map(([name, value]) => wordOf(name, value, wording))
  const text = words.filter((word) => word !== '').join(' · ')
  return { at, by: inPlainSight(staff.name), act, detail: text === '' ? null : inPlainSight(text).slice(0, 300) }
}

/** What of an act's detail says something to a person, in their words; empty for what doesn't. */
function wordOf(name: string, value: unknown, wording: Wording): string {
  switch (name) {
    case 'error':
      return wording.say('inbox.audit.refused')
    case 'as':
      return value === 'succeeded' || value === 'failed' ? wording.say(`inbox.operation.${value}`) : ''
    case 'scope':
      return typeof value === 'string' ? rightsIn(value, wording) : ''
    case 'to':
      return isJsonObject(value) && typeof value.name === 'string' ? value.name : ''
    case 'tool':
    case 'reason':
    case 'why':
      return typeof value === 'string' ? value : ''
    default:
      return ''
  }
}

const rightsIn = (scope: string, wording: Wording): string =>
  scope
    .split(' ')
    .filter((one) => one !== '')
    .map((one) => wording.scope(one).text)
    .join(', ')
