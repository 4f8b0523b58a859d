import { z } from 'zod'
import type { Sealer } from '../crypto/seal.ts'

/**
 * What goes with each form of the inbox: bound to the member of staff, to what its page has open, and to its time. It opens
 * nothing by itself.
 */

/** Milliseconds for which a form may be sent; a page that is live gets a new one with each look. */
const formTokenLifetime = 3_600_000

const schema = z.object({
  issuer: z.string(),
  /** Another form than those of other pages: none passes for the other. */
  page: z.literal('inbox'),
  staff: z.string(),
  /** The conversation or the operation that the page has open; null for a list alone. */
  about: z.string().nullable(),
  expiresAt: z.number(),
})

/** What tokens are made and checked with. */
export interface FormTokenParts {
  readonly forms: Sealer
  readonly issuer: string
  /** Milliseconds since 1970. */
  readonly now: () => number
}

/** Who a form is for, and what it is about. */
export interface FormOf {
  readonly staffId: string
  /** The conversation or the operation; null for none. */
  readonly about: string | null
}

/** Makes one for a member of staff. */
export function makeFormToken({ forms, issuer, now }: FormTokenParts, { staffId, about }: FormOf): string {
  const content: z.infer<typeof schema> = {
    issuer,
    page: 'inbox',
    staff: staffId,
    about,
    expiresAt: now() + formTokenLifetime,
  }
  return forms.seal(content)
}

/**
 * Whether a token was made by this Company for this member of staff, and in time. What was drawn for one conversation does
 * nothing to another. What is done to none, such as taking the next, stands on every page.
 */
export function checkFormToken(
  { forms, issuer, now }: FormTokenParts,
  token: string,
  { staffId, about }: FormOf,
): 'ours' | 'old' | 'foreign' {
  const form = schema.safeParse(forms.open(token))
  if (!form.success || form.data.issuer !== issuer || form.data.staff !== staffId) return 'foreign'
  if (form.data.about !== null && about !== null && form.data.about !== about) return 'foreign'
  return form.data.expiresAt <= now() ? 'old' : 'ours'
}
