import { formatScope, isScope } from '@poppyseed/protocol'
import { z } from 'zod'
import { wasEndedSince } from '../../accounts/person-store.ts'
import { cleanAgentName } from '../../agents/name.ts'
import { sha256 } from '../../crypto/hash.ts'
import { base64urlOf } from '../../crypto/random.ts'
import { noAccessPage, problemPage } from '../../pages/failure.ts'
import { messagePage } from '../../pages/layout.tsx'
import { claimIds } from '../../sessions/store.ts'
import type { Wording } from '../../words/wording.ts'
import { countAttempts, forgetAttempt } from '../attempts.ts'
import { consentPage } from '../consent-page.tsx'
import {
  type Account,
  accountOf,
  accountShown,
  isFromOurPage,
  openForm,
  readFields,
  single,
  toSignIn,
} from '../person.ts'
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

/** A person at these pages, and what they read. */
interface Visitor {
  readonly account: Account
  readonly wording: Wording
}

/** `GET`: the page for a code, or with `user_code` who asks for what. Opening it approves nothing. */
export async function showDevice(request: Request, settings: SignInSettings): Promise<Response> {
  settings.requestLimits.countConsent(request)
  const url = new URL(request.url)
  const codes = url.searchParams.getAll('user_code')
  const account = await accountOf(request, settings)
  if (account === null) return toSignIn(settings, settings.path + url.search)
  const visitor = { account, wording: settings.wordings.of(request) }
  if (codes.length === 0) return askForCode(visitor, settings)
  return lookUp(request, codes.length === 1 ? (codes[0] ?? '') : '', visitor, settings)
}

/** `POST`: a code that was typed, or the person's decision. */
export async function decideDeviceRequest(request: Request, settings: SignInSettings): Promise<Response> {
  const wording = settings.wordings.of(request)
  if (!isFromOurPage(request, settings.origin)) return noAccessPage(wording, 403, 'foreignForm')
  settings.requestLimits.countConsent(request)
  const fields = await readFields(request)
  const account = await accountOf(request, settings)
  if (account === null) return toSignIn(settings, settings.path)
  const codes = fields.getAll('user_code')
  const visitor = { account, wording }
  if (codes.length === 1 && !fields.has('request')) return lookUp(request, codes[0] ?? '', visitor, settings)
  return decide(fields, visitor, settings)
}

function askForCode(
  { account, wording }: Visitor,
  settings: SignInSettings,
  problem?: { text: string; typed: string; status: number },
) {
  return enterCodePage(wording, {
    organization: settings.organization,
    ...accountShown(settings, account, settings.path),
    action: settings.path,
    ...(problem === undefined ? {} : { problem: problem.text, typed: problem.typed, status: problem.status }),
  })
}

async function lookUp(request: Request, typed: string, visitor: Visitor, settings: SignInSettings): Promise<Response> {
  const { account, wording } = visitor
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
    const shown = askForCode(visitor, settings, {
      text: wording.say('code.tooManyGuesses', { time: wording.wait(wait) }),
      typed: '',
      status: 429,
    })
    shown.headers.set('retry-after', String(wait))
    return shown
  }
  const code = readUserCode(typed)
  const device = code === null ? null : await findDeviceByUserCode(scope, sha256(code))
  if (code === null || device === null) {
    return askForCode(visitor, settings, {
      text: wording.say('code.unknown'),
      typed: typed.slice(0, 32),
      status: 400,
    })
  }
  for (const guess of counted) await forgetAttempt(scope, guess)
  if (device.expires_at <= now) return overPage(wording, 'expired')
  if (device.status !== 'pending') return overPage(wording, 'answered')
  if (approvableUntil(device) <= now) return overPage(wording, 'expired')
  return showRequest(device, code, visitor, settings)
}

async function showRequest(
  device: DeviceRow,
  code: string,
  { account, wording }: Visitor,
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
  return consentPage(wording, {
    organization: settings.organization,
    agentName: cleanAgentName(agent.metadata.name, host),
    agentHost: host,
    logoPath: settings.logos?.pathOf(agent.metadata) ?? null,
    ...accountShown(settings, account, `${settings.path}?user_code=${showUserCode(code)}`),
    rights: scopes.map((scope) => ({
      scope,
      ...wording.scope(scope),
      isChosen: again ? again.chosen.includes(scope) : true,
    })),
    lifetime: settings.accountTokenLifetime,
    connectedAgentsUrl: new URL(settings.connectedAgentsPage, settings.origin).href,
    form,
    action: settings.path,
    device: { userCode: showUserCode(code), asked: wording.ago(settings.now() - device.created_at) },
    ...(again ? { problem: again.problem } : {}),
  })
}

async function decide(fields: URLSearchParams, visitor: Visitor, settings: SignInSettings): Promise<Response> {
  const { account, wording } = visitor
  const form = openForm(formSchema, fields, settings)
  const decision = single(fields, 'decision')
  if (form === null || (decision !== 'approve' && decision !== 'decline'))
    return noAccessPage(wording, 400, 'incompleteForm')
  const { account: accountId, device: codeHash, scopes: asked, id, expiresAt, userCode, clientId, openedAt } = form
  if (account.id !== accountId) return noAccessPage(wording, 403, 'otherAccount')
  const now = settings.now()
  if (expiresAt <= now) return overPage(wording, 'expired')
  const chosen = fields.getAll('scope').filter((scope) => isScope(scope) && asked.includes(scope))
  const scope = await settings.scope()
  if (decision === 'approve' && chosen.length === 0) {
    const device = await findDeviceByUserCode(scope, sha256(userCode))
    if (device === null || device.status !== 'pending') return overPage(wording, 'answered')
    return showRequest(device, userCode, visitor, settings, {
      chosen,
      problem: wording.say('consent.chooseOne'),
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
  if (outcome !== 'first') return overPage(wording, outcome)
  const done = decision === 'approve' ? 'approved' : 'declined'
  return messagePage(wording, { status: 200, title: wording.say(`${done}.title`), text: wording.say(`${done}.text`) })
}

function overPage(wording: Wording, why: 'expired' | 'answered'): Response {
  return why === 'expired'
    ? problemPage(wording, { status: 400, problem: 'codeExpired', outcome: wording.say('outcome.noAccessNewCode') })
    : problemPage(wording, { status: 400, problem: 'codeAnswered', outcome: wording.say('outcome.startAgain') })
}
