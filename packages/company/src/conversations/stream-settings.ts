import { isPlain, refuseUnknown } from '../config-shapes.ts'
import { wrong } from '../configuration-error.ts'

/** What a company may set about streams of events (7.6). */
export interface StreamSettings {
  /** Seconds without anything to send after which a comment is sent, so that nothing in between closes it. 15 when left out. */
  readonly keepAlive?: number
  /** Seconds after which a stream is closed, give or take a fifth; the agent comes again. 300 when left out. */
  readonly longest?: number
  /** Seconds that a reader may take nothing in before it is closed. 30 when left out. */
  readonly patience?: number
  /** How many streams one Session may have open in one instance. 8 when left out. */
  readonly perSession?: number
  /** How many all Sessions of one Personal Agent may. 2000 when left out. */
  readonly perClient?: number
  /** How many one instance has in all. 10000 when left out. */
  readonly inAll?: number
}

/** {@link StreamSettings}, once they are known to be right; times in milliseconds. */
export type CheckedStreams = Readonly<Required<StreamSettings>>

const standard = { keepAlive: 15, longest: 300, patience: 30, perSession: 8, perClient: 2000, inAll: 10_000 } as const
const names = Object.keys(standard) as readonly (keyof StreamSettings)[]

/**
 * Null where nothing is streamed: `streams: false`.
 * @throws ConfigurationError with a sentence that says what to write
 */
export function checkStreams(streams: StreamSettings | boolean | undefined): CheckedStreams | null {
  if (streams === false) return null
  const given = streams === undefined || streams === true ? {} : streams
  if (!isPlain(given))
    throw wrong('`conversations.streams` is false, or { keepAlive: 15, longest: 300, patience: 30 }, in seconds.')
  refuseUnknown('conversations.streams', given, names)
  const checked = { ...standard, ...given } as Record<keyof StreamSettings, number>
  for (const name of ['keepAlive', 'longest', 'patience'] as const) {
    if (!(Number.isFinite(checked[name]) && checked[name] > 0 && checked[name] <= 86_400))
      throw wrong(`\`conversations.streams.${name}\` is a number of seconds, such as ${standard[name]}.`)
    checked[name] *= 1000
  }
  for (const name of ['perSession', 'perClient', 'inAll'] as const) {
    if (!Number.isInteger(checked[name]) || checked[name] < 1)
      throw wrong(`\`conversations.streams.${name}\` is a whole number, such as ${standard[name]}.`)
  }
  return checked
}
