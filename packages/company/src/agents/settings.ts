import { isClientId } from '@poppyseed/protocol'
import { isPlain, refuseUnknown } from '../config-shapes.ts'
import { wrong } from '../configuration-error.ts'
import type { AgentList } from './admission.ts'
import type { FetchLogo } from './logo.ts'
import type { RegisterAgent } from './registration.ts'

/** Which Personal Agents may come (4.1), and whether their logos are shown (4.5). */
export interface AgentSettings {
  /** Only these, by exact `client_id`. Asked on each request. Everybody when left out. */
  readonly allow?: AgentList
  /** Not these, whatever else is set. Asked on each request, so it ends an agent's access at once. */
  readonly block?: AgentList
  /**
   * Registration ahead of time: asked once about each agent that hasn't been here before, after it has authenticated. A yes
   * is kept in the store; put an agent on `block` to take it back.
   */
  readonly register?: RegisterAgent
  /**
   * How many new agents an hour may bring; a fifth of them from one site. null: no limit. Left out, 100, or no limit where
   * `allow` says who may come.
   */
  readonly newPerHour?: number | null
  /**
   * Whether the consent page shows the agent's logo: true when left out. A function fetches logos in place of the guarded
   * fetcher; with a `fetchDocument` of your own and no function here, none is shown.
   */
  readonly logos?: boolean | FetchLogo
}

/** How many new agents an hour may bring; null without a limit. */
export function newPerHourOf({ allow, newPerHour }: AgentSettings): number | null {
  if (newPerHour !== undefined) return newPerHour
  // Whoever is on the company's own list is nobody that it doesn't know.
  return allow === undefined ? 100 : null
}

/** @throws ConfigurationError with a sentence that says what to write */
export function checkAgents({
  agents,
  development = false,
}: {
  readonly agents?: AgentSettings
  readonly development?: boolean
}): void {
  if (agents === undefined) return
  if (!isPlain(agents)) throw wrong('Write agents: { allow: […], block: […] }, with the client_id of each agent.')
  refuseUnknown('agents', agents, ['allow', 'block', 'register', 'newPerHour', 'logos'])
  for (const name of ['allow', 'block'] as const) checkList(name, agents[name], development)
  const { register, newPerHour, logos }: { readonly [K in keyof AgentSettings]: unknown } = agents
  if (register !== undefined && typeof register !== 'function')
    throw wrong(
      '`agents.register` is a function that says whether a new agent is registered: async (agent) => registry.has(agent.clientId).',
    )
  if (
    newPerHour !== undefined &&
    newPerHour !== null &&
    (typeof newPerHour !== 'number' || !Number.isInteger(newPerHour) || newPerHour < 1 || newPerHour > 1_000_000)
  )
    throw wrong('`agents.newPerHour` is a whole number of new agents, such as 100, or null for no limit.')
  if (logos !== undefined && typeof logos !== 'boolean' && typeof logos !== 'function')
    throw wrong('`agents.logos` is true, false, or a function that fetches one: async (url, { signal }) => its bytes.')
}

function checkList(name: 'allow' | 'block', list: unknown, development: boolean): void {
  if (list === undefined || typeof list === 'function') return
  if (!Array.isArray(list))
    throw wrong(
      `\`agents.${name}\` is a list of client_id addresses, or a function of one that says whether it is in it.`,
    )
  // Compared as strings: an entry that no agent can have would block nobody.
  const odd: unknown = list.find((entry: unknown) => typeof entry !== 'string' || !isClientId(entry, development))
  if (odd !== undefined)
    throw wrong(
      `\`agents.${name}\` has an entry that is no client_id: ${JSON.stringify(odd)}. Write the whole address, such as 'https://agent.example/agent.json'.`,
    )
}
