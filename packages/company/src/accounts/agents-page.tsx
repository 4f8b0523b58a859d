import { type AccountLine, accountLine } from '../pages/account-line.tsx'
import { page } from '../pages/layout.tsx'
import type { Wording } from '../words/wording.ts'
import type { ConnectedAgent } from './connected-agent.ts'

/** The page on which a person sees who acts for them, and ends it (4.9). */

/** An agent as the page shows it: all its sign-ins as one. */
export interface ShownAgent {
  readonly clientId: string
  readonly name: string
  readonly host: string
  readonly rights: ConnectedAgent['rights']
  /** How and when, as a sentence. */
  readonly connected: string
  readonly lastUsed: string
}

/** Everything on the page. */
export interface AgentsPage extends AccountLine {
  readonly organization: string
  readonly agents: readonly ShownAgent[]
  /** Sealed, bound to this person. */
  readonly form: string
  readonly action: string
  /** What was done just now, in a sentence. */
  readonly done?: string
}

/** Draws the page. */
export function agentsPage(wording: Wording, shown: AgentsPage): Response {
  const { agents } = shown
  const { say, parts } = wording
  return page(
    wording,
    { title: say('agents.title', { organization: shown.organization }) },
    <>
      <p class="company">{shown.organization}</p>
      <h1>{say('agents.heading')}</h1>
      {accountLine(wording, shown)}
      {shown.done === undefined ? null : (
        <p class="done" role="status">
          {shown.done}
        </p>
      )}
      {agents.length === 0 ? (
        <p class="note">{say('agents.none')}</p>
      ) : (
        agents.map((agent, index) => (
          <section class="agent" aria-labelledby={`agent-${index}`}>
            <h2 id={`agent-${index}`}>{agent.name}</h2>
            <p class="host">{parts('agent.from', { host: <strong>{agent.host}</strong> })}</p>
            <p class="quiet">
              {agent.connected} {agent.lastUsed}
            </p>
            <ul>
              {agent.rights.map((right) => (
                <li>
                  <span lang={right.language}>{right.text}</span>
                  <Act
                    shown={shown}
                    clientId={agent.clientId}
                    scope={right.scope}
                    label={say('agents.takeAwayThis', { right: right.text })}
                  >
                    {say('agents.takeAway')}
                  </Act>
                </li>
              ))}
            </ul>
            <Act
              shown={shown}
              clientId={agent.clientId}
              label={say('agents.disconnectThis', { agent: agent.name, host: agent.host })}
            >
              {say('agents.disconnect')}
            </Act>
          </section>
        ))
      )}
      {agents.length < 2 ? null : (
        <div class="all">
          <Act shown={shown} label={say('agents.disconnectAllAgents')}>
            {say('agents.disconnectAll')}
          </Act>
        </div>
      )}
      <p class="quiet note">{say('agents.endsAtOnce')}</p>
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
