import { describe, expect, it, onTestFinished } from 'vitest'
import { converse, pageOf } from './setup/converse.ts'
import { stores } from './setup/stores.ts'
import { type HowStreamed, openStreams, type Reading, reply, type StreamedCompany } from './setup/streaming.ts'
import { makeWorld, outcome, type Tokens, type World } from './setup/world.ts'

/**
 * Sign-ins that end while events are awaited (4.9, 7.6, 7.11): by a stream and by a read, at the instance that they wait at and at
 * another. What is written afterwards reaches neither.
 */

/** How a sign-in, or the token, ends: `meant` is what a read is told then, `again` what whoever comes again is. */
const ends: readonly {
  readonly what: string
  readonly meant: string
  readonly again: string
  readonly end: (ended: { readonly here: StreamedCompany; readonly there: World; readonly tokens: Tokens }) => unknown
}[] = [
  {
    what: 'the agent signs out',
    meant: '403 sign_in_required',
    again: '403 sign_in_required',
    end: ({ here, tokens }) => here.world.agent.revoke(tokens.refresh_token as string),
  },
  {
    what: 'the person disconnects the agent, at another instance',
    meant: '403 sign_in_required',
    again: '403 sign_in_required',
    end: ({ here, there }) => there.company.accounts.disconnect('acc-maya', here.world.agent.clientId),
  },
  {
    what: 'all sign-ins of the account are revoked, at another instance',
    meant: '403 sign_in_required',
    again: '403 sign_in_required',
    end: ({ there }) => there.company.accounts.revokeAll('acc-maya'),
  },
  {
    what: 'the company blocks the agent, at another instance',
    meant: '401 invalid_token',
    again: '401 invalid_token',
    end: ({ here, there }) => there.company.agents.block(here.world.agent.clientId),
  },
  {
    what: 'the person is erased',
    meant: '404 conversation_not_found',
    again: '401 invalid_token',
    end: ({ here }) => here.world.company.accounts.erasePerson('acc-maya'),
  },
  {
    what: 'the token expires',
    meant: '401 invalid_token',
    again: '401 invalid_token',
    end({ here, there }) {
      here.world.clock.now += 3_600_000
      there.clock.now += 3_600_000
    },
  },
]

describe.each(stores)('On $name, where events are awaited', ({ missing, fresh }) => {
  const test = it.skipIf(missing !== null)

  async function signedIn() {
    const store = await fresh()
    const here = await openStreams(store)
    const { world } = here
    const there = await makeWorld({ conversations: {}, now: () => world.clock.now }, store.store())
    onTestFinished(() => there.company.close())
    const id = await here.start()
    const tokens = await world.signIn(world.agent, here.tokens.session_id)
    // The Company Agent has looked into the account: from here on it is the account's conversation.
    await here.write(id, [reply('You have one booking.')], { account: 'acc-maya' })
    const how: HowStreamed = { token: tokens.access_token }
    const talk = converse(world.agent, tokens.access_token)
    const reading = await here.stream(id, how)
    const cursor = await lastId(reading, 3)
    return { here, there, id, tokens, how, talk, reading, cursor }
  }

  test.each(ends)('nothing is told after $what [K48, 7.11.sign-in-required]', async ({ end, meant, again }) => {
    const { here, there, id, tokens, how, talk, reading, cursor } = await signedIn()
    const waiting = talk.read(id, `?wait=30&cursor=${cursor}`)
    // It waits once another request has gone its way after it.
    await talk.read(id)
    const before = reading.raw()
    await end({ here, there, tokens })
    await here.write(id, [reply('Your room is 17.')]).catch((error: unknown) => {
      // Of a person who was erased there is no conversation any more.
      if (!String(error).includes('nothing was written')) throw error
      here.parts.changes.changed(id)
    })
    here.parts.changes.piece(id, { messageId: 'msg_next', from: 0, text: 'The code of the door is 4711.' })
    expect(await outcome(await waiting)).toBe(meant)
    await reading.ended
    expect(reading.raw().replaceAll(':\n\n', '')).toBe(before.replaceAll(':\n\n', ''))
    const answer = await here.stream(id, { ...how, headers: { 'last-event-id': cursor } })
    await answer.ended
    expect(`${answer.response.statusCode} ${(JSON.parse(answer.raw()) as { error: string }).error}`).toBe(again)
  })

  test('a stream is closed soon, also where nothing happens in it', async () => {
    const { here, there, id, reading, tokens } = await signedIn()
    // Another one, of a User who isn't signed in and doesn't have to be, goes on.
    const other = await here.world.newAgent()
    const theirs = await here.world.start(other)
    const started = await pageOf(
      await converse(other, theirs.access_token).start(
        { id: 'msg_1', sender: 'agent', text: 'Hi' },
        { query: '?wait=0' },
      ),
    )
    const goesOn = await here.stream(started.conversation_id as string, { agent: other, token: theirs.access_token })
    await there.company.accounts.disconnect('acc-maya', here.world.agent.clientId)
    await reading.ended
    expect(id).not.toBe(started.conversation_id)
    await here.write(started.conversation_id as string, [reply('Hello.')])
    while (!goesOn.raw().includes('Hello.')) await new Promise(setImmediate)
    goesOn.cut()
    expect(tokens.signed_in).toBe(true)
  })

  test('a token from before the sign-in is told nothing once the conversation has used the account [7.11.sign-in-required]', async () => {
    const here = await openStreams(await fresh())
    const id = await here.start()
    const signedOut = await here.stream(id)
    const cursor = await lastId(signedOut, 2)
    const waiting = here.talk.read(id, `?wait=30&cursor=${cursor}`)
    await here.talk.read(id)
    await here.world.signIn(here.world.agent, here.tokens.session_id)
    await here.write(id, [reply('You have one booking.')], { account: 'acc-maya' })
    expect(await outcome(await waiting)).toBe('403 sign_in_required')
    await signedOut.ended
    expect(signedOut.raw()).not.toContain('booking')
  })

  test('a token that signed in before a sign-out is told nothing after the next sign-in', async () => {
    const { here, id, tokens, reading } = await signedIn()
    await here.world.agent.revoke(tokens.refresh_token as string)
    const again = await here.world.signIn(here.world.agent, here.tokens.session_id)
    await here.write(id, [reply('Your room is 17.')])
    await reading.ended
    expect(reading.raw()).not.toContain('Your room')
    const next = await here.stream(id, { token: again.access_token })
    while (!next.raw().includes('Your room')) await new Promise(setImmediate)
    next.cut()
  })
})

/** Takes so many events, and gives the last one's id. */
async function lastId(reading: Reading, count: number): Promise<string> {
  let last = ''
  for (let left = count; left > 0; left--) last = (await reading.next())?.id ?? ''
  return last
}
