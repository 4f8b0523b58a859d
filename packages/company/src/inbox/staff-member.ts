import { isPlain } from '../config-shapes.ts'
import { checkStaff } from '../conversations/staff-input.ts'
import { readTag } from '../words/negotiate.ts'
import type { CheckedInbox, SignedInStaff } from './settings.ts'

/**
 * Who is signed in as staff. Nothing but the company's own function says so; what it gives is looked at before anything is
 * bound to it.
 * @throws TypeError for anything but a member of staff or null: a fault of ours, told to nobody
 */
export async function staffOf(request: Request, { staff }: Pick<CheckedInbox, 'staff'>): Promise<SignedInStaff | null> {
  const given: unknown = await staff(request)
  if (given === null || given === undefined) return null
  if (!isPlain(given)) throw notStaff()
  const { id, name, locale } = given
  if (typeof id !== 'string' || typeof name !== 'string') throw notStaff()
  if (locale !== undefined && locale !== null && typeof locale !== 'string') throw notStaff()
  const tag = typeof locale === 'string' ? readTag(locale) : null
  return Object.freeze({ ...checkStaff({ id, name }), ...(tag === null ? {} : { locale: tag }) })
}

/** Milliseconds in which a body comes with its request. */
const patience = 1000

/**
 * Whether the same member of staff is signed in once a body has come: it may have been long on its way.
 * @param since when they were asked for; milliseconds since 1970
 */
export async function isStillStaff(
  request: Request,
  me: SignedInStaff,
  { settings, now, since }: { readonly settings: CheckedInbox; readonly now: () => number; readonly since: number },
): Promise<boolean> {
  return now() - since < patience || (await staffOf(request, settings))?.id === me.id
}

function notStaff(): TypeError {
  return new TypeError(
    "`staff` has to give { id, name }, both texts, with a `locale` such as 'de' if need be, or null.",
  )
}
