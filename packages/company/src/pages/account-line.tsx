import type { Wording } from '../words/wording.ts'

/** Whose page this is, and the way to another account. */
export interface AccountLine {
  readonly accountName: string
  /** Where another account is chosen. */
  readonly switchAccountUrl: string
}

/** Draws the line that stands on each page on which a person decides something for their account. */
export function accountLine({ say, parts }: Wording, { accountName, switchAccountUrl }: AccountLine) {
  return (
    <p class="account">
      <span>{parts('account.yours', { account: <strong>{accountName}</strong> })}</span>
      <a href={switchAccountUrl}>{say('account.switch')}</a>
    </p>
  )
}
