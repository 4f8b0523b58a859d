import {
  AgentError,
  createPersonalAgent,
  generateKey,
  memoryStore,
  type PersonalAgent,
  type PersonalAgentOptions,
  type Session,
} from '@poppyseed/agent'
import {
  createMisbehavingCompany,
  type MisbehavingCompany,
  type RouteName,
  type Switches,
} from '@poppyseed/conformance'
import { Agent, fetch as undiciFetch } from 'undici'
import { onTestFinished } from 'vitest'
import { listen } from './listen.ts'

/** The Personal Agent, as it is published, at a Company that misbehaves: two listeners and one clock between them. */
export interface HostileVisit {
  readonly agent: PersonalAgent
  readonly company: MisbehavingCompany
  readonly clock: { now: number }
  /** Milliseconds that the agent waited, each time; its waiting moves the clock. */
  readonly waits: number[]
  readonly session: (name?: string) => Promise<Session>
  /** The User's way: opens the address that the agent gives, and is sent back to the agent. */
  readonly signIn: (session: Session, scopes: readonly string[]) => ReturnType<Session['completeSignIn']>
  /** `POST /token 200` and so on, of the requests since it was last asked. */
  readonly sent: () => string[]
}

/** Opens both; they are closed when the test is over. */
export async function visitHostileCompany(
  switches: Partial<Switches> = {},
  options: Partial<PersonalAgentOptions> = {},
): Promise<HostileVisit> {
  const clock = { now: Date.parse('2026-11-30T12:00:00Z') }
  const waits: number[] = []
  let agent: PersonalAgent | undefined
  const key = await generateKey()
  await listen((origin) => {
    const made = createPersonalAgent({
      clientId: `${origin}/agent.json`,
      name: 'Test Agent',
      keys: [key],
      store: memoryStore(),
      now: () => clock.now,
      allowHttp: true,
      wait: async (milliseconds) => {
        waits.push(milliseconds)
        clock.now += milliseconds
      },
      ...options,
    })
    agent = made
    return made.fetch
  })
  if (!agent) throw new Error('no agent')
  const made = agent
  const company = await createMisbehavingCompany({ now: () => clock.now, switches })
  onTestFinished(company.close)
  let read = 0
  return {
    agent: made,
    company,
    clock,
    waits,
    session: async (name = 'default') => (await made.forUser('maya').company(company.origin)).session({ name }),
    async signIn(session, scopes) {
      const { url } = await session.beginSignIn({ scopes })
      const callback = await openAddress(url)
      return session.completeSignIn(callback)
    },
    sent() {
      const since = company.requests.slice(read)
      read = company.requests.length
      return since.map(({ method, path, status }) => `${method} ${path} ${status}`)
    },
  }
}

/** A `fetch` over one connection: what the Company answered on it was heard before the next request left. */
export function oneConnection(): NonNullable<PersonalAgentOptions['fetch']> {
  const dispatcher = new Agent({ connections: 1 })
  onTestFinished(() => dispatcher.destroy())
  // undici's own types and Node's describe the same objects.
  return async (url, init) => (await undiciFetch(url, { ...(init as object), dispatcher })) as unknown as Response
}

/** Opens an authorization address as a browser would, and gives where it is sent. */
export async function openAddress(url: string): Promise<string> {
  const answer = await fetch(url, { redirect: 'manual' })
  await answer.text()
  const location = answer.headers.get('location')
  if (location === null) throw new Error(`no redirect, status ${answer.status}`)
  return location
}

/** The error that something ends in; it fails the test if it doesn't, or in another kind of error. */
export async function agentErrorOf(work: Promise<unknown>): Promise<AgentError> {
  try {
    await work
  } catch (error) {
    if (error instanceof AgentError) return error
    throw error
  }
  throw new Error('It should have failed.')
}

/** What a Company does wrong in a story. */
export type Faults = Partial<Switches>

/** Names of the switches that the stories of this file have flipped, so that none is forgotten. */
export const flipped = new Set<string>()

/** Notes which switches a story flips. */
export function using(faults: Faults): Faults {
  for (const name of Object.keys(faults)) flipped.add(name)
  return faults
}

/** Switches whose stories stand in a file of their own: what the person does, and what becomes of the Account Token. */
export const signInSwitches: readonly string[] = [
  ...['rotation', 'revocationAudience', 'consent', 'account', 'grantsFewer', 'neverGrants', 'iss', 'state'],
]

/** The same of signing in by a device and by credentials. */
export const waysInSwitches: readonly string[] = ['poll', 'deviceInterval', 'devicePage', 'mediated', 'words']
/** Switches of operations, whose stories stand in files of their own. */
export const operationSwitches: readonly string[] = [
  ...['operations', 'operationForm', 'operationTerms', 'operationId', 'operationApproval', 'operationConfirm'],
  ...['operationRecord', 'operationEnd', 'operationRetryAfter', 'operationPage', 'operationPageAt'],
]

/** The same of conversations. */
export const conversationSwitches: readonly string[] = [
  ...['conversations', 'conversationAnswer', 'stream', 'streamCut', 'streamBytes', 'streamForm', 'streamExpiry'],
  ...['keepAlives', 'repeatsEvents', 'cursors', 'eventTimes', 'unknownEvents', 'oddEvent', 'pageSize', 'pollSeconds'],
  ...['waits', 'authorization', 'directs'],
]

/** A visit whose faults begin only after the Session was started. */
export async function started(faults: Faults, route?: RouteName, count = 1000): Promise<HostileVisit> {
  const visit = await visitHostileCompany({}, { fetch: oneConnection() })
  await (await visit.session()).start()
  visit.sent()
  visit.company.next(count, using(faults), route)
  return visit
}

/** A visit that is signed in for reading, then meets faults. */
export async function signedIn(
  faults: Faults,
  route?: RouteName,
  options: Partial<PersonalAgentOptions> = { fetch: oneConnection() },
): Promise<HostileVisit> {
  const visit = await visitHostileCompany({}, options)
  await visit.signIn(await visit.session(), ['poppy:read'])
  visit.sent()
  visit.company.next(1000, using(faults), route)
  return visit
}

/** How a piece of work ended: `fine`, or the code of its error. */
export async function endOf(work: Promise<unknown>): Promise<string> {
  try {
    await work
    return 'fine'
  } catch (error) {
    if (error instanceof AgentError) return error.code
    throw error
  }
}
