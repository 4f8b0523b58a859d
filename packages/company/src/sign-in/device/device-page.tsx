import { type AccountLine, accountLine } from '../../pages/account-line.tsx'
import { page } from '../../pages/layout.tsx'
import type { Wording } from '../../words/wording.ts'

/** What a person sees who comes with a code (4.6): where it is typed, and what became of it. */

/** The page on which a code is typed. */
export interface EnterCode extends AccountLine {
  readonly organization: string
  readonly action: string
  /** What was typed before, to be mended. */
  readonly typed?: string
  readonly problem?: string
  readonly status?: number
}

/** Draws the page on which a code is typed. */
export function enterCodePage(wording: Wording, enter: EnterCode): Response {
  const { say } = wording
  return page(
    wording,
    {
      title: say('code.title', { organization: enter.organization }),
      status: enter.status ?? (enter.problem === undefined ? 200 : 400),
    },
    <form method="post" action={enter.action}>
      <p class="company">{enter.organization}</p>
      <h1>{say('code.heading')}</h1>
      {accountLine(wording, enter)}
      {enter.problem === undefined ? null : (
        <p class="alert" role="alert" id="problem">
          {enter.problem}
        </p>
      )}
      <label class="code">
        <span>{say('code.label')}</span>
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
      <p class="quiet note">{say('code.careful', { organization: enter.organization })}</p>
      <div class="actions">
        <button type="submit" class="primary">
          {say('code.continue')}
        </button>
      </div>
    </form>,
  )
}
