import { isPlain, refuseUnknown } from '../config-shapes.ts'
import { wrong } from '../configuration-error.ts'

/** What a company may set about the turns of its agent. */
export interface TurnConfig {
  /** The turns of the Company Agent. */
  readonly turn?: {
    /** Seconds that a turn may take, 120 when left out: then it ends, and says so. */
    readonly timeout?: number
  }
}

/** {@link TurnConfig}, once it is known to be right. */
export interface CheckedTurn {
  /** Milliseconds. */
  readonly turnTimeout: number
}

const standardTimeout = 120

/** @throws ConfigurationError with a sentence that says what to write */
export function checkTurn({ turn = {} }: TurnConfig): CheckedTurn {
  if (!isPlain(turn)) throw wrong(`Write conversations: { turn: { timeout: ${standardTimeout} } }, in seconds.`)
  refuseUnknown('conversations.turn', turn, ['timeout'])
  const { timeout = standardTimeout } = turn
  if (typeof timeout !== 'number' || !Number.isFinite(timeout) || timeout < 1 || timeout > 3600)
    throw wrong(`\`conversations.turn.timeout\` is in seconds, from 1 to 3600, such as ${standardTimeout}.`)
  return { turnTimeout: timeout * 1000 }
}
