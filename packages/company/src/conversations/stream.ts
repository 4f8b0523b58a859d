import { textDeltaEvent } from '@poppyseed/protocol'
import type { Ear, Piece } from '../changes/changes.ts'
import type { Sink, StreamSource } from '../http/event-stream.ts'
import { eventId } from './cursor.ts'
import { isOwner } from './owning.ts'
import { type Reader, standingOf } from './stream-rights.ts'
import type { Delivery, Standing } from './stream-store.ts'

/** One stream of events (7.6): what it has told, and what it tells next. It has no timer, and no promise while it is idle. */

/** What streams need of those who keep them. */
export interface StreamKeeper {
  /** Milliseconds since 1970. */
  readonly now: () => number
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
/** A comment (7.6): it isn't an event, and nothing reads it. */
const comment = ':\n\n'

/** See {@link StreamKeeper}. */
export class ConversationStream implements Ear, StreamSource, Standing {
  readonly conversationId: string
  readonly reader: Reader
  /** Milliseconds since 1970: when it is closed at the latest. */
  readonly closesAt: number
  /** The number of the newest event that was told. */
  after: number
  /** When something was last written, and since when nothing more fits in; 0 where it does. */
  writtenAt: number
  fullSince = 0
  readonly #keeper: StreamKeeper
  #sink: Sink | null = null
  #isReading = false
  #hasNews = true
  #isOver = false
  /** The message whose pieces are told, as far as they are: those of others, and what comes after a gap, are left out. */
  #message: string | null = null
  #told = 0
  /** The last one whose pieces were told and are no longer: nothing of it is told again in pieces. */
  #left: string | null = null
  #pieces = ''
  /** How many characters of pieces were told or dropped, of all that were heard. */
  #before = 0
  #whenOver: PromiseWithResolvers<void> | null = null

  constructor(
    keeper: StreamKeeper,
    about: Pick<ConversationStream, 'conversationId' | 'reader' | 'closesAt' | 'after'>,
  ) {
    this.#keeper = keeper
    this.conversationId = about.conversationId
    this.reader = about.reader
    this.closesAt = about.closesAt
    this.after = about.after
    this.writtenAt = keeper.now()
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
  get hasBegun(): boolean {
    return this.#sink !== null
  }
  get over(): Promise<void> {
    this.#whenOver ??= Promise.withResolvers()
    if (this.#isOver) this.#whenOver.resolve()
    return this.#whenOver.promise
  }

  begin(sink: Sink): void {
    if (this.#isOver) {
      sink.end()
      return
    }
    this.#sink = sink
    // Whoever is in between passes the head on with the first bytes.
    this.#write(comment)
    this.#pump()
  }

  told(): void {
    this.#hasNews = true
    this.#pump()
  }

  drained(): void {
    this.fullSince = 0
    this.writtenAt = this.#keeper.now()
    this.#pump()
  }

  gone(): void {
    this.#end()
  }

  /** Keeps whatever is in between from closing it. */
  keepAlive(): void {
    if (this.#sink !== null && !this.#isReading && !this.#sink.isFull) this.#write(comment)
  }

  /** Ends it after what was told. */
  close(): void {
    const sink = this.#sink
    this.#end()
    sink?.end()
  }

  /** Ends it at once. */
  giveUp(): void {
    const sink = this.#sink
    this.#end()
    sink?.destroy()
  }

  heard(piece: Piece): void {
    if (this.#isOver || this.#sink === null) return
    const { messageId, from, text } = this.#fromItsBegin(piece)
    if (from === 0) {
      this.#message = messageId
      this.#told = 0
    }
    if (this.#message !== messageId) return
    // A gap: what is shown without it would be garbled.
    if (from !== this.#told || this.#sink.isFull || this.#pieces.length + text.length > mostPieces) {
      this.#leavePieces()
      return
    }
    this.#told += text.length
    this.#pieces += `event: ${textDeltaEvent}\ndata: ${JSON.stringify({ message_id: messageId, text })}\n\n`
    this.#keeper.askForPieces(this)
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
    if (pieces !== '' && !this.#isOver) this.#write(pieces)
  }

  #take(until: number): string {
    const count = Math.max(0, until - this.#before)
    const taken = this.#pieces.slice(0, count)
    this.#pieces = this.#pieces.slice(count)
    this.#before += taken.length
    return taken
  }

  #write(text: string): void {
    const sink = this.#sink
    if (sink === null) return
    sink.write(text)
    this.writtenAt = this.#keeper.now()
    if (sink.isFull && this.fullSince === 0) this.fullSince = this.writtenAt
  }

  #pump(): void {
    if (this.#isReading || !this.#hasNews || this.#isOver || this.#sink === null || this.#sink.isFull) return
    this.#isReading = true
    this.#deliver()
      .catch((error: unknown) => {
        this.#keeper.failed(error)
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
    const delivery = await this.#keeper.read(this, bite)
    if (this.#isOver) return
    if (delivery === null || !this.#mayRead(delivery)) {
      this.close()
      return
    }
    const { row, events } = delivery
    this.#keeper.stands(this, row)
    // What was heard before the look may be told by it, and comes before the message that it is of.
    this.tell(heard)
    for (const { number, body } of events) {
      if (this.#sink?.isFull !== false) break
      this.#write(`id: ${eventId(this.conversationId, number)}\ndata: ${body}\n\n`)
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
    const limits = { idle: this.#keeper.idle }
    return (
      standingOf(this.reader, session, limits, this.#keeper.now()) === 'as-before' &&
      isOwner(row, this.reader.principal)
    )
  }

  #end(): void {
    if (this.#isOver) return
    this.#isOver = true
    this.#sink = null
    this.#pieces = ''
    this.#keeper.left(this)
    this.#whenOver?.resolve()
  }
}
