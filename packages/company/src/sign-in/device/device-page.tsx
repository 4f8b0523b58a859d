import { page } from '../../pages/layout.tsx'

/** What a person sees who comes with a code (4.6): where it is typed, and what became of it. */

/** The page on which a code is typed. */
export interface EnterCode {
  readonly organization: string
  readonly accountName: string
  readonly switchAccountUrl: string
  readonly action: string
  /** What was typed before, to be mended. */
  readonly typed?: string
  readonly problem?: string
  readonly status?: number
}

/** Draws the page on which a code is typed. */
export function enterCodePage(enter: EnterCode): Response {
  return page(
    {
      title: `Enter a code – ${enter.organization}`,
      status: enter.status ?? (enter.problem === undefined ? 200 : 400),
    },
    <form method="post" action={enter.action}>
      <p class="company">{enter.organization}</p>
      <h1>Enter the code that your agent shows</h1>
      <p class="account">
        <span>
          Your account: <strong>{enter.accountName}</strong>
        </span>
        <a href={enter.switchAccountUrl}>Use another account</a>
      </p>
      {enter.problem === undefined ? null : (
        <p class="alert" role="alert" id="problem">
          {enter.problem}
        </p>
      )}
      <label class="code">
        <span>Code</span>
        <input
          name="user_code"
          value={enter.typed ?? ''}
          required
          maxlength={32}
          autocomplete="one-time-code"
          autocapitalize="characters"
          spellcheck={false}
          placeholder="XXXX-XXXX"
          {...(enter.problem === undefined ? {} : { 'aria-invalid': 'true', 'aria-describedby': 'problem' })}
        />
      </label>
      <p class="quiet note">
        Enter a code only if you started this yourself, with your own agent. Nobody from {enter.organization} will ever
        ask you to.
      </p>
      <div class="actions">
        <button type="submit" class="primary">
          Continue
        </button>
      </div>
    </form>,
  )
}
