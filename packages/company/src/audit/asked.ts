import { staffConflict } from '../conversations/held.ts'
import type { KeyedHash } from '../crypto/keyed-hash.ts'
import type { findAudit } from './audit.ts'

/**
 * What was asked for with a key, so that the same key with anything else is told, and not taken for the same: words that were
 * changed meanwhile would be lost, and told as said. Only a keyed hash of it is kept, since words may be short enough to be guessed.
 */

/** What compares. */
export interface AskedParts {
  readonly askedHash: KeyedHash
}

/** An act, and all that was asked for with it. */
export interface AskedFor {
  /** The id of its row in the audit. */
  readonly id: string
  /** As JSON has it; left out where the act says it all. */
  readonly asked?: unknown
}

/** What is kept of it; undefined where there is nothing to compare. */
export function askedOf(
  { askedHash }: AskedParts,
  { key, ...act }: AskedFor & { readonly key: string | undefined },
): string | undefined {
  const text = key === undefined ? undefined : textOf(act)
  return text === undefined ? undefined : askedHash.make(text)
}

/**
 * Looks whether whoever comes again with a key asks for the same.
 * @param before the row of the one before
 * @throws PoppyError `staff_conflict`, `key_used`
 */
export function requireSameAsked(
  { askedHash }: AskedParts,
  before: Awaited<ReturnType<typeof findAudit>>,
  act: AskedFor,
): void {
  const text = textOf(act)
  if (text === undefined || before === null || before.asked === null) return
  if (!askedHash.matches(text, before.asked)) throw staffConflict('key_used')
}

function textOf({ id, asked }: AskedFor): string | undefined {
  if (asked === undefined) return undefined
  try {
    return JSON.stringify([id, asked])
  } catch {
    // The company's own code may give what is no JSON; whoever takes it says so.
    return undefined
  }
}
