import type { Company } from '../../company.ts'
import { AgentError } from '../../errors.ts'
import type { Session } from '../../session.ts'
import type { PendingDeviceSignIn } from '../../sessions/device-sign-in.ts'
import type { MediatedSignInRequest } from '../../sessions/mediated-sign-in.ts'
import type { SignInResult } from '../../sessions/sign-in-end.ts'
import { type AccountOptions, accountFlag, nameOf, sessionOf } from '../account.ts'
import { type CommandContext, withAgent } from '../command.ts'
import { drawQrCode } from '../qr-code.ts'
import { clean, shellWord } from '../terminal.ts'

/** `poppy sign-in` and `poppy sign-out` (4.5 to 4.7, 4.9). */

/** The options of `poppy sign-in`. */
export interface SignInOptions extends AccountOptions {
  readonly scope?: readonly string[]
  readonly again?: boolean
  readonly device?: boolean
  readonly mediated?: boolean
  /** False with `--no-qr`. */
  readonly qr?: boolean
}

/** `poppy sign-in`: Direct Sign-In in the User’s own browser (4.5), Device Sign-In with a code (4.6), or Mediated (4.7). */
export async function signIn(context: CommandContext, domain: string, options: SignInOptions): Promise<void> {
  const { output } = context
  await withAgent(context, async ({ user }) => {
    const company = await user.company(domain)
    const session = await sessionOf(company, options)
    if (options.device && options.mediated) {
      throw new AgentError('invalid_input', 'One way at a time: --device or --mediated.')
    }
    const type = options.device ? 'device' : options.mediated ? 'mediated' : 'direct'
    const scopes = options.scope ?? company.signIn[type] ?? []
    if (scopes.length === 0) throw unavailable(company, options)
    const ways = { device: onAnotherDevice, mediated: withCredentials, direct: inTheirBrowser }
    const result = await ways[type](context, session, scopes, options)
    output.value({ company: company.name, account: session.account, ...result })
    output.line(
      `Signed in at ${output.bold(nameOf(company, session))} with ${clean(result.granted.join(', ')) || 'no scopes'}.`,
    )
    if (result.missing.length > 0) output.line(`Not given: ${clean(result.missing.join(', '))}.`)
    if (result.switched) {
      output.line('This is another account than before, and the agent uses it from now on instead of that one.')
      output.line(`To use both, give one a name: poppy sign-in ${shellWord(domain)} --account <name>`)
    }
    if (result.replaced === 'not_revoked') output.line(notWithdrawn)
    output.line(`Next: poppy tools ${shellWord(domain)}${accountFlag(options.account)}`)
  })
}

const notWithdrawn =
  'The access from before could not be withdrawn yet. That is tried again, and you can end it in your account there.'

function unavailable({ name, signIn }: Company, { device, mediated }: SignInOptions): AgentError {
  if (mediated) return new AgentError('sign_in_unavailable', `${name} takes no credentials from a Personal Agent.`)
  if (device) {
    return new AgentError('sign_in_unavailable', `${name} offers no sign-in with a code on another device.`)
  }
  return new AgentError(
    'sign_in_unavailable',
    signIn.device
      ? `${name} offers no sign-in in your browser, but one with a code: add --device.`
      : `${name} offers no sign-in that poppy can use.`,
  )
}

async function inTheirBrowser(
  { output }: CommandContext,
  session: Session,
  scopes: readonly string[],
  { again }: SignInOptions,
): Promise<SignInResult> {
  const open = (url: string) => {
    output.value({ open: url })
    output.line('Open this address in your browser to sign in:')
    output.line()
    output.line(`  ${clean(url, 8000)}`)
    output.line()
    output.note(output.dim('Waiting for you to finish there. It ends by itself after 15 minutes.'))
  }
  if (!again) return session.signIn({ scopes, open })
  const pending = await session.beginSignIn({ scopes })
  open(pending.url)
  return pending.done
}

async function onAnotherDevice(
  context: CommandContext,
  session: Session,
  scopes: readonly string[],
  { again, qr }: SignInOptions,
): Promise<SignInResult> {
  const show = (pending: PendingDeviceSignIn) => showCode(context, pending, qr !== false)
  if (!again) return session.signIn({ scopes, show })
  const pending = await session.beginDeviceSignIn({ scopes })
  await show(pending)
  return pending.done
}

async function showCode(
  { output, around }: CommandContext,
  { userCode, verificationUri, verificationUriComplete, isOwnPage, expiresAt }: PendingDeviceSignIn,
  wantsQr: boolean,
): Promise<void> {
  const ends = new Date(expiresAt).toISOString()
  output.value({ userCode, verificationUri, verificationUriComplete, isOwnPage, expiresAt: ends })
  output.line('On any device, open this page and enter the code:')
  output.line()
  output.line(`  ${clean(verificationUri, 2048)}`)
  output.line(`  ${output.bold(clean(userCode, 64))}`)
  output.line()
  if (!isOwnPage) {
    const host = clean(new URL(verificationUri).host)
    output.line(`That page is at ${output.bold(host)}, which is not the Company's own. Go on only if you expect that.`)
    output.line()
  }
  if (verificationUriComplete !== undefined) {
    // Nobody can read where a QR code leads, so it leads to the Company's own page or there is none.
    const code = wantsQr && isOwnPage && !output.json ? await drawQrCode(verificationUriComplete, around) : undefined
    output.line(
      code ? 'Or point a phone at this, or open the link below it:' : 'Or open this link, which has the code in it:',
    )
    output.line()
    for (const line of code ?? []) output.line(line)
    if (code) output.line()
    output.line(`  ${clean(verificationUriComplete, 2048)}`)
    output.line()
  }
  const minutes = Math.max(1, Math.round((expiresAt - around.now()) / 60_000))
  const span = minutes === 1 ? 'a minute' : `${minutes} minutes`
  output.note(output.dim(`Waiting for you to approve it there. The code ends after ${span}.`))
}

/** 4.7: what is typed goes to the Company's endpoint and is gone afterwards. */
async function withCredentials(
  { output, around }: CommandContext,
  session: Session,
  scopes: readonly string[],
  { again }: SignInOptions,
): Promise<SignInResult> {
  if (!around.prompt) throw new AgentError('misconfigured', 'There is nobody here to type the credentials.')
  const prompt = around.prompt()
  try {
    const request: MediatedSignInRequest = {
      scopes,
      ask: async (fields) => {
        output.note(output.dim('What you type goes to the Company for this sign-in, and is not kept.'))
        const given: Record<string, string> = {}
        for (const { name, label, secret } of fields) {
          const typed = await prompt.ask(clean(label), { secret })
          if (!typed) throw new AgentError('sign_in_failed', `${clean(label)} was not entered, so nothing was sent.`)
          given[name] = typed
        }
        return given
      },
      code: async ({ sentTo, isRepeated }) => {
        output.value({ code: { sentTo, isRepeated } })
        if (isRepeated) output.line('That code was not right.')
        output.line(`A one-time code is on its way${sentTo === '' ? '' : `: ${clean(sentTo)}`}.`)
        return prompt.ask('Code', { secret: true })
      },
    }
    return await (again ? session.signInMediated(request) : session.signIn(request))
  } finally {
    prompt.close()
  }
}

/** `poppy sign-out`: revokes the Account Token (4.9). */
export async function signOut(context: CommandContext, domain: string, options: AccountOptions): Promise<void> {
  const { output } = context
  await withAgent(context, async ({ user }) => {
    const company = await user.company(domain)
    const session = await sessionOf(company, options)
    const { revoked } = await session.signOut()
    const unrevoked = (await user.companies()).find(({ issuer }) => issuer === company.issuer)?.unrevoked ?? 0
    output.value({ company: company.name, account: session.account, revoked, unrevoked })
    const name = output.bold(nameOf(company, session))
    output.line(
      revoked
        ? `Signed out at ${name}. The agent has no access to your account there.`
        : `You were not signed in at ${name}.`,
    )
    if (unrevoked > 0) output.line(notWithdrawn)
    const others = (await company.accounts()).map(({ account }) => clean(account, 60))
    if (others.length > 0) output.line(`Still signed in there: ${others.join(', ')}.`)
  })
}
