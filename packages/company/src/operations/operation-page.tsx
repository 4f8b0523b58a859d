import { type AccountLine, accountLine } from '../pages/account-line.tsx'
import { page } from '../pages/layout.tsx'
import type { Wording } from '../words/wording.ts'
import type { TermLine } from './terms.ts'

/** The page on which a person confirms what an agent proposed, and sees what became of it. */

/** Everything on the page. */
export interface OperationPage extends AccountLine {
  readonly status: number
  readonly organization: string
  readonly agentName: string
  /** The host of `client_id`: the part of the agent's identity that was checked. */
  readonly agentHost: string
  readonly summary: string
  readonly terms: readonly TermLine[]
  /** While it can be confirmed. */
  readonly open?: {
    /** Milliseconds. */
    readonly left: number
    /** Sealed: bound to this person, this operation and this revision. */
    readonly form: string
    readonly action: string
  }
  /** What became of it, or why it is shown again, in a sentence. */
  readonly note?: string
  /** The company's own sentence on it. */
  readonly reason?: string
}

/** Draws the page. */
export function operationPage(wording: Wording, shown: OperationPage): Response {
  const { say, parts } = wording
  const { open } = shown
  return page(
    wording,
    { title: say('operation.title', { organization: shown.organization }), status: shown.status },
    <>
      <p class="company">{shown.organization}</p>
      <h1>{say(open === undefined ? 'operation.headingOver' : 'operation.heading', { agent: shown.agentName })}</h1>
      <p class="host">{parts('agent.from', { host: <strong>{shown.agentHost}</strong> })}</p>
      {accountLine(wording, shown)}
      {shown.note === undefined ? null : (
        <p class={open === undefined ? 'done' : 'alert'} role={open === undefined ? 'status' : 'alert'}>
          {shown.note}
          {shown.reason === undefined ? null : ` ${shown.reason}`}
        </p>
      )}
      <p class="summary">{shown.summary}</p>
      {shown.terms.length === 0 ? null : (
        <table class="terms">
          <caption>{say('operation.terms')}</caption>
          <tbody>
            {shown.terms.map(({ name, value }) => (
              <tr>
                <th scope="row">{name}</th>
                <td>{value}</td>
              </tr>
            ))}
          </tbody>
        </table>
      )}
      {open === undefined ? null : (
        <form method="post" action={open.action}>
          <input type="hidden" name="request" value={open.form} />
          <p class="quiet note">
            {say('operation.until', { time: wording.duration(open.left) })} {say('operation.careful')}
          </p>
          <div class="actions">
            <button type="submit" name="decision" value="decline">
              {say('operation.decline')}
            </button>
            <button type="submit" name="decision" value="confirm" class="primary">
              {say('operation.confirm')}
            </button>
          </div>
        </form>
      )}
    </>,
  )
}

/** The page for whoever is signed in to another account: it tells nothing of the operation. */
export function othersPage(
  wording: Wording,
  shown: Pick<OperationPage, 'organization' | 'accountName' | 'switchAccountUrl'>,
): Response {
  const { say } = wording
  return page(
    wording,
    { title: say('operation.title', { organization: shown.organization }), status: 403 },
    <>
      <p class="company">{shown.organization}</p>
      <h1>{say('operation.others')}</h1>
      {accountLine(wording, shown)}
      <p class="note">{say('operation.othersText')}</p>
    </>,
  )
}
