import type { CompanyAgent } from 'poppyseed'
import { describe, expect, it } from 'vitest'
import { openAgentAtSite } from './setup/agent-at-site.ts'
import { agentErrorOf } from './setup/hostile-company.ts'

// 4.9: a person ends an agent's access on the Company's own page, or takes a part of it away, and the agent isn't told. What it
// has kept says otherwise until it asks, so it asks before it says anything of it.

const frontDesk: CompanyAgent = async function* (turn) {
  const outcome = yield { type: 'call', name: 'my_bookings', input: {} }
  if (outcome?.ok) yield { type: 'message', text: `You have two bookings (${turn.asked.length}).` }
}

async function open() {
  const paths: string[] = []
  const { site, agent, company, asked, signIn } = await openAgentAtSite({ agent: frontDesk }, (path) => {
    paths.push(path)
  })
  const maya = 'acc-maya'
  return {
    ...{ company, asked, signIn, here: company.session() },
    disconnect: () => site.company.accounts.disconnect(maya, agent.clientId),
    takeAway: (scope: string) => site.company.accounts.takeAway(maya, agent.clientId, scope),
    /** Token requests since it was last asked. */
    tokenRequests: () => paths.splice(0).filter((path) => path.startsWith('POST /poppy/token')),
  }
}

describe('after the owner disconnected the agent at the Company', () => {
  it('a sign-in asks them, and doesn’t say that they are signed in [4.9.disconnect-agent]', async () => {
    const { here, signIn, asked, disconnect } = await open()
    await signIn(here, ['poppy:read'])
    await disconnect()
    const result = await signIn(here, ['poppy:read'])
    expect([result.granted, asked]).toEqual([['poppy:read'], [['poppy:read'], ['poppy:read']]])
    expect((await here.call('my_bookings')).status).toBe(200)
  })

  it('a sign-in for more asks for that alone, and not for what they ended', async () => {
    const { here, signIn, asked, disconnect } = await open()
    await signIn(here, ['poppy:read', 'poppy:write'])
    await disconnect()
    await signIn(here, ['loyalty'])
    expect(asked.at(-1)).toEqual(['loyalty'])
  })

  it('the same holds of a sign-in that is begun by itself', async () => {
    const { here, signIn, disconnect } = await open()
    await signIn(here, ['poppy:read'])
    await disconnect()
    const { url } = await here.beginSignIn({ scopes: ['loyalty'] })
    expect(new URL(url).searchParams.get('scope')).toBe('loyalty')
    expect(await here.state()).toMatchObject({ signedIn: false, account: null })
  })

  it('a sign-in looks once where it can’t know, however many ask at once, and not where it has just looked', async () => {
    const { here, company, signIn, asked, tokenRequests } = await open()
    await signIn(here, ['poppy:read'])
    tokenRequests()
    await signIn(here, ['poppy:read'])
    expect(tokenRequests()).toEqual(['POST /poppy/token 200'])
    await Promise.all([1, 2, 3, 4].map(() => signIn(here, ['poppy:read'])))
    expect(tokenRequests()).toEqual(['POST /poppy/token 200'])
    // The request that starts the Session is the one that looks.
    await signIn(company.session({ name: 'another' }), ['poppy:read'])
    expect([tokenRequests(), asked]).toEqual([['POST /poppy/token 200'], [['poppy:read']]])
  })

  it('a conversation that asks for the account has the owner asked, also where it was given the same before [7.11.authorization-agent]', async () => {
    const { here, signIn, asked, disconnect } = await open()
    const options = { signIn: ({ scopes }: { readonly scopes: readonly string[] }) => signIn(here, scopes) }
    await signIn(here, ['poppy:read'])
    const conversation = await here.conversations.start('What are my bookings?')
    expect((await conversation.answer(options)).text).toContain('two bookings')
    await disconnect()
    const other = await here.conversations.start('What are my bookings?')
    expect((await other.answer(options)).text).toContain('two bookings')
    expect(asked).toEqual([['poppy:read'], ['poppy:read']])
    await disconnect()
    const third = await here.conversations.start('And now?')
    expect((await third.answer(options)).text).toContain('two bookings')
    expect(asked).toHaveLength(3)
  })
})

describe('after the owner took a right away at the Company', () => {
  it('a call that needs it has them asked, and isn’t told that it has what it asks for [6.insufficient-scope-agent]', async () => {
    const { here, signIn, takeAway } = await open()
    await signIn(here, ['poppy:read', 'poppy:write'])
    await takeAway('poppy:write')
    const error = await agentErrorOf(here.call('add_note', { text: 'Late arrival.' }))
    expect([error.code, error.action, error.scopes]).toEqual([
      'insufficient_scope',
      'ask_owner',
      ['poppy:read', 'poppy:write'],
    ])
    expect((await here.state()).account?.scopes).toEqual(['poppy:read'])
  })

  it('a sign-in with it asks, and one for something else doesn’t ask for it again', async () => {
    const { here, signIn, asked, takeAway } = await open()
    await signIn(here, ['poppy:read', 'poppy:write'])
    await takeAway('poppy:write')
    await signIn(here, ['poppy:read'])
    expect(asked).toHaveLength(1)
    await signIn(here, ['poppy:read', 'loyalty'])
    expect(asked.at(-1)).toEqual(['poppy:read', 'loyalty'])
    await signIn(here, ['poppy:write'])
    expect(asked.at(-1)).toEqual(['poppy:read', 'loyalty', 'poppy:write'])
  })
})
