import type { Company } from '../company.ts'
import { AgentError } from '../errors.ts'
import { hiddenCharacter } from '../net/text.ts'
import type { Session } from '../session.ts'
import { clean, shellWord } from './terminal.ts'

/** Which of a person's accounts at a Company a command is about (4.4). */

/** The option of every command that works in a Session. */
export interface AccountOptions {
  /** A name of the person's own; no Company sees it. */
  readonly account?: string
}

/** The account that was never given a name. */
const unnamed = 'default'

/**
 * The Session of the account that is meant: the one that was named, else the one without a name, else the only one there is.
 * @throws AgentError `invalid_input` where several have names and none was chosen
 */
export async function sessionOf(company: Company, { account }: AccountOptions): Promise<Session> {
  if (account !== undefined) return company.session({ account: checkName(account) })
  const names = (await company.accounts()).map((one) => one.account)
  const [only, another] = names
  if (only === undefined || names.includes(unnamed)) return company.session()
  if (another === undefined) return company.session({ account: only })
  throw new AgentError(
    'invalid_input',
    `You use several accounts at ${company.name} here: ${names.map((name) => clean(name, 60)).join(', ')}. Say which with --account ${shellWord(only)}`,
  )
}

function checkName(name: string): string {
  if (name.length > 60 || name.trim() !== name || name === '' || name.search(hiddenCharacter) >= 0) {
    throw new AgentError('invalid_input', 'An account gets a short name of your own, such as: --account work')
  }
  return name
}

/** A Company's name, with the account where that has one. */
export function nameOf(company: Company, { account }: Session): string {
  return account === unnamed ? company.name : `${company.name} (${clean(account, 60)})`
}

/** What a command line needs for the same account; nothing for the one without a name. */
export function accountFlag(account: string | undefined): string {
  return account === undefined || account === unnamed ? '' : ` --account ${shellWord(account)}`
}

/** The account in a list; nothing for the one without a name. */
export function accountLabel(account: string): string {
  return account === unnamed ? '' : clean(account, 60)
}
