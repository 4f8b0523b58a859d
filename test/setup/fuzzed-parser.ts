import type * as protocol from '@poppyseed/protocol'
import { PoppyError } from '@poppyseed/protocol'
import fc from 'fast-check'
import { it } from 'vitest'
import { inputs, oddText, patience } from './fuzz.ts'

/** One parser on inputs that break it if anything does. */

/** Texts from anywhere. */
export const text = fc.oneof(oddText, fc.string({ unit: 'binary', maxLength: 200 }))

/** What was run in this file, by name. */
export const tried = new Set<string>()

/** Runs one parser on many inputs; `names` are the exports of the protocol that it shows. */
export function fuzz<T>(
  names: readonly (keyof typeof protocol | `${string}.ts`)[],
  arbitrary: fc.Arbitrary<T>,
  property: (input: T) => void | Promise<void>,
): void {
  for (const name of names) tried.add(name)
  it(`${names.join(', ')}`, { timeout: patience.group }, async () => {
    await fc.assert(
      fc.asyncProperty(arbitrary, async (input) => property(input)),
      {
        numRuns: inputs('parser'),
        timeout: patience.input,
      },
    )
  })
}

/** What a parser gives, or null where it refuses with its own error; any other error fails the test. */
export function orRefused<T>(error: abstract new (...args: never[]) => Error, read: () => T): T | null {
  try {
    return read()
  } catch (thrown) {
    if (thrown instanceof error) return null
    throw thrown
  }
}

/** The same of a parser that promises, and refuses with one of these codes. */
export async function orRefusedLater<T>(codes: readonly string[], read: () => Promise<T>): Promise<T | null> {
  try {
    return await read()
  } catch (thrown) {
    if (thrown instanceof PoppyError && codes.includes(thrown.code)) return null
    throw thrown
  }
}
