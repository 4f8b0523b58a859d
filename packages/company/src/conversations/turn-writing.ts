import type { WireEventMessage } from '@poppyseed/protocol'
import type { Unsaid } from '../company-agent/run-agent.ts'
import { sha256 } from '../crypto/hash.ts'
import { turnEnded } from './conversation.ts'
import { withConversation } from './ledger.ts'
import type { ConversationParts } from './parts.ts'
import type { ConversationRow, Decision, EventBody, NewEvent } from './row.ts'
import { saidKey } from './turn-store.ts'

/**
 * What a turn writes. Everything is written while the turn is still this runner's, and each thing under a key of its own: a
 * turn that is begun again passes over what it has said before.
 */

/** The turn is another's by now, or nobody's: nothing more can be written. */
export class TurnLost extends Error {
  /** What could not be said any more. */
  readonly unsaid: Unsaid
  constructor(unsaid: Unsaid = { text: '' }) {
    super('The turn is lost.')
    this.unsaid = unsaid
  }
}

/** Whether a conversation is this runner's to write in. */
export function isHeld(row: ConversationRow, runner: number): boolean {
  return row.runner === runner && row.responder === 'agent' && row.status !== 'closed'
}

/** See {@link createWriting}. */
export interface TurnWriting {
  /** The conversation as it was when it was last read or written here. */
  readonly latest: () => ConversationRow
  /** Whether a row says that the turn is still this runner's. */
  readonly isOurs: (row: ConversationRow) => boolean
  /** The id that the next message will have. Null where it has been said before. */
  readonly nextMessageId: () => string | null
  /** The id of the next message, said before or not. */
  readonly messageId: () => string
  /** Makes a message of the Company Agent's, which is the next thing to be said. */
  readonly message: (content: Pick<WireEventMessage, 'text' | 'data' | 'operation'>) => EventBody
  /**
   * Says the next thing: these events, together. With `fits`, only where that holds of the conversation as it is at that moment;
   * else it is passed over, and is the next thing all the same.
   * @throws TurnLost
   */
  readonly say: (events: readonly EventBody[], fits?: (row: ConversationRow) => boolean) => Promise<void>
  /** What would be said as the next thing, for a change that is made elsewhere; nothing where it was said. @throws TurnLost */
  readonly saying: (row: ConversationRow, events: readonly EventBody[]) => Decision
  /** That was made: the conversation as it is since. */
  readonly wasSaid: (row: ConversationRow) => void
  /** Makes another change. @throws TurnLost */
  readonly write: (rule: (row: ConversationRow) => Decision | null) => Promise<ConversationRow>
  /** Ends the turn with a last thing, or none: what came up to `answered` is answered. @throws TurnLost */
  readonly end: (answered: number, last: readonly EventBody[]) => Promise<void>
}

/**
 * Makes what writes for a turn.
 * @param claimed the row as the claim left it
 * @param said how many things the turn had said before
 */
export function createWriting(parts: ConversationParts, claimed: ConversationRow, said: number): TurnWriting {
  const { id, turn, runner } = claimed
  let latest = claimed
  let n = 0

  const isOurs = (row: ConversationRow) => isHeld(row, runner)

  async function write(rule: (row: ConversationRow) => Decision | null): Promise<ConversationRow> {
    let wasOurs = false
    const settled = await withConversation(
      parts,
      id,
      (row) => {
        wasOurs = isOurs(row)
        return wasOurs ? rule(row) : null
      },
      latest,
    )
    if (settled === null || !wasOurs) throw new TurnLost()
    latest = settled.row
    return latest
  }

  /** The next thing, with its keys; nothing of it where it was said before. */
  function next(events: readonly EventBody[]): readonly NewEvent[] {
    if (events.length === 0) return []
    n += 1
    return numbered(n, events)
  }

  const numbered = (number: number, events: readonly EventBody[]): readonly NewEvent[] =>
    number <= said ? [] : events.map((event, part) => ({ ...event, writtenFor: saidKey(turn, number, part) }))

  // The same each time that the turn is begun: pieces that were streamed before belong to the message that comes.
  const messageId = () => `msg_${sha256(`${id} ${turn} ${n + 1}`)}`

  return {
    latest: () => latest,
    isOurs,
    nextMessageId: () => (n < said ? null : messageId()),
    messageId,
    message: (content) => ({
      type: 'message',
      message: { id: messageId(), role: 'company', sender: 'agent', ...content },
    }),
    async say(events, fits = () => true) {
      const written = next(events)
      if (written.length === 0) return
      await write((row) => (fits(row) ? { set: {}, events: written } : null))
      await parts.at('turn-said', id)
    },
    saying(row, events) {
      if (!isOurs(row)) throw new TurnLost()
      return { set: {}, events: numbered(n + 1, events) }
    },
    wasSaid(row) {
      n += 1
      latest = row
    },
    write,
    async end(answered, last) {
      const events = next(last)
      await parts.at('turn-ending', id)
      await write((row) => turnEnded(row, { answered, now: parts.now(), events }))
      await parts.at('turn-ended', id)
    },
  }
}
