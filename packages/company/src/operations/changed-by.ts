import { isPlain } from '../config-shapes.ts'
import type { Staff } from '../conversations/held.ts'
import { checkStaff } from '../conversations/staff-input.ts'
import type { Actor, Channel } from './agreement.ts'

/** Who of the company does something to an operation. */

/** A member of staff, by id and name from the company's own login; or whoever it is in the company's words, such as a job. */
export type ChangedBy = string | Staff

/** Who it is, as the audit has it. @throws TypeError */
export function checkBy(by: unknown): Staff {
  if (isPlain(by)) return checkStaff(by as unknown as Staff)
  if (typeof by !== 'string' || by.trim() === '' || by.length > 200)
    throw new TypeError(
      "Say who does it, for the trail: { by: { id: 'rita', name: 'Rita' } } or { by: 'the nightly job' }, at most 200 characters.",
    )
  return { id: by, name: by }
}

/** Who it is, as the trail has it. */
export function actorOfStaff(by: ChangedBy): Actor {
  return typeof by === 'string' ? { staff: by } : { staff: by.id, name: by.name }
}

/** By which way it is done. */
export const channelOf = (by: ChangedBy): Channel => (typeof by === 'string' ? 'company' : 'staff')
