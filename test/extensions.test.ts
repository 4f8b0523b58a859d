import type { PersonalAgentOptions } from '@poppyseed/agent'
import { type CompanyConfig, ConfigurationError, tool } from 'poppyseed'
import { describe, expect, it } from 'vitest'
import { tlsProxy } from './setup/names.ts'
import { openSite } from './setup/site.ts'
import { internetFetcher, openVisitor } from './setup/small-internet.ts'
import { makeWorld, outcome, testTools, type World } from './setup/world.ts'

const loyalty = 'miramar.example/loyalty'

const withLoyalty = (): Partial<CompanyConfig> => ({
  extensions: { [loyalty]: { version: 1, tiers: ['silver', 'gold'] } },
  tools: [
    ...testTools(),
    tool({ name: 'tier', description: 'The tier of a guest.', extension: loyalty, run: () => ({ tier: 'gold' }) }),
    tool({
      name: 'upgrade',
      description: 'Moves a guest up.',
      extension: loyalty,
      scope: 'poppy:write',
      run: () => ({ done: true }),
    }),
  ],
})

/** What the agent of a world lists. */
function list(world: World, extensions: unknown) {
  const { clientId, documents } = world.agent
  documents[clientId] = { ...(documents[clientId] as object), extensions }
}

describe('an extension beside the protocol’s', () => {
  it('is listed with its version, under a name that begins with the domain of whoever defined it [3.1.extensions-version, 3.3.version, 3.3.extension-name]', async () => {
    const theirs = { 'carriers.example/gift-wrap': { version: 3, papers: ['red'] } }
    const config = withLoyalty()
    const world = await makeWorld({ ...config, extensions: { ...config.extensions, ...theirs } })
    const document = (await (await world.send(new Request(`${world.origin}/.well-known/poppy.json`))).json()) as object
    expect(document).toMatchObject({
      extensions: {
        [loyalty]: { version: '1', tiers: ['silver', 'gold'] },
        'carriers.example/gift-wrap': { version: '3', papers: ['red'] },
      },
    })
    for (const name of ['gift-wrap', '/gift-wrap', 'https://carriers.example/gift-wrap'])
      await expect(makeWorld({ extensions: { [name]: { version: 1 } } })).rejects.toThrow(ConfigurationError)
    const openapi = await (await world.send(new Request(`${world.origin}/poppy/openapi.json`))).text()
    expect(openapi).toContain(`Needs the extension ${loyalty}. Needs a Session Token`)
  })

  it.each([
    ['lists nothing', undefined, false],
    ['lists it in this version', { [loyalty]: { version: '1' } }, true],
    ['lists it in this version, with more that only it knows', { [loyalty]: { version: '1', x: [1] }, y: {} }, true],
    ['lists another version', { [loyalty]: { version: '2' } }, false],
    ['lists a minor version', { [loyalty]: { version: '1.0' } }, false],
    ['lists a number', { [loyalty]: { version: 1 } }, false],
    ['lists no version', { [loyalty]: {} }, false],
    ['lists another', { 'evil.test/loyalty': { version: '1' } }, false],
    ['lists a look-alike', { 'MIRAMAR.example/loyalty': { version: '1' } }, false],
    ['lists the names that objects have', { constructor: { version: '1' }, __proto__: { version: '1' } }, false],
    ['lists what is none', [loyalty], false],
  ])(
    'is needed by a tool: an agent that %s [3.3.extension-required, 3.3.ignore-unknown]',
    async (_, extensions, may) => {
      const world = await makeWorld(withLoyalty())
      list(world, extensions)
      const { access_token } = await world.start()
      const answer = await world.agent.call('/poppy/tools/tier', access_token, { body: {} })
      expect(answer.status).toBe(may ? 200 : 403)
      if (!may) expect(await answer.json()).toMatchObject({ error: 'extension_required', extension: loyalty })
      // 3.3: everything else works as before.
      expect((await world.agent.call('/poppy/tools/echo', access_token, { body: { text: 'a' } })).status).toBe(200)
      // Nobody signs in for what their agent can't do.
      expect(await outcome(await world.agent.call('/poppy/tools/upgrade', access_token, { body: {} }))).toBe(
        may ? '403 sign_in_required' : '403 extension_required',
      )
    },
  )

  it('is needed by the site’s own API, which may ask for it in other places too [3.3.extension-required]', async () => {
    const world = await makeWorld(withLoyalty())
    const { access_token } = await world.start()
    const url = `${world.origin}/api/tier`
    const ask = async (extension?: string) => {
      const dpop = await world.agent.proof('GET', url, access_token)
      const headers = { authorization: `DPoP ${access_token}`, dpop }
      return world.company.authenticate(new Request(url, { headers }), extension === undefined ? {} : { extension })
    }
    const refused = (await ask(loyalty)) as Response
    expect(refused.status).toBe(403)
    expect(await refused.json()).toMatchObject({ error: 'extension_required', extension: loyalty })
    const caller = await ask()
    if (caller instanceof Response) throw new Error('refused')
    expect(await world.company.supports(caller, loyalty)).toBe(false)
    // The document is kept as its headers say; with none, for a few minutes.
    list(world, { [loyalty]: { version: '1' } })
    world.clock.now += 20 * 60_000
    expect(await world.company.supports(caller, loyalty)).toBe(true)
    expect(await world.company.supports(caller, 'miramar.example/other')).toBe(false)
    expect(await ask(loyalty)).not.toBeInstanceOf(Response)
    await expect(ask('miramar.example/other')).rejects.toThrow(/none of `extensions`/)
    await expect(
      world.company.authenticate(new Request(url), { mcp: url, extension: loyalty } as never),
    ).rejects.toThrow(/no MCP server/)
  })

  it('is neither there nor missing where the agent’s document can’t be had any more', async () => {
    const world = await makeWorld({ ...withLoyalty(), lifetimes: { sessionToken: 4 * 3600 } })
    list(world, { [loyalty]: { version: '1' } })
    const { access_token } = await world.start()
    const call = () => world.agent.call('/poppy/tools/tier', access_token, { body: {} })
    delete world.agent.documents[world.agent.clientId]
    // The last copy serves for an hour beyond its time; then nobody knows.
    world.clock.now += 50 * 60_000
    expect(await outcome(await call())).toBe('200')
    world.clock.now += 60 * 60_000
    const unknown = await call()
    expect(unknown.headers.get('retry-after')).toBe('60')
    expect(await outcome(unknown)).toBe('503 temporarily_unavailable')
    expect((await world.agent.call('/poppy/tools/echo', access_token, { body: { text: 'a' } })).status).toBe(200)
  })
})

describe('both sides', () => {
  const open = async (extensions?: PersonalAgentOptions['extensions']) => {
    const config = { ...withLoyalty(), fetchDocument: internetFetcher() }
    const site = await openSite(config, { origin: 'https://miramar.example' })
    const ports = { 'miramar.example': await tlsProxy('miramar.example', site.port) }
    const { agent } = await openVisitor(ports, extensions === undefined ? {} : { extensions })
    const company = await agent.forUser('maya').company('miramar.example')
    return { agent, company, session: company.session() }
  }

  it('meet with the extension: listed by the agent, found by the company, over HTTP and MCP [3.3.version-agent, 4.1.extensions-agent]', async () => {
    const { agent, company, session } = await open({ [loyalty]: { version: 1 } })
    const document = await (await agent.fetch(new Request(agent.clientId))).json()
    expect(document).toMatchObject({ extensions: { [loyalty]: { version: '1' } } })
    expect(company.extensions).toEqual([loyalty])
    expect((await session.call('tier', {})).body).toEqual({ tier: 'gold' })
    const mcp = await session.mcp()
    expect((await mcp.call('tier')).structuredContent).toEqual({ tier: 'gold' })
    expect((await mcp.tools()).find(({ name }) => name === 'tier')?._meta).toEqual({ 'poppy/extension': loyalty })
    await mcp.close()
  })

  it('meet without it: HTTP 403 there, a tool error over MCP, and the same error for the owner [3.3.extension-required, 3.3.ignore-unknown-agent]', async () => {
    const { session } = await open()
    const missing = { code: 'extension_required', message: expect.stringContaining(loyalty) }
    await expect(session.call('tier', {})).rejects.toMatchObject({ ...missing, status: 403 })
    await expect(session.call('upgrade', {})).rejects.toMatchObject(missing)
    const mcp = await session.mcp()
    for (const name of ['tier', 'upgrade'])
      await expect(mcp.call(name)).rejects.toMatchObject({ ...missing, status: undefined })
    expect((await mcp.call('echo', { text: 'a' })).structuredContent).toMatchObject({ text: 'a' })
    await mcp.close()
  })
})
