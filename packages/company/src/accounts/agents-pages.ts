import { z } from 'zod'
import type { Sealer } from '../crypto/seal.ts'
import type { RequestLimits } from '../limits/request-limits.ts'
import { messagePage } from '../pages/layout.tsx'
import { formLifetime } from '../sign-in/form-lifetime.ts'
import { type Account, accountOf, isFromOurPage, readFields, toSignIn } from '../sign-in/person.ts'
import { agentsPage, type ShownAgent } from './agents-page.tsx'
import type { Accounts, ConnectedAgent } from './connections.ts'

/** Section 4.9: the account page, for a site that doesn't draw its own. */

/** What the page needs. */
export interface AgentsPageSettings {
  readonly issuer: string
  readonly origin: string
  readonly organization: string
  readonly path: string
  readonly accounts: Accounts
  readonly forms: Sealer
  readonly requestLimits: RequestLimits
  /** Milliseconds since 1970. */
  readonly now: () => number
  readonly account: (request: Request) => Account | null | Promise<Account | null>
  readonly signInPage: (returnTo: string) => string
  readonly switchAccountPage: (returnTo: string) => string
}

const formSchema = z.object({
  issuer: z.string(),
  /** Another form than those of the sign-in pages: none passes for the other. */
  page: z.literal('agents'),
  account: z.string(),
  expiresAt: z.number(),
})

/** `GET`: who is connected. */
export async function showAgents(request: Request, settings: AgentsPageSettings): Promise<Response> {
  settings.requestLimits.countConsent(request)
  const account = await accountOf(request, settings)
  if (account === null) return toSignIn(settings, settings.path)
  return draw(request, account, settings)
}

/** `POST`: takes a right away, or disconnects one agent or all of them. */
export async function endAgents(request: Request, settings: AgentsPageSettings): Promise<Response> {
  if (!isFromOurPage(request, settings.origin)) {
    return refused(403, 'This form came from somewhere else', 'It was not sent from our own page.', settings)
  }
  settings.requestLimits.countConsent(request)
  const fields = await readFields(request)
  const account = await accountOf(request, settings)
  if (account === null) return toSignIn(settings, settings.path)
  const single = (name: string) => {
    const values = fields.getAll(name)
    return values.length === 1 ? values[0] : undefined
  }
  const form = formSchema.safeParse(settings.forms.open(single('request') ?? ''))
  const act = single('act')
  const [clientId, scope] = [single('client_id'), single('scope')]
  // Without an agent it is for all of them: one that is named twice, or by nothing, isn't without.
  const isNamed = !fields.has('client_id') || Boolean(clientId)
  const isComplete = act === 'disconnect' ? isNamed && !fields.has('scope') : act === 'take_away' && clientId && scope
  if (!form.success || form.data.issuer !== settings.issuer || !isComplete)
    return refused(400, 'This form isn’t complete', 'Something of it is missing or was changed.', settings)
  if (form.data.account !== account.id)
    return refused(403, 'You are not signed in as before', 'The account changed since this page was opened.', settings)
  if (form.data.expiresAt <= settings.now())
    return refused(400, 'This page is too old', 'It waited longer than half an hour.', settings)

  const { accounts } = settings
  if (act === 'take_away' && clientId !== undefined && scope !== undefined) {
    await accounts.takeAway(account.id, clientId, scope)
    return draw(request, account, settings, 'Done. The agent can no longer do that.')
  }
  if (clientId === undefined) {
    await accounts.revokeAll(account.id)
    return draw(request, account, settings, 'Done. No agent has access to your account any more.')
  }
  await accounts.disconnect(account.id, clientId)
  return draw(request, account, settings, 'Done. The agent no longer has access to your account.')
}

async function draw(request: Request, account: Account, settings: AgentsPageSettings, done?: string) {
  const now = settings.now()
  const locale = localeOf(request)
  const agents = merge(await settings.accounts.connectedAgents(account.id))
  return agentsPage({
    organization: settings.organization,
    accountName: account.name,
    switchAccountUrl: new URL(settings.switchAccountPage(settings.path), settings.origin).href,
    agents: agents.map(
      (agent): ShownAgent => ({
        clientId: agent.clientId,
        name: agent.name,
        host: agent.host,
        rights: agent.rights,
        connected: `Connected ${day(agent.connectedAt, now, locale)}, ${ways[agent.signIn]}.`,
        lastUsed: `Last used ${day(agent.lastUsedAt, now, locale)}.`,
      }),
    ),
    form: settings.forms.seal({
      issuer: settings.issuer,
      page: 'agents',
      account: account.id,
      expiresAt: now + formLifetime,
    } satisfies z.infer<typeof formSchema>),
    action: settings.path,
    ...(done === undefined ? {} : { done }),
  })
}

const ways: Readonly<Record<ConnectedAgent['signIn'], string>> = {
  direct: 'by your approval on our page',
  device: 'by a code that you entered',
  mediated: 'with the credentials that you gave it',
}

/** A person sees agents, not sign-ins: several of one agent are one. */
function merge(connections: readonly ConnectedAgent[]): readonly ConnectedAgent[] {
  const byClient = new Map<string, ConnectedAgent>()
  for (const one of connections) {
    const other = byClient.get(one.clientId)
    if (other === undefined) byClient.set(one.clientId, one)
    else {
      const rights = new Map([...other.rights, ...one.rights].map((right) => [right.scope, right]))
      // Newest first: the way in that counts is the last one.
      byClient.set(one.clientId, {
        ...other,
        rights: [...rights.values()],
        lastUsedAt: Math.max(other.lastUsedAt, one.lastUsedAt),
      })
    }
  }
  return [...byClient.values()]
}

const oneDay = 86_400_000

/** A day in the person's own way of writing it; nearer than that, in words. */
function day(time: number, now: number, locale: string): string {
  if (now - time < oneDay) return 'in the last 24 hours'
  return `on ${new Intl.DateTimeFormat(locale, { dateStyle: 'long', timeZone: 'UTC' }).format(time)}`
}

/** The language in which dates are written: English, in the kind of English that the person's browser asks for. */
function localeOf(request: Request): string {
  const [first = ''] = (request.headers.get('accept-language') ?? '').split(',')
  const tag = first.split(';', 1)[0]?.trim() ?? ''
  return /^en(?:-[A-Za-z]{2})?$/.test(tag) ? tag : 'en-GB'
}

function refused(status: number, title: string, what: string, { path }: AgentsPageSettings): Response {
  return messagePage({ status, title, text: `${what} Nothing was changed. Go back to ${path} and try again.` })
}
