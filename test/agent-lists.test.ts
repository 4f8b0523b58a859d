import { describe, expect, it } from 'vitest'
import { authorizationQuery, decideOn, exchange, getCode, openForm, openPage, redirectOf } from './setup/consent.ts'
import { listTools, rightsOf, tokensOf } from './setup/rights.ts'
import { makeWorld, outcome } from './setup/world.ts'

const client = 'https://agent.example/agent.json'
const mcp = 'https://miramar.example/poppy/mcp'

describe('a company’s lists of agents', () => {
  it('turn a blocked agent away everywhere on its very next request, and let it go on afterwards [4.1.blocklist]', async () => {
    const blocked = new Set<string>()
    const world = await makeWorld({ agents: { block: async (clientId) => blocked.has(clientId) } })
    const { agent } = world
    const other = await world.newAgent()
    const theirs = await world.start(other)
    const { session_id } = await world.start()
    const { access_token, refresh_token = '' } = await world.signIn(agent, session_id)
    const bearer = await tokensOf(agent.startSession({ resource: mcp }, { proof: null }))
    const code = await getCode(world)
    const another = await world.signIn(agent, (await world.start()).session_id)

    blocked.add(client)
    expect(await rightsOf(world, access_token)).toBe('401 invalid_token')
    expect(await outcome(await listTools(world, `Bearer ${bearer.access_token}`))).toBe('401 invalid_token')
    for (const refused of [
      await agent.startSession(),
      await agent.startSession({ session_id }),
      await agent.token({ grant_type: 'refresh_token', refresh_token }),
      await exchange(agent, code, session_id),
    ])
      expect(await outcome(refused)).toBe('401 invalid_client')
    const page = await openPage(world, authorizationQuery(agent))
    expect([page.status, page.headers.get('location')]).toEqual([400, null])
    // 4.9: whoever signs out is heard, blocked or not.
    expect(await outcome(await agent.revoke(another.refresh_token ?? ''))).toBe('200')
    expect(await rightsOf(world, theirs.access_token, other)).toBe('out')

    blocked.clear()
    expect(await rightsOf(world, access_token)).toBe('in')
    expect(await rightsOf(world, another.access_token)).toBe('out')
    expect(await outcome(await exchange(agent, code, session_id))).toBe('200')
  })

  it('keep everybody out who is not on an allow list, however alike the name [4.1.blocklist]', async () => {
    const world = await makeWorld({ agents: { allow: [client] } })
    expect((await world.start()).signed_in).toBe(false)
    for (const clientId of ['https://agent.example/agent.json2', 'https://agent.example/Agent.json']) {
      const stranger = await world.newAgent(clientId)
      expect(await outcome(await stranger.startSession())).toBe('401 invalid_client')
    }
  })

  it('give a blocked agent nothing for a page that was opened before', async () => {
    const blocked = new Set<string>()
    const world = await makeWorld({ agents: { block: (clientId) => blocked.has(clientId) } })
    const { session_id } = await world.start()
    const form = await openForm(world)
    blocked.add(client)
    const answer = await decideOn(world, form)
    expect([answer.status, answer.headers.get('location')]).toEqual([400, null])
    expect(await answer.text()).toContain('It may not come here any more')
    // Nothing was spent: let in again, the person may still answer the page.
    blocked.clear()
    const { said } = redirectOf(await decideOn(world, form))
    expect(await outcome(await exchange(world.agent, said.code ?? '', session_id))).toBe('200')
  })
})
