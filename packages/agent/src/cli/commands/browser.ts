import { setTimeout as sleep } from 'node:timers/promises'
import { AgentError } from '../../errors.ts'
import { type AccountOptions, sessionOf } from '../account.ts'
import { type CommandContext, withAgent } from '../command.ts'
import { clean } from '../terminal.ts'

/** For how long after the page was given out the agent's keys are still served, in milliseconds. */
const keysServedFor = 5000

/** `poppy open`: a browser that an agent controls joins the Session (5). */
export async function openPage(
  context: CommandContext,
  domain: string,
  url: string | undefined,
  options: AccountOptions,
): Promise<void> {
  const { output, around } = context
  await withAgent(context, async ({ user, identity }) => {
    const company = await user.company(domain)
    const page = await (await sessionOf(company, options)).joinBrowser(url === undefined ? {} : { returnTo: url })
    output.value({ open: page.url, expiresAt: new Date(page.expiresAt).toISOString() })
    output.line('Open this address once, within half a minute, in a browser that an agent controls:')
    output.line()
    output.line(`  ${clean(page.url, 500)}`)
    output.line()
    output.line(output.bold('Not in your own browser: what you did there would count as done by the agent.'))
    if (!(await page.opened)) {
      throw new AgentError('browser_unavailable', 'No browser opened the page in time, so none has joined.', {
        action: 'retry',
      })
    }
    // The Company checks the signature a moment later, with keys that a local identity serves only while this runs.
    if (identity.local) await (around.wait ?? sleep)(keysServedFor)
    output.value({ company: company.name, opened: true })
    output.line(`The page was opened, and its browser goes on at ${output.bold(company.name)}.`)
  })
}
