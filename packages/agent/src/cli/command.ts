import { AgentError } from '../errors.ts'
import type { Fetch } from '../net/exchange.ts'
import { createPublicFetch } from '../net/public-fetch.ts'
import { type AgentUser, createPersonalAgent, type PersonalAgent } from '../personal-agent.ts'
import { fileStore } from '../store/file.ts'
import type { ChatScreen } from './chat/screen.ts'
import { type Home, type KeptIdentity, openHome } from './home.ts'
import { whileServed } from './local-server.ts'
import type { Prompt } from './prompt.ts'
import { createOutput, type Output, type Terminal } from './terminal.ts'

/** What every command works with. */

/** The world around `poppy`: a test hands in its own. */
export interface Surroundings extends Terminal {
  /** Left out: public addresses, and this machine's for a local identity. */
  readonly fetch?: Fetch
  /** Unix time in milliseconds. */
  readonly now: () => number
  /** Left out: waits as long as it is told to. */
  readonly wait?: (milliseconds: number, signal?: AbortSignal) => Promise<void>
  /** Asks the person for credentials and codes. */
  readonly prompt?: () => Prompt
  /** Where `poppy chat` is typed and shown; `isPlain` where a program reads it. */
  readonly screen?: (isPlain: boolean) => ChatScreen
  /** Whether somebody sits at a terminal who sees what is shown and can answer. */
  readonly hasPerson?: boolean
  /** Ends `poppy serve`. */
  readonly stop?: AbortSignal
}

/** Options that every command has. */
export interface CommonOptions {
  readonly home?: string
  readonly json?: boolean
}

/** What each command works with. */
export interface CommandContext {
  readonly around: Surroundings
  readonly output: Output
  readonly home: Home
}

/** The agent of this home, at work for its one owner. */
export interface OpenAgent {
  readonly agent: PersonalAgent
  readonly user: AgentUser
  readonly identity: KeptIdentity
}

/** Puts a command’s surroundings together. */
export function createCommandContext(around: Surroundings, options: CommonOptions): CommandContext {
  return {
    around,
    output: createOutput(around, options.json === true),
    home: openHome(options.home, around.env),
  }
}

/** Opens the agent. @throws AgentError `misconfigured` where there is no identity yet */
export async function openAgent({ around, home }: CommandContext): Promise<OpenAgent> {
  const identity = await home.identity()
  if (!identity) throw new AgentError('misconfigured', `There is no identity in ${home.folder} yet.`)
  const agent = createPersonalAgent({
    clientId: identity.clientId,
    name: identity.name,
    keys: identity.keys,
    store: fileStore(home.statePath),
    allowHttp: identity.local,
    ...(around.fetch ? { fetch: around.fetch } : {}),
    ...(around.wait ? { wait: around.wait } : {}),
    now: around.now,
    maxWaitSeconds: 30,
  })
  return { agent, identity, user: agent.forUser('owner') }
}

/** Opens the agent and does what needs its identity to be reachable. */
export async function withAgent<T>(context: CommandContext, work: (open: OpenAgent) => Promise<T>): Promise<T> {
  const open = await openAgent(context)
  return whileServed(open.agent, open.identity.local, context.around.fetch ?? createPublicFetch(true), () => work(open))
}
