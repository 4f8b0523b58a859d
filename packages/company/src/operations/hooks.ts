import { isPlain, refuseUnknown } from '../config-shapes.ts'
import { wrong } from '../configuration-error.ts'
import type { StoredOperation, TrailEvent } from './agreement.ts'
import type { OperationView } from './view.ts'

/** A company's own records: told of operations from the outbox, at least once each. */

/** What a hook is told. */
export interface OperationEvent {
  /**
   * The same each time that this event is told, and for no other event: after a crash it may come again, and whoever
   * keeps these keys does nothing twice.
   */
  readonly key: string
  readonly event: 'proposed' | 'revised' | 'confirmed' | 'finished'
  /** The operation as it stands now, which may be further on than the event. */
  readonly operation: OperationView
}

/**
 * Told of each operation. At least once, in no promised order, also after a crash; one that throws, or takes over 30
 * seconds, is called again with growing pauses.
 */
export interface OperationHooks {
  readonly proposed?: (event: OperationEvent) => void | Promise<void>
  readonly revised?: (event: OperationEvent) => void | Promise<void>
  readonly confirmed?: (event: OperationEvent) => void | Promise<void>
  /** It has ended: succeeded, failed, cancelled or expired, also when somebody settled it. */
  readonly finished?: (event: OperationEvent) => void | Promise<void>
}

const hookOf: Partial<Readonly<Record<TrailEvent, keyof OperationHooks>>> = {
  proposed: 'proposed',
  revised: 'revised',
  confirmed: 'confirmed',
  succeeded: 'finished',
  failed: 'finished',
  cancelled: 'finished',
  expired: 'finished',
  settled: 'finished',
}

/** The hook that is told of an entry of the trail, by its name. */
export function hookNameOf(event: string): keyof OperationHooks | null {
  return hookOf[event as TrailEvent] ?? null
}

/**
 * Whether anybody wants to be told of such an entry: only then is it put into the outbox. `conversation`: only the
 * conversation does, where it was proposed in one.
 */
export type Tells = (event: TrailEvent) => boolean | 'conversation'

/** See {@link Tells}. */
export function tellsOf(hooks: OperationHooks, hasConversations = false): Tells {
  return (event) => {
    const name = hookNameOf(event)
    if (name === null) return false
    return hooks[name] !== undefined || (hasConversations && isNews(event) ? 'conversation' : false)
  }
}

/** Whether an entry is told in the operation's conversation (Operations 4.3): other terms, and the end. */
export function isNews(event: string): boolean {
  const name = hookNameOf(event)
  return name === 'revised' || name === 'finished'
}

/** Tells an operation's conversation of an entry of its trail. It may come again after a crash. */
export type OperationNews = (
  stored: StoredOperation,
  entry: {
    /** Counts the operation's entries. */
    readonly number: number
    readonly revision: number | null
  },
) => Promise<void>

/** @throws ConfigurationError with a sentence that says what to write */
export function checkHooks(hooks: unknown): OperationHooks {
  if (hooks === undefined) return {}
  const example = 'onOperation: { finished: ({ operation }) => records.write(operation) }'
  if (!isPlain(hooks)) throw wrong(`Write ${example}.`)
  refuseUnknown('onOperation', hooks, ['proposed', 'revised', 'confirmed', 'finished'])
  for (const [name, hook] of Object.entries(hooks)) {
    if (typeof hook !== 'function') throw wrong(`\`onOperation.${name}\` is a function, such as ${example}.`)
  }
  return hooks
}
