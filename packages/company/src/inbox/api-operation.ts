import { PoppyError } from '@poppyseed/protocol'
import type { Staff } from '../conversations/held.ts'
import type { ApiAsked, AskedValue } from './api-asked.ts'
import type { ApiAnswer, ApiValue } from './api-schemas.ts'
import type { InboxParts } from './parts.ts'
import type { SignedInStaff } from './settings.ts'

/** What each endpoint of the JSON API is: how it is asked, what it does, and what it answers. Routes and document are made from it. */

/** What it is done with. */
export interface ApiCall<Asked extends ApiAsked> {
  readonly parts: InboxParts
  readonly request: Request
  /** Who asks, in the company's own words. */
  readonly me: SignedInStaff
  /** The same, as the company's functions take it. */
  readonly staff: Staff
  /** Of the conversation, the operation or the delivery in the path; empty where there is none. */
  readonly id: string
  readonly asked: AskedValue<Asked>
  /** With `Idempotency-Key`: the same act with the same key is done once. */
  readonly options: { readonly key?: string }
}

/** See above. */
export interface ApiOperation {
  /** Its name in the document. */
  readonly name: string
  readonly summary: string
  readonly description?: string
  /** What there has to be at the Company; left out: either. */
  readonly needs?: 'conversations' | 'operations' | 'webhooks'
  readonly asked: ApiAsked
  readonly answer: ApiAnswer
  /** Whether the same key does it once. */
  readonly takesKey?: true
  readonly run: (call: ApiCall<ApiAsked>) => Promise<unknown>
}

/** Makes one, so that what it is asked with and answers are what it says. */
export function apiOperation<Asked extends ApiAsked, Answer extends ApiAnswer>(
  operation: Omit<ApiOperation, 'asked' | 'answer' | 'run'> & {
    readonly asked: Asked
    readonly answer: Answer
    readonly run: (call: ApiCall<Asked>) => Promise<ApiValue<Answer>>
  },
): ApiOperation {
  // What is read by a name is of that name's type.
  return operation as unknown as ApiOperation
}

/** @throws PoppyError `not_found` where the Company has none */
export function conversationsOf({ conversations }: InboxParts): NonNullable<InboxParts['conversations']> {
  if (conversations === null) throw new PoppyError('not_found', { description: 'This company has no conversations.' })
  return conversations
}

/** @throws PoppyError `not_found` where the Company has none */
export function operationsOf({ operations }: InboxParts): NonNullable<InboxParts['operations']> {
  if (operations === null) throw new PoppyError('not_found', { description: 'This company has no operations.' })
  return operations
}

/** @throws PoppyError `not_found` where the Company has none */
export function webhooksOf({ webhooks }: InboxParts): NonNullable<InboxParts['webhooks']> {
  if (webhooks === null) throw new PoppyError('not_found', { description: 'This company has no webhooks.' })
  return webhooks
}

/** Reads on from a cursor, which only whoever gave it can tell from another text. @throws PoppyError `invalid_cursor` */
export async function readingOn<T>(cursor: string | undefined, read: () => Promise<T>): Promise<T> {
  try {
    return await read()
  } catch (error) {
    if (cursor === undefined || !(error instanceof TypeError)) throw error
    throw new PoppyError('invalid_cursor', {
      description: 'The cursor is none of this list. Give what the page before gave.',
      cause: error,
    })
  }
}
