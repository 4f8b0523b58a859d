import { z } from 'zod'
import { problemPage } from '../pages/failure.ts'
import { formLifetime } from '../sign-in/form-lifetime.ts'
import {
  type Account,
  accountOf,
  accountShown,
  isFromOurPage,
  openForm,
  type PersonPage,
  readFields,
  single,
  toSignIn,
} from '../sign-in/person.ts'
import type { Wording } from '../words/wording.ts'
import type { Problem } from '../words/words.ts'
import { agentsPage, type ShownAgent } from './agents-page.tsx'
import type { Accounts } from './connections.ts'

/** Section 4.9: the account page, for a site that doesn't draw its own. */

/** What the page needs. */
export interface AgentsPageSettings extends PersonPage {
  readonly path: string
  readonly accounts: Accounts
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
  return draw(settings.wordings.of(request), account, settings)
}

/** `POST`: takes a right away, or disconnects one agent or all of them. */
export async function endAgents(request: Request, settings: AgentsPageSettings): Promise<Response> {
  const wording = settings.wordings.of(request)
  const refused = (status: number, problem: Problem) =>
    problemPage(wording, { status, problem, outcome: wording.say('outcome.goBack', { path: settings.path }) })
  if (!isFromOurPage(request, settings.origin)) return refused(403, 'foreignForm')
  settings.requestLimits.countConsent(request)
  const fields = await readFields(request)
  const account = await accountOf(request, settings)
  if (account === null) return toSignIn(settings, settings.path)
  const form = openForm(formSchema, fields, settings)
  const act = single(fields, 'act')
  const [clientId, scope] = [single(fields, 'client_id'), single(fields, 'scope')]
  // Without an agent it is for all of them: one that is named twice, or by nothing, isn't without.
  const isNamed = !fields.has('client_id') || Boolean(clientId)
  const isComplete = act === 'disconnect' ? isNamed && !fields.has('scope') : act === 'take_away' && clientId && scope
  if (form === null || !isComplete) return refused(400, 'incompleteForm')
  if (form.account !== account.id) return refused(403, 'otherAccount')
  if (form.expiresAt <= settings.now()) return refused(400, 'oldPage')

  const { accounts } = settings
  if (act === 'take_away' && clientId !== undefined && scope !== undefined) {
    await accounts.takeAway(account.id, clientId, scope)
    return draw(wording, account, settings, wording.say('agents.takenAway'))
  }
  if (clientId === undefined) {
    await accounts.revokeAll(account.id)
    return draw(wording, account, settings, wording.say('agents.allDisconnected'))
  }
  await accounts.disconnect(account.id, clientId)
  return draw(wording, account, settings, wording.say('agents.disconnected'))
}

async function draw(wording: Wording, account: Account, settings: AgentsPageSettings, done?: string) {
  const now = settings.now()
  const agents = await settings.accounts.connectedAgents(account.id, { locale: wording.locale })
  return agentsPage(wording, {
    organization: settings.organization,
    ...accountShown(settings, account, settings.path),
    agents: agents.map(
      (agent): ShownAgent => ({
        clientId: agent.clientId,
        name: agent.name,
        host: agent.host,
        rights: agent.rights,
        connected: wording.say(`agents.connected.${agent.signIn}`, { day: wording.day(agent.connectedAt, now) }),
        lastUsed: wording.say('agents.lastUsed', { day: wording.day(agent.lastUsedAt, now) }),
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
