import type { IncomingMessage, ServerResponse } from 'node:http'
import { deliver, type Reply } from '../delivery.ts'
import { type Listener, type ListenerTls, openListener } from '../listener.ts'
import { createSwitchboard, type Switchboard } from '../switchboard.ts'
import { createHostileDns, type HostileDns } from './dns.ts'
import { type AgentPlaces, answerDocument } from './documents.ts'
import { randomId } from './keys.ts'
import { type MadeUpAgent, makeMadeUpAgent } from './made-up-agent.ts'
import { type AgentDocument, type HostSwitches, wellBehavedHost } from './switches.ts'

/** A host of made-up Personal Agents that a Company can be tried against: right by default, wrong where a switch says so. */

/** How a misbehaving host is set up. */
export interface MisbehavingAgentHostOptions {
  /** Host name in its addresses; `localhost` when left out. It listens on 127.0.0.1 all the same. */
  readonly name?: string
  /** Key and certificate of the name: HTTPS. Plain HTTP when left out, for Companies in development. */
  readonly tls?: ListenerTls
  /** Milliseconds since 1970; the system's clock when left out. */
  readonly now?: () => number
  /** What it does wrong from the start. */
  readonly switches?: Partial<HostSwitches>
}

/** One fetch of a document. */
export interface RecordedFetch {
  readonly document: AgentDocument | 'other'
  readonly method: string
  readonly path: string
  /** Milliseconds since 1970, by the host's clock. */
  readonly at: number
  readonly headers: Readonly<Record<string, string>>
}

/** A host that runs, with all that a test needs to drive it. */
export interface MisbehavingAgentHost {
  readonly origin: string
  /** What it does wrong. Change it at any time; it holds for the requests that arrive from then on. */
  readonly switches: HostSwitches
  /** Faults for the next `count` fetches, of one document or of any. */
  readonly next: Switchboard<HostSwitches, AgentDocument | 'other'>['next']
  /** Does everything right from now on. */
  readonly reset: () => void
  /** A new Personal Agent on this host. */
  readonly newAgent: () => MadeUpAgent
  /** What a Company fetched, in its order. */
  readonly fetches: readonly RecordedFetch[]
  /** Requests that reached a listener inside, which no fetch may ever be led to. */
  readonly reachedInside: readonly string[]
  /** Where that listener is. */
  readonly inside: string
  readonly dns: HostileDns
  /** Goes down: nobody listens any more. */
  readonly goDown: () => Promise<void>
  /** Comes back at the same address. */
  readonly comeBack: () => Promise<void>
  readonly close: () => Promise<void>
}

/**
 * Opens a misbehaving host on the loopback address.
 *
 * @example
 * const host = await createMisbehavingAgentHost({})
 * const agent = host.newAgent()
 * host.next(1, { delivery: 'endless' }, 'metadata')
 * // … a request with agent.form(…) at a Company …
 * console.log(host.fetches)
 */
export async function createMisbehavingAgentHost(
  options: MisbehavingAgentHostOptions = {},
): Promise<MisbehavingAgentHost> {
  const { name = 'localhost', tls, now = Date.now } = options
  const board = createSwitchboard<HostSwitches, AgentDocument | 'other'>(wellBehavedHost, options.switches)
  const agents = new Map<string, MadeUpAgent>()
  const fetches: RecordedFetch[] = []
  const reachedInside: string[] = []

  const inner = await openListener(
    (request, response) => {
      reachedInside.push(`${request.method} ${request.url}`)
      response.writeHead(200, { 'content-type': 'application/json' }).end('{}')
    },
    { name: 'localhost' },
  )
  const answer = (request: IncomingMessage, response: ServerResponse) => void handle(request, response)
  let listener: Listener = await openListener(answer, { name, tls })
  const { origin, port } = listener

  async function handle(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { pathname } = new URL(request.url ?? '/', origin)
    const [, , number = '', file = ''] = pathname.split('/')
    const agent = agents.get(number)
    const document = agent ? documentOf(file) : 'other'
    const switches = board.take(document)
    fetches.push({
      document,
      method: request.method ?? 'GET',
      path: pathname,
      at: now(),
      headers: Object.fromEntries(Object.entries(request.headers).map(([name, value]) => [name, String(value)])),
    })
    if (!agent || document === 'other') {
      response.writeHead(404, { 'content-type': 'application/json' }).end('{}')
      return
    }
    const answer =
      switches.redirect === 'none'
        ? answerDocument(document, switches, agent, agent.keys)
        : redirect(pathname, switches.redirect)
    await deliver(response, answer, switches.delivery)
  }

  function redirect(path: string, how: HostSwitches['redirect']): Reply {
    const targets = {
      none: path,
      elsewhere: `${origin}${path}?moved`,
      inner: inner.origin + path,
      metadata_service: `http://169.254.169.254${path}`,
      loop: path,
      http: `http://${name}:${inner.port}${path}`,
    }
    return { status: 302, headers: { location: targets[how], 'content-type': 'application/json' }, body: '{}' }
  }

  return {
    origin,
    switches: board.switches,
    next: board.next,
    reset: board.reset,
    fetches,
    reachedInside,
    inside: inner.origin,
    dns: createHostileDns('127.0.0.1'),
    newAgent() {
      const number = randomId()
        .toLowerCase()
        .replaceAll(/[^a-z0-9]/g, '')
      const base = `${origin}/agents/${number}/`
      const places: AgentPlaces = {
        origin,
        base,
        clientId: `${base}agent.json`,
        jwksUri: `${base}jwks.json`,
        logoUri: `${base}logo.png`,
      }
      const agent = makeMadeUpAgent(places, now)
      agents.set(number, agent)
      return agent
    },
    goDown: () => listener.close(),
    async comeBack() {
      listener = await openListener(answer, { name, tls, port })
    },
    close: async () => {
      await Promise.all([listener.close(), inner.close()])
    },
  }
}

function documentOf(file: string): AgentDocument | 'other' {
  const files: Readonly<Record<string, AgentDocument>> = {
    'agent.json': 'metadata',
    'jwks.json': 'keys',
    'logo.png': 'logo',
  }
  return (Object.hasOwn(files, file) ? files[file] : undefined) ?? 'other'
}
