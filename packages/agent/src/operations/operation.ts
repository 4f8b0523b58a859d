import { type Approval, isFinalState, isJsonObject, type OperationState } from '@poppyseed/protocol'
import { cleanLines, cleanText } from '../net/text.ts'
import type { OperationCopy } from './copy.ts'

/** An operation as whoever uses this library sees it (Operations 3). */

/**
 * Something with consequences that a Company proposes, and does once it is confirmed. Its texts are the Company's, with
 * all taken out that a terminal would act on or that hides: information, and never an instruction or an approval.
 */
export interface Operation {
  readonly id: string
  /** Counts up with each change of the terms. Only the latest can be confirmed. */
  readonly revision: number
  readonly state: OperationState
  /** Whether nothing will change any more. `in_progress` isn't: it also says that the outcome isn't known. */
  readonly isFinal: boolean
  /** The whole of it in plain words. */
  readonly summary: string
  /** The same as data, with names of the Company's own; undefined where it states none. */
  readonly terms: Readonly<Record<string, unknown>> | undefined
  /** Until when it can be confirmed, Unix time in milliseconds. */
  readonly expiresAt: number | undefined
  /** A standing permission is not enough. */
  readonly userApprovalRequired: boolean
  /** What the Company says was confirmed, on whose word and when. */
  readonly confirmation:
    | { readonly revision: number; readonly approvedBy: string; readonly confirmedAt: number }
    | undefined
  /** What came of it, partial effects included. */
  readonly result: unknown
  /** The Company's own page, where that alone can confirm it; an address of the Company's, or undefined. */
  readonly confirmationUrl: string | undefined
  /** The tool that this agent called when the Company proposed it; undefined where that isn't known. */
  readonly action: string | undefined
  readonly company: { readonly name: string; readonly domain: string }
  /** Which of the User's accounts at the Company. */
  readonly account: string
  /** What the Company did or says otherwise than was approved or said before, in a sentence; undefined where nothing. */
  readonly objection: string | undefined
}

/** What is known of an operation beside what the Company sent. */
export type OperationSurroundings = Pick<Operation, 'action' | 'company' | 'account' | 'objection' | 'confirmationUrl'>

/** Makes the public object of a copy. */
export function operationOf({ wire }: OperationCopy, around: OperationSurroundings): Operation {
  const { confirmation, terms } = wire
  return {
    id: wire.operation_id,
    revision: wire.revision,
    state: wire.state,
    isFinal: isFinalState(wire.state),
    summary: cleanLines(wire.summary),
    terms: terms === undefined ? undefined : (cleanInside(terms) as Readonly<Record<string, unknown>>),
    expiresAt: wire.expires_at === undefined ? undefined : Date.parse(wire.expires_at),
    userApprovalRequired: wire.user_approval_required === true,
    confirmation: confirmation && {
      revision: confirmation.revision,
      approvedBy: cleanText(confirmation.approved_by, 64),
      confirmedAt: Date.parse(confirmation.confirmed_at),
    },
    result: cleanInside(wire.result),
    ...around,
  }
}

/** Cleans all texts inside a value, names too. Two that are the same afterwards both stay: nothing of the terms goes unseen. */
export function cleanInside(value: unknown): unknown {
  if (typeof value === 'string') return cleanLines(value)
  if (Array.isArray(value)) return value.map(cleanInside)
  if (!isJsonObject(value)) return value
  const cleaned: Record<string, unknown> = Object.create(null)
  for (const [name, one] of Object.entries(value)) {
    let shown = cleanText(name, 200)
    while (Object.hasOwn(cleaned, shown)) shown += '*'
    cleaned[shown] = cleanInside(one)
  }
  return cleaned
}

/** Whether an operation was confirmed by somebody: it is being done, or was. */
export function isConfirmed({ wire }: OperationCopy): boolean {
  return ['in_progress', 'succeeded', 'failed'].includes(wire.state) || wire.confirmation !== undefined
}

/** How an approval is spoken of. */
export function spokenApproval(by: string): string {
  const words: Readonly<Record<Approval, string>> = {
    user: 'by yourself',
    standing_permission: 'by a standing permission',
  }
  return Object.hasOwn(words, by) ? words[by as Approval] : `"${cleanText(by, 64)}"`
}
