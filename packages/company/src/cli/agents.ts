import { type Agents, type BlockedAgent, createAgents } from '../agents/blocking.ts'
import { agentsOnRecord, findAgent } from '../agents/store.ts'
import { tellInstances } from '../changes/other-instances.ts'
import { anything, blockedAgents } from '../changes/wide-ears.ts'
import type { Logger, Scope } from '../store/database.ts'
import { CommandError } from './command-error.ts'
import { clean, type Output, table } from './terminal.ts'

/** `poppyseed agents …` (4.1): who came, and who is kept out. */

/** What each command works with. */
export interface AgentsContext {
  readonly scope: Scope
  readonly output: Output
  /** Milliseconds since 1970. */
  readonly now: () => number
  /** What to write after `poppyseed agents …` to mean the same store and Company, where it isn't taken from the environment. */
  readonly where: string
}

/** The command says itself what it did. */
const silent: Logger = { debug() {}, info() {}, warn() {}, error() {} }

const agentsOf = ({ scope, now }: AgentsContext): Agents =>
  // Where the Company itself is on http:, in development alone, agents may be as well.
  createAgents({ scope: async () => scope, now, log: silent, allowHttp: scope.company.startsWith('http:') })

/** What is wrong with what was typed is a TypeError of ours, in words. */
async function typed<T>(work: Promise<T>, hint: string): Promise<T> {
  try {
    return await work
  } catch (error) {
    if (error instanceof TypeError) throw new CommandError('invalid_input', error.message, hint)
    throw error
  }
}

/** Has the instances that run hear of it at once; says so where they hear of it later. */
async function tellThem({ scope, output }: AgentsContext): Promise<void> {
  if (!(await tellInstances(scope, [blockedAgents, anything])))
    output.line('What is open at a running instance hears of it within a few seconds.')
}

/** Keeps an agent out. */
export async function block(context: AgentsContext, clientId: string, reason: string | undefined): Promise<void> {
  const { output, scope, where } = context
  const agents = agentsOf(context)
  const done = await typed(
    agents.block(clientId, reason === undefined ? {} : { reason }),
    `Try: poppyseed agents list${where}`,
  )
  const isKnown = (await findAgent(scope, clientId)) !== null
  output.value({ company: scope.company, clientId, blocked: true, changed: done, known: isKnown })
  output.line(
    `${output.bold(clean(clientId))} ${done ? 'is blocked' : 'was blocked already'} at ${clean(scope.company)}.`,
  )
  if (done) output.line('It is out with its next request. Nothing of it was deleted.')
  if (done) await tellThem(context)
  if (!isKnown) output.line('No agent of this name has been here. If that is news to you, look for a typing error.')
  output.line(`Next: poppyseed agents ${isKnown ? 'blocked' : 'list'}${where}`)
}

/** Lets an agent in again. */
export async function unblock(context: AgentsContext, clientId: string): Promise<void> {
  const { output, scope, where } = context
  const hint = `Try: poppyseed agents blocked${where}`
  const done = await typed(agentsOf(context).unblock(clientId), hint)
  if (done) await tellThem(context)
  output.value({ company: scope.company, clientId, blocked: false, changed: done })
  output.line(
    `${output.bold(clean(clientId))} ${done ? 'is no longer blocked' : 'was not blocked'} at ${clean(scope.company)}.`,
  )
  if (done) output.line('It has what it had, unless somebody ended it meanwhile.')
  output.line(`Next: poppyseed agents blocked${where}`)
}

/** Shows who is kept out. */
export async function blocked(context: AgentsContext): Promise<void> {
  const { output, scope, where } = context
  const agents = await agentsOf(context).blocked()
  output.value({
    company: scope.company,
    blocked: agents.map((agent) => ({ ...agent, blockedAt: new Date(agent.blockedAt).toISOString() })),
  })
  if (agents.length === 0) {
    output.line(`No agent is blocked in the store of ${clean(scope.company)}.`)
    output.line(`Next: poppyseed agents list${where}`)
    return
  }
  output.line(`Blocked at ${output.bold(clean(scope.company))}:`)
  output.line()
  for (const line of table(agents.map(rowOf))) output.line(line)
}

function rowOf({ clientId, blockedAt, reason }: BlockedAgent): readonly string[] {
  return [clean(clientId), minute(blockedAt), clean(reason ?? '')]
}

/** Shows who was here, the latest first. */
export async function list(context: AgentsContext, limit: number): Promise<void> {
  const { output, scope } = context
  const found = await agentsOnRecord(scope, { limit: limit + 1 })
  const agents = found.slice(0, limit)
  output.value({
    company: scope.company,
    agents: agents.map((agent) => ({
      ...agent,
      firstSeenAt: new Date(agent.firstSeenAt).toISOString(),
      lastSeenAt: new Date(agent.lastSeenAt).toISOString(),
      blockedAt: agent.blockedAt === null ? null : new Date(agent.blockedAt).toISOString(),
    })),
    more: found.length > limit,
  })
  if (agents.length === 0) {
    output.line(`No agent has come to ${clean(scope.company)} yet.`)
    return
  }
  output.line(`Agents at ${output.bold(clean(scope.company))}, the latest first:`)
  output.line()
  const rows = agents.map((agent) => [
    clean(agent.clientId),
    clean(agent.name, 60),
    // 4.1: noted once a day, so an hour would say more than is known
    `seen ${minute(agent.lastSeenAt).slice(0, 10)}`,
    agent.blockedAt === null ? '' : 'blocked',
  ])
  for (const line of table(rows)) output.line(line)
  if (found.length > limit) output.line(output.dim('There are more: --limit <number> shows them.'))
}

const minute = (time: number) => `${new Date(time).toISOString().slice(0, 16).replace('T', ' ')} UTC`
