import { type AccountLine, accountLine } from '../pages/account-line.tsx'
import { page } from '../pages/layout.tsx'
import type { ScopeSentence } from '../words/scope-text.ts'
import type { Wording } from '../words/wording.ts'

/** The page on which a person lets an agent in (4.5). Understood in five seconds, on a phone. */

/** Everything that the consent page shows, and what its form carries. */
export interface Consent extends AccountLine {
  readonly organization: string
  readonly agentName: string
  /** The host of `client_id`: the part of the agent's identity that was checked. */
  readonly agentHost: string
  /** Where its logo is on our own origin; null where it has none. */
  readonly logoPath: string | null
  readonly rights: readonly (ScopeSentence & { readonly scope: string; readonly isChosen: boolean })[]
  /** Milliseconds for which the access lasts; null where it has no end. */
  readonly lifetime: number | null
  /** Where the person ends it later. */
  readonly connectedAgentsUrl: string
  /** The sealed request, bound to this person. */
  readonly form: string
  readonly action: string
  /** Where the browser goes afterwards (4.5); left out where it stays (4.6). */
  readonly redirectOrigin?: string
  /** For a sign-in on another device (4.6): the code that it shows, and how long ago it began. */
  readonly device?: { readonly userCode: string; readonly asked: string }
  readonly problem?: string
}

/** Draws the page; its form may end at the agent’s origin and nowhere else. Status 400 when it is shown again. */
export function consentPage(wording: Wording, consent: Consent): Response {
  const { say, parts } = wording
  const whereItEnds = <a href={consent.connectedAgentsUrl}>{say('consent.connectedAgents')}</a>
  return page(
    wording,
    {
      title: say('consent.title', { agent: consent.agentName, organization: consent.organization }),
      status: consent.problem === undefined ? 200 : 400,
      formTargets: consent.redirectOrigin === undefined ? [] : [consent.redirectOrigin],
      hasPictures: consent.logoPath !== null,
    },
    <form method="post" action={consent.action}>
      <input type="hidden" name="request" value={consent.form} />
      <p class="company">{consent.organization}</p>
      <div class="asker">
        <div>
          <h1>{say('consent.heading', { agent: consent.agentName })}</h1>
          <p class="host">{parts('agent.from', { host: <strong>{consent.agentHost}</strong> })}</p>
        </div>
        {consent.logoPath === null ? null : (
          // Its room is kept while it comes, and stays empty when it doesn't. The name beside it says who it is.
          <img class="logo" src={consent.logoPath} width="48" height="48" alt="" decoding="async" />
        )}
      </div>
      {consent.device === undefined ? null : (
        <p class="device">
          {parts('consent.device', {
            ago: consent.device.asked,
            code: <strong class="usercode">{consent.device.userCode}</strong>,
          })}
        </p>
      )}
      {accountLine(wording, consent)}
      {consent.problem === undefined ? null : (
        <p class="alert" role="alert">
          {consent.problem}
        </p>
      )}
      <fieldset>
        <legend>{say('consent.rights')}</legend>
        {consent.rights.map((right) => (
          <label class="right">
            <input type="checkbox" name="scope" value={right.scope} checked={right.isChosen} />
            <span lang={right.language}>{right.text}</span>
          </label>
        ))}
      </fieldset>
      <p class="quiet note">
        {consent.lifetime === null
          ? parts('consent.lastsUntilEnded', { page: whereItEnds })
          : parts('consent.lasts', { time: wording.duration(consent.lifetime), page: whereItEnds })}{' '}
        {say(consent.device === undefined ? 'consent.careful' : 'consent.carefulWithCode')}
      </p>
      <div class="actions">
        <button type="submit" name="decision" value="decline">
          {say('consent.decline')}
        </button>
        <button type="submit" name="decision" value="approve" class="primary">
          {say('consent.approve')}
        </button>
      </div>
    </form>,
  )
}
