import { type CompanyAgent, tool } from 'poppyseed'
import { describe, expect, it } from 'vitest'
import { converse, pageOf, said, standingOf, words } from './setup/converse.ts'
import { follow, sendAndFollow, startAndFollow } from './setup/follow.ts'
import { makeInstances } from './setup/instances.ts'
import { stores } from './setup/stores.ts'
import { makeWorld, type Tokens } from './setup/world.ts'

// What a Personal Agent says is answered by the company's own agent, over real HTTP.

const bookings = tool({
  name: 'bookings',
  description: 'Bookings of the guest.',
  scope: 'poppy:read',
  run: (_, { principal }) => [`Suite 4 of ${principal.account}`],
})

/** Looks bookings up when it is asked for them, and repeats anything else. */
const desk: CompanyAgent = async function* (turn) {
  const question = turn.asked.map(({ text }) => text ?? '').join(' and ')
  if (!question.includes('my bookings')) return yield { type: 'text', text: `You say: ${question}` }
  const outcome = await turn.call('bookings', {})
  if (outcome.ok) yield { type: 'text', text: String((outcome.value as string[])[0]) }
}

const config = { tools: [bookings], agent: desk }

describe.each(stores)('The Company Agent, on $name,', ({ missing, fresh }) => {
  const story = it.skipIf(missing !== null)

  story(
    'asks for a sign-in when it needs one, and the same conversation goes on with it, and is the account’s from then on [7.11.authorization, 7.11.also-asks, 7.11.any-token, 7.11.sign-in-required, 7.2.account-owns, 7.2.any-session]',
    async () => {
      const world = await makeWorld(config, (await fresh()).store())
      const started = (await (await world.agent.startSession()).json()) as Tokens
      const signedOut = converse(world.agent, started.access_token)
      const asked = await startAndFollow(signedOut, said('What are my bookings?'))
      expect(words(asked.events).slice(2)).toEqual([
        'authorization',
        'agent: To go on, I need the sign-in to your account.',
        'idle/agent',
      ])
      expect(asked.events.find(({ type }) => type === 'authorization')).toMatchObject({
        error: 'sign_in_required',
        scope: 'poppy:read',
      })
      const { access_token: token } = await world.signIn(world.agent, started.session_id)
      const at = converse(world.agent, token)
      const answered = await sendAndFollow(at, asked, said('Now: my bookings.'))
      expect(words(answered.events).slice(-2)).toEqual(['agent: Suite 4 of acc-maya', 'idle/agent'])
      // The token from before the sign-in is the same User's, and not signed in to that account.
      const refused = await signedOut.read(asked.id)
      expect([refused.status, ((await refused.json()) as { error: string }).error]).toEqual([403, 'sign_in_required'])
      // Another Session of the account goes on with it.
      const other = (await (await world.agent.startSession()).json()) as Tokens
      const elsewhere = converse(world.agent, (await world.signIn(world.agent, other.session_id)).access_token)
      expect((await sendAndFollow(elsewhere, answered, said('Hello.'))).events.length).toBeGreaterThan(0)
    },
  )

  story(
    'writes in the language of the context when it fails, which others learn nothing of [7.4.context-given]',
    async () => {
      const contexts: unknown[] = []
      const world = await makeWorld(
        {
          ...config,
          agent: (turn) => {
            contexts.push([turn.context, turn.locale])
            throw new Error('the key sk-12345 of the model has run out')
          },
        },
        (await fresh()).store(),
      )
      const { access_token: token } = (await (await world.agent.startSession()).json()) as Tokens
      const context = { locale: 'de-AT', user_available: true }
      const { events } = await startAndFollow(converse(world.agent, token), said('Guten Tag.', { context }))
      expect(words(events).slice(2)).toEqual([
        expect.stringMatching(/^agent: Bei uns ist etwas schiefgegangen/) as string,
        'idle/agent',
      ])
      expect(JSON.stringify(events)).not.toContain('sk-12345')
      expect(contexts).toEqual([[context, 'de-AT']])
    },
  )

  story('answers each of many messages once, whichever of two instances takes them, one turn at a time', async () => {
    const { store } = await fresh()
    let [runs, most, now] = [0, 0, 0]
    const agent: CompanyAgent = async function* (turn) {
      runs += 1
      now += 1
      most = Math.max(most, now)
      yield { type: 'message', text: `Answer to ${turn.asked.map(({ text }) => text).join(', ')}` }
      await new Promise((resolve) => setImmediate(resolve))
      now -= 1
    }
    const { agent: personal, turnTo } = await makeInstances([
      { store: store(), config: { agent } },
      { store: store(), config: { agent } },
    ])
    const { access_token: token } = (await (await personal.startSession()).json()) as Tokens
    const at = converse(personal, token)
    const { conversation_id: id } = await standingOf(await at.start(said('0')))
    for (let number = 1; number < 12; number++) {
      turnTo(number % 2)
      await standingOf(await at.send(id, said(String(number))))
    }
    const { events } = await follow(at, id)
    const answers = words(events).filter((word) => word.startsWith('agent:'))
    // Each message stands in just one answer, in its order.
    expect(answers.flatMap((answer) => answer.slice('agent: Answer to '.length).split(', '))).toEqual(
      Array.from({ length: 12 }, (_, number) => String(number)),
    )
    expect([most, runs]).toEqual([1, answers.length])
    expect(words(events).filter((word) => word === 'working/agent').length).toBe(
      words(events).filter((word) => word === 'idle/agent').length,
    )
  })

  story(
    'knows in a Direct Conversation what was said before it, and afterwards what was said there [7.10.parent-knows]',
    async () => {
      const heard: unknown[] = []
      const world = await makeWorld(
        {
          agent: async function* (turn) {
            heard.push(turn.history.map(({ from, text, in: place }) => [place ?? 'here', from, text]))
            yield { type: 'text', text: `As a ${turn.writesFor}.` }
          },
        },
        (await fresh()).store(),
      )
      const { access_token: token } = (await (await world.agent.startSession()).json()) as Tokens
      const at = converse(world.agent, token)
      const parent = await startAndFollow(at, said('About the exchange.'))
      world.clock.now += 1000
      const direct = await standingOf(await at.start(said('Hi, it is me.', { sender: 'human' }), { parent: parent.id }))
      await follow(at, direct.conversation_id)
      await standingOf(await at.close(direct.conversation_id))
      world.clock.now += 1000
      await sendAndFollow(at, parent, said('And now?'))
      const first = [
        ['parent', 'user', 'About the exchange.'],
        ['parent', 'company', 'As a agent.'],
      ]
      expect(heard).toEqual([
        [['here', 'user', 'About the exchange.']],
        [...first, ['here', 'user', 'Hi, it is me.']],
        [
          ...first.map(([, from, text]) => ['here', from, text]),
          ['direct', 'user', 'Hi, it is me.'],
          ['direct', 'company', 'As a human.'],
          ['here', 'user', 'And now?'],
        ],
      ])
    },
  )

  story('has its turns run by a scheduled job where nothing lives between requests', async () => {
    const { store } = await fresh()
    // The first instance is frozen after its answer; the second is there for the job alone.
    const frozen: CompanyAgent = async function* () {
      yield await new Promise<never>(() => {})
    }
    const { agent, worlds, clock } = await makeInstances([
      { store: store(), config: { agent: frozen } },
      { store: store(), config: { agent: desk } },
    ])
    const { access_token: token } = (await (await agent.startSession()).json()) as Tokens
    const at = converse(agent, token)
    const { conversation_id: id } = await standingOf(await at.start(said('Hello?')))
    clock.now += 31_000
    while (!(await worlds[1]?.company.work())?.isDone);
    expect(words((await pageOf(await at.read(id))).events).slice(2)).toEqual(['agent: You say: Hello?', 'idle/agent'])
  })
})
