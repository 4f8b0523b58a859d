import { createPersonalAgent, generateKey, memoryStore, type PersonalAgent, type Session } from '@poppyseed/agent'
import type { CompanyAgent } from 'poppyseed'
import { describe, expect, it } from 'vitest'
import { createPerson } from '../examples/hotel/src/person.ts'
import { agentErrorOf } from './setup/hostile-company.ts'
import { listen } from './setup/listen.ts'
import { guests, openSite } from './setup/site.ts'

// 4.8: an Account Token that the Company neither takes nor calls ended. Its owner can sign in anew all the same, is told no untruth,
// and isn't asked where that would end in the same.

const frontDesk: CompanyAgent = async function* () {
  const outcome = yield { type: 'call', name: 'my_bookings', input: {} }
  if (outcome?.ok) yield { type: 'message', text: 'You have two bookings.' }
}

/** What the token endpoint answers to a refresh; a network that fails throws. */
type Refusal = () => Response

const refusals: readonly (readonly [what: string, refuse: Refusal])[] = [
  ['a fault of its own', () => new Response('', { status: 500 })],
  [
    'a refusal that names nothing that it could be about',
    () => Response.json({ error: 'invalid_request' }, { status: 400 }),
  ],
  ['that this agent may not use it', () => Response.json({ error: 'unauthorized_client' }, { status: 400 })],
  ['what nobody can read', () => new Response('fine')],
]

async function open() {
  const site = await openSite({ agent: frontDesk })
  const keys = [await generateKey()]
  let refuse: Refusal | undefined
  let ahead = 0
  let agent: PersonalAgent | undefined
  await listen((origin) => {
    const made = createPersonalAgent({
      clientId: `${origin}/agent.json`,
      name: 'Test Agent',
      keys,
      store: memoryStore(),
      allowHttp: true,
      now: () => Date.now() + ahead,
      fetch: async (url, init) =>
        refuse !== undefined && String(init.body).includes('grant_type=refresh_token') ? refuse() : fetch(url, init),
    })
    agent = made
    return made.fetch
  })
  const made = agent as unknown as PersonalAgent
  const company = await made.forUser('maya').company(site.origin)
  let asked = 0
  const signIn = (session: Session, scopes: readonly string[]) =>
    session.signIn({
      scopes,
      open: async (url) => {
        asked += 1
        const person = createPerson()
        const consent = await person.submit(await person.open(url), guests.maya)
        await person.submit(consent, { scope: ['poppy:read'], decision: 'approve' })
      },
    })
  const here = company.session()
  await signIn(here, ['poppy:read'])
  return {
    ...{ here, signIn },
    asked: () => asked,
    disconnect: () => site.company.accounts.disconnect('acc-maya', made.clientId),
    /** For the agent, its Session Tokens have expired. */
    later: () => {
      ahead = 3 * 3600_000
    },
    refuse: (how: Refusal) => {
      refuse = how
    },
  }
}

describe('where the Company answers a refresh with', () => {
  it.each(refusals)('%s, its owner can sign in anew', async (_what, how) => {
    const { here, signIn, asked, refuse } = await open()
    refuse(how)
    const { granted, replaced } = await signIn(here, ['poppy:read'])
    expect([granted, replaced, asked()]).toEqual([['poppy:read'], 'revoked', 2])
    expect((await here.call('my_bookings')).status).toBe(200)
  })

  it.each(refusals)('%s, a conversation that needs the account has them asked, and goes on', async (_what, how) => {
    const { here, signIn, asked, disconnect, refuse } = await open()
    await disconnect()
    refuse(how)
    const conversation = await here.conversations.start('What are my bookings?')
    const unasked = await conversation.answer()
    expect([unasked.outcome, unasked.error?.action, unasked.error?.message]).toEqual([
      'needs_sign_in',
      'ask_owner',
      expect.stringMatching(/could not say what the access that you gave before still covers\.$/),
    ])
    const [need] = unasked.events.flatMap((event) => (event.type === 'authorization' ? [event] : []))
    if (need === undefined) throw new Error('nothing was asked for')
    // Who says that they signed in, and hasn't, isn't.
    const lied = await conversation.authorize(need, { signIn: async () => true })
    expect([lied.result, asked()]).toEqual(['declined', 1])
    const outcome = await conversation.authorize(need, { signIn: ({ scopes }) => signIn(here, scopes) })
    expect([outcome.result, asked()]).toEqual(['continued', 2])
    expect((await conversation.answer()).text).toBe('You have two bookings.')
    // Whoever refuses the next one in the same way, and asks again, doesn't have them asked round and round.
    const again = { ...need, id: 'evt_another' }
    const stopped = await conversation.authorize(again, { signIn: ({ scopes }) => signIn(here, scopes) })
    expect([stopped.result, asked()]).toEqual(['stopped', 2])
  })
})

describe('where the Session Token has expired too and the Company answers a refresh with', () => {
  it.each(refusals)('%s, its owner can sign in anew', async (_what, how) => {
    const { here, signIn, asked, refuse, later } = await open()
    const { sessionId } = await here.state()
    later()
    refuse(how)
    const { granted } = await signIn(here, ['poppy:read'])
    expect([granted, asked(), (await here.state()).sessionId]).toEqual([['poppy:read'], 2, sessionId])
    expect((await here.call('my_bookings')).status).toBe(200)
  })

  it('nothing that a conversation could be read by, has them asked when it needs the account', async () => {
    const { here, signIn, asked, refuse, later } = await open()
    later()
    refuse(refusals[1]?.[1] as Refusal)
    const error = await agentErrorOf(here.conversations.start('What are my bookings?'))
    expect([error.code, error.action, error.scopes]).toEqual(['request_refused', 'ask_owner', ['poppy:read']])
    await signIn(here, error.scopes ?? [])
    const conversation = await here.conversations.start('What are my bookings?')
    expect([(await conversation.answer()).text, asked()]).toEqual(['You have two bookings.', 2])
  })
})

describe('where a refresh fails', () => {
  it('for the network, that is told, and nobody is sent to a page whose sign-in would end in the same', async () => {
    const { here, signIn, asked, refuse } = await open()
    refuse(() => {
      throw new TypeError('fetch failed')
    })
    const error = await agentErrorOf(signIn(here, ['poppy:read']))
    expect([error.code, error.action, asked()]).toEqual(['unreachable', 'retry', 1])
  })

  it('for what may pass, a call is tried again later; for what won’t, its owner is asked', async () => {
    const { here, disconnect, refuse } = await open()
    await disconnect()
    refuse(refusals[0]?.[1] as Refusal)
    const passing = await agentErrorOf(here.call('my_bookings'))
    expect([passing.code, passing.action]).toEqual(['company_error', 'retry'])
    refuse(refusals[1]?.[1] as Refusal)
    const lasting = await agentErrorOf(here.call('my_bookings'))
    expect([lasting.code, lasting.action, lasting.scopes]).toEqual(['sign_in_required', 'ask_owner', ['poppy:read']])
  })
})
