import { isPlain, refuseUnknown } from '../config-shapes.ts'
import { wrong } from '../configuration-error.ts'
import { standardTiming, type Timing } from './care.ts'
import { type CheckedHours, checkHours, type OpeningHours } from './opening-hours.ts'

/** What a company sets about its people in conversations (7.9), and about conversations in which nothing happens (7.12). */

/** See {@link PeopleConfig.people}. */
export interface PeopleSettings {
  /**
   * When somebody takes conversations over, beside whoever shows a sign of life (`company.conversations.present`). Whoever
   * asks for a person at another time is told these hours.
   */
  readonly openingHours?: OpeningHours
  /** Seconds that a handoff waits for somebody to take it: 600 when left out. */
  readonly patience?: number
}

/** The settings for people in conversations. */
export interface PeopleConfig {
  /** The company's people: who takes a conversation over, and when. */
  readonly people?: PeopleSettings
  /** Seconds after which a conversation in which nothing happens is closed: 86400, a day, when left out. */
  readonly inactivity?: number
}

/** {@link PeopleConfig}, once it is known to be right. */
export interface CheckedPeople {
  readonly hours: CheckedHours | null
  readonly timing: Timing
}

/** @throws ConfigurationError with a sentence that says what to write */
export function checkPeople({ people = {}, inactivity }: PeopleConfig): CheckedPeople {
  if (!isPlain(people))
    throw wrong("Write conversations: { people: { openingHours: { timeZone: 'Europe/Madrid', mon: '09:00-18:00' } } }.")
  refuseUnknown('conversations.people', people, ['openingHours', 'patience'])
  const { openingHours, patience } = people as PeopleSettings
  return {
    hours: openingHours === undefined ? null : checkHours(openingHours),
    timing: {
      ...standardTiming,
      patience: milliseconds('people.patience', patience, { standard: standardTiming.patience, most: 86_400 }),
      inactivity: milliseconds('inactivity', inactivity, { standard: standardTiming.inactivity, most: 366 * 86_400 }),
    },
  }
}

function milliseconds(
  name: string,
  value: unknown,
  { standard, most }: { readonly standard: number; readonly most: number },
): number {
  if (value === undefined) return standard
  if (typeof value !== 'number' || !Number.isInteger(value) || value < 1 || value > most)
    throw wrong(`\`conversations.${name}\` is a whole number of seconds from 1 to ${most}, such as ${standard / 1000}.`)
  return value * 1000
}
