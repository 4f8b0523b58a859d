import { z } from 'zod'
import type { AgentContext } from '../context.ts'
import { storeKey } from '../store/store.ts'
import type { StandingPermission } from './permissions.ts'

/** How often a standing permission was used, kept in the store: however many processes there are, none goes past it. */

const usesSchema = z.object({ used: z.number() })

/**
 * Takes one use of a rule, for good: what comes of the confirmation doesn't give it back, since a Company that says "no"
 * may have done it all the same.
 * @returns false where it is used up
 */
export async function takeUse(
  { store }: AgentContext,
  userKey: string,
  { id, times }: StandingPermission,
): Promise<boolean> {
  if (times === undefined) return true
  let isTaken = false
  await store.update(storeKey('permission', userKey, id), (before) => {
    const parsed = usesSchema.safeParse(before)
    // A count that can't be read is one that may be full.
    const used = parsed.success ? parsed.data.used : before === undefined ? 0 : times
    isTaken = used < times
    return isTaken ? { used: used + 1 } : before
  })
  return isTaken
}
