import { describe, expect, it } from 'vitest'
import { signedIn } from './setup/bookings.ts'
import { converse, pageOf, said, standingOf, words } from './setup/converse.ts'
import { sqliteFile } from './setup/instances.ts'
import { id } from './setup/wire-agent.ts'
import { makeWorld, outcome } from './setup/world.ts'

/** Whose a conversation is (7.2, 7.11): the agent's and its User's, and once it used the account, that account's. */

const silent = async function* () {}

async function open(config: Parameters<typeof makeWorld>[0] = {}) {
  const store = sqliteFile()
  const world = await makeWorld({ agent: silent, ...config }, store())
  const db = await store().open({ now: () => world.clock.now, log: { debug() {}, info() {}, warn() {}, error() {} } })
  const { access_token: token } = await world.start()
  const talk = converse(world.agent, token)
  /** Makes a conversation the account's, as a tool does that runs in it. */
  const useAccount = (conversation: string, account = 'acc-maya') =>
    db.query.updateTable('poppy_conversations').set({ account }).where('id', '=', conversation).execute()
  return { world, token, talk, useAccount, close: db.close }
}

/** All that can be done with a conversation, by what it is answered. */
async function everything(talk: ReturnType<typeof converse>, conversation: string): Promise<readonly string[]> {
  const answers = [
    await talk.send(conversation, said('Hello?')),
    await talk.send(conversation, said('Hello?'), '?wait=1'),
    await talk.read(conversation),
    await talk.read(conversation, '?wait=1'),
    await talk.handoff(conversation),
    await talk.start(said('Hi.', { sender: 'human' }), { parent: conversation }),
    await talk.close(conversation),
  ]
  return Promise.all(answers.map(outcome))
}

const all = (what: string) => Array.from({ length: 7 }, () => what)

describe('a conversation', () => {
  it('is nobody else’s: another agent’s, another User’s, or of an id that isn’t one [7.2.owner-only, 7.13.conversation-not-found]', async () => {
    const { world, talk, close } = await open()
    const { conversation_id: mine } = await standingOf(await talk.start(said('Is breakfast included?')))
    const otherAgent = await world.newAgent()
    const strangers = [converse(otherAgent, (await world.start(otherAgent)).access_token)]
    // The same agent, for another User.
    const before = world.agent.userId
    world.agent.userId = `usr_${id()}`
    strangers.push(converse(world.agent, (await world.start()).access_token))
    strangers.push(converse(world.agent, (await signedIn(world)).access_token))
    world.agent.userId = before
    for (const stranger of strangers)
      expect(await everything(stranger, mine)).toEqual(all('404 conversation_not_found'))
    for (const unknown of ['cnv_none', 'x', '%00', '%ED%A0%80', 'a%2Fb', '__proto__', 'a'.repeat(300), '%F0%9F%92%A5'])
      expect(
        (await everything(talk, unknown)).filter((is) => is.startsWith('404') || is.startsWith('400')),
      ).toHaveLength(7)
    expect(words((await pageOf(await talk.read(mine))).events)[0]).toBe('user as agent: Is breakfast included?')
    expect((await pageOf(await talk.read(mine))).events.filter(({ type }) => type === 'message')).toHaveLength(1)
    await close()
  })

  it('is gone on with by any Session of its User, renewed, signed in or new [7.2.any-session, 7.11.any-token]', async () => {
    const { world, talk, close } = await open()
    const { conversation_id: mine } = await standingOf(await talk.start(said('Is breakfast included?')))
    const renewed = converse(world.agent, (await world.start()).access_token)
    const signedInToo = converse(world.agent, (await signedIn(world)).access_token)
    for (const later of [renewed, signedInToo, talk])
      expect((await later.send(mine, said('And parking?'))).status).toBe(202)
    await close()
  })

  it('is the account’s once it used it: another Session of that account goes on, signed out it is asked to sign in [7.2.account-owns, 7.11.sign-in-required]', async () => {
    const { world, talk, useAccount, close } = await open()
    const { session_id } = await world.start()
    const { conversation_id: mine } = await standingOf(await talk.start(said('Where is my booking?')))
    const signed = await world.signIn(world.agent, session_id)
    await useAccount(mine)
    expect((await converse(world.agent, signed.access_token).send(mine, said('And now?'))).status).toBe(202)
    // The same account, for a User whom the agent knows by another id.
    const before = world.agent.userId
    world.agent.userId = `usr_${id()}`
    const other = await signedIn(world)
    expect((await converse(world.agent, other.access_token).send(mine, said('And here?'))).status).toBe(202)
    const out = await world.start()
    expect(await everything(converse(world.agent, out.access_token), mine)).toEqual(all('404 conversation_not_found'))
    world.agent.userId = before

    // 7.11: the same User, signed out
    expect(await everything(talk, mine)).toEqual(all('403 sign_in_required'))
    const refused = await talk.read(mine)
    expect(refused.headers.get('www-authenticate')).toContain('error="sign_in_required"')
    // And signed in to another account.
    world.site.account = { id: 'acc-noor', name: 'noor@example.com' }
    const noor = await signedIn(world)
    expect(await everything(converse(world.agent, noor.access_token), mine)).toEqual(all('403 sign_in_required'))
    // Another agent of the same person.
    world.site.account = { id: 'acc-maya', name: 'maya@example.com' }
    const stranger = await world.newAgent()
    const theirs = converse(stranger, (await signedIn(world, stranger)).access_token)
    expect(await everything(theirs, mine)).toEqual(all('404 conversation_not_found'))
    await close()
  })

  it('has its own tokens where the company says so, and takes a proof with each [7.2.token-and-proof]', async () => {
    const resource = 'https://miramar.example/talk'
    const { world, talk, token, close } = await open({ conversations: { resource } })
    expect(await outcome(await talk.start(said('Hello?')))).toBe('401 invalid_token')
    const narrow = (await (await world.agent.startSession({ resource })).json()) as { access_token: string }
    const mine = converse(world.agent, narrow.access_token)
    const { conversation_id: conversation } = await standingOf(await mine.start(said('Hello?')))
    expect(await everything(talk, conversation)).toEqual(all('401 invalid_token'))
    const path = `/poppy/conversations/${conversation}`
    const without = (proof: string) => world.agent.call(`${path}/events`, narrow.access_token, { method: 'GET', proof })
    expect(await outcome(await without(''))).toBe('401 invalid_dpop_proof')
    const elsewhere = await world.agent.proof('GET', `https://miramar.example${path}/close`, narrow.access_token)
    expect(await outcome(await without(elsewhere))).toBe('401 invalid_dpop_proof')
    const bare = new Request(`https://miramar.example${path}/events`, { headers: { authorization: `Bearer ${token}` } })
    expect(await outcome(await world.send(bare))).toBe('401 invalid_token')
    expect(await outcome(await world.send(new Request(`https://miramar.example${path}/events`)))).toBe(
      '401 invalid_token',
    )
    await close()
  })

  it('answers pages of other origins, and carries the newest nonce', async () => {
    const world = await makeWorld({ agent: silent, nonces: true })
    const { agent } = world
    const nonce = (await agent.startSession()).headers.get('dpop-nonce') ?? ''
    const proof = await agent.proof('POST', agent.tokenUrl, undefined, { claims: { nonce } })
    const { access_token: token } = (await (await agent.startSession({}, { proof })).json()) as { access_token: string }
    const refused = await converse(agent, token).start(said('Hello?'))
    expect(await outcome(refused)).toBe('401 use_dpop_nonce')
    expect(refused.headers.get('access-control-allow-origin')).toBe('*')
    const path = '/poppy/conversations'
    const fresh = await agent.proof('POST', `${world.origin}${path}`, token, { claims: { nonce } })
    const taken = await agent.call(path, token, { body: { message: said('Hello?') }, proof: fresh })
    expect(taken.status).toBe(201)
    expect(taken.headers.get('dpop-nonce')).toBe(nonce)

    for (const below of ['', '/cnv_x/messages', '/cnv_x/events', '/cnv_x/handoff', '/cnv_x/close']) {
      const url = `${world.origin}${path}${below}`
      expect(world.company.owns(new Request(url))).toBe(true)
      const asked = new Request(url, { method: 'OPTIONS', headers: { origin: 'https://a.example' } })
      expect((await world.send(asked)).status).toBe(204)
      const wrong = await world.send(new Request(url, { method: 'PUT' }))
      expect(await outcome(wrong)).toBe('405 method_not_allowed')
      expect(wrong.headers.get('allow')).toContain(below.endsWith('events') ? 'GET' : 'POST')
    }
    expect(world.company.owns(new Request(`${world.origin}${path}/cnv_x`))).toBe(false)
  })
})
