import { isLoopbackHost } from '@poppyseed/protocol'
import type { Company } from '../../company.ts'
import type { KnownCompany } from '../../sessions/known.ts'
import { accountLabel } from '../account.ts'
import { type CommandContext, openAgent } from '../command.ts'
import { clean, shellWord, table, withoutEmptyColumns } from '../terminal.ts'

/** `poppy discover` and `poppy status`: what is known of Companies. */

/** `poppy discover`: what a Company offers (3). */
export async function discover(context: CommandContext, domain: string): Promise<void> {
  const { output } = context
  const { user } = await openAgent(context)
  const company = await user.company(domain)
  output.value({
    name: company.name,
    domain: company.domain,
    issuer: company.issuer ?? null,
    protocolVersion: company.protocolVersion,
    signIn: company.signIn,
    customScopes: company.customScopes,
    apis: company.apis,
    extensions: company.extensions,
  })
  output.line(`${output.bold(company.name)}  ${output.dim(clean(company.domain))}`)
  output.line()
  for (const row of table(rowsOf(company))) output.line(`  ${row}`)
  output.line()
  output.line(`Next: poppy tools ${shellWord(domain)}`)
}

function rowsOf(company: Company): readonly (readonly string[])[] {
  const { direct, device, mediated } = company.signIn
  const signIn = [
    ...(direct ? [`in your browser: ${direct.join(', ')}`] : []),
    ...(device ? [`on another device: ${device.join(', ')} (poppy sign-in --device)`] : []),
    ...(mediated ? [`with credentials: ${mediated.join(', ')} (poppy sign-in --mediated)`] : []),
  ]
  return [
    ['Protocol', clean(company.protocolVersion)],
    ...labelled('Identity', company.issuer === undefined ? ['none: a website to browse'] : [clean(company.issuer)]),
    ...labelled('Sign-in', signIn.length > 0 ? signIn.map((line) => clean(line, 400)) : ['none']),
    ...labelled(
      'Scopes',
      Object.entries(company.customScopes).map(([name, meaning]) => `${clean(name)}: ${clean(meaning)}`),
    ),
    ...labelled(
      'APIs',
      company.apis.map((api) => [clean(api.type), clean(api.url), clean(api.description)].filter(Boolean).join('  ')),
    ),
    ...labelled(
      'Extensions',
      company.extensions.map((name) => clean(name)),
    ),
  ]
}

function labelled(label: string, lines: readonly string[]): readonly (readonly string[])[] {
  return lines.map((line, at) => [at === 0 ? label : '', line])
}

/** `poppy status`: where this agent has been, and its access there. No secret in it. */
export async function status(context: CommandContext): Promise<void> {
  const { output, home } = context
  const { user, agent } = await openAgent(context)
  const companies = await user.companies()
  output.value({ clientId: agent.clientId, home: home.folder, companies })
  output.line(`${output.bold(agent.clientId)}  ${output.dim(home.folder)}`)
  output.line()
  if (companies.length === 0) {
    output.line('No Company has been visited yet.')
    output.line('Next: poppy discover <domain>')
    return
  }
  // On this machine the port matters, and the domain doesn't have it.
  const addressOf = ({ domain, issuer }: KnownCompany) => clean(isLoopbackHost(domain) ? new URL(issuer).host : domain)
  const rows = companies.flatMap((company) =>
    company.accounts.length === 0
      ? [[clean(company.name), addressOf(company), '', 'signed out', '']]
      : company.accounts.map((account) => [
          clean(company.name),
          addressOf(company),
          accountLabel(account.account),
          `signed in: ${clean(account.scopes.join(', ')) || 'no scopes'}`,
          account.expiresAt === null ? '' : `until ${new Date(account.expiresAt).toISOString().slice(0, 10)}`,
        ]),
  )
  for (const row of table(withoutEmptyColumns(rows))) output.line(`  ${row}`)
  const waiting = companies.filter(({ unrevoked }) => unrevoked > 0)
  if (waiting.length === 0) return
  output.line()
  for (const { name, unrevoked } of waiting) {
    const accesses = unrevoked === 1 ? 'An earlier access' : `${unrevoked} earlier accesses`
    output.line(
      `${accesses} at ${clean(name)} could not be withdrawn yet; that is tried again when poppy is used there.`,
    )
  }
}
