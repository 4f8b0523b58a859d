/** What the hotel says no to. `not_found` also stands for "not yours": a stranger learns nothing. */
export type RefusalCode = 'invalid' | 'not_found' | 'forbidden' | 'too_many' | 'taken'

/** A request the hotel refuses. The message is written for the person who asked and holds no private detail. */
export class Refusal extends Error {
  readonly code: RefusalCode
  /** Seconds to wait before trying again, with `too_many` only. */
  readonly retryAfter: number | undefined

  constructor(code: RefusalCode, message: string, retryAfter?: number) {
    super(message)
    this.name = 'Refusal'
    this.code = code
    this.retryAfter = retryAfter
  }
}
