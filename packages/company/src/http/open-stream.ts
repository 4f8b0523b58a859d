import type { Sink, StreamSource } from './event-stream.ts'

/** A comment: it isn't an event, and nothing reads it. */
const comment = ':\n\n'

/** What a stream needs of whoever keeps it. */
export interface Keeper {
  /** Milliseconds since 1970. */
  readonly now: () => number
}

/**
 * A stream that is kept open for its reader, whatever it tells: how full the way there is and since when, and how it ends. It
 * has no timer; whoever keeps it looks at `writtenAt`, `fullSince` and `closesAt`.
 */
export abstract class OpenStream<Kept extends Keeper> implements StreamSource {
  /** Milliseconds since 1970: when it is closed at the latest. */
  readonly closesAt: number
  /** When something was last written, and since when nothing more fits in; 0 where it does. */
  writtenAt: number
  fullSince = 0
  protected readonly keeper: Kept
  #sink: Sink | null = null
  #isOver = false
  #whenOver: PromiseWithResolvers<void> | null = null

  constructor(keeper: Kept, closesAt: number) {
    this.keeper = keeper
    this.closesAt = closesAt
    this.writtenAt = keeper.now()
  }

  /** The reader is there: what they are told first. */
  protected abstract begun(): void
  /** More fits in again. */
  protected abstract goOn(): void
  /** It is over, whoever ended it: told once. */
  protected abstract left(): void

  get hasBegun(): boolean {
    return this.#sink !== null
  }
  get over(): Promise<void> {
    this.#whenOver ??= Promise.withResolvers()
    if (this.#isOver) this.#whenOver.resolve()
    return this.#whenOver.promise
  }
  protected get isOver(): boolean {
    return this.#isOver
  }
  /** Whether there is a reader to whom more can be written. */
  protected get hasRoom(): boolean {
    return this.#sink !== null && !this.#sink.isFull
  }

  begin(sink: Sink): void {
    if (this.#isOver) {
      sink.end()
      return
    }
    this.#sink = sink
    this.begun()
  }

  drained(): void {
    this.fullSince = 0
    this.writtenAt = this.keeper.now()
    this.goOn()
  }

  gone(): void {
    this.#end()
  }

  /** Keeps whatever is in between from closing it. `text`: what is written for that. */
  keepAlive(text = comment): void {
    if (this.hasRoom) this.write(text)
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

  protected write(text: string): void {
    const sink = this.#sink
    if (sink === null) return
    sink.write(text)
    this.writtenAt = this.keeper.now()
    if (sink.isFull && this.fullSince === 0) this.fullSince = this.writtenAt
  }

  #end(): void {
    if (this.#isOver) return
    this.#isOver = true
    this.#sink = null
    this.left()
    this.#whenOver?.resolve()
  }
}
