import { errorRow, PoppyError } from '@poppyseed/protocol'
import { inboxEn } from '../words/inbox-en.ts'
import type { InboxWord } from '../words/inbox-words.ts'
import type { Wording } from '../words/wording.ts'

/** What staff are told of an act that was refused: in their words, with the status that a script goes by. */

/** See {@link refusalOf}. */
export interface Refusal {
  readonly status: number
  readonly text: string
}

/**
 * What is told of an error; null for a fault of ours.
 * @param act as it stands in the address
 */
export function refusalOf(error: unknown, act: string, wording: Wording): Refusal | null {
  if (!(error instanceof PoppyError)) return null
  const { code, extra } = error
  const { status } = errorRow(code)
  const say = (word: InboxWord, values: Readonly<Record<string, string>> = {}): Refusal => ({
    status,
    text: (wording.say as (word: InboxWord, values: Readonly<Record<string, string>>) => string)(word, values),
  })
  const { word, values, because } = (extra ?? {}) as {
    readonly word?: InboxWord
    readonly values?: Readonly<Record<string, string>>
    readonly because?: string
  }
  if (word !== undefined && Object.hasOwn(inboxEn, word))
    return { ...say(word, values), status: statusOf(word, status) }
  if (because !== undefined && Object.hasOwn(inboxEn, `inbox.why.${because}`))
    return say(`inbox.why.${because}` as InboxWord)
  switch (code) {
    case 'conversation_closed':
      return say('inbox.why.closed')
    case 'conversation_not_found':
    case 'operation_not_found':
    case 'not_found':
      return say('inbox.refused.notFound')
    case 'sign_in_required':
      return say('inbox.why.signed_out')
    case 'revision_conflict':
      return say(act === 'settle' ? 'inbox.refused.settled' : 'inbox.refused.revised')
    case 'rate_limited':
      return say('inbox.refused.tooMany', { time: wording.wait(error.retryAfter ?? 1) })
    case 'invalid_request':
    case 'request_too_large':
      return say('inbox.refused.incomplete')
    default:
      return null
  }
}

/** A page that is too old is gone; one that came from elsewhere may not. */
function statusOf(word: InboxWord, standard: number): number {
  if (word === 'inbox.refused.oldPage') return 410
  return word === 'inbox.refused.foreign' ? 403 : standard
}
