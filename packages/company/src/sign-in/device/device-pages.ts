import { formatScope, isScope, PoppyError } from '@poppyseed/protocol'
import { z } from 'zod'
import { wasEndedSince } from '../../accounts/person-store.ts'
import { cleanAgentName } from '../../agents/name.ts'
import { sha256 } from '../../crypto/hash.ts'
import { base64urlOf } from '../../crypto/random.ts'
import { messagePage } from '../../pages/layout.tsx'
import { claimIds } from '../../sessions/store.ts'
import { countAttempts, forgetAttempt } from '../attempts.ts'
import { consentPage } from '../consent-page.tsx'
import { type Account, accountOf, isFromOurPage, readFields, toSignIn } from '../person.ts'
import type { SignInSettings } from '../routes.ts'
import { approvableUntil } from './approval-window.ts'
import { enterCodePage } from './device-page.tsx'
import { type DeviceRow, decideDevice, findDevice, findDeviceByUserCode } from './store.ts'
import { readUserCode, showUserCode } from './user-code.ts'

/** Section 4.6, step 2: the person comes with a code or by a link, sees who asks, and decides. */

/** 4.6: guesses at codes, for a person and for an address; a right code takes none of them back. */
const guesses = {
  person: { kind: 'user_code:person', most: 10, window: 60 * 60_000 },
  address: { kind: 'user_code:address', most: 50, window: 60 * 60_000 },
}

const formLifetime = 10 * 60_000

const formSchema = z.object({
  issuer: z.string(),
  id: z.string(),
  /** Another form than that of Direct Sign-In: neither passes for the other. */
  device: z.string(),
  account: z.string(),
  clientId: z.string(),
  scopes: z.array(z.string()),
  userCode: z.string(),
  openedAt: z.number(),
  expiresAt: z.number(),
})

const nothingChanged = 'Nothing was changed, and the agent got no access.'

/** `GET`: the page for a code, or with `user_code` who asks for what. Opening it approves nothing. */
export async function showDevice(request: Request, settings: SignInSettings): Promise<Response> {
  settings.requestLimits.countConsent(request)
  const url = new URL(request.url)
  const codes = url.searchParams.getAll('user_code')
  const account = await accountOf(request, settings)
  if (account === null) return toSignIn(settings, settings.path + url.search)
  if (codes.length === 0) return askForCode(account, settings)
  return lookUp(request, codes.length === 1 ? (codes[0] ?? '') : '', account, settings)
}

/** `POST`: a code that was typed, or the person's decision. */
export async function decideDeviceRequest(request: Request, settings: SignInSettings): Promise<Response> {
  if (!isFromOurPage(request, settings.origin)) {
    return messagePage({
      status: 403,
      title: 'This form came from somewhere else',
      text: `It was not sent from our own page. ${nothingChanged} Start again from your agent.`,
    })
  }
  settings.requestLimits.countConsent(request)
  const fields = await readFields(request)
  const account = await accountOf(request, settings)
  if (account === null) return toSignIn(settings, settings.path)
  const codes = fields.getAll('user_code')
  if (codes.length === 1 && !fields.has('request')) return lookUp(request, codes[0] ?? '', account, settings)
  return decide(fields, account, settings)
}

function askForCode(
  account: Account,
  settings: SignInSettings,
  problem?: { text: string; typed: string; status: number },
) {
  return enterCodePage({
    organization: settings.organization,
    accountName: account.name,
    switchAccountUrl: new URL(settings.switchAccountPage(settings.path), settings.origin).href,
    action: settings.path,
    ...(problem === undefined ? {} : { problem: problem.text, typed: problem.typed, status: problem.status }),
  })
}

async function lookUp(request: Request, typed: string, account: Account, settings: SignInSettings): Promise<Response> {
  const scope = await settings.scope()
  const now = settings.now()
  const address = settings.requestLimits.addressOf(request)
  const counted = [
    { ...guesses.person, owner: account.id },
    ...(address === null ? [] : [{ ...guesses.address, owner: address }]),
  ]
  // Counted before it is looked at: a hundred guesses at once are a hundred guesses.
  const wait = await countAttempts(scope, counted, now)
  if (wait > 0) {
    const shown = askForCode(account, settings, {
      text: `There were too many wrong codes. Wait ${minutes(wait)}, then ask your agent for a new one.`,
      typed: '',
      status: 429,
    })
    shown.headers.set('retry-after', String(wait))
    return shown
  }
  const code = readUserCode(typed)
  const device = code === null ? null : await findDeviceByUserCode(scope, sha256(code))
  if (code === null || device === null) {
    return askForCode(account, settings, {
      text: 'No agent has shown this code. Check it, letter by letter.',
      typed: typed.slice(0, 32),
      status: 400,
    })
  }
  for (const guess of counted) await forgetAttempt(scope, guess)
  if (device.expires_at <= now) return overPage('expired')
  if (device.status !== 'pending') return overPage('answered')
  if (approvableUntil(device) <= now) return overPage('expired')
  return showRequest(device, code, account, settings)
}

async function showRequest(
  device: DeviceRow,
  code: string,
  account: Account,
  settings: SignInSettings,
  again?: { readonly chosen: readonly string[]; readonly problem: string },
): Promise<Response> {
  // 4.1: an agent that may not come any more, or can't be asked who it is, gets nothing here
  const agent = await settings.directory.find(device.client_id)
  const scopes = device.scopes.split(' ')
  const form = settings.forms.seal({
    issuer: settings.issuer,
    id: base64urlOf(settings.random(16)),
    device: device.code_hash,
    account: account.id,
    clientId: device.client_id,
    scopes,
    userCode: code,
    openedAt: settings.now(),
    expiresAt: Math.min(settings.now() + formLifetime, device.expires_at),
  } satisfies z.infer<typeof formSchema>)
  const host = new URL(device.client_id).host
  return consentPage({
    organization: settings.organization,
    agentName: cleanAgentName(agent.metadata.name, host),
    agentHost: host,
    logoPath: settings.logos?.pathOf(agent.metadata) ?? null,
    accountName: account.name,
    switchAccountUrl: new URL(
      settings.switchAccountPage(`${settings.path}?user_code=${showUserCode(code)}`),
      settings.origin,
    ).href,
    rights: scopes.map((scope) => ({
      scope,
      text: settings.texts[scope] ?? scope,
      isChosen: again ? again.chosen.includes(scope) : true,
    })),
    lifetime: settings.accountTokenLifetime,
    connectedAgentsUrl:
      settings.connectedAgentsPage === undefined
        ? undefined
        : new URL(settings.connectedAgentsPage, settings.origin).href,
    form,
    action: settings.path,
    device: { userCode: showUserCode(code), asked: ago(settings.now() - device.created_at) },
    ...(again ? { problem: again.problem } : {}),
  })
}

async function decide(fields: URLSearchParams, account: Account, settings: SignInSettings): Promise<Response> {
  const sealed = fields.getAll('request')
  const decisions = fields.getAll('decision')
  const [decision] = decisions
  const form = sealed.length === 1 && sealed[0] ? formSchema.safeParse(settings.forms.open(sealed[0])) : null
  if (
    !form?.success ||
    form.data.issuer !== settings.issuer ||
    decisions.length !== 1 ||
    (decision !== 'approve' && decision !== 'decline')
  ) {
    return messagePage({
      status: 400,
      title: 'This form isn’t complete',
      text: `Something of it is missing or was changed. ${nothingChanged} Start again from your agent.`,
    })
  }
  const { account: accountId, device: codeHash, scopes: asked, id, expiresAt, userCode, clientId, openedAt } = form.data
  if (account.id !== accountId) {
    return messagePage({
      status: 403,
      title: 'You are not signed in as before',
      text: `The account changed since this page was opened. ${nothingChanged} Start again from your agent.`,
    })
  }
  const now = settings.now()
  if (expiresAt <= now) return overPage('expired')
  const chosen = fields.getAll('scope').filter((scope) => isScope(scope) && asked.includes(scope))
  const scope = await settings.scope()
  if (decision === 'approve' && chosen.length === 0) {
    const device = await findDeviceByUserCode(scope, sha256(userCode))
    if (device === null || device.status !== 'pending') return overPage('answered')
    return showRequest(device, userCode, account, settings, {
      chosen,
      problem: 'Choose at least one right to approve, or decline.',
    })
  }
  settings.requestLimits.countDecision(account.id)
  // Blocked or gone since the page was opened: then there is nobody to approve.
  await settings.directory.find(clientId)
  const scopes = decision === 'approve' ? formatScope(asked.filter((one) => chosen.includes(one))) : null
  const outcome = await scope.db.transaction(async () => {
    // 4.9: a page from before all access was ended must not bring it back.
    if (await wasEndedSince(scope, { account: accountId, at: openedAt })) return 'answered'
    if (!(await claimIds(scope, [{ kind: 'form', owner: accountId, id, expiresAt }]))) return 'answered'
    if (await decideDevice(scope, { codeHash, account: accountId, scopes, now })) return 'first'
    return (await findDevice(scope, codeHash))?.status === 'pending' ? 'expired' : 'answered'
  })
  if (outcome !== 'first') return overPage(outcome)
  return decision === 'approve'
    ? messagePage({
        status: 200,
        title: 'Your agent is in',
        text: 'You can close this page and go back to your agent.',
      })
    : messagePage({
        status: 200,
        title: 'Declined',
        text: 'The agent got no access. If you did not start this yourself, there is nothing more to do.',
      })
}

function overPage(why: 'expired' | 'answered'): Response {
  return why === 'expired'
    ? messagePage({
        status: 400,
        title: 'This code has expired',
        text: `It was good for ten minutes. ${nothingChanged} Ask your agent for a new one.`,
      })
    : messagePage({
        status: 400,
        title: 'This code was answered already',
        text: 'The first answer counts. To change it, start again from your agent.',
      })
}

function ago(milliseconds: number): string {
  const whole = Math.floor(milliseconds / 60_000)
  if (whole < 1) return 'less than a minute ago'
  return whole === 1 ? 'a minute ago' : `${whole} minutes ago`
}

function minutes(seconds: number): string {
  const whole = Math.ceil(seconds / 60)
  return whole === 1 ? 'a minute' : `${whole} minutes`
}

/** Whether an error is the directory's refusal of an agent: a page in words, not an error of ours. */
export function isRefusedAgent(error: unknown): boolean {
  return error instanceof PoppyError && error.code === 'invalid_client'
}
