import type { CompanyConfig, Store } from 'poppyseed'
import { sqlite } from 'poppyseed/sqlite'
import { listen } from './listen.ts'
import { makeWireAgent, type WireAgent } from './wire-agent.ts'
import { makeWorld, type Tokens, type World } from './world.ts'

/** A Company behind a real listener, with limits, a clock that is moved, and agents at addresses of their own. */
export interface LimitedCompany {
  readonly origin: string
  readonly world: World
  /** An agent that calls over HTTP from this address. */
  readonly agentAt: (address: string, clientId?: string) => Promise<WireAgent>
  /** Sends a request over HTTP from this address, with nothing of an agent's. */
  readonly sendFrom: (address: string, request: Request) => Promise<Response>
  readonly pass: (seconds: number) => void
}

/** What the company's proxy would have written. */
const header = 'x-client-address'

/** Opens one; what is limited is what the test says, and nothing else. */
export async function openLimited(
  limits: CompanyConfig['limits'],
  config: Partial<CompanyConfig> = {},
  store: Store = sqlite(':memory:'),
): Promise<LimitedCompany> {
  const agents: WireAgent[] = []
  let world: World | undefined
  const { origin } = await listen(async (origin) => {
    world = await makeWorld(
      {
        origin,
        organization: { name: 'Hotel Miramar', domain: 'localhost' },
        development: true,
        agents: { newPerHour: null },
        limits: limits || {},
        address: (request) => request.headers.get(header) ?? '192.0.2.99',
        async fetchDocument(url) {
          const found = agents.map((agent) => agent.documents[url]).find((document) => document !== undefined)
          if (found === undefined) throw new Error('nothing at this address')
          return { document: structuredClone(found), headers: new Headers() }
        },
        ...config,
      },
      store,
    )
    return world.send
  })
  if (!world) throw new Error('no Company')
  const made = world
  const sendFrom = (address: string, request: Request) => {
    request.headers.set(header, address)
    return fetch(request)
  }
  return {
    origin,
    world: made,
    sendFrom,
    async agentAt(address, clientId = `https://agent-${agents.length}.example/agent.json`) {
      const send = (request: Request) => sendFrom(address, request)
      const agent = await makeWireAgent({ clientId, now: () => made.clock.now, origin, send })
      agents.push(agent)
      return agent
    },
    pass: (seconds) => {
      made.clock.now += seconds * 1000
    },
  }
}

/** Starts a Session and gives its tokens. */
export async function started(agent: WireAgent, parameters: Record<string, string | null> = {}, isBearer = false) {
  const answer = await agent.startSession(parameters, isBearer ? { proof: null } : {})
  if (answer.status !== 200) throw new Error(`no Session: ${answer.status} ${await answer.text()}`)
  return (await answer.json()) as Tokens
}

/** Calls a tool that needs no sign-in. */
export const echo = (agent: WireAgent, { access_token }: Tokens, proof?: string) =>
  agent.call('/poppy/tools/echo', access_token, { body: { text: 'hello' }, ...(proof === undefined ? {} : { proof }) })

/** How often each status came. */
export function tally(answers: readonly Response[]): Record<number, number> {
  const counts: Record<number, number> = {}
  for (const { status } of answers) counts[status] = (counts[status] ?? 0) + 1
  return counts
}

/** Makes so many requests one after the other. */
export async function repeat(
  times: number,
  request: (n: number) => Promise<Response>,
): Promise<Record<number, number>> {
  const answers: Response[] = []
  for (let n = 0; n < times; n++) answers.push(await request(n))
  return tally(answers)
}
