import { type Company, type CompanyConfig, createCompany, type Logger, type Store } from 'poppyseed'
import { sqlite } from 'poppyseed/sqlite'
import { onTestFinished } from 'vitest'
import { id, makeWireAgent, sha256, type WireAgent } from './wire-agent.ts'
import { secret, testTools } from './world-config.ts'

export { secret, testTools } from './world-config.ts'

/** A Company in this process with a clock that is moved, agents at the level of the wire, and a person at the site. */

export interface World {
  readonly company: ReturnType<typeof createCompany>
  readonly origin: string
  readonly agent: WireAgent
  readonly clock: { now: number }
  readonly log: string[]
  readonly newAgent: (clientId?: string) => Promise<WireAgent>
  /** Who is signed in at the site, read by the Company for the next requests. */
  readonly site: { account: { id: string; name: string } | null }
  readonly send: (request: Request) => Promise<Response>
  /** The person's way: opens the address, submits the form. */
  readonly decide: (agent: WireAgent, asked: Asked) => Promise<URL>
  /** Decides and exchanges the code for tokens in the given Session. */
  readonly signIn: (agent: WireAgent, sessionId: string, asked?: Asked) => Promise<Tokens>
  readonly start: (agent?: WireAgent) => Promise<Tokens>
}

export interface Asked {
  readonly scope?: string
  readonly approve?: readonly string[]
  readonly decline?: boolean
  readonly verifier?: string
}

export interface Tokens {
  readonly access_token: string
  readonly token_type: string
  readonly expires_in: number
  readonly scope: string
  readonly session_id: string
  readonly signed_in: boolean
  readonly refresh_token?: string
  readonly refresh_token_expires_in?: number
}

/** Makes a world; everything is closed when the test is over. `via` is how requests reach the Company, where not directly. */
export async function makeWorld(
  config: Partial<CompanyConfig> = {},
  store: Store = sqlite(':memory:'),
  via?: (company: Company) => (request: Request) => Promise<Response>,
): Promise<World> {
  const origin = config.origin ?? 'https://miramar.example'
  const clock = { now: Date.parse('2026-11-30T12:00:00Z') }
  const log: string[] = []
  const write = (level: string) => (fields: object, message: string) =>
    void log.push(`${level} ${message} ${JSON.stringify(fields)}`)
  const logger: Logger = { debug: write('debug'), info: write('info'), warn: write('warn'), error: write('error') }
  const site: World['site'] = { account: { id: 'acc-maya', name: 'maya@example.com' } }
  const agents: WireAgent[] = []
  const company = createCompany({
    organization: { name: 'Hotel Miramar', domain: 'miramar.example' },
    origin,
    secret,
    store,
    account: () => site.account,
    signInPage: (returnTo) => `/login?next=${encodeURIComponent(returnTo)}`,
    scopes: { 'poppy:read': 'See your bookings', 'poppy:write': 'Change your bookings', loyalty: 'See your points' },
    signIn: { direct: ['poppy:read', 'poppy:write', 'loyalty'] },
    tools: testTools(),
    log: logger,
    now: () => clock.now,
    fetchDocument: async (url) => {
      const document = agents.map((agent) => agent.documents[url]).find((found) => found !== undefined)
      if (document === undefined) throw new Error('nothing at this address')
      return { document: structuredClone(document), headers: new Headers() }
    },
    ...config,
  })
  await company.start()
  onTestFinished(() => company.close())
  const send = via?.(company) ?? ((request: Request) => company.fetch(request))

  async function newAgent(
    clientId = `https://${id().toLowerCase().replaceAll('_', '-').replace(/^-|-$/g, 'a')}.example/agent.json`,
  ): Promise<WireAgent> {
    const agent = await makeWireAgent({ clientId, now: () => clock.now, origin, send })
    agents.push(agent)
    return agent
  }

  async function decide(agent: WireAgent, asked: Asked): Promise<URL> {
    const scope = asked.scope ?? 'poppy:read poppy:write'
    const query = new URLSearchParams({
      response_type: 'code',
      client_id: agent.clientId,
      redirect_uri: agent.redirectUri,
      scope,
      state: 'a-state',
      code_challenge: sha256(asked.verifier ?? verifierOf(agent)),
      code_challenge_method: 'S256',
    })
    const page = await send(new Request(`${origin}/poppy/authorize?${query}`))
    const form = /name="request" value="([^"]+)"/.exec(await page.text())?.[1]
    if (!form) throw new Error(`no form on the page, status ${page.status}`)
    const body = new URLSearchParams({ request: form, decision: asked.decline ? 'decline' : 'approve' })
    for (const one of asked.approve ?? scope.split(' ')) body.append('scope', one)
    const answer = await send(new Request(`${origin}/poppy/authorize`, { method: 'POST', body, headers: { origin } }))
    const location = answer.headers.get('location')
    if (!location) throw new Error(`no redirect, status ${answer.status}`)
    return new URL(location)
  }

  async function signIn(agent: WireAgent, sessionId: string, asked: Asked = {}): Promise<Tokens> {
    const back = await decide(agent, asked)
    const answer = await agent.token({
      grant_type: 'authorization_code',
      code: back.searchParams.get('code'),
      redirect_uri: agent.redirectUri,
      code_verifier: asked.verifier ?? verifierOf(agent),
      session_id: sessionId,
    })
    if (answer.status !== 200) throw new Error(`sign-in failed: ${answer.status} ${await answer.text()}`)
    return (await answer.json()) as Tokens
  }

  const agent = await newAgent('https://agent.example/agent.json')
  async function start(by: WireAgent = agent): Promise<Tokens> {
    const answer = await by.startSession()
    if (answer.status !== 200) throw new Error(`no Session: ${answer.status} ${await answer.text()}`)
    return (await answer.json()) as Tokens
  }
  return { company, origin, agent, clock, log, newAgent, site, send, decide, signIn, start }
}

/** One verifier for each agent is enough for tests. */
export function verifierOf(agent: WireAgent): string {
  return sha256(agent.clientId)
}

/** Status and error code of an answer, for one-line expectations. */
export async function outcome(answer: Response): Promise<string> {
  const text = await answer.text()
  const body = text.startsWith('{') ? (JSON.parse(text) as { error?: string }) : {}
  return `${answer.status} ${body.error ?? ''}`.trim()
}
