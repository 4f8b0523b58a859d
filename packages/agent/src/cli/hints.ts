import { AgentError } from '../errors.ts'
import { accountFlag } from './account.ts'
import { shellWord } from './terminal.ts'

/** What helps after an error, and the exit code that a program sees. */

/** Exit codes, as `--help` lists them. */
export const exitCodes = { done: 0, failed: 1, usage: 2, askOwner: 3, later: 4 } as const

/** The exit code that an error ends the command with. */
export function exitCodeOf(error: unknown): number {
  if (!(error instanceof AgentError)) return exitCodes.failed
  if (error.code === 'invalid_input') return exitCodes.usage
  if (error.action === 'ask_owner') return exitCodes.askOwner
  return error.action === 'retry' ? exitCodes.later : exitCodes.failed
}

/** The command that helps, or undefined where the error's own sentence has said it. */
export function hintFor(
  error: unknown,
  command: string,
  { domain, account }: { readonly domain?: string | undefined; readonly account?: string | undefined },
): string | undefined {
  if (!(error instanceof AgentError)) return undefined
  const at = domain === undefined ? '<domain>' : shellWord(domain)
  const flag = accountFlag(account)
  const scopes = (error.scopes ?? []).map((scope) => ` --scope ${shellWord(scope)}`).join('')
  const signIn = `Try: poppy sign-in ${at}${flag}${scopes}`
  switch (error.code) {
    case 'sign_in_required':
    case 'insufficient_scope':
    case 'sign_in_failed':
    case 'sign_in_expired':
      return signIn
    case 'request_refused':
      return error.action === 'ask_owner' ? signIn : undefined
    case 'sign_in_declined':
      return error.scopes === undefined
        ? undefined
        : `If you have changed your mind: poppy sign-in ${at}${flag}${scopes}`
    case 'unknown_operation':
      return `Try: poppy tools ${at}${flag}`
    case 'conversation_not_found':
      return `To begin a new one: poppy chat ${at}${flag}`
    case 'invalid_input':
      return `Try: poppy ${command} --help`
    case 'misconfigured':
      return command === 'init'
        ? 'Try: poppy status'
        : 'Try: poppy init --local (for development), or poppy init --help'
    case 'not_a_company':
    case 'sign_in_unavailable':
      return command === 'discover' ? undefined : `Try: poppy discover ${at}`
    case 'client_refused':
      if (error.action === 'ask_owner') return signIn
      return 'It could not fetch your agent’s identity, or it keeps this agent out. For the first, try: poppy serve'
    default:
      return undefined
  }
}
