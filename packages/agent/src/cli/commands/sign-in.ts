import { AgentError } from '../../errors.ts'
import type { SignInResult } from '../../sessions/sign-in.ts'
import { type CommandContext, withAgent } from '../command.ts'
import { clean, shellWord } from '../terminal.ts'

/** `poppy sign-in` and `poppy sign-out` (4.5, 4.9). */

/** The options of `poppy sign-in`. */
export interface SignInOptions {
  readonly scope?: readonly string[]
  readonly again?: boolean
}

/** `poppy sign-in`: Direct Sign-In in the User’s own browser (4.5). */
export async function signIn(context: CommandContext, domain: string, options: SignInOptions): Promise<void> {
  const { output } = context
  await withAgent(context, async ({ user }) => {
    const company = await user.company(domain)
    const session = company.session()
    const scopes = options.scope ?? company.signIn.direct ?? []
    if (scopes.length === 0) {
      throw new AgentError('sign_in_unavailable', `${company.name} offers no sign-in that poppy can use.`)
    }
    const open = (url: string) => {
      output.value({ open: url })
      output.line('Open this address in your browser to sign in:')
      output.line()
      output.line(`  ${clean(url, 8000)}`)
      output.line()
      output.note(output.dim('Waiting for you to finish there. It ends by itself after 15 minutes.'))
    }
    let result: SignInResult
    if (options.again) {
      const pending = await session.beginSignIn({ scopes })
      open(pending.url)
      result = await pending.done
    } else {
      result = await session.signIn({ scopes, open })
    }
    output.value({ company: company.name, ...result })
    output.line(`Signed in at ${output.bold(company.name)} with ${clean(result.granted.join(', ')) || 'no scopes'}.`)
    if (result.missing.length > 0) output.line(`Not given: ${clean(result.missing.join(', '))}.`)
    if (result.replaced === 'not_revoked') {
      output.line('The access from before could not be withdrawn; you can end it in your account there.')
    }
    output.line(`Next: poppy tools ${shellWord(domain)}`)
  })
}

/** `poppy sign-out`: revokes the Account Token (4.9). */
export async function signOut(context: CommandContext, domain: string): Promise<void> {
  const { output } = context
  await withAgent(context, async ({ user }) => {
    const company = await user.company(domain)
    const { revoked } = await company.session().signOut()
    output.value({ company: company.name, revoked })
    output.line(
      revoked
        ? `Signed out at ${output.bold(company.name)}. The agent has no access to your account there.`
        : `You were not signed in at ${output.bold(company.name)}.`,
    )
  })
}
