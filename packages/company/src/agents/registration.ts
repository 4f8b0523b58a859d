import { PoppyError } from '@poppyseed/protocol'
import type { Logger } from '../store/database.ts'
import { createRecent } from './recent.ts'
import { siteOf } from './site.ts'
import { within } from './within.ts'

/** 4.1: registration ahead of time, as the company's own code decides it: asked about each new Personal Agent, once. */

/** A Personal Agent that this Company hasn't seen before, as `agents.register` is told of it. */
export interface NewAgent {
  /** Its identity: the address of its metadata document. */
  readonly clientId: string
  /** The host of the `client_id`: with it, the part of its identity that was checked. */
  readonly host: string
  /** What it calls itself, in one line of at most 60 characters; its host where it says nothing. */
  readonly name: string
  /** Where it says that its logo is. Not fetched, and not to be shown by loading it from there. */
  readonly logoUrl: string | undefined
  /** The extensions that it supports, each with its version (3.3). */
  readonly extensions: Readonly<Record<string, string>>
}

/**
 * Whether a new Personal Agent is registered: true or false, within five seconds. The signal aborts when nobody waits
 * any more.
 */
export type RegisterAgent = (agent: NewAgent, context: { readonly signal: AbortSignal }) => boolean | Promise<boolean>

/** The company's register of agents, asked within bounds. */
export interface Registration {
  /**
   * Asks the company about an agent, or uses what it said a moment ago.
   * @throws PoppyError `invalid_client` for one that isn't registered, `rate_limited` after too many new ones of a site,
   * `temporarily_unavailable` when the company's own code fails or takes too long
   */
  readonly check: (agent: NewAgent) => Promise<void>
}

/** Bounds of the questions. Times in milliseconds. */
export interface RegistrationLimits {
  readonly timeout: number
  /** How long an answer is used again: a yes is soon on record, a no is asked about again after a while. */
  readonly yesFor: number
  readonly noFor: number
  /** Questions in one period, in all and about the agents of one site: a stranger can make up agents without end. */
  readonly period: number
  readonly most: number
  readonly mostOfSite: number
}

const defaultLimits: RegistrationLimits = {
  timeout: 5000,
  yesFor: 300_000,
  noFor: 60_000,
  period: 600_000,
  most: 300,
  mostOfSite: 30,
}

/** Makes one of the company's `register`. */
export function createRegistration(options: {
  readonly register: RegisterAgent
  readonly now: () => number
  readonly log: Logger
  readonly limits?: Partial<RegistrationLimits>
}): Registration {
  const { register, now, log } = options
  const limits: RegistrationLimits = { ...defaultLimits, ...options.limits }
  const answers = createRecent<{ readonly isRegistered: boolean; readonly until: number }>(10_000)
  const running = new Map<string, Promise<boolean>>()
  const asked = createRecent<{ count: number; readonly until: number }>(1000)
  const askedInAll = { count: 0, until: 0 }

  function takePlace(site: string): void {
    const at = now()
    if (at >= askedInAll.until) Object.assign(askedInAll, { count: 0, until: at + limits.period })
    const known = asked.get(site)
    const ofSite = known && at < known.until ? known : { count: 0, until: at + limits.period }
    const full = ofSite.count >= limits.mostOfSite ? ofSite : askedInAll.count >= limits.most ? askedInAll : null
    if (full !== null) {
      throw new PoppyError('rate_limited', {
        description: 'Too many new Personal Agents ask to come in. Try again later.',
        retryAfter: Math.ceil((full.until - at) / 1000),
        reason: full === ofSite ? 'too many questions about agents of one site' : 'too many questions about agents',
      })
    }
    ofSite.count += 1
    askedInAll.count += 1
    asked.set(site, ofSite)
  }

  async function ask(agent: NewAgent): Promise<boolean> {
    takePlace(siteOf(agent.host))
    let isRegistered: unknown
    try {
      isRegistered = await within<unknown>(limits.timeout, (signal) => register(agent, { signal }))
      if (typeof isRegistered !== 'boolean') throw new TypeError('`agents.register` has to answer true or false.')
    } catch (error) {
      // Fails closed, and nothing is remembered: the next request asks again.
      log.error(
        { clientId: agent.clientId, error: error instanceof Error ? { name: error.name, stack: error.stack } : {} },
        'agents.register failed: the agent was not let in',
      )
      throw new PoppyError('temporarily_unavailable', {
        description: 'The Personal Agent could not be looked up. Try again.',
        retryAfter: 10,
        reason: 'agents.register failed',
      })
    }
    answers.set(agent.clientId, { isRegistered, until: now() + (isRegistered ? limits.yesFor : limits.noFor) })
    log.info({ clientId: agent.clientId, isRegistered }, 'the company was asked about a new Personal Agent')
    return isRegistered
  }

  function askOnce(agent: NewAgent): Promise<boolean> {
    const same = running.get(agent.clientId)
    if (same) return same
    const asking = ask(agent).finally(() => running.delete(agent.clientId))
    running.set(agent.clientId, asking)
    return asking
  }

  return {
    async check(agent) {
      const known = answers.get(agent.clientId)
      const isRegistered = known && now() < known.until ? known.isRegistered : await askOnce(agent)
      if (!isRegistered) {
        // 4.1: the answer to an unregistered one; the same words as for every other that may not come in.
        throw new PoppyError('invalid_client', {
          description: 'The Personal Agent was not accepted.',
          reason: 'not registered',
        })
      }
    },
  }
}
