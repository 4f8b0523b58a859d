import { isId, isJsonObject, isLocale, isTimeZone } from '@poppyseed/protocol'
import { type Findings, hadHeard } from './conduct.ts'
import type { ConversationEntry } from './conversation-script.ts'
import type { Exchange } from './exchange.ts'

/** What a Personal Agent may send in a conversation (7.2 to 7.10), and what it does all the same. */

/** Judges what comes; it changes nothing of the answer. */
export interface ConversationRules {
  /** A message with an id that was taken before, for another content or another place (7.3). */
  readonly otherContent: (exchange: Exchange) => void
  /** A message that came before, just so: a retry. */
  readonly retried: (exchange: Exchange, content: string, id: unknown) => void
  /** A message that is new. `content` has its target in it, and no id. */
  readonly message: (
    exchange: Exchange,
    message: Readonly<Record<string, unknown>>,
    content: string,
    entry: ConversationEntry | undefined,
    isDirectStart: boolean,
  ) => void
  /** A cursor that came, from a query or `Last-Event-ID`. */
  readonly cursor: (exchange: Exchange, cursor: string, wasGiven: boolean) => void
  /** That a cursor is over was told. */
  readonly expired: (exchange: Exchange, cursor: string) => void
  /** What became of an answer. */
  readonly ended: (exchange: Exchange, isWhole: boolean) => void
}

/** Names that somebody might use in place of those of 7.4. */
const mistaken = [
  ...['language', 'lang', 'Locale', 'language_tag'],
  ...['timezone', 'timeZone', 'tz', 'time-zone', 'userAvailable', 'available', 'user-available'],
]

/** Milliseconds in which the same words are the same message: later they may be a new one. */
const soon = 600_000

/** Makes the rules of one Company's conversations. */
export function createConversationRules({ report }: Findings): ConversationRules {
  /** Messages whose answers were lost: by content, the id that each came with, and when. */
  const lost = new Map<string, { readonly id: string; readonly at: number }>()
  const contents = new Map<Exchange, { readonly content: string; readonly id: string }>()
  const expired = new Map<string, Exchange>()
  return {
    otherContent: (exchange) =>
      report('7.3.message-id-unique-agent', 'a message ID came again with other content', exchange),
    retried(exchange, content, id) {
      lost.delete(content)
      contents.set(exchange, { content, id: String(id) })
    },
    message(exchange, message, content, entry, isDirectStart) {
      const { id, sender, text, context } = message
      if (typeof id !== 'string' || !isId(id)) report('7.2.id-format-agent', 'a message ID that is none', exchange)
      if (sender !== 'agent' && sender !== 'human') report('7.8.sender-agent', 'no sender', exchange)
      if (text === undefined && message.data === undefined && context === undefined)
        report('7.4.content-agent', 'neither text nor data nor context', exchange)
      const before = lost.get(content)
      if (before !== undefined && before.id !== id && exchange.now - before.at < soon)
        report('7.3.retry-same-id-agent', 'the same message came with another ID after its answer was lost', exchange)
      lost.delete(content)
      contents.set(exchange, { content, id: String(id) })
      if (isDirectStart && sender !== 'human')
        report('7.10.as-written-agent', "a Direct Conversation began with other words than the User's", exchange)
      if (context !== undefined) judgeContext(context, exchange)
      const acted = entry?.provisional.some((piece) => piece !== '' && String(text ?? '').includes(piece))
      if (acted) report('7.6.delta-no-act-agent', 'a piece that no message has was acted on', exchange)
    },
    cursor(exchange, cursor, wasGiven) {
      if (!wasGiven) report('7.5.cursor-opaque-agent', 'a cursor that was never given', exchange)
      const told = expired.get(cursor)
      if (told && hadHeard(told, exchange))
        report('7.5.cursor-expired-agent', 'a cursor came again after cursor_expired', exchange)
    },
    expired: (exchange, cursor) => void expired.set(cursor, exchange),
    ended(exchange, isWhole) {
      const sent = contents.get(exchange)
      contents.delete(exchange)
      if (sent && !isWhole) lost.set(sent.content, { id: sent.id, at: exchange.now })
    },
  }

  function judgeContext(context: unknown, exchange: Exchange): void {
    const wrong = (seen: string) => report('7.4.context-format-agent', seen, exchange)
    if (!isJsonObject(context)) {
      wrong('context is no object')
      return
    }
    const { locale, time_zone: zone, user_available: available } = context
    if (locale !== undefined && !(typeof locale === 'string' && isLocale(locale))) wrong('locale is no language tag')
    if (zone !== undefined && !(typeof zone === 'string' && isTimeZone(zone))) wrong('time_zone is no IANA name')
    if (available !== undefined && typeof available !== 'boolean') wrong('user_available is no boolean')
    for (const name of mistaken) if (Object.hasOwn(context, name)) wrong(`${name} in place of a defined field`)
  }
}
