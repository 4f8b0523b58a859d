import type { CompanyAgent, HeardMessage } from 'poppyseed'
import { describe, expect, it } from 'vitest'
import { converse, said, standingOf } from './setup/converse.ts'
import { makeFrontDesk, patiently, rita } from './setup/front-desk.ts'
import { stores } from './setup/stores.ts'
import { outcome } from './setup/world.ts'

// The User talks with the Company themselves, beside the conversation before it (7.10).

const minute = 60_000
const own = (text: string) => said(text, { sender: 'human' })

describe.each(stores)('a Direct Conversation on $name', { timeout: 60_000 }, ({ missing, fresh }) => {
  const test = it.skipIf(missing)
  const heard: { history: readonly HeardMessage[]; writesFor: string; isDirect: boolean }[] = []
  const agent: CompanyAgent = async function* ({ history, writesFor, isDirect, asked }) {
    heard.push({ history, writesFor, isDirect })
    yield { type: 'text', text: `Re: ${asked.at(-1)?.text}` }
  }

  test('is asked for by the Company, opened by the agent alone, and known to the agent of its parent when it is over [7.10.user-requested, 7.10.only-agent-starts, 7.10.start, 7.10.direct-opened, 7.10.parent-waits, 7.10.parent-readable, 7.10.direct-closed, 7.10.parent-knows, 7.13.direct-conversation-open]', async () => {
    const desk = await makeFrontDesk(await fresh(), { agent })
    const parent = await desk.start(said('She wants to exchange the jacket.'))
    await desk.staff.take(parent, rita)
    await desk.staff.askForUser(parent, rita, 'A specialist has to confirm the exchange.')
    expect((await desk.read(parent)).events.at(-1)).toMatchObject({
      type: 'user_requested',
      reason: 'A specialist has to confirm the exchange.',
    })
    await desk.staff.handBack(parent, rita)
    await expect.poll(async () => (await desk.read(parent)).status, patiently).toBe('idle')
    // Nothing is opened by the Company itself.
    expect((await desk.staff.list()).conversations.map(({ id }) => id)).toEqual([parent])

    const first = await desk.talk.start(own('Hi, it is me.'), { parent })
    expect(first.status).toBe(201)
    const { conversation_id: direct } = await standingOf(first)
    expect(direct).not.toBe(parent)
    await expect.poll(async () => (await desk.read(direct)).status, patiently).toBe('idle')
    expect((await desk.words(direct))[0]).toBe('user as human: Hi, it is me.')
    expect(heard.at(-1)).toMatchObject({ isDirect: true, writesFor: 'human' })
    expect(heard.at(-1)?.history[0]).toMatchObject({ text: 'She wants to exchange the jacket.', in: 'parent' })

    expect((await desk.read(parent)).events.at(-1)).toMatchObject({ type: 'direct_opened', conversation_id: direct })
    for (const refused of [await desk.talk.send(parent, said('And?')), await desk.talk.handoff(parent)]) {
      expect(refused.status).toBe(409)
      expect(await refused.json()).toMatchObject({ error: 'direct_conversation_open', conversation_id: direct })
    }

    expect(await standingOf(await desk.talk.close(direct))).toMatchObject({ status: 'closed' })
    expect((await desk.read(parent)).events.at(-1)).toMatchObject({ type: 'direct_closed', conversation_id: direct })
    expect((await desk.talk.send(parent, said('What did she say?'))).status).toBe(202)
    await expect.poll(async () => (await desk.words(parent)).at(-2), patiently).toBe('agent: Re: What did she say?')
    expect(heard.at(-1)?.history).toContainEqual(expect.objectContaining({ text: 'Hi, it is me.', in: 'direct' }))
  })

  test('closes with its parent, which is told first [7.10.parent-close, 7.10.direct-closed]', async () => {
    const desk = await makeFrontDesk(await fresh(), { agent })
    const parent = await desk.start(said('Hello?'))
    const direct = await desk.start(own('It is me.'), parent)
    await expect.poll(async () => (await desk.read(direct)).status, patiently).toBe('idle')
    await expect.poll(async () => (await desk.read(parent)).status, patiently).toBe('idle')
    await desk.talk.close(parent)
    expect((await desk.words(parent)).slice(-2)).toEqual(['direct_closed', 'closed/agent'])
    expect((await desk.words(direct)).at(-1)).toBe('closed/agent')
    expect(await outcome(await desk.talk.send(direct, own('Still there?')))).toBe('409 conversation_closed')
  })

  test('needs a parent that is open, the same owner’s, and none itself; one at a time [7.10.parent-open, 7.10.parent-owner, 7.10.parent-not-direct, 7.10.one-open]', async () => {
    const desk = await makeFrontDesk(await fresh(), { agent })
    const beside = (parent: string) => desk.talk.start(own('It is me.'), { parent })
    const parent = await desk.start(said('Hello?'))
    const direct = await desk.start(own('It is me.'), parent)
    const second = await beside(parent)
    expect(second.status).toBe(409)
    expect(await second.json()).toMatchObject({ error: 'direct_conversation_open', conversation_id: direct })
    expect(await outcome(await beside(direct))).toBe('404 conversation_not_found')
    expect(await outcome(await beside('cnv_none'))).toBe('404 conversation_not_found')
    await desk.talk.close(parent)
    expect(await outcome(await beside(parent))).toBe('409 conversation_closed')
    const [world] = desk.worlds
    if (world === undefined) throw new Error('there is no instance')
    const others = await desk.start(said('Hello?'))
    const { userId } = desk.client
    desk.client.userId = 'usr_of_somebody_else_entirely'
    const stranger = converse(desk.client, (await world.start(desk.client)).access_token)
    desk.client.userId = userId
    expect(await outcome(await stranger.start(own('It is me.'), { parent: others }))).toBe('404 conversation_not_found')
    expect((await desk.words(others)).some((word) => word.startsWith('direct'))).toBe(false)
  })

  test('begins with the person who has its parent, and all know it', async () => {
    const desk = await makeFrontDesk(await fresh(), { agent })
    const parent = await desk.start(said('Hello?'))
    await desk.staff.take(parent, rita)
    const first = await desk.talk.start(own('It is me.'), { parent })
    const { conversation_id: direct, ...standing } = await standingOf(first)
    expect(standing).toEqual({ status: 'idle', responder: 'human' })
    expect(await desk.words(direct)).toEqual(['user as human: It is me.', 'idle/human'])
    await desk.staff.reply(direct, rita, { text: 'Good to hear you.' })
    await expect(desk.staff.askForUser(direct, rita, 'To confirm.')).rejects.toMatchObject({
      extra: { because: 'is_direct' },
    })
    expect((await desk.staff.heldBy('rita')).map(({ id }) => id).sort()).toEqual([parent, direct].sort())
  })

  test('uses the account, and then its parent is the account’s too, once it knows what was said [7.11.sign-in-required]', async () => {
    const desk = await makeFrontDesk(await fresh(), { agent })
    const { talk } = await desk.signIn('poppy:read')
    const parent = await desk.start(said('Hello?'))
    const { conversation_id: direct } = await standingOf(await talk.start(own('It is me.'), { parent }))
    await desk.staff.take(direct, rita)
    await desk.staff.openAccount(direct, rita)
    expect(await outcome(await desk.talk.read(direct))).toBe('403 sign_in_required')
    expect((await desk.talk.read(parent)).status).toBe(200)
    await desk.staff.close(direct, rita)
    expect(await outcome(await desk.talk.read(parent))).toBe('403 sign_in_required')
    expect((await talk.read(parent)).status).toBe(200)
  })

  test('that is quiet for a day closes, and its parent a day later', async () => {
    const desk = await makeFrontDesk(await fresh(), { agent })
    const parent = await desk.start(said('Hello?'))
    await expect.poll(async () => (await desk.read(parent)).status, patiently).toBe('idle')
    const direct = await desk.start(own('It is me.'), parent)
    await expect.poll(async () => (await desk.read(direct)).status, patiently).toBe('idle')
    desk.clock.now += 24 * 60 * minute
    await Promise.all(desk.worlds.map(({ company }) => company.work()))
    expect((await desk.staff.read(direct)).conversation.status).toBe('closed')
    expect((await desk.staff.read(parent)).conversation).toMatchObject({ status: 'idle', direct: null })
    desk.clock.now += 24 * 60 * minute
    await Promise.all(desk.worlds.map(({ company }) => company.work()))
    expect((await desk.staff.read(parent)).conversation.status).toBe('closed')
  })

  test('twice at once is one; against the close of its parent it opens and closes, or isn’t opened', async () => {
    const desk = await makeFrontDesk(await fresh(), { agent })
    for (let round = 0; round < 4; round++) {
      const parent = await desk.start(said('Hello?'))
      const two = await Promise.all([0, 1].map(() => desk.talk.start(own('It is me.'), { parent })))
      expect(two.map(({ status }) => status).sort()).toEqual([201, 409])
      const other = await desk.start(said('Hello?'))
      const [opened] = await Promise.all([
        desk.talk.start(own('It is me.'), { parent: other }),
        desk.staff.close(other, { by: 'a job' }),
      ])
      expect([201, 409]).toContain(opened.status)
      expect((await desk.words(other)).at(-1)).toBe('closed/agent')
      if (opened.status === 201)
        expect((await desk.read((await standingOf(opened)).conversation_id)).status).toBe('closed')
      // Both ends at once wait for each other never.
      const direct = (await desk.staff.read(parent)).conversation.direct as string
      await Promise.all([desk.talk.close(direct), desk.staff.close(parent, { by: 'a job' })])
      for (const id of [parent, direct]) expect((await desk.read(id)).status).toBe('closed')
      expect((await desk.words(parent)).filter((word) => word === 'direct_closed')).toHaveLength(1)
    }
  })
})
