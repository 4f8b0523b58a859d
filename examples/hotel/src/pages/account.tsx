import type { Guest } from '../sessions.ts'
import { FormToken, Layout, type Visit } from './layout.tsx'

/** An agent that a guest has let in, as the account page shows it. Times in milliseconds. */
export type ConnectedAgent = {
  readonly id: string
  readonly name: string
  /** The host that the agent's identity lives at; always shown, for a name can be anything. */
  readonly host: string
  /** What it may do, one sentence each: "See your bookings". */
  readonly rights: readonly string[]
  readonly since: number
  readonly lastUsed: number | null
  readonly until: number | null
}

/** Where the account page gets a guest's agents, and how it ends one. */
export type ConnectedAgents = {
  readonly list: (guestId: string) => Promise<readonly ConnectedAgent[]>
  readonly disconnect: (guestId: string, id: string) => Promise<void>
}

type AccountProps = {
  readonly visit: Visit
  readonly guest: Guest
  readonly points: number
  readonly agents?: readonly ConnectedAgent[] | undefined
}

/** Who you are here, your points, which agents you have let in, and the way out. */
export function AccountPage({ visit, guest, points, agents }: AccountProps) {
  return (
    <Layout visit={visit} title="Your account · Hotel Miramar">
      <section class="column">
        <h1>Your account</h1>
        <dl class="details">
          <div>
            <dt>Name</dt>
            <dd>{guest.name}</dd>
          </div>
          <div>
            <dt>Email address</dt>
            <dd>{guest.email}</dd>
          </div>
          <div>
            <dt>Points</dt>
            <dd>{visit.format.number(points)}, and 1,000 of them are a night in Limonero</dd>
          </div>
        </dl>
        <form method="post" action="/logout">
          <FormToken token={visit.formToken} />
          <button type="submit" class="button second">
            Sign out
          </button>
        </form>
      </section>
      {agents && (
        <section class="column" id="agents" aria-labelledby="agents-title">
          <h2 id="agents-title">Connected agents</h2>
          {agents.length === 0 ? (
            <p>No agent can see anything of yours. When you let one in, it appears here, and here you end it.</p>
          ) : (
            <ul class="bookings">
              {agents.map((agent) => (
                <AgentItem visit={visit} agent={agent} />
              ))}
            </ul>
          )}
          <p>
            <a href="/poppy/agents">All connected agents</a>: take a single right away, or disconnect them all.
          </p>
        </section>
      )}
    </Layout>
  )
}

function AgentItem({ visit, agent }: { visit: Visit; agent: ConnectedAgent }) {
  const { date } = visit.format
  return (
    <li class="booking">
      <div class="booking-head">
        <div>
          <h3>{agent.name}</h3>
          <p class="quiet">{agent.host}</p>
        </div>
        <form method="post" action={`/account/agents/${encodeURIComponent(agent.id)}/disconnect`}>
          <FormToken token={visit.formToken} />
          <button type="submit" class="button second" aria-label={`Disconnect ${agent.name}`}>
            Disconnect
          </button>
        </form>
      </div>
      <ul class="rights" aria-label="What it can do">
        {agent.rights.map((right) => (
          <li>{right}</li>
        ))}
      </ul>
      <p class="facts">
        <span>Since {date(agent.since)}</span>
        {agent.lastUsed !== null && <span>Last here {date(agent.lastUsed)}</span>}
        {agent.until !== null && <span>Ends {date(agent.until)}</span>}
      </p>
    </li>
  )
}
