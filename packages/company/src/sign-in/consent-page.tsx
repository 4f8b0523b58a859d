import { page } from '../pages/layout.tsx'

/** The page on which a person lets an agent in (4.5). Understood in five seconds, on a phone. */

/** Everything that the consent page shows, and what its form carries. */
export interface Consent {
  readonly organization: string
  readonly agentName: string
  /** The host of `client_id`: the part of the agent's identity that was checked. */
  readonly agentHost: string
  /** Where its logo is on our own origin; null where it has none. */
  readonly logoPath: string | null
  readonly accountName: string
  /** Where another account is chosen. */
  readonly switchAccountUrl: string
  readonly rights: readonly { readonly scope: string; readonly text: string; readonly isChosen: boolean }[]
  /** Milliseconds for which the access lasts; null where it has no end. */
  readonly lifetime: number | null
  /** Where the person ends it later. */
  readonly connectedAgentsUrl: string | undefined
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
export function consentPage(consent: Consent): Response {
  const lasts =
    consent.lifetime === null
      ? 'This lasts until you end it'
      : `This lasts ${howLong(consent.lifetime)}, unless you end it sooner`
  return page(
    {
      title: `Let ${consent.agentName} in – ${consent.organization}`,
      status: consent.problem === undefined ? 200 : 400,
      formTargets: consent.redirectOrigin === undefined ? [] : [consent.redirectOrigin],
      hasPictures: consent.logoPath !== null,
    },
    <form method="post" action={consent.action}>
      <input type="hidden" name="request" value={consent.form} />
      <p class="company">{consent.organization}</p>
      <div class="asker">
        <div>
          <h1>{consent.agentName} asks for access to your account</h1>
          <p class="host">
            from <strong>{consent.agentHost}</strong>
          </p>
        </div>
        {consent.logoPath === null ? null : (
          // Its room is kept while it comes, and stays empty when it doesn't. The name beside it says who it is.
          <img class="logo" src={consent.logoPath} width="48" height="48" alt="" decoding="async" />
        )}
      </div>
      {consent.device === undefined ? null : (
        <p class="device">
          It asked {consent.device.asked}, with the code <strong class="usercode">{consent.device.userCode}</strong>
        </p>
      )}
      <p class="account">
        <span>
          Your account: <strong>{consent.accountName}</strong>
        </span>
        <a href={consent.switchAccountUrl}>Use another account</a>
      </p>
      {consent.problem === undefined ? null : (
        <p class="alert" role="alert">
          {consent.problem}
        </p>
      )}
      <fieldset>
        <legend>It could then, for you:</legend>
        {consent.rights.map((right) => (
          <label class="right">
            <input type="checkbox" name="scope" value={right.scope} checked={right.isChosen} />
            <span>{right.text}</span>
          </label>
        ))}
      </fieldset>
      <p class="quiet note">
        {lasts}
        {consent.connectedAgentsUrl === undefined ? (
          ', for example by asking the agent to sign out.'
        ) : (
          <>
            {' '}
            under <a href={consent.connectedAgentsUrl}>connected agents</a>.
          </>
        )}{' '}
        {consent.device === undefined
          ? 'Approve only if you asked for this yourself.'
          : 'Approve only if you started this yourself and your agent shows this code.'}
      </p>
      <div class="actions">
        <button type="submit" name="decision" value="decline">
          Decline
        </button>
        <button type="submit" name="decision" value="approve" class="primary">
          Approve
        </button>
      </div>
    </form>,
  )
}

const units = [
  { name: 'day', milliseconds: 86_400_000 },
  { name: 'hour', milliseconds: 3_600_000 },
  { name: 'minute', milliseconds: 60_000 },
]

/** A length of time in the largest unit of which there is at least one. */
function howLong(milliseconds: number): string {
  const unit = units.find((one) => milliseconds >= one.milliseconds) ?? { name: 'minute', milliseconds: 60_000 }
  const count = Math.max(1, Math.round(milliseconds / unit.milliseconds))
  return count === 1 ? `one ${unit.name}` : `${count} ${unit.name}s`
}
