import {
  AgentError,
  type AgentUser,
  createPersonalAgent,
  generateKey,
  memoryStore,
  type PersonalAgent,
  type PersonalAgentOptions,
  type Session,
} from '../src/index.ts'
import { type FakeCompany, startFakeCompany } from './fake-company.ts'

/** A Personal Agent and a fake Company that see the same clock, which only a test moves. */
export interface Visit {
  readonly agent: PersonalAgent
  readonly user: AgentUser
  readonly fake: FakeCompany
  readonly clock: { now: number }
  /** Milliseconds that the agent waited, each time. */
  readonly waits: number[]
  readonly session: (name?: string) => Promise<Session>
  /** Signs in, as the User would: opens the address, approves, is sent back. */
  readonly signIn: (
    session: Session,
    scopes: readonly string[],
    approve?: Parameters<FakeCompany['approve']>[1],
  ) => Promise<{ readonly callback: string }>
}

export async function startVisit(options: Partial<PersonalAgentOptions> = {}): Promise<Visit> {
  const clock = { now: Date.parse('2026-11-30T12:00:00Z') }
  const waits: number[] = []
  const agent = createPersonalAgent({
    clientId: 'http://localhost:4571/agent.json',
    name: 'Test Agent',
    keys: [await generateKey()],
    store: memoryStore(),
    now: () => clock.now,
    allowHttp: true,
    wait: async (milliseconds) => {
      waits.push(milliseconds)
      clock.now += milliseconds
    },
    ...options,
  })
  const fake = await startFakeCompany({ now: () => clock.now, keySet: keySetOf(agent) })
  const user = agent.forUser('maya')
  return {
    agent,
    user,
    fake,
    clock,
    waits,
    session: async (name = 'default') => (await user.company(fake.origin)).session({ name }),
    signIn: async (session, scopes, approve) => {
      const pending = await session.beginSignIn({ scopes })
      const callback = fake.approve(pending.url, approve)
      await session.completeSignIn(callback)
      return { callback }
    },
  }
}

/** Reads an agent's key set as a Company would, without the network between. */
export function keySetOf(agent: PersonalAgent) {
  return async () => {
    const answer = await agent.fetch(new Request('http://localhost:4571/jwks.json'))
    return (await answer.json()) as { keys: { kid: string }[] }
  }
}

/** The error that something ends in; it fails the test if it doesn't. */
export async function errorOf(work: Promise<unknown>): Promise<AgentError> {
  try {
    await work
  } catch (error) {
    if (error instanceof AgentError) return error
    throw error
  }
  throw new Error('It should have failed.')
}
