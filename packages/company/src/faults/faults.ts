import { isPlain, refuseUnknown } from '../config-shapes.ts'
import { wrong } from '../configuration-error.ts'
import type { Logger } from '../store/database.ts'
import { AnswerDropped } from './answer-dropped.ts'

/** Faults on purpose: for tests of whoever calls a Company, and of the Company itself. Never anywhere else. */

/** An answer that is about to be sent. */
export interface AnswerAt {
  readonly method: string
  /** The path that was asked for, such as `/poppy/token`. */
  readonly path: string
  readonly status: number
}

/** What a company may set about faults. Taken with `development: true` alone. */
export interface FaultSettings {
  /**
   * Loses an answer once all that its request does has happened: the connection closes without a byte of it, as when the
   * network fails there. Called for each answer; true drops it.
   */
  readonly dropAnswer?: (answer: AnswerAt) => boolean
  /**
   * Called at each point between a confirmation and what comes of it (Operations 5, 6), and between a message and its reply
   * (7), before it goes on: whoever kills the process there sees what a crash at that point leaves. Given the operation's,
   * the conversation's or the delivery's id.
   */
  readonly atPoint?: (point: FaultPoint, id: string) => void | Promise<void>
}

/**
 * Points in the life of an operation: before the confirmation is written, once it is; once it is noted that `perform` is
 * called, and once it has answered; once the outcome is written; once `reconcile` has answered, before that is written; and
 * once a hook was told, before that is noted.
 */
export type OperationPoint = 'confirming' | 'confirmed' | 'started' | 'performed' | 'finished' | 'reconciled' | 'told'

/**
 * Points in the life of a conversation (7): before a message is accepted, and once it is; once a turn is claimed, once it has
 * said something, once a tool of it has run, and before and after its end is written. What is proposed in it: once that is kept
 * and told, before and after its commit.
 */
export type ConversationPoint =
  | 'accepting'
  | 'accepted'
  | 'turn-claimed'
  | 'turn-said'
  | 'tool-ran'
  | 'proposing'
  | 'proposed'
  | 'turn-ending'
  | 'turn-ended'

/** The point in the life of a webhook: once it was taken, before that is noted. */
export type DeliveryPoint = 'delivered'

/** A point of any of them. */
export type FaultPoint = OperationPoint | ConversationPoint | DeliveryPoint

/** Lets an answer through, or takes it away. */
export type Faults = (request: Request, answer: Response) => Promise<Response>

/** @throws ConfigurationError where faults are set outside of development, or in a form that would do nothing */
export function checkFaults(faults: unknown, isDevelopment: boolean): FaultSettings | null {
  if (faults === undefined) return null
  if (!isPlain(faults)) throw wrong('Write faults: { dropAnswer: ({ method, path, status }) => false }.')
  refuseUnknown('faults', faults, ['dropAnswer', 'atPoint'])
  if (!isDevelopment) throw wrong('`faults` break a Company on purpose: leave them out, or write `development: true`.')
  const { dropAnswer, atPoint } = faults
  if (atPoint !== undefined && typeof atPoint !== 'function')
    throw wrong('`faults.atPoint` is a function that is called with a point and an operation: (point) => { … }.')
  if (dropAnswer !== undefined && typeof dropAnswer !== 'function')
    throw wrong(
      '`faults.dropAnswer` is a function that says whether an answer is lost: ({ path }) => path === "/poppy/token".',
    )
  return faults as FaultSettings
}

/** Makes the faults of one Company; null where none were set, so that nothing stands in a request's way. */
export function createFaults(settings: FaultSettings | null, log: Logger): Faults | null {
  const dropAnswer = settings?.dropAnswer
  if (settings?.atPoint !== undefined)
    log.warn({}, 'FAULTS ARE ON: operations are held up or broken off on purpose at named points. For tests alone.')
  if (dropAnswer === undefined) return null
  log.warn({}, 'FAULTS ARE ON: answers are lost on purpose, after what they tell has happened. For tests alone.')
  return async (request, answer) => {
    const { pathname: path } = new URL(request.url)
    if (!dropAnswer({ method: request.method, path, status: answer.status })) return answer
    // Whoever writes a stream learns that nobody reads it.
    await answer.body?.cancel()
    throw new AnswerDropped()
  }
}
