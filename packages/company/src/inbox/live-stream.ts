import type { Staff } from '../conversations/held.ts'
import { type Keeper, OpenStream } from '../http/open-stream.ts'

/** One stream for one page of a member of staff: it says that something has changed, and nothing of what. */

/** What streams need of those who keep them. */
export interface LiveKeeper extends Keeper {
  /** Who makes this request now; null for nobody of the staff. */
  readonly who: (request: Request) => Promise<Staff | null>
  readonly failed: (error: unknown) => void
  /** Has {@link LiveStream.tellLater} asked again before long. */
  readonly later: () => void
  readonly left: (stream: LiveStream) => void
}

/** What a stream is of. */
export interface AboutLive {
  readonly staff: Staff
  /** The conversation that is open on the page, or null. */
  readonly conversation: string | null
  readonly request: Request
  /** Milliseconds since 1970: when it ends by itself at the latest. */
  readonly closesAt: number
}

/**
 * Milliseconds between two events that aren't of the open conversation, where there is much; and how many come at once after
 * quiet: a conversation often begins, is answered and is handed over in the same moment, and who waits is to be seen then.
 */
const betweenLists = 500
const atOnce = 4
/** Milliseconds for which it is taken for granted that somebody is still signed in as staff. */
const trustedFor = 5_000
/** Milliseconds until a browser comes back: when the stream was lost, and when it ended by itself. */
const back = { lost: 2_000, again: 250 }

/** See {@link LiveKeeper}. */
export class LiveStream extends OpenStream<LiveKeeper> {
  readonly staff: Staff
  readonly conversation: string | null
  /** When it was asked who this is. */
  askedAt: number
  /** Since when it is being asked who this is; 0: it isn't. */
  askingSince = 0
  readonly #request: Request
  /** Whether there is something that was not told yet. */
  #isDue = false
  /** How many more events come at once, as of the last one, and `performance.now()` of that. */
  #room = atOnce
  #toldAt = performance.now()

  constructor(keeper: LiveKeeper, { staff, conversation, request, closesAt }: AboutLive) {
    super(keeper, closesAt)
    this.staff = staff
    this.conversation = conversation
    this.#request = request
    this.askedAt = this.writtenAt
  }

  protected begun(): void {
    // By its id a browser shows that it was here before.
    this.write(`retry: ${back.lost}\nid: 1\n\n`)
    // What happened between the page and its stream is asked for at once.
    this.changed(true)
  }

  /** Something has changed. `isNear`: it may be of the open conversation, and is told at once. */
  changed(isNear: boolean): void {
    if (!this.hasBegun) return
    this.#isDue = true
    if (isNear) this.#tell()
    else this.tellLater()
  }

  /** Tells what is due, unless much was told a moment ago: then the keeper asks again. */
  tellLater(): void {
    if (!this.#isDue) return
    if (this.#roomAt(performance.now()) >= 1) this.#tell()
    else this.keeper.later()
  }

  protected goOn(): void {
    if (this.#isDue) this.#tell()
  }

  protected left(): void {
    this.keeper.left(this)
  }

  /** An event, where others have a comment: a page hears by it that the connection is still one. */
  override keepAlive(): void {
    super.keepAlive('event: here\ndata: {}\n\n')
  }

  /** Ends it. `comesAgain`: the page is to open the next one at once. */
  override close(comesAgain = false): void {
    if (comesAgain && this.hasRoom) this.write(`retry: ${back.again}\n\n`)
    super.close()
  }

  /** Asks whether it is still the same member of staff, and ends it where not. */
  ask(): void {
    if (this.askingSince > 0 || this.isOver) return
    const time = this.keeper.now()
    this.askingSince = time
    this.keeper
      .who(this.#request)
      .then((staff) => {
        this.askedAt = time
        this.askingSince = 0
        if (staff?.id === this.staff.id) {
          if (this.#isDue) this.#tell()
          return
        }
        this.write('event: signed-out\ndata: {}\n\n')
        this.close()
      })
      .catch((error: unknown) => {
        // Nothing was said of who it is: the page asks anew, and is told then.
        this.keeper.failed(error)
        this.close()
      })
  }

  #roomAt(time: number): number {
    return Math.min(atOnce, this.#room + (time - this.#toldAt) / betweenLists)
  }

  #tell(): void {
    if (!this.hasRoom) return
    if (this.keeper.now() - this.askedAt >= trustedFor) {
      this.ask()
      return
    }
    this.#isDue = false
    const time = performance.now()
    this.#room = Math.max(0, this.#roomAt(time) - 1)
    this.#toldAt = time
    this.write('event: changed\ndata: {}\n\n')
  }
}
