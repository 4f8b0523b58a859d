import { isPlain, refuseUnknown } from '../config-shapes.ts'
import { wrong } from '../configuration-error.ts'
import type { Limit } from './limiter.ts'

/** What a company may set about limits (4.1, 4.3). All of them are on when it sets nothing. */

/** A limit: so many at once, and as many again spread over each `seconds`; `false` switches it off. */
export type LimitSetting = Limit | false

/**
 * Limits on what others ask of the Company, each counted in this process. `limits: false` switches all of them off. Those
 * by address need to know it: see `address`.
 */
export interface LimitSettings {
  /** New Sessions of one Personal Agent (4.1). 3000 in 60 seconds when left out. */
  readonly sessionsPerClient?: LimitSetting
  /** New Sessions of one User of one Personal Agent. 60 in 60 seconds when left out. */
  readonly sessionsPerUser?: LimitSetting
  /** Requests of one Personal Agent at the token and revocation endpoints. 12000 in 60 seconds when left out. */
  readonly tokenRequestsPerClient?: LimitSetting
  /** Requests with a Session Token of one Personal Agent, all Users together. 60000 in 60 seconds when left out. */
  readonly requestsPerClient?: LimitSetting
  /** Requests with a Session Token of one User of one Personal Agent. 3000 in 60 seconds when left out. */
  readonly requestsPerUser?: LimitSetting
  /** Requests in one Session. 1200 in 60 seconds when left out. */
  readonly requestsPerSession?: LimitSetting
  /** Requests from one address that bring no token where one is needed. 600 in 60 seconds when left out. */
  readonly anonymousPerAddress?: LimitSetting
  /** Tokens, proofs and assertions from one address that were wrong. 300 in 60 seconds when left out. */
  readonly failuresPerAddress?: LimitSetting
  /** Consent pages shown and answered for one address. 120 in 60 seconds when left out. */
  readonly consentPerAddress?: LimitSetting
  /** Consent pages answered by one account. 60 in 60 seconds when left out. */
  readonly consentPerAccount?: LimitSetting
}

/** The name of a limit. */
export type LimitName = keyof LimitSettings

/** Each limit, or null where it is off. */
export type CheckedLimits = Readonly<Record<LimitName, Limit | null>>

const standard: Readonly<Record<LimitName, Limit>> = {
  sessionsPerClient: { requests: 3000, seconds: 60 },
  sessionsPerUser: { requests: 60, seconds: 60 },
  tokenRequestsPerClient: { requests: 12_000, seconds: 60 },
  requestsPerClient: { requests: 60_000, seconds: 60 },
  requestsPerUser: { requests: 3000, seconds: 60 },
  requestsPerSession: { requests: 1200, seconds: 60 },
  anonymousPerAddress: { requests: 600, seconds: 60 },
  failuresPerAddress: { requests: 300, seconds: 60 },
  consentPerAddress: { requests: 120, seconds: 60 },
  consentPerAccount: { requests: 60, seconds: 60 },
}

/** The limits that there are. */
export const limitNames = Object.keys(standard) as readonly LimitName[]

/**
 * Checks `limits` and `address`.
 * @throws ConfigurationError with a sentence that says what to write
 */
export function checkLimits(config: { readonly limits?: unknown; readonly address?: unknown }): CheckedLimits {
  const { limits = {}, address } = config
  if (address !== undefined && typeof address !== 'function')
    throw wrong('`address` is a function that gives the IP address of the caller: (request) => …, as a text.')
  if (limits === false) return Object.fromEntries(limitNames.map((name) => [name, null])) as CheckedLimits
  if (!isPlain(limits))
    throw wrong('`limits` is false, or names some: limits: { requestsPerSession: { requests: 1200, seconds: 60 } }.')
  refuseUnknown('limits', limits, limitNames)
  return Object.fromEntries(limitNames.map((name) => [name, checkLimit(name, limits[name])])) as CheckedLimits
}

function checkLimit(name: LimitName, setting: unknown): Limit | null {
  if (setting === undefined) return standard[name]
  if (setting === false) return null
  const { requests, seconds } = standard[name]
  const example = `limits: { ${name}: { requests: ${requests}, seconds: ${seconds} } }`
  if (!isPlain(setting)) throw wrong(`Write ${example}, or false in its place to switch it off.`)
  refuseUnknown(`limits.${name}`, setting, ['requests', 'seconds'])
  if (!isWhole(setting.requests, 1_000_000) || !isWhole(setting.seconds, 86_400))
    throw wrong(
      `\`limits.${name}\` takes whole numbers, requests from 1 to 1000000 and seconds from 1 to 86400: ${example}.`,
    )
  return { requests: setting.requests, seconds: setting.seconds }
}

function isWhole(value: unknown, most: number): value is number {
  return Number.isInteger(value) && (value as number) >= 1 && (value as number) <= most
}
