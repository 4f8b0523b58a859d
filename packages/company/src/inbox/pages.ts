import { errorRow, isErrorCode } from '@poppyseed/protocol'
import { errorResponse, json } from '../http/respond.ts'
import { messagePage } from '../pages/layout.tsx'
import { isFromOurPage } from '../sign-in/person.ts'
import { type ActFields, readActFields, refused } from './act-fields.ts'
import { actOn, settleOn } from './acts.ts'
import { loadInboxApp } from './app.ts'
import { assetResponse } from './assets.ts'
import { checkFormToken } from './form-token.ts'
import { inboxHeaders, inboxJson, inboxPage } from './frame.ts'
import type { Called } from './make-conversation.ts'
import { makeView, type Told } from './make-view.ts'
import { noteShown } from './noted.ts'
import { type InboxParts, type Reader, readerOf } from './parts.ts'
import { type ConversationAct, conversationActs, type DeskAct } from './paths.ts'
import { type AskedFor, addressOf, isOpenable, type Place, readPlace } from './place.ts'
import { refusalOf } from './refusal.ts'
import { noteSearch } from './searched.ts'
import { isStillStaff, staffOf } from './staff-member.ts'
import type { InboxView } from './view.ts'

/** The inbox over HTTP: what is shown to a browser, and the same as JSON for the script of its pages. */

/** Words that an address may say were done. */
const doneWords: ReadonlySet<string> = new Set([...conversationActs, 'settle', 'leave', 'nobodyWaits'])

/** `GET`: a list, with what is open beside it. */
export async function showInbox(request: Request, asked: AskedFor, parts: InboxParts): Promise<Response> {
  const query = URL.parse(request.url)?.searchParams ?? new URLSearchParams()
  const place = readPlace(query, asked !== null && isOpenable(asked.id) ? asked : null)
  const me = await staffOf(request, parts.settings)
  if (me === null) return toStaffSignIn(request, place, parts)
  const reader = readerOf(parts, request, me)
  const done = query.get('done')
  // An open page is a sign of life; its script has the stream for that, and who just left isn't here.
  if (!wantsJson(request) && done !== 'leave') await parts.conversations?.present({ id: me.id, name: me.name })
  const notice =
    done !== null && doneWords.has(done)
      ? ({ kind: 'done', text: reader.wording.say(`inbox.done.${done}` as 'inbox.done.take') } as const)
      : null
  const shown = await viewOrNothing(parts, reader, place, { notice })
  // What can't be an id is not there, like one that is none.
  if (shown === null || (asked !== null && place.opened === null)) {
    const told = { notice: { kind: 'refused', text: reader.wording.say('inbox.notThere.text') } } as const
    return respond(request, reader, await makeView(parts, reader, { ...place, opened: null }, told), 404)
  }
  if (place.query !== null) await noteSearch(parts, reader, place.query)
  await noteShown(parts, { id: me.id, name: me.name }, shown)
  return respond(request, reader, withChosen(shown, query), 200)
}

/** `GET` at the address of a form: what it was about, at that one's own address. */
export async function comeBack(request: Request, asked: AskedFor, parts: InboxParts): Promise<Response> {
  if (wantsJson(request)) return showInbox(request, asked, parts)
  const query = URL.parse(request.url)?.searchParams ?? new URLSearchParams()
  const place = readPlace(query, asked !== null && isOpenable(asked.id) ? asked : null)
  return new Response(null, {
    status: 303,
    headers: { ...inboxHeaders, location: parts.origin + addressOf(parts.path, place) },
  })
}

/** `POST`: something is done to a conversation. */
export async function actInInbox(
  request: Request,
  { act, id }: { readonly act: ConversationAct; readonly id: string },
  parts: InboxParts,
): Promise<Response> {
  return submit(request, parts, { act, opened: { kind: 'conversation', id } }, async (asked) => {
    const called = await actOn(parts, act, { ...asked, id })
    return { word: act, called }
  })
}

/** `POST`: an operation is settled. */
export async function settleInInbox(request: Request, id: string, parts: InboxParts): Promise<Response> {
  return submit(request, parts, { act: 'settle', opened: { kind: 'operation', id } }, async (asked) => {
    await settleOn(parts, { ...asked, id })
    return { word: 'settle' }
  })
}

/** `POST`: the next one is taken, or somebody leaves. */
export async function actAtDesk(request: Request, act: DeskAct, parts: InboxParts): Promise<Response> {
  return submit(request, parts, { act, opened: null }, async ({ staff, key }) => {
    const { conversations } = parts
    if (conversations === null) throw refused('inbox.refused.notFound', {}, 'not_found')
    if (act === 'leave') {
      await conversations.withdraw(staff, { key })
      return { word: 'leave' }
    }
    const taken = await conversations.takeNext(staff, { key })
    return taken === null ? { word: 'nobodyWaits' } : { word: 'take', opened: { kind: 'conversation', id: taken.id } }
  })
}

/** `GET`: a script or a stylesheet. */
export async function showAsset(request: Request, name: string): Promise<Response> {
  const { script, styles } = await loadInboxApp()
  const asset = [script, styles].find((one) => one.name === name)
  if (asset === undefined) return json({ error: 'not_found', error_description: 'Nothing is here.' }, 404)
  return assetResponse(asset, request.headers.get('accept-encoding'))
}

interface Submitted {
  readonly staff: { readonly id: string; readonly name: string }
  readonly fields: ActFields
  readonly key: string
}

interface Done {
  readonly word: ConversationAct | 'settle' | 'leave' | 'nobodyWaits'
  readonly called?: Called | null
  /** What is open afterwards, where that is something else. */
  readonly opened?: AskedFor
}

/** A form of ours, of this member of staff's, in time: then it is done, and the page is shown as it is after that. */
async function submit(
  request: Request,
  parts: InboxParts,
  { act, opened }: { readonly act: string; readonly opened: AskedFor },
  run: (asked: Submitted) => Promise<Done>,
): Promise<Response> {
  const isOurs = isFromOurPage(request, parts.origin)
  const me = await staffOf(request, parts.settings)
  // Who is no member of staff, or sends forms from elsewhere, is counted like everybody who tries pages.
  if (!isOurs || me === null) parts.requestLimits.countConsent(request)
  // A form says beside which list, or which search, it stood.
  const at = (open: AskedFor, sent: ActFields | null): Place => {
    const query = new URLSearchParams()
    for (const name of ['list', 'q']) for (const value of sent?.all(name) ?? []) query.append(name, value)
    return readPlace(query, open !== null && isOpenable(open.id) ? open : null)
  }
  if (me === null) return toStaffSignIn(request, at(opened, null), parts)
  const reader = readerOf(parts, request, me)
  // What came from elsewhere is not even read: nothing of it comes back.
  const since = parts.now()
  const fields = isOurs ? await readActFields(request) : null
  if (!(await isStillStaff(request, me, { ...parts, since }))) return toStaffSignIn(request, at(opened, null), parts)
  try {
    if (fields === null) throw refused('inbox.refused.foreign')
    const form = checkFormToken(parts, fields.one('token') ?? '', { staffId: me.id, about: opened?.id ?? null })
    if (form === 'foreign') {
      parts.requestLimits.countConsent(request)
      throw refused('inbox.refused.foreign')
    }
    if (form === 'old') throw refused('inbox.refused.oldPage')
    const key = fields.one('once')
    if (key === undefined || !/^[A-Za-z0-9_-]{8,100}$/.test(key)) throw refused('inbox.refused.incomplete')
    const done = await run({ staff: { id: me.id, name: me.name }, fields, key })
    return await tell(request, parts, reader, { place: at(done.opened ?? opened, fields), done, act, fields })
  } catch (error) {
    return tellRefused(request, parts, reader, { error, act, place: at(opened, fields), fields })
  }
}

/** What was done is told by an address that can be loaded again; what a tool answered is in no address, and told at once. */
async function tell(
  request: Request,
  parts: InboxParts,
  reader: Reader,
  {
    place,
    done,
    act,
    fields,
  }: { readonly place: Place; readonly done: Done; readonly act: string; readonly fields: ActFields },
): Promise<Response> {
  const { word, called = null } = done
  if (!wantsJson(request) && called === null)
    return new Response(null, {
      status: 303,
      headers: { ...inboxHeaders, location: parts.origin + addressOf(parts.path, place, { done: word }) },
    })
  const isRefused = called !== null && !called.outcome.ok
  const text =
    word === 'call-tool' && called !== null && called.outcome.ok && 'operation' in called.outcome
      ? reader.wording.say('inbox.outcome.proposed', { tool: called.title })
      : reader.wording.say(called === null || called.outcome.ok ? `inbox.done.${word}` : toolWord(called.outcome))
  const told: Told = {
    notice: { kind: isRefused ? 'refused' : 'done', text },
    called,
    entered: isRefused ? { ...fields.entered, act } : {},
  }
  const view = await viewOrNothing(parts, reader, place, told)
  await noteShown(parts, { id: reader.me.id, name: reader.me.name }, view, { isDone: !isRefused })
  return respond(
    request,
    reader,
    view ?? (await makeView(parts, reader, { ...place, opened: null }, told)),
    statusOf(called),
  )
}

async function tellRefused(
  request: Request,
  parts: InboxParts,
  reader: Reader,
  told: { readonly error: unknown; readonly act: string; readonly place: Place; readonly fields: ActFields | null },
): Promise<Response> {
  const { error, act, place, fields } = told
  const refusal = refusalOf(error, act, reader.wording)
  // The one boundary: it logs what is a fault of ours, with the id that it tells.
  const answer = errorResponse(error, { scheme: 'DPoP' }, parts.log, parts.random)
  const { status, text } = refusal ?? {
    status: Math.max(answer.status, 500),
    text: reader.wording.say('inbox.refused.ours'),
  }
  const shown: Told = { notice: { kind: 'refused', text }, entered: fields === null ? {} : { ...fields.entered, act } }
  // What another site sends shows nobody what it is about.
  const view = fields === null ? null : await viewOrNothing(parts, reader, place, shown)
  // Who was refused, and is shown what it was about with that, has read it.
  await noteShown(parts, { id: reader.me.id, name: reader.me.name }, view)
  const response = await respond(
    request,
    reader,
    view ?? (await makeView(parts, reader, { ...place, opened: null }, shown)),
    status,
  )
  const wait = answer.headers.get('retry-after')
  if (wait !== null) response.headers.set('retry-after', wait)
  return response
}

/** The view; null where what it has open is not there. */
async function viewOrNothing(parts: InboxParts, reader: Reader, place: Place, told: Told): Promise<InboxView | null> {
  try {
    const view = await makeView(parts, reader, place, told)
    const { opened } = place
    const isThere = opened === null || (opened.kind === 'conversation' ? view.conversation : view.operation) !== null
    return isThere ? view : null
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? error.code : undefined
    if (code === 'conversation_not_found' || code === 'operation_not_found') return null
    throw error
  }
}

/** A saved reply, or a draft that came too late, as the beginning of one's own: by a link, where there is no script. */
function withChosen(view: InboxView, query: URLSearchParams): InboxView {
  const { conversation } = view
  if (conversation === null) return view
  const [saved, draft] = [query.get('saved'), query.get('draft')]
  if (saved !== null && /^[0-9]{1,3}$/.test(saved)) {
    const text = conversation.savedReplies[Number(saved)]?.text
    return text === undefined ? view : { ...view, entered: { act: 'reply', text } }
  }
  const [chosen] = conversation.entries.flatMap((entry) =>
    entry.kind === 'note' && entry.note === 'draft' && entry.id === draft ? [entry] : [],
  )
  if (chosen === undefined) return view
  const { id, text, data } = chosen
  return { ...view, entered: { act: 'reply', text, ...(data === null ? {} : { draft: id }) } }
}

/** What a tool answers once it ran: what it did until then stays done. */
const afterItRan: ReadonlySet<string> = new Set([
  'tool_failed',
  'tool_timeout',
  'temporarily_unavailable',
  'rate_limited',
])

const toolWord = ({ error }: { readonly error: string }) =>
  afterItRan.has(error) ? 'inbox.refused.toolFailed' : 'inbox.refused.tool'

function statusOf(called: Called | null): number {
  if (called === null || called.outcome.ok) return 200
  return isErrorCode(called.outcome.error) ? errorRow(called.outcome.error).status : 400
}

/** Whether it is a script of our page that asks, and not a person who follows a link. */
function wantsJson(request: Request): boolean {
  const accept = request.headers.get('accept') ?? ''
  return /\bapplication\/json\b/i.test(accept) && !/\btext\/html\b/i.test(accept)
}

async function respond(
  request: Request,
  { wording }: Pick<Reader, 'wording'>,
  view: InboxView,
  status: number,
): Promise<Response> {
  return wantsJson(request)
    ? inboxJson(view, status)
    : inboxPage(view, wording.inbox().words, status, await loadInboxApp())
}

/** Who isn't signed in as staff is sent to sign in, and comes back to this place. */
function toStaffSignIn(request: Request, place: Place, parts: InboxParts): Response {
  if (wantsJson(request))
    return json({ error: 'sign_in_required', error_description: 'Sign in as a member of staff.' }, 401, inboxHeaders)
  const { signInPage } = parts.settings
  if (signInPage !== null) {
    const location = new URL(signInPage(addressOf(parts.path, place)), parts.origin).href
    return new Response(null, { status: 303, headers: { ...inboxHeaders, location } })
  }
  const wording = parts.wordings.of(request)
  return messagePage(wording, {
    status: 401,
    title: wording.say('inbox.notStaff.title'),
    text: wording.say('inbox.notStaff.text', { organization: parts.organization }),
  })
}

/** How an error is told where it is no answer to a form: to a script by its code, to a person in words. */
export async function inboxFailed(error: unknown, request: Request, parts: InboxParts): Promise<Response> {
  const answer = errorResponse(error, { scheme: 'DPoP' }, parts.log, parts.random)
  if (wantsJson(request)) return answer
  const { failurePage } = await import('../pages/failure.ts')
  const wording = parts.wordings.of(request)
  return failurePage(answer, wording, {
    problem: 'unread',
    outcome: wording.say('outcome.goBack', { path: parts.path }),
  })
}
