import { page } from '../pages/layout.tsx'

/** The page on which a person sees who acts for them, and ends it (4.9). */

/** An agent as the page shows it: all its sign-ins as one. */
export interface ShownAgent {
  readonly clientId: string
  readonly name: string
  readonly host: string
  readonly rights: readonly { readonly scope: string; readonly text: string }[]
  /** How and when, as a sentence. */
  readonly connected: string
  readonly lastUsed: string
}

/** Everything on the page. */
export interface AgentsPage {
  readonly organization: string
  readonly accountName: string
  readonly switchAccountUrl: string
  readonly agents: readonly ShownAgent[]
  /** Sealed, bound to this person. */
  readonly form: string
  readonly action: string
  /** What was done just now, in a sentence. */
  readonly done?: string
}

/** Draws the page. */
export function agentsPage(shown: AgentsPage): Response {
  const { agents } = shown
  return page(
    { title: `Connected agents – ${shown.organization}` },
    <>
      <p class="company">{shown.organization}</p>
      <h1>Agents that act for you</h1>
      <p class="account">
        <span>
          Your account: <strong>{shown.accountName}</strong>
        </span>
        <a href={shown.switchAccountUrl}>Use another account</a>
      </p>
      {shown.done === undefined ? null : (
        <p class="done" role="status">
          {shown.done}
        </p>
      )}
      {agents.length === 0 ? (
        <p class="note">No agent has access to your account. One that you let in will be listed here.</p>
      ) : (
        agents.map((agent, index) => (
          <section class="agent" aria-labelledby={`agent-${index}`}>
            <h2 id={`agent-${index}`}>{agent.name}</h2>
            <p class="host">
              from <strong>{agent.host}</strong>
            </p>
            <p class="quiet">
              {agent.connected} {agent.lastUsed}
            </p>
            <ul>
              {agent.rights.map((right) => (
                <li>
                  <span>{right.text}</span>
                  <Act shown={shown} clientId={agent.clientId} scope={right.scope} label={`Take away: ${right.text}`}>
                    Take away
                  </Act>
                </li>
              ))}
            </ul>
            <Act shown={shown} clientId={agent.clientId} label={`Disconnect ${agent.name} from ${agent.host}`}>
              Disconnect
            </Act>
          </section>
        ))
      )}
      {agents.length < 2 ? null : (
        <div class="all">
          <Act shown={shown} label="Disconnect all agents">
            Disconnect all
          </Act>
        </div>
      )}
      <p class="quiet note">It ends at once. What an agent has done already stays as it is.</p>
    </>,
  )
}

/** One button with a form of its own: one click, one thing, no script. */
function Act(props: {
  readonly shown: AgentsPage
  readonly clientId?: string
  readonly scope?: string
  readonly label: string
  readonly children?: unknown
}) {
  const { shown, clientId, scope, label, children } = props
  return (
    <form method="post" action={shown.action}>
      <input type="hidden" name="request" value={shown.form} />
      {clientId === undefined ? null : <input type="hidden" name="client_id" value={clientId} />}
      {scope === undefined ? null : <input type="hidden" name="scope" value={scope} />}
      <button type="submit" name="act" value={scope === undefined ? 'disconnect' : 'take_away'} aria-label={label}>
        {children as string}
      </button>
    </form>
  )
}
