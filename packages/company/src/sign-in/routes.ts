import { type ClientMetadata, formatScope, isScope, PoppyError } from '@poppyseed/protocol'
import { z } from 'zod'
import { endForms } from '../accounts/person-store.ts'
import type { AgentDirectory } from '../agents/directory.ts'
import type { Logos } from '../agents/logo.ts'
import { cleanAgentName } from '../agents/name.ts'
import { sha256 } from '../crypto/hash.ts'
import { base64urlOf } from '../crypto/random.ts'
import { noAccessPage, problemPage } from '../pages/failure.ts'
import { claimIds } from '../sessions/store.ts'
import type { Logger, Scope } from '../store/database.ts'
import type { Wording } from '../words/wording.ts'
import { type AuthorizationRequest, readAuthorizationRequest, redirectBack } from './authorization-request.ts'
import { consentPage } from './consent-page.tsx'
import { formLifetime } from './form-lifetime.ts'
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
} from './person.ts'
import { insertCode } from './store.ts'

/** Section 4.5: the authorization endpoint and the page on which a person approves or declines. */

/** What the authorization endpoint needs (4.5). */
export interface SignInSettings extends PersonPage {
  readonly path: string
  readonly directory: AgentDirectory
  /** Where logos are on our own origin; null where none are shown. */
  readonly logos: Pick<Logos, 'pathOf'> | null
  readonly scope: () => Promise<Scope>
  readonly random: (length: number) => Uint8Array
  readonly log: Logger
  /** Scopes (4.4). */
  readonly offered: readonly string[]
  /** The URLs of the Company's MCP servers, which a code may be for (6). */
  readonly mcpResources: readonly string[]
  readonly connectedAgentsPage: string
  /** Milliseconds; null for no end. */
  readonly accountTokenLifetime: number | null
  /** Milliseconds: how long the access of a client lasts that gets no Account Token (6). */
  readonly sessionTokenLifetime: number
}

/** Milliseconds that a code stays good. */
const codeLifetime = 60_000

const formSchema = z.object({
  issuer: z.string(),
  id: z.string(),
  account: z.string(),
  clientId: z.string(),
  redirectUri: z.string(),
  state: z.string().optional(),
  scopes: z.array(z.string()),
  codeChallenge: z.string(),
  resource: z.string().optional(),
  expiresAt: z.number(),
})

/** `GET`: shows the consent page, by way of the site's own sign-in where needed. */
export async function showAuthorization(request: Request, settings: SignInSettings): Promise<Response> {
  const wording = settings.wordings.of(request)
  settings.requestLimits.countConsent(request)
  const url = new URL(request.url)
  const read = await readAuthorizationRequest(url.searchParams, settings.directory, {
    scopes: settings.offered,
    mcpResources: settings.mcpResources,
  })
  if (read.outcome === 'page') {
    settings.log.info({ reason: read.reason }, 'authorization request refused')
    return problemPage(wording, {
      status: 400,
      problem: 'untrusted',
      outcome: wording.say('outcome.noAccessClose'),
    })
  }
  if (read.outcome === 'redirect') {
    return redirectBack(read.redirectUri, settings.issuer, {
      error: read.error,
      error_description: read.description,
      state: read.state,
    })
  }
  const account = await accountOf(request, settings)
  const returnTo = settings.path + url.search
  if (account === null) {
    return toSignIn(settings, returnTo)
  }
  return showConsent(read.request, read.agent.metadata, account, settings, wording, returnTo)
}

async function showConsent(
  request: AuthorizationRequest,
  agent: ClientMetadata,
  account: Account,
  settings: SignInSettings,
  wording: Wording,
  returnTo: string,
  again?: { readonly chosen: readonly string[]; readonly problem: string },
): Promise<Response> {
  const host = new URL(request.clientId).host
  const form = settings.forms.seal({
    issuer: settings.issuer,
    id: base64urlOf(settings.random(16)),
    account: account.id,
    ...request,
    scopes: [...request.scopes],
    expiresAt: settings.now() + formLifetime,
  } satisfies z.infer<typeof formSchema>)
  return consentPage(wording, {
    organization: settings.organization,
    agentName: cleanAgentName(agent.name, host),
    agentHost: host,
    logoPath: settings.logos?.pathOf(agent) ?? null,
    ...accountShown(settings, account, returnTo),
    rights: request.scopes.map((scope) => ({
      scope,
      ...wording.scope(scope),
      isChosen: again ? again.chosen.includes(scope) : true,
    })),
    // 6: what a client that can't authenticate gets ends with its token
    lifetime: agent.authentication === 'none' ? settings.sessionTokenLifetime : settings.accountTokenLifetime,
    connectedAgentsUrl: new URL(settings.connectedAgentsPage, settings.origin).href,
    form,
    action: settings.path,
    redirectOrigin: new URL(request.redirectUri).origin,
    ...(again ? { problem: again.problem } : {}),
  })
}

/** `POST`: the person's decision. */
export async function decideAuthorization(request: Request, settings: SignInSettings): Promise<Response> {
  settings.requestLimits.countConsent(request)
  const wording = settings.wordings.of(request)
  if (!isFromOurPage(request, settings.origin)) return noAccessPage(wording, 403, 'foreignForm')
  const fields = await readFields(request)
  const form = openForm(formSchema, fields, settings)
  const decision = single(fields, 'decision')
  if (form === null || (decision !== 'approve' && decision !== 'decline'))
    return noAccessPage(wording, 400, 'incompleteForm')
  const { issuer: _, id, account: accountId, expiresAt, ...read } = form
  const asked: AuthorizationRequest = { ...read, state: read.state, resource: read.resource }
  if (expiresAt <= settings.now()) return noAccessPage(wording, 400, 'oldPage')
  const account = await accountOf(request, settings)
  if (account?.id !== accountId) return noAccessPage(wording, 403, 'otherAccount')
  settings.requestLimits.countDecision(account.id)
  const chosen = fields.getAll('scope').filter((scope) => isScope(scope) && asked.scopes.includes(scope))
  if (decision === 'approve' && chosen.length === 0) {
    const query = new URLSearchParams({
      response_type: 'code',
      client_id: asked.clientId,
      redirect_uri: asked.redirectUri,
      scope: asked.scopes.join(' '),
      code_challenge: asked.codeChallenge,
      code_challenge_method: 'S256',
      ...(asked.state === undefined ? {} : { state: asked.state }),
      ...(asked.resource === undefined ? {} : { resource: asked.resource }),
    })
    const { metadata } = await settings.directory.find(asked.clientId)
    return showConsent(asked, metadata, account, settings, wording, `${settings.path}?${query}`, {
      chosen,
      problem: wording.say('consent.chooseOne'),
    })
  }
  if (decision === 'approve' && !(await isAdmitted(asked.clientId, settings))) {
    return problemPage(wording, { status: 400, problem: 'agentBlocked', outcome: wording.say('outcome.noAccessAtAll') })
  }
  const code = base64urlOf(settings.random(32))
  const scope = await settings.scope()
  const now = settings.now()
  const outcome = await scope.db.transaction(async () => {
    // 4.9: a page from before all access was ended must not bring it back.
    if (expiresAt <= (await endForms(scope, { account: accountId, until: 0 }))) return 'ended'
    if (!(await claimIds(scope, [{ kind: 'form', owner: accountId, id, expiresAt }]))) return 'answered'
    if (decision === 'approve') {
      await insertCode(scope, {
        code_hash: sha256(code),
        client_id: asked.clientId,
        redirect_uri: asked.redirectUri,
        code_challenge: asked.codeChallenge,
        account: accountId,
        scopes: formatScope(asked.scopes.filter((one) => chosen.includes(one))),
        resource: asked.resource ?? null,
        created_at: now,
        expires_at: now + codeLifetime,
        used_at: null,
        grant_id: null,
      })
    }
    return 'first'
  })
  if (outcome === 'ended') return noAccessPage(wording, 400, 'allEnded')
  if (outcome === 'answered') {
    return problemPage(wording, { status: 400, problem: 'answered', outcome: wording.say('outcome.startAgain') })
  }
  return decision === 'approve'
    ? redirectBack(asked.redirectUri, settings.issuer, { code, state: asked.state })
    : redirectBack(asked.redirectUri, settings.issuer, { error: 'access_denied', state: asked.state })
}

/** 4.1: blocked since the page was opened, there is nobody to approve. */
async function isAdmitted(clientId: string, { directory }: SignInSettings): Promise<boolean> {
  try {
    await directory.admit(clientId)
    return true
  } catch (error) {
    if (error instanceof PoppyError) return false
    throw error
  }
}
