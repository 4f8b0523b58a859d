import { textDeltaEvent } from '@poppyseed/protocol'
import type { Ear, Piece } from '../changes/changes.ts'
import { type Keeper, OpenStream } from '../http/open-stream.ts'
import { eventId } from './cursor.ts'
import { isOwner } from './owning.ts'
import { type Reader, standingOf } from './stream-rights.ts'
import type { Delivery, Standing } from './stream-store.ts'

/** One stream of events (7.6): what it has told, and what it tells next. It has no timer, and no promise while it is idle. */

/** What streams need of those who keep them. */
export interface StreamKeeper extends Keeper {
  readonly idle: number
  readonly read: (stream: ConversationStream, limit: number) => Promise<Delivery | null>
  /** Has it looked at whether pieces may be told, and {@link ConversationStream.tell} called then. */
  readonly askForPieces: (stream: ConversationStream) => void
  readonly failed: (error: unknown) => void
  /** Hears how the conversation stands that somebody listens to. */
  readonly stands: (stream: ConversationStream, row: Delivery['row']) => void
  readonly left: (stream: ConversationStream) => void
}

/** Events that are read at once: they wait in memory for a reader who is slow. */
const bite = 16
/** Characters of pieces that wait to be told. */
const mostPieces = 32_000

/** See {@link StreamKeeper}. */
export class ConversationStream extends OpenStream<StreamKeeper> implements Ear, Standing {
  readonly conversationId: string
  readonly reader: Reader
  /** The number of the newest event that was told. */
  after: number
  #isReading = false
  #hasNews = true
  /** The message whose pieces are told, as far as they are: those of others, and what comes after a gap, are left out. */
  #message: string | null = null
  #told = 0
  /** The last one whose pieces were told and are no longer: nothing of it is told again in pieces. */
  #left: string | null = null
  #pieces = ''
  /** How many characters of pieces were told or dropped, of all that were heard. */
  #before = 0

  constructor(
    keeper: StreamKeeper,
    about: Pick<ConversationStream, 'conversationId' | 'reader' | 'closesAt' | 'after'>,
  ) {
    super(keeper, about.closesAt)
    this.conversationId = about.conversationId
    this.reader = about.reader
    this.after = about.after
  }

  get sessionId(): string {
    return this.reader.principal.sessionId
  }
  get userId(): string {
    return this.reader.principal.userId
  }
  get account(): string | null {
    return this.reader.principal.account
  }
  get epoch(): number {
    return this.reader.epoch
  }

  protected begun(): void {
    // Whoever is in between passes the head on with the first bytes: a comment (7.6), which is no event.
    this.write(':\n\n')
    this.#pump()
  }

  told(): void {
    this.#hasNews = true
    this.#pump()
  }

  protected goOn(): void {
    this.#pump()
  }

  override keepAlive(): void {
    if (!this.#isReading) super.keepAlive()
  }

  heard(piece: Piece): void {
    if (!this.hasBegun) return
    const { messageId, from, text } = this.#fromItsBegin(piece)
    if (from === 0) {
      this.#message = messageId
      this.#told = 0
    }
    if (this.#message !== messageId) return
    // A gap: what is shown without it would be garbled.
    if (from !== this.#told || !this.hasRoom || this.#pieces.length + text.length > mostPieces) {
      this.#leavePieces()
      return
    }
    this.#told += text.length
    this.#pieces += `event: ${textDeltaEvent}\ndata: ${JSON.stringify({ message_id: messageId, text })}\n\n`
    this.keeper.askForPieces(this)
  }

  /** Who came when a message had begun is told what came before together with the next piece, where that is known. */
  #fromItsBegin(piece: Piece): Piece {
    const { messageId, from, text, before } = piece
    const isNew = this.#message === null && this.#left !== messageId
    return isNew && before?.length === from ? { messageId, from: 0, text: before + text } : piece
  }

  /** Tells no more of a message in pieces; of which nothing was told so far, that may still begin. */
  #leavePieces(): void {
    if (this.#told > 0) this.#left = this.#message
    this.#message = null
  }

  /** How far pieces were heard: what a look that begins now is about. */
  get heardUntil(): number {
    return this.#before + this.#pieces.length
  }

  /** Tells the pieces that wait and were heard until then, once it is certain that they may be told. */
  tell(until: number): void {
    const pieces = this.#take(until)
    if (pieces !== '' && !this.isOver) this.write(pieces)
  }

  #take(until: number): string {
    const count = Math.max(0, until - this.#before)
    const taken = this.#pieces.slice(0, count)
    this.#pieces = this.#pieces.slice(count)
    this.#before += taken.length
    return taken
  }

  #pump(): void {
    if (this.#isReading || !this.#hasNews || !this.hasRoom) return
    this.#isReading = true
    this.#deliver()
      .catch((error: unknown) => {
        this.keeper.failed(error)
        this.close()
      })
      .finally(() => {
        this.#isReading = false
        this.#pump()
      })
  }

  async #deliver(): Promise<void> {
    this.#hasNews = false
    const heard = this.heardUntil
    const delivery = await this.keeper.read(this, bite)
    if (this.isOver) return
    if (delivery === null || !this.#mayRead(delivery)) {
      this.close()
      return
    }
    const { row, events } = delivery
    this.keeper.stands(this, row)
    // What was heard before the look may be told by it, and comes before the message that it is of.
    this.tell(heard)
    for (const { number, body } of events) {
      if (!this.hasRoom) break
      this.write(`id: ${eventId(this.conversationId, number)}\ndata: ${body}\n\n`)
      this.after = number
      // What is whole is not told in pieces any more.
      if (this.#message !== null && body.includes(`"${this.#message}"`)) {
        this.#leavePieces()
        this.#take(this.heardUntil)
      }
    }
    if (this.after < row.last_event) this.#hasNews = true
    // 7.12: nothing comes after that
    else if (row.status === 'closed') this.close()
  }

  /** Events after the last one that was told may be gone by now, for a reader who was slow: a new read is told so (7.5). */
  #mayRead({ row, session }: Delivery): boolean {
    if (row.first_event - 1 > this.after) return false
    const limits = { idle: this.keeper.idle }
    return (
      standingOf(this.reader, session, limits, this.keeper.now()) === 'as-before' && isOwner(row, this.reader.principal)
    )
  }

  protected left(): void {
    this.#pieces = ''
    this.keeper.left(this)
  }
}
