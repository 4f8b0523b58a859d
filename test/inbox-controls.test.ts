import { type CompanyAgent, tool } from 'poppyseed'
import { describe, expect, it } from 'vitest'
import { inboxEn } from '../packages/company/src/words/inbox-en.ts'
import {
  type About,
  agentsCookie,
  ask,
  bodies,
  type Caller,
  canaries,
  companyAt,
  everythingIn,
  lostRoom,
  type Spot,
  spots,
} from './setup/authority.ts'
import { asked, bookings } from './setup/bookings.ts'
import { converse, pageOf, said, standingOf } from './setup/converse.ts'
import { greta, omar, patiently, rita } from './setup/front-desk.ts'
import { atDesk } from './setup/inbox.ts'
import { type ApiDocument, checkerOf } from './setup/inbox-api.ts'
import { listen } from './setup/listen.ts'
import { type FreshStore, stores } from './setup/stores.ts'
import { webhookSecret } from './setup/webhook-receiver.ts'

// A refusal shows something only where the very same request would do something for whoever may. So each act that there is, from
// the routes themselves, is tried by everybody who may not, each time for the right reason and with nothing changed, and then by
// whoever may: then it is done.

const posts = spots.filter(({ method }) => method === 'POST')
const name = ({ method, pattern }: Spot) => `${method} ${pattern}`
const isOfConversation = ({ pattern }: Spot) => pattern.includes('/conversations/*/')

/** What is told of a refusal: to a page's script by its notice, at the API by its code. */
const refusals = {
  signIn: { page: '401 sign_in_required', api: '401 sign_in_required' },
  agents: { page: '403 This page is for a person', api: '403 access_denied' },
  foreign: { page: `403 ${inboxEn['inbox.refused.foreign']}`, api: '403 access_denied' },
  otherForm: { page: `403 ${inboxEn['inbox.refused.foreign']}`, api: null },
  oldForm: { page: `410 ${inboxEn['inbox.refused.oldPage']}`, api: null },
  type: { page: null, api: '415 unsupported_media_type' },
  notThere: { page: `404 ${inboxEn['inbox.refused.notFound']}`, api: '404 conversation_not_found' },
  notThereDelivery: { page: null, api: '404 not_found' },
  notThereOperation: { page: `404 ${inboxEn['inbox.refused.notFound']}`, api: '404 operation_not_found' },
  notHeld: { page: `409 ${inboxEn['inbox.why.not_held']}`, api: '409 staff_conflict not_held' },
  held: { page: `409 ${inboxEn['inbox.why.held_by_other']}`, api: '409 staff_conflict held_by_other' },
  closed: { page: `409 ${inboxEn['inbox.why.closed']}`, api: '409 conversation_closed' },
  isRead: { page: '200', api: '405 method_not_allowed' },
} as const
type Refusal = { readonly page: string | null; readonly api: string | null }

const echo: CompanyAgent = async function* () {
  yield { type: 'text', text: 'I look.' }
}

/** A system of the company's own that wants nothing. */
const refusing = async () => (await listen(() => () => new Response(null, { status: 410 }))).origin

async function hotel(fresh: FreshStore) {
  const ran: string[] = []
  const counts = { propose: 0, perform: 0 }
  const config = {
    agent: echo,
    tools: [
      tool({
        name: 'add_note',
        description: 'Adds a note.',
        scope: ['poppy:read', 'poppy:write'],
        run: () => void ran.push('add_note'),
      }),
    ],
    operations: [...bookings(counts), lostRoom],
    // Nobody takes what it tells.
    webhooks: [{ url: `${await refusing()}/poppy`, secret: webhookSecret, events: ['operation.unknown'] as const }],
  }
  const world = await companyAt(fresh.store(), config)
  const other = await companyAt(fresh.store(), config)
  const db = await fresh.open()
  const staff = world.company.conversations
  const desks = { rita: atDesk(world, 'rita'), omar: atDesk(world, 'omar') }
  const tokenOf = async (desk: (typeof desks)['rita'], path = '') => (await desk.look(path)).view.token
  const oldToken = await tokenOf(desks.rita)
  world.clock.now += 3_600_001
  for (const who of [rita, omar, greta]) {
    await staff.present(who)
    await other.company.conversations.present(who)
  }
  const theirs = await tokenOf(atDesk(other, 'rita'))
  const { session_id } = await world.start()
  const signedIn = await world.signIn(world.agent, session_id, { scope: 'poppy:read poppy:write' })
  const token = signedIn.access_token
  const talk = converse(world.agent, token)

  /** All that an act could change, but the record of who has read. */
  const everything = async () => ({
    ...(await everythingIn(db)),
    audit: (await staff.audit({ limit: 200 })).entries.filter(({ act }) => act !== 'read'),
    held: (await staff.heldBy(rita.id)).length,
    ran: [...ran],
    counts: { ...counts },
  })
  /** The same once nothing goes on by itself any more. */
  async function steady(): Promise<Awaited<ReturnType<typeof everything>>> {
    while (!(await world.company.work()).isDone);
    let seen = await everything()
    await expect
      .poll(async () => {
        const before = JSON.stringify(seen)
        seen = await everything()
        return JSON.stringify(seen) === before
      }, patiently)
      .toBe(true)
    return seen
  }
  async function begin(by = talk): Promise<string> {
    const { conversation_id: id } = await standingOf(await by.start(said(canaries.said)))
    await expect.poll(async () => (await pageOf(await by.read(id))).status, patiently).toBe('idle')
    return id
  }
  const deliveryOf = async (operation: string) =>
    (await world.company.webhooks.givenUp({ limit: 200 })).deliveries.find((one) => one.operation === operation)?.id
  async function operation(word: string, by = token): Promise<string> {
    const at = asked(world.agent, by)
    if (word === 'revise') return (await at.propose('book_room', { nights: 2 })).operation_id
    const { operation_id: id } = await at.propose('lost_room')
    await at.confirm(id)
    await expect
      .poll(async () => (await world.company.operations.unsettled()).map((one) => one.id), patiently)
      .toContain(id)
    await expect.poll(() => deliveryOf(id), patiently).not.toBeUndefined()
    return id
  }
  const callerOf = (who: string, token: string, more: Readonly<Record<string, string>> = {}): Caller => ({
    headers: { accept: 'application/json', cookie: `desk=${who}`, ...more },
    token,
  })
  const agents = {
    headers: { accept: 'application/json', authorization: `DPoP ${token}` },
    proof: (method: string, address: string) => world.agent.proof(method, address, token),
  }
  return {
    world,
    other,
    staff,
    talk,
    session_id,
    signedIn,
    desks,
    tokens: {
      old: oldToken,
      theirs,
      omar: await tokenOf(desks.omar),
      elsewhere: await tokenOf(desks.rita, `/conversations/${await begin()}`),
    },
    tokenOf,
    joined: await agentsCookie(world, session_id),
    agents,
    callerOf,
    everything,
    steady,
    begin,
    operation,
    deliveryOf,
  }
}
type Hotel = Awaited<ReturnType<typeof hotel>>

/** What somebody was told, in a line. */
async function told(at: string, spot: Spot, about: About, caller: Caller): Promise<string> {
  const { status, text, headers } = await ask(at, spot, about, caller)
  for (const canary of status >= 400 && !text.startsWith('{"organization"') ? Object.values(canaries) : [])
    expect([name(spot), text.includes(canary)]).toEqual([name(spot), false])
  if (headers.get('content-type')?.startsWith('text/html') === true)
    return `${status} ${/<h1[^>]*>([^<]*)/.exec(text)?.[1] ?? ''}`
  const body = (text === '' ? {} : JSON.parse(text)) as {
    readonly error?: string
    readonly because?: string
    readonly notice?: { readonly kind: string; readonly text: string } | null
  }
  const notice = body.notice?.kind === 'refused' ? body.notice.text : undefined
  return [status, body.error ?? notice, body.because].filter((one) => one !== undefined).join(' ')
}

/** Everybody who may never do it, with what they are told. */
function strangers(made: Hotel, spot: Spot, about: About, token: string) {
  const { callerOf, tokens, agents, joined, other } = made
  const nobody = (headers: Readonly<Record<string, string>>) => ({
    headers: { accept: 'application/json', ...headers },
    token,
  })
  const all: readonly (readonly [string, Caller, Refusal, Partial<{ spot: Spot; at: string }>?])[] = [
    ['a stranger', nobody({}), refusals.signIn],
    ['one of another name', callerOf('mallory', token), refusals.signIn],
    ['the customer', nobody({ cookie: 'site=acc-maya' }), refusals.signIn],
    ['the agent', { ...agents, token }, refusals.signIn],
    ['a browser that the agent joined', callerOf(`rita; ${joined}`, token), refusals.agents],
    ['another site', callerOf('rita', token, { 'sec-fetch-site': 'cross-site' }), refusals.foreign],
    ['a subdomain', callerOf('rita', token, { 'sec-fetch-site': 'same-site' }), refusals.foreign],
    ['an address that was typed', callerOf('rita', token, { 'sec-fetch-site': 'none' }), refusals.foreign],
    ['another origin', callerOf('rita', token, { origin: 'https://evil.example' }), refusals.foreign],
    ['no origin', callerOf('rita', token, { origin: 'null' }), refusals.foreign],
    ['a form that is too old', callerOf('rita', tokens.old), refusals.oldForm],
    ['a colleague’s form', callerOf('rita', tokens.omar), refusals.otherForm],
    ['another Company’s form', callerOf('rita', tokens.theirs), refusals.otherForm],
    ['no form', callerOf('rita', ''), refusals.otherForm],
    ['a body of another type', callerOf('rita', token, { 'content-type': 'text/plain' }), refusals.type],
    ['whoever follows a link', callerOf('rita', token), refusals.isRead, { spot: { ...spot, method: 'GET' } }],
  ]
  const ofOne: typeof all = [
    // What is done to none stands on every page.
    ['another conversation’s form', callerOf('rita', tokens.elsewhere), refusals.otherForm],
    [
      'staff of another Company',
      callerOf('rita', tokens.theirs),
      isOfConversation(spot)
        ? refusals.notThere
        : spot.pattern.includes('/operations/')
          ? refusals.notThereOperation
          : refusals.notThereDelivery,
      { at: other.origin },
    ],
  ]
  return [...all, ...(spot.hasId ? ofOne : [])].flatMap(([who, caller, refusal, where = {}]) => {
    const right = spot.isApi ? refusal.api : refusal.page
    return right === null
      ? []
      : [{ who, right, ask: () => told(where.at ?? made.world.origin, where.spot ?? spot, about, caller) }]
  })
}

it('there is a body for each act that takes one, of the form that the document says', async () => {
  const webhooks = [{ url: 'http://localhost:9/', secret: webhookSecret }]
  const world = await companyAt((await (stores[0] as (typeof stores)[0]).fresh()).store(), { webhooks })
  const headers = { cookie: 'desk=rita' }
  const document = (await (
    await fetch(`${world.origin}/poppy/inbox/api/openapi.json`, { headers })
  ).json()) as ApiDocument
  const check = checkerOf(document)
  const acts = Object.entries(document.paths).flatMap(([path, { post }]) =>
    post === undefined ? [] : [[path, post] as const],
  )
  expect(acts.map(([path]) => `/poppy/inbox/api${path.replace('{id}', '*')}`).toSorted()).toEqual(
    posts
      .filter(({ isApi }) => isApi)
      .map(({ pattern }) => pattern)
      .toSorted(),
  )
  for (const [path, { requestBody }] of acts) {
    const word = path.slice(path.lastIndexOf('/') + 1)
    const body = bodies[word]?.({ conversation: 'cnv_1', operation: 'opn_1' })
    const isFree = requestBody === undefined
    expect([path, body === undefined]).toEqual([path, isFree])
    if (!isFree) expect([path, check(requestBody.content['application/json'].schema, body)]).toEqual([path, null])
  }
  // And by pages, all of it but the sign of life that a page gives by being open, and what a page has no room for.
  const words = (isApi: boolean) =>
    posts
      .filter((spot) => spot.isApi === isApi)
      .map(({ word }) => word)
      .toSorted()
  expect(words(false)).toEqual(words(true).filter((word) => word !== 'present' && !word.startsWith('send-')))
})

/** Each act once, a few at a hotel of their own. */
const fewAtATime = Array.from({ length: Math.ceil(posts.length / 5) }, (_, part) =>
  posts.slice(part * 5, part * 5 + 5),
).map((acts) => ({ name: name(acts[0] as Spot), acts }))

describe.each(stores)('at the staff inbox on $name', { timeout: 240_000 }, ({ missing, fresh }) => {
  const test = it.skipIf(missing)

  test.each(fewAtATime)(
    '$name, and what comes after: refused for its right reason to everybody who may not, and done for whoever may',
    async ({ acts }) => {
      const made = await hotel(await fresh())
      const { world, staff, callerOf, tokenOf, desks } = made
      for (const spot of acts) {
        const { word } = spot
        const hasOperation = ['revise', 'settle', 'send-again', 'send-all-again'].includes(word)
        const operation = hasOperation ? await made.operation(word) : 'opn_none'
        const delivery = word.startsWith('send-') ? await made.deliveryOf(operation) : undefined
        const about = {
          conversation: await made.begin(),
          operation,
          ...(delivery === undefined ? {} : { delivery }),
        }
        const { conversation: id } = about
        const place =
          word === 'settle' ? `/operations/${about.operation}` : isOfConversation(spot) ? `/conversations/${id}` : ''
        const token = await tokenOf(desks.rita, place)
        const ritas = callerOf('rita', token)
        const tried = (caller: Caller) => told(world.origin, spot, about, caller)
        const is = (refusal: Refusal) => [name(spot), spot.isApi ? refusal.api : refusal.page]
        const isFree = ['take', 'note', 'close'].includes(word)
        const needsToHave = isOfConversation(spot) && !isFree

        // Nobody has it yet.
        if (word === 'take' || word === 'take-next') await made.talk.handoff(id)
        const before = await made.steady()
        if (needsToHave) expect([name(spot), await tried(ritas)]).toEqual(is(refusals.notHeld))
        expect(await made.everything()).toEqual(before)

        if (!['take', 'take-next'].includes(word)) await staff.take(id, rita)
        if (word === 'close-account') await staff.openAccount(id, rita)
        const ready = await made.steady()
        for (const { who, right, ask: asks } of strangers(made, spot, about, token))
          expect([name(spot), who, await asks()]).toEqual([name(spot), who, right])
        if (isOfConversation(spot) && !['take', 'note'].includes(word))
          expect([name(spot), await tried(callerOf('omar', await tokenOf(desks.omar, place)))]).toEqual(
            is(refusals.held),
          )
        expect([name(spot), await made.everything()]).toEqual([name(spot), ready])

        // The same, by whoever may.
        expect([name(spot), await tried(ritas)]).toEqual([name(spot), '200'])
        const after = await made.steady()
        if (word === 'present') expect(after).toEqual(ready)
        else {
          // Whoever leaves puts back each that they have.
          const had = word === 'leave' ? ready.held : 1
          expect([name(spot), after.audit.length]).toEqual([name(spot), ready.audit.length + had])
        }
        expect(after.ran.length - ready.ran.length).toBe(word === 'call-tool' ? 1 : 0)
        expect(after.counts.propose - ready.counts.propose).toBe(word === 'revise' ? 1 : 0)
        expect(after.counts.perform).toBe(0)

        if (word === 'take')
          expect(await tried(callerOf('omar', await tokenOf(desks.omar, place)))).toBe(is(refusals.held)[1])
        if (!needsToHave && word !== 'take') continue
        // And once it is over, nobody may.
        await staff.close(id, { by: 'a job' })
        const over = await made.steady()
        if (!['release', 'close-account'].includes(word))
          expect([name(spot), await tried(ritas)]).toEqual(is(refusals.closed))
        expect(await made.everything()).toEqual(over)
      }
    },
  )

  const tools = posts.filter(({ word }) => ['call-tool', 'revise', 'open-account'].includes(word))
  test.each(tools)('$pattern goes as far as the customer allows at that moment, and no further', async (spot) => {
    const made = await hotel(await fresh())
    const { world, staff, callerOf, tokenOf, desks } = made
    const operation = await made.operation('revise')
    const { session_id } = await world.start()
    const narrow = await world.signIn(world.agent, session_id, { scope: 'poppy:read' })
    const id = await made.begin(converse(world.agent, narrow.access_token))
    await staff.take(id, rita)
    const about = { conversation: id, operation }
    const ritas = callerOf('rita', await tokenOf(desks.rita, `/conversations/${id}`))
    const refusedAs = async (right: Refusal) => {
      const before = await made.steady()
      const is = [name(spot), spot.isApi ? right.api : right.page]
      expect([name(spot), await told(world.origin, spot, about, ritas)]).toEqual(is)
      expect(await made.everything()).toEqual(before)
    }
    const isTool = spot.word !== 'open-account'
    const refusedTool = inboxEn['inbox.refused.tool']
    const signedOut = `403 ${isTool ? refusedTool : inboxEn['inbox.why.signed_out']}`
    // An account may be opened with any right; which of it is shown goes by those there are.
    if (isTool) await refusedAs({ page: `403 ${refusedTool}`, api: '403 insufficient_scope' })

    const wide = await world.signIn(world.agent, session_id, { scope: 'poppy:read poppy:write' })
    const talk = converse(world.agent, wide.access_token)
    await talk.send(id, said('Now you may.'))
    const before = await made.steady()
    expect([name(spot), await told(world.origin, spot, about, ritas)]).toEqual([name(spot), '200'])
    expect((await made.steady()).audit.length).toBe(before.audit.length + 1)
    if (!isTool) await staff.closeAccount(id, rita)

    // A blocked agent's tools are offered to nobody.
    await world.company.agents.block(world.agent.clientId)
    await refusedAs({
      page: isTool ? `404 ${inboxEn['inbox.refused.notFound']}` : signedOut,
      api: isTool ? '401 invalid_token' : '403 sign_in_required',
    })
    await world.company.agents.unblock(world.agent.clientId)

    await world.agent.revoke(wide.refresh_token ?? '')
    await refusedAs({ page: signedOut, api: '403 sign_in_required' })
  })

  test('each address shows to whoever may what it shows nobody else', async () => {
    const made = await hotel(await fresh())
    const { world, staff, callerOf } = made
    const about = { conversation: await made.begin(), operation: await made.operation('settle') }
    await staff.take(about.conversation, rita)
    await staff.note(about.conversation, rita, canaries.noted)
    await staff.openAccount(about.conversation, rita)
    const shown: Record<string, readonly string[]> = {}
    for (const spot of spots.filter(({ method, pattern }) => method === 'GET' && !pattern.includes('/assets/'))) {
      const { status, text } = await ask(world.origin, spot, about, callerOf('rita', ''))
      expect([name(spot), status]).toEqual([name(spot), 200])
      const seen = Object.entries(canaries).flatMap(([what, canary]) => (text.includes(canary) ? [what] : []))
      if (seen.length > 0) shown[spot.pattern.replace('/poppy/inbox', '')] = seen
    }
    expect(shown).toMatchObject({
      '/conversations/*': ['said', 'noted', 'card'],
      '/api/conversations/*': ['said', 'noted'],
      '/api/conversations/*/account': ['card'],
    })
  })
})
