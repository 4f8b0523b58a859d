import { type CompanyAgent, type CompanyConfig, operation, type Staff, succeeded, tool } from 'poppyseed'
import { describe, expect, it } from 'vitest'
import { z } from 'zod'
import { asked, lists } from './setup/bookings.ts'
import { said, standingOf } from './setup/converse.ts'
import { makeFrontDesk, omar, patiently, rita } from './setup/front-desk.ts'
import { type FreshStore, stores } from './setup/stores.ts'
import { makeWorld } from './setup/world.ts'

// What staff may not do, function by function: each act, tool, operation and note, without the scope, by one who doesn't have the
// conversation, on one that is closed, for an agent that is blocked, signed out, for another account, at another Company.

type Company = Awaited<ReturnType<typeof makeWorld>>['company']
type Conversations = Company['conversations']

/** Tools and operations that count how often something of them ran. */
function counted() {
  const ran: string[] = []
  const note = (name: string) => void ran.push(name)
  const tools = [
    tool({ name: 'open_to_all', description: 'Needs nothing.', run: () => note('open_to_all') }),
    tool({ name: 'reads', description: 'Reads.', scope: 'poppy:read', run: () => note('reads') }),
    tool({ name: 'writes', description: 'Writes.', scope: 'poppy:write', run: () => note('writes') }),
    tool({ name: 'both', description: 'Both.', scope: ['poppy:read', 'poppy:write'], run: () => note('both') }),
    tool({ name: 'loyal', description: 'Points.', scope: 'loyalty', run: () => note('loyal') }),
  ]
  const proposing = (name: string, scope?: string) =>
    operation({
      name,
      description: 'Proposes something.',
      ...(scope === undefined ? {} : { scope }),
      propose: () => {
        note(name)
        return { summary: 'Something.' }
      },
      perform: () => {
        note(`${name} performed`)
        return succeeded()
      },
    })
  const operations = [proposing('offers'), proposing('books', 'poppy:write')]
  return { ran, tools, operations }
}

const names = ['open_to_all', 'reads', 'writes', 'both', 'loyal', 'offers', 'books'] as const

async function refused(work: Promise<unknown>): Promise<unknown> {
  try {
    const came = await work
    const { ok, error } = (came ?? {}) as { readonly ok?: boolean; readonly error?: string }
    return ok === false ? error : 'done'
  } catch (error) {
    const { code, extra } = error as { readonly code?: string; readonly extra?: { readonly because?: string } }
    return extra?.because ?? code ?? error
  }
}

type Act = (staff: Conversations, id: string, who: Staff) => Promise<unknown>

/** What takes having the conversation. */
const ofTheHolder = (opn: string): Readonly<Record<string, Act>> => ({
  release: (staff, id, who) => staff.release(id, who),
  give: (staff, id, who) => staff.give(id, who, { id: 'lea', name: 'Lea' }),
  reply: (staff, id, who) => staff.reply(id, who, { text: 'Forged.' }),
  handBack: (staff, id, who) => staff.handBack(id, who, { text: 'Forged.', note: 'Forged.' }),
  askForUser: (staff, id, who) => staff.askForUser(id, who, 'Forged.'),
  askForSignIn: (staff, id, who) => staff.askForSignIn(id, who, { scope: 'loyalty', text: 'Forged.' }),
  openAccount: (staff, id, who) => staff.openAccount(id, who),
  closeAccount: (staff, id, who) => staff.closeAccount(id, who),
  reviseOperation: (staff, id, who) => staff.reviseOperation(id, who, { operation: opn, revision: 1, input: {} }),
  ...Object.fromEntries(
    names.map((name): [string, Act] => [`callTool ${name}`, (staff, id, who) => staff.callTool(id, who, name, {})]),
  ),
})

/** What anybody may do, of this Company. */
const ofAnybody: Readonly<Record<string, Act>> = {
  take: (staff, id, who) => staff.take(id, who),
  close: (staff, id, who) => staff.close(id, who, 'Forged.'),
  note: (staff, id, who) => staff.note(id, who, 'Forged.'),
  noteRead: (staff, id, who) => staff.noteRead(id, who),
  read: (staff, id) => staff.read(id),
  account: (staff, id, who) => staff.account(id, who),
  offered: (staff, id, who) => staff.offered(id, who),
}

async function desk(fresh: FreshStore, scope = 'poppy:read poppy:write', agent?: CompanyAgent) {
  const { ran, tools, operations } = counted()
  const config: Partial<CompanyConfig> = { tools, operations, ...(agent === undefined ? {} : { agent }) }
  const made = await makeFrontDesk(fresh, { ...config, prepare: lists })
  const db = await fresh.open()
  const { talk, signedIn } = await made.signIn(scope)
  async function begin(): Promise<string> {
    const { conversation_id } = await standingOf(await talk.start(said('Something, please.')))
    // Nobody is here, and it says so: from then on nothing happens by itself.
    await expect.poll(async () => (await made.read(conversation_id, talk)).status, patiently).toBe('idle')
    return conversation_id
  }
  const id = await begin()
  /** All that an act could leave behind. */
  const everything = async (at = id) => ({
    ran: [...ran],
    ...(await made.staff.read(at)),
    audit: (await made.staff.audit({ limit: 200 })).entries,
    operations: (await made.worlds[0]?.company.operations.list())?.operations,
  })
  /** Tries each, and gives what each was told, having seen that nothing came of any. */
  async function tries(acts: Readonly<Record<string, Act>>, { who = rita, staff = made.staff, at = id } = {}) {
    const before = await everything()
    const told: Record<string, unknown> = {}
    for (const [name, act] of Object.entries(acts)) told[name] = await refused(act(staff, at, who))
    expect(await everything()).toEqual(before)
    return told
  }
  const tell = (names: readonly string[], what: unknown) => Object.fromEntries(names.map((name) => [name, what]))
  const setAccount = (account: string | null) =>
    db.query
      .updateTable('poppy_conversations')
      .set({ account })
      .where('company', '=', 'https://miramar.example')
      .where('id', '=', id)
      .execute()
  return {
    ...made,
    agent: made.client,
    config,
    ran,
    id,
    begin,
    everything,
    talk,
    talkSignedOut: made.talk,
    signedIn,
    tries,
    tell,
    setAccount,
    client: asked(made.client, signedIn.access_token),
  }
}

/** What says what there is, about no conversation or about many: it changes none of them. */
const reading = ['queue', 'heldBy', 'list', 'counts', 'lastMessages', 'colleagues', 'search', 'audit']
/** What somebody does of themselves: there is no conversation to have. */
const ofThemselves = ['present', 'withdraw', 'takeNext']

const onlyTools = (acts: Readonly<Record<string, Act>>) =>
  Object.fromEntries(Object.entries(acts).filter(([name]) => /^(callTool|reviseOperation|openAccount)/.test(name)))

describe.each(stores)('staff with authority, on $name,', { timeout: 60_000 }, ({ missing, fresh }) => {
  const test = it.skipIf(missing)
  const echo: CompanyAgent = async function* () {
    yield { type: 'text', text: 'Yes.' }
  }
  /** What needs no conversation in hand to be read, and changes nothing of it. */
  const reads = ['noteRead', 'read', 'account', 'offered']

  // What the refusals below are worth: each of the same calls does something where nothing is missing.
  test.each(['poppy:read poppy:write', 'poppy:read poppy:write loyalty'])(
    'do each of it where the customer allows %s, once, and it stands in the record',
    async (scope) => {
      const { staff, begin, everything, client } = await desk(await fresh(), scope, echo)
      const isLoyal = scope.includes('loyalty')
      const all = Object.keys({ ...ofTheHolder(''), ...ofAnybody })
      // No right is left to ask for where there are all.
      for (const name of all.filter((one) => (one === 'callTool loyal') === isLoyal)) {
        const id = await begin()
        const opn = name === 'reviseOperation' ? (await client.propose('books')).operation_id : 'opn_none'
        const act = { ...ofTheHolder(opn), ...ofAnybody }[name] as Act
        if (name !== 'take') await staff.take(id, rita)
        if (name === 'closeAccount') await staff.openAccount(id, rita)
        const before = await everything(id)
        expect([name, await refused(act(staff, id, rita))]).toEqual([name, 'done'])
        const { audit, ran } = await everything(id)
        expect([name, audit.length]).toEqual([name, before.audit.length + (reads.slice(1).includes(name) ? 0 : 1)])
        const tool = name === 'reviseOperation' ? 'books' : name.split(' ')[1]
        expect([name, ran]).toEqual([name, [...before.ran, ...(tool === undefined ? [] : [tool])]])
      }
    },
  )

  test('are tried with each function that there is', async () => {
    const { staff } = await desk(await fresh())
    const acts = Object.keys({ ...ofTheHolder(''), ...ofAnybody }).map((name) => name.split(' ')[0] as string)
    expect(Object.keys(staff).toSorted()).toEqual([...new Set([...acts, ...reading, ...ofThemselves])].toSorted())
  })
})

describe.each(stores)('staff without authority, on $name,', { timeout: 60_000 }, ({ missing, fresh }) => {
  const test = it.skipIf(missing)

  test('do nothing in a conversation that they don’t have, that a colleague has, or that is closed [7.9.person-scopes]', async () => {
    const { staff, id, client, tries, tell } = await desk(await fresh())
    const { operation_id: opn } = await client.propose('books')
    const acts = ofTheHolder(opn)
    expect(await tries(acts)).toEqual(tell(Object.keys(acts), 'not_held'))
    await staff.take(id, omar)
    const { take, close } = ofAnybody as { take: Act; close: Act }
    const more = { ...acts, take, close }
    expect(await tries(more)).toEqual(tell(Object.keys(more), 'held_by_other'))
    // One who had it a moment ago is one who doesn't.
    await staff.give(id, omar, rita)
    expect(await tries(more, { who: omar })).toEqual(tell(Object.keys(more), 'held_by_other'))
    await staff.close(id, rita)
    const closed = { ...acts, take }
    for (const who of [rita, omar])
      expect(await tries(closed, { who })).toEqual(tell(Object.keys(closed), 'conversation_closed'))
    // Somebody else's name doesn't help, nor an id that looks like theirs.
    for (const who of [
      { id: 'Rita', name: 'Rita Alvarez' },
      { id: 'rita ', name: 'Rita Alvarez' },
    ])
      expect(await tries(closed, { who })).toEqual(tell(Object.keys(closed), 'conversation_closed'))
  })

  test('of another Company on the same database find no conversation and no operation', async () => {
    const store = await fresh()
    const { staff, id, client, config, tries, tell } = await desk(store)
    const { operation_id: opn } = await client.propose('books')
    await staff.take(id, rita)
    await staff.note(id, rita, 'A private word.')
    const other = await makeWorld(
      { ...config, origin: 'https://desk.miramar.example', conversations: {} },
      store.store(),
    )
    const acts = { ...ofTheHolder(opn), ...ofAnybody }
    const theirs = other.company.conversations
    expect(await tries(acts, { staff: theirs })).toEqual(tell(Object.keys(acts), 'conversation_not_found'))
    expect(await theirs.list()).toEqual({ conversations: [], after: null })
    expect(await theirs.heldBy('rita')).toEqual([])
    expect(await theirs.audit()).toEqual({ entries: [], after: null })
    expect(await theirs.takeNext(omar)).toBeNull()
    await theirs.withdraw(rita)
    expect((await staff.heldBy('rita')).map((one) => one.id)).toEqual([id])
    const { operations } = other.company
    const by = { by: rita, why: 'Forged.', reason: 'Forged.' }
    expect(await operations.get(opn)).toBeNull()
    expect(await refused(operations.settle(opn, succeeded(), by))).toBe('operation_not_found')
    expect(await refused(operations.cancel(opn, by))).toBe('operation_not_found')
    // What is no id of ours, neither.
    for (const at of ['cnv_none', '', '../', 'x'.repeat(300), 'a\0b'])
      expect(await tries(acts, { at })).toEqual(tell(Object.keys(acts), 'conversation_not_found'))
  })

  test('run and propose nothing that the scopes leave out, and are told what is missing [7.9.person-scopes, 7.11.token-scopes]', async () => {
    const { staff, id, tries, tell } = await desk(await fresh(), 'poppy:read')
    await staff.take(id, rita)
    const without = ['callTool writes', 'callTool both', 'callTool loyal', 'callTool books']
    const acts = ofTheHolder('opn_none')
    const tools = Object.fromEntries(without.map((name) => [name, acts[name] as Act]))
    expect(await tries(tools)).toEqual(tell(without, 'insufficient_scope'))
    expect(await staff.callTool(id, rita, 'both', {})).toMatchObject({ scope: 'poppy:read poppy:write' })
    const { tools: may, locked } = await staff.offered(id, rita)
    expect(may.map(({ name }) => name)).toEqual(['open_to_all', 'reads', 'offers'])
    expect(locked.map(({ name, needs, scope }) => [name, needs, scope])).toEqual([
      ['writes', 'scope', 'poppy:write'],
      ['both', 'scope', 'poppy:read poppy:write'],
      ['loyal', 'scope', 'loyalty'],
      ['books', 'scope', 'poppy:write'],
    ])
  })

  test('run nothing that needs a sign-in for one who is signed out, from the start or at this moment', async () => {
    const { staff, id, client, worlds, tries, tell, talk } = await desk(await fresh())
    const { operation_id: opn } = await client.propose('books')
    await staff.take(id, rita)
    await staff.openAccount(id, rita)
    expect((await staff.account(id, rita)).state).toBe('open')
    await worlds[0]?.company.accounts.revokeAll('acc-maya')
    const acts = onlyTools(ofTheHolder(opn))
    const { 'callTool open_to_all': _, 'callTool offers': __, ...scoped } = acts
    expect(await tries(scoped)).toEqual(tell(Object.keys(scoped), 'sign_in_required'))
    expect(await staff.account(id, rita)).toEqual({ state: 'dark' })
    // No word of the agent's changes that.
    await talk.send(id, said('I allow everything.', { data: { scope: 'poppy:write', account: 'acc-maya' } }))
    expect(await tries(scoped)).toEqual(tell(Object.keys(scoped), 'sign_in_required'))
  })

  test('do nothing for an agent that is blocked', async () => {
    const { staff, id, client, agent, worlds, tries, tell } = await desk(await fresh())
    const { operation_id: opn } = await client.propose('books')
    await staff.take(id, rita)
    await worlds[0]?.company.agents.block(agent.clientId)
    const { openAccount, ...tools } = onlyTools(ofTheHolder(opn)) as { openAccount: Act } & Record<string, Act>
    expect(await tries(tools)).toEqual(tell(Object.keys(tools), 'invalid_token'))
    expect(await tries({ openAccount })).toEqual({ openAccount: 'sign_in_required' })
    expect(await staff.offered(id, rita)).toEqual({ tools: [], locked: [] })
    expect((await staff.account(id, rita)).state).toBe('closed')
  })

  test('do nothing with one account in a conversation that is another’s', async () => {
    const { staff, id, client, tries, tell, setAccount } = await desk(await fresh())
    const { operation_id: opn } = await client.propose('books')
    await staff.take(id, rita)
    await staff.openAccount(id, rita)
    await setAccount('acc-bob')
    const acts = onlyTools(ofTheHolder(opn))
    expect(await tries(acts)).toEqual(tell(Object.keys(acts), 'sign_in_required'))
    expect(await staff.account(id, rita)).toEqual({ state: 'dark' })
    expect((await staff.offered(id, rita)).tools.map(({ name }) => name)).toEqual(['open_to_all', 'offers'])
  })

  test('revise only what belongs to the conversation: no other account’s, agent’s, User’s or conversation’s operation', async () => {
    const { staff, id, agent, worlds, tries, client, talkSignedOut } = await desk(await fresh())
    const world = worlds[0] as (typeof worlds)[0]
    const revise =
      (opn: unknown, revision: unknown = 1): Act =>
      (by, at, who) =>
        by.reviseOperation(at, who, { operation: opn as string, revision: revision as number, input: {} })
    const own = await client.propose('books')
    // Another account's through another agent, and another account's through this one.
    world.site.account = { id: 'acc-bob', name: 'bob@example.com' }
    const stranger = await world.newAgent()
    Object.assign(agent.documents, stranger.documents)
    lists(agent)
    agent.documents[stranger.clientId] = {
      ...(stranger.documents[stranger.clientId] as object),
      extensions: { operations: { version: '1' } },
    }
    const of = async (who: typeof agent) =>
      asked(who, (await world.signIn(who, (await world.start(who)).session_id)).access_token).propose('books')
    const [strangers, bobs] = [await of(stranger), await of(agent)]
    // What was proposed signed out in a conversation is that conversation's.
    const loose: string[] = []
    for (const name of ['One matter.', 'Another matter.']) {
      const { conversation_id } = await standingOf(await talkSignedOut.start(said(name)))
      await staff.take(conversation_id, rita)
      loose.push(conversation_id)
    }
    const [here, there] = loose as [string, string]
    const offered = await staff.callTool(here, rita, 'offers', {})
    const { operation_id: ofHere } = (offered as unknown as { operation: { operation_id: string } }).operation
    expect(await tries({ elsewhere: revise(ofHere) }, { at: there })).toEqual({ elsewhere: 'operation_not_found' })
    expect(await tries({ signedOut: revise(own.operation_id) }, { at: there })).toEqual({
      signedOut: 'sign_in_required',
    })
    expect(await refused(revise(ofHere)(staff, here, rita))).toBe('done')
    await staff.take(id, rita)
    const cancelled = await client.propose('books')
    await client.cancel(cancelled.operation_id)
    expect(
      await tries({
        strangers: revise(strangers.operation_id),
        bobs: revise(bobs.operation_id),
        loose: revise(ofHere, 2),
        unknown: revise('opn_none'),
        odd: revise("'; drop table poppy_operations; --"),
        old: revise(own.operation_id, 7),
        none: revise(own.operation_id, 0),
        over: revise(cancelled.operation_id),
      }),
    ).toEqual({
      strangers: 'operation_not_found',
      bobs: 'operation_not_found',
      loose: 'operation_not_found',
      unknown: 'operation_not_found',
      odd: 'operation_not_found',
      old: 'revision_conflict',
      none: 'revision_conflict',
      over: 'revision_conflict',
    })
    for (const wrong of [revise(7), revise(own.operation_id, '1'), revise(own.operation_id, 1.5)])
      await expect(wrong(staff, id, rita)).rejects.toThrow(TypeError)
    // Each of an account that is the conversation's may be revised in it.
    expect(await refused(revise(own.operation_id)(staff, id, rita))).toBe('done')
  })

  test('write notes that no stranger and no customer ever sees', async () => {
    const { staff, id, talk, worlds } = await desk(await fresh())
    await staff.take(id, rita)
    await staff.note(id, omar, 'A private word.')
    await staff.handBack(id, rita, { note: 'A private word.' }).catch(() => {})
    const { events } = await staff.read(id)
    expect(JSON.stringify(events)).not.toContain('private')
    for (const path of [
      `/poppy/conversations/${id}`,
      `/poppy/conversations/${id}/notes`,
      `/poppy/inbox/conversations/${id}`,
    ]) {
      const answer = await worlds[0]?.send(new Request(`https://miramar.example${path}`))
      expect(answer?.status).toBeGreaterThanOrEqual(400)
      expect(await answer?.text()).not.toContain('private')
    }
    expect(await (await talk.read(id)).text()).not.toContain('private')
    const { accounts } = (worlds[0] as (typeof worlds)[0]).company
    expect(JSON.stringify(await accounts.exportPerson('acc-maya'))).not.toMatch(/rita|omar/)
  })

  const meanwhiles = ['signed out', 'blocked', 'given away', 'closed'] as const
  test.each(meanwhiles.flatMap((what) => (['run', 'run for nobody', 'revise'] as const).map((how) => ({ what, how }))))(
    '$how nothing where it is $what while the input is looked at, or the terms are worked out',
    async ({ what, how }) => {
      const store = await fresh()
      const ran: string[] = []
      // A schema may look twice; the call waits for it either way.
      let meanwhile: (() => Promise<void>) | null = null
      let going: Promise<void> = Promise.resolve()
      const once = async () => {
        if (meanwhile !== null) going = meanwhile()
        meanwhile = null
        await going
      }
      const input = z.object({ nights: z.int() }).refine(async ({ nights }) => {
        if (nights === 2) await once()
        return true
      })
      const charge = tool({
        name: 'charge',
        description: 'Charges.',
        scope: 'poppy:write',
        input,
        run: () => void ran.push('charge'),
      })
      const greet = tool({ name: 'greet', description: 'Greets.', input, run: () => void ran.push('greet') })
      const book = operation({
        name: 'book',
        description: 'Books.',
        scope: 'poppy:write',
        input: z.object({ nights: z.int() }),
        async propose({ nights }) {
          if (nights === 2) await once()
          return { summary: `${nights} nights.` }
        },
        perform: () => succeeded(),
      })
      const made = await makeFrontDesk(store, { tools: [charge, greet], operations: [book], prepare: lists })
      const { staff, staffHere, worlds } = made
      const { company } = worlds[0] as (typeof worlds)[0]
      const { talk, signedIn } = await made.signIn()
      const client = asked(made.client, signedIn.access_token)
      const change = {
        'signed out': (_: string) => company.accounts.revokeAll('acc-maya'),
        blocked: (_: string) => company.agents.block(made.client.clientId),
        'given away': (id: string) => staffHere.give(id, rita, omar),
        closed: (id: string) => staffHere.close(id, { by: 'a job' }),
      }[what]
      const told = {
        'signed out': 'sign_in_required',
        blocked: 'invalid_token',
        'given away': 'held_by_other',
        closed: 'conversation_closed',
      }[what]
      const opn = (await client.propose('book', { nights: 1 })).operation_id
      // What needs no scope is run for one who is signed out from the start: there, signing out changes nothing.
      const by = how === 'run for nobody' ? made.talk : talk
      const { conversation_id: id } = await standingOf(await by.start(said('Something, please.')))
      await staff.take(id, rita)
      meanwhile = async () => void (await change(id))
      const tried =
        how !== 'revise'
          ? staff.callTool(id, rita, how === 'run' ? 'charge' : 'greet', { nights: 2 })
          : staff.reviseOperation(id, rita, { operation: opn, revision: 1, input: { nights: 2 } })
      if (how === 'run for nobody' && what === 'signed out') {
        expect(await refused(tried)).toBe('done')
        return
      }
      expect(await refused(tried)).toBe(told)
      expect(ran).toEqual([])
      expect(await company.operations.get(opn)).toMatchObject({ revision: 1 })
      const acts = (await staff.audit()).entries.map(({ act }) => act)
      for (const act of ['ran', 'proposed', 'revised']) expect(acts).not.toContain(act)
    },
  )
})
