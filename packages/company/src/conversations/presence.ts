import type { Changes } from '../changes/changes.ts'
import { anything } from '../changes/wide-ears.ts'
import type { Scope } from '../store/database.ts'
import type { Wording, Wordings } from '../words/wording.ts'
import type { Timing } from './care.ts'
import type { WhoComes } from './handoff.ts'
import type { Staff } from './held.ts'
import { type CheckedHours, hoursInWords, isOpen } from './opening-hours.ts'
import type { ConversationRow } from './row.ts'

/** Who of the company's people is here, and what the User's side is told when nobody is (7.9). */

/** What is known of the company's people. */
export interface People {
  /** Whether somebody will take a conversation over: one who is seen, or whoever comes within the opening hours. */
  readonly whoComes: (row: ConversationRow) => Promise<WhoComes>
  /** A sign of life of a member of staff. Their colleagues are told of the first one. */
  readonly seen: (staff: Staff) => Promise<void>
  /** A sign of life of one who was here, and has not said that they go. */
  readonly stays: (staff: Staff) => Promise<void>
  /** A member of staff goes. */
  readonly gone: (staffId: string) => Promise<void>
  /** What is said when nobody took it in time. */
  readonly noneCame: (row: ConversationRow) => string
  /** The words for a conversation: in the language that its context asks for (7.4). */
  readonly wording: (row: Pick<ConversationRow, 'context'>) => Wording
}

/** Makes {@link People}. */
export function createPeople(options: {
  readonly scope: () => Promise<Scope>
  /** Milliseconds since 1970. */
  readonly now: () => number
  readonly timing: Timing
  readonly changes: Pick<Changes, 'changed'>
  readonly hours: CheckedHours | null
  readonly wordings: Pick<Wordings, 'in'>
  /** The company's name. */
  readonly organization: string
  /** Whether there is a Company Agent that goes on. */
  readonly hasAgent: boolean
}): People {
  const { now, timing, hours, organization } = options
  /** When somebody was seen last here, so that not every sign of life is told. */
  const known = new Map<string, number>()

  const wording: People['wording'] = ({ context }) => {
    const { locale } = JSON.parse(context) as { readonly locale?: unknown }
    return options.wordings.in(typeof locale === 'string' ? locale : undefined)
  }

  function nobody(row: ConversationRow, why: 'people.noneNow' | 'people.noneCame'): string {
    const { say, locale } = wording(row)
    return [
      say(why, { organization }),
      ...(hours === null ? [] : [say('people.hours', { hours: hoursInWords(hours, locale) })]),
      say(options.hasAgent ? 'people.agentGoesOn' : 'people.writeAgain'),
    ].join(' ')
  }

  function forgetOld(): void {
    for (const [id, at] of known) if (at <= now() - timing.absence) known.delete(id)
  }

  /** Their colleagues are told once. */
  function isKnown({ id }: Staff): void {
    const isNew = (known.get(id) ?? 0) <= now() - timing.absence
    if (isNew) forgetOld()
    known.set(id, now())
    if (isNew) options.changes.changed(anything)
  }

  return {
    wording,
    async seen(staff) {
      await noteSeen(await options.scope(), staff, now())
      isKnown(staff)
    },
    async stays(staff) {
      if (await noteStays(await options.scope(), staff.id, now())) isKnown(staff)
    },
    async gone(id) {
      await forgetSeen(await options.scope(), id)
      known.delete(id)
      options.changes.changed(anything)
    },
    noneCame: (row) => nobody(row, 'people.noneCame'),
    async whoComes(row) {
      if (hours !== null && isOpen(hours, now())) return { comes: true }
      const isThere = await isSomebodyThere(await options.scope(), now() - timing.absence)
      return isThere ? { comes: true } : { comes: false, text: nobody(row, 'people.noneNow') }
    },
  }
}

/** Notes a sign of life. */
export async function noteSeen({ db, company }: Scope, { id, name }: Staff, now: number): Promise<void> {
  await db.query
    .insertInto('poppy_staff')
    .values({ company, staff_id: id, name, seen_at: now })
    .onConflict((conflict) =>
      conflict.columns(['company', 'staff_id']).doUpdateSet((eb) => ({
        name: eb.ref('excluded.name'),
        seen_at: eb.ref('excluded.seen_at'),
      })),
    )
    .execute()
}

/** Notes a sign of life of somebody who was seen before and has not gone; whether that is so. */
export async function noteStays({ db, company }: Scope, id: string, now: number): Promise<boolean> {
  const noted = await db.query
    .updateTable('poppy_staff')
    .set({ seen_at: now })
    .where('company', '=', company)
    .where('staff_id', '=', id)
    .returning('staff_id')
    .execute()
  return noted.length > 0
}

/** Notes that somebody is gone. */
export async function forgetSeen({ db, company }: Scope, id: string): Promise<void> {
  await db.query.deleteFrom('poppy_staff').where('company', '=', company).where('staff_id', '=', id).execute()
}

/** When somebody was seen last; null for never. */
export async function seenAt({ db, company }: Scope, id: string): Promise<number | null> {
  const row = await db.query
    .selectFrom('poppy_staff')
    .select('seen_at')
    .where('company', '=', company)
    .where('staff_id', '=', id)
    .executeTakeFirst()
  return row === undefined ? null : Number(row.seen_at)
}

/** Who was seen since a moment, by name. */
export async function staffSeen({ db, company }: Scope, since: number): Promise<readonly Staff[]> {
  const rows = await db.query
    .selectFrom('poppy_staff')
    .select(['staff_id', 'name'])
    .where('company', '=', company)
    .where('seen_at', '>', since)
    .orderBy('name')
    .orderBy('staff_id')
    .execute()
  return rows.map(({ staff_id, name }) => Object.freeze({ id: staff_id, name }))
}

async function isSomebodyThere({ db, company }: Scope, since: number): Promise<boolean> {
  const row = await db.query
    .selectFrom('poppy_staff')
    .select('staff_id')
    .where('company', '=', company)
    .where('seen_at', '>', since)
    .limit(1)
    .executeTakeFirst()
  return row !== undefined
}
