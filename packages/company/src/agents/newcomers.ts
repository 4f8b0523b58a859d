import { type ClientMetadata, PoppyError } from '@poppyseed/protocol'
import type { Scope } from '../store/database.ts'
import { cleanAgentName } from './name.ts'
import { createRecent } from './recent.ts'
import type { NewAgent, Registration } from './registration.ts'
import { siteOf } from './site.ts'
import { addAgent, countNewAgents, findAgent, noteAgent } from './store.ts'

/** 4.1: who comes for the first time: registration, the limit on new `client_id`s, and the record of who was here. */

/** Looks at agents that may be new. */
export interface Newcomers {
  /**
   * Lets an agent in that has authenticated, and puts it on record when it is new. An agent on record costs nothing but,
   * once a day, a note that it was here.
   * @throws PoppyError `invalid_client`, `rate_limited`, `temporarily_unavailable`
   */
  readonly meet: (agent: ClientMetadata) => Promise<void>
  /**
   * Whether an agent that has shown nothing but its documents is registered, where that is required.
   * @throws PoppyError as {@link Newcomers.meet}, and nothing is put on record
   */
  readonly checkRegistered: (agent: ClientMetadata) => Promise<void>
}

const hour = 3_600_000
const day = 24 * hour
/** The part of the hour's new agents that may be of one site. */
const partOfSite = 5

/** Makes them. `newPerHour` null: no limit. `registration` null: everybody may come who isn't kept out by the lists. */
export function createNewcomers(options: {
  readonly scope: () => Promise<Scope>
  readonly now: () => number
  readonly registration: Registration | null
  readonly newPerHour: number | null
}): Newcomers {
  const { now, registration } = options
  const most = options.newPerHour ?? Number.MAX_SAFE_INTEGER
  const mostOfSite = options.newPerHour === null ? most : Math.ceil(most / partOfSite)
  /** Until when an agent on record, registered where it has to be, needs no look into the store. */
  const met = createRecent<number>(10_000)
  const meeting = new Map<string, Promise<void>>()

  async function refuseTooMany(scope: Scope, site: string): Promise<void> {
    const at = now()
    const { total, firstAt, ofSite, firstOfSiteAt } = await countNewAgents(scope, { site, since: at - hour })
    const full = ofSite >= mostOfSite ? firstOfSiteAt : total >= most ? firstAt : null
    if (full !== null) throw tooMany(full + hour - at, ofSite >= mostOfSite ? `of ${site}` : 'in all')
  }

  async function look(agent: ClientMetadata): Promise<void> {
    const scope = await options.scope()
    const { clientId } = agent
    const about = describe(agent)
    const row = await findAgent(scope, clientId)
    const isRegistered = registration === null || (row !== null && row.registered_at !== null)
    const site = siteOf(about.host)
    // What is cheap and ours first: the company's own code is asked last.
    if (row === null && options.newPerHour !== null) await refuseTooMany(scope, site)
    if (!isRegistered) await registration?.check(about)
    const at = now()
    const registeredAt = isRegistered ? undefined : at
    if (row === null) {
      const added = await addAgent(scope, {
        client_id: clientId,
        host: about.host,
        site,
        name: about.name,
        first_seen_at: at,
        registered_at: registeredAt ?? null,
        since: at - hour,
        most,
        mostOfSite,
      })
      // Not added: another instance was quicker, with this agent or with the last of the hour.
      if (!added && (await findAgent(scope, clientId)) === null) throw tooMany(hour, 'at one moment')
      met.set(clientId, at + day)
      return
    }
    const isDue = row.last_seen_at <= at - day
    if (isDue || registeredAt !== undefined)
      await noteAgent(scope, { clientId, name: about.name, now: at, registeredAt })
    met.set(clientId, isDue || registeredAt !== undefined ? at + day : row.last_seen_at + day)
  }

  return {
    async meet(agent) {
      const until = met.get(agent.clientId)
      if (until !== undefined && now() < until) return
      const same = meeting.get(agent.clientId)
      if (same) return same
      const looking = look(agent).finally(() => meeting.delete(agent.clientId))
      meeting.set(agent.clientId, looking)
      return looking
    },
    async checkRegistered(agent) {
      if (registration === null || met.get(agent.clientId) !== undefined) return
      const row = await findAgent(await options.scope(), agent.clientId)
      if (row === null || row.registered_at === null) await registration.check(describe(agent))
    },
  }
}

function describe(agent: ClientMetadata): NewAgent {
  const { host } = new URL(agent.clientId)
  return Object.freeze({
    clientId: agent.clientId,
    host,
    name: cleanAgentName(agent.name, host),
    logoUrl: agent.logoUri,
    extensions: Object.freeze({ ...agent.extensions }),
  })
}

function tooMany(wait: number, which: string): PoppyError {
  return new PoppyError('rate_limited', {
    description: 'Too many new Personal Agents came within the hour. Try again later.',
    retryAfter: Math.max(1, Math.ceil(wait / 1000)),
    reason: `too many new agents ${which}`,
  })
}
