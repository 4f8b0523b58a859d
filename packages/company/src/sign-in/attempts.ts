import { sha256 } from '../crypto/hash.ts'
import type { Scope } from '../store/database.ts'

/**
 * Attempts that are limited (4.6, 4.7): guesses at codes and credentials. Counted in the store, so that several instances
 * have one count, and before an attempt is looked at, so that many at once can't all be the last one allowed.
 */

/** How many attempts are allowed, and in how many milliseconds. */
export interface AttemptLimit {
  readonly kind: string
  readonly most: number
  readonly window: number
}

/** Counts an attempt. Gives 0 when it may be made, and otherwise the whole seconds until the next one may. */
export async function countAttempt(
  { db, company }: Scope,
  attempt: AttemptLimit & { readonly owner: string; readonly now: number },
): Promise<number> {
  const { kind, most, window, now } = attempt
  const startsAnew = now - window
  const row = await db.query
    .insertInto('poppy_attempts')
    .values({
      company,
      kind,
      owner_hash: sha256(attempt.owner),
      started_at: now,
      count: 1,
      expires_at: now + window,
    })
    .onConflict((conflict) =>
      conflict.columns(['company', 'kind', 'owner_hash']).doUpdateSet((eb) => ({
        count: eb
          .case()
          .when('poppy_attempts.started_at', '<=', startsAnew)
          .then(eb.lit(1))
          .else(eb('poppy_attempts.count', '+', 1))
          .end(),
        started_at: eb
          .case()
          .when('poppy_attempts.started_at', '<=', startsAnew)
          .then(now)
          .else(eb.ref('poppy_attempts.started_at'))
          .end(),
        expires_at: eb
          .case()
          .when('poppy_attempts.started_at', '<=', startsAnew)
          .then(now + window)
          .else(eb.ref('poppy_attempts.expires_at'))
          .end(),
      })),
    )
    .returning(['count', 'started_at'])
    .executeTakeFirstOrThrow()
  if (Number(row.count) <= most) return 0
  return Math.max(1, Math.ceil((Number(row.started_at) + window - now) / 1000))
}

/**
 * Counts an attempt under several limits, the narrowest first. One that refuses it is the last that counts it: else
 * somebody who is refused all the time uses up what others share with them.
 */
export async function countAttempts(
  scope: Scope,
  attempts: readonly (AttemptLimit & { readonly owner: string })[],
  now: number,
): Promise<number> {
  for (const attempt of attempts) {
    const wait = await countAttempt(scope, { ...attempt, now })
    if (wait > 0) return wait
  }
  return 0
}

/** Gives an attempt back: it was no guess. What was counted before stays. */
export async function forgetAttempt(
  { db, company }: Scope,
  { kind, owner }: { readonly kind: string; readonly owner: string },
): Promise<void> {
  await db.query
    .updateTable('poppy_attempts')
    .set((eb) => ({ count: eb('count', '-', 1) }))
    .where('company', '=', company)
    .where('kind', '=', kind)
    .where('owner_hash', '=', sha256(owner))
    .where('count', '>', 0)
    .execute()
}
