import { describe, expect, it } from 'vitest'
import { listTools, tokensOf } from './setup/rights.ts'
import { stores } from './setup/stores.ts'
import { watch } from './setup/watched-store.ts'
import { makeWorld, type Tokens } from './setup/world.ts'

const origin = 'https://miramar.example'

for (const { name, missing, fresh } of stores) {
  describe.skipIf(missing)(`round trips to ${name}`, () => {
    async function begin(config = {}) {
      const store = watch((await fresh()).store())
      const world = await makeWorld(config, store)
      const { session_id } = await world.start()
      const tokens = await world.signIn(world.agent, session_id)
      const bearer = await tokensOf(
        world.agent.token(
          {
            grant_type: 'refresh_token',
            refresh_token: tokens.refresh_token ?? '',
            session_id,
            resource: `${origin}/poppy/mcp`,
          },
          { proof: null },
        ),
      )
      /** The statements that a request needs, and what became of it. */
      async function trips(request: Promise<Response>): Promise<[status: number, statements: number]> {
        store.statements.length = 0
        const { status } = await request
        return [status, store.statements.length]
      }
      return { world, store, tokens, bearer, trips }
    }
    const call = (world: Awaited<ReturnType<typeof begin>>['world'], { access_token }: Tokens, tool = 'my_bookings') =>
      world.agent.call(`/poppy/tools/${tool}`, access_token)

    it('are one for each authenticated request: it claims the proof and reads Session and grant at once', async () => {
      const { world, tokens, bearer, trips } = await begin()
      for (const _ of [1, 2, 3]) {
        expect(await trips(call(world, tokens))).toEqual([200, 1])
        expect(await trips(call(world, tokens, 'points'))).toEqual([403, 1])
        expect(await trips(listTools(world, `Bearer ${bearer.access_token}`))).toEqual([200, 1])
      }
      const proof = await world.agent.proof('POST', `${origin}/poppy/tools/my_bookings`, tokens.access_token)
      const replayed = () => world.agent.call('/poppy/tools/my_bookings', tokens.access_token, { proof })
      expect(await trips(replayed())).toEqual([200, 1])
      expect(await trips(replayed())).toEqual([401, 1])
    })

    it('are one for the site’s own API too', async () => {
      const { world, store, tokens } = await begin()
      const url = `${origin}/api/cart`
      const dpop = await world.agent.proof('GET', url, tokens.access_token)
      const headers = { authorization: `DPoP ${tokens.access_token}`, dpop }
      store.statements.length = 0
      const caller = await world.company.authenticate(new Request(url, { headers }), { scope: 'poppy:read' })
      expect(caller).toMatchObject({ account: 'acc-maya', scopes: ['poppy:read', 'poppy:write'] })
      expect(Object.isFrozen(caller)).toBe(true)
      expect(store.statements).toHaveLength(1)
    })

    it('are one where the company keeps lists of agents', async () => {
      const { store, bearer, world } = await begin({ agents: { block: ['https://blocked.example/agent.json'] } })
      store.statements.length = 0
      expect((await listTools(world, `Bearer ${bearer.access_token}`)).status).toBe(200)
      expect(store.statements).toHaveLength(1)
    })

    it('are none for what is refused before the store has to be asked', async () => {
      const { world, tokens, bearer, trips } = await begin()
      const url = `${origin}/poppy/tools/my_bookings`
      const wrong = { claims: { htm: 'GET' } }
      const proof = await world.agent.proof('POST', url, tokens.access_token, wrong)
      const refused = {
        'no token': () => world.send(new Request(url, { method: 'POST' })),
        'a made-up token': () => world.agent.call('/poppy/tools/my_bookings', 'made-up'),
        'a wrong proof': () => world.agent.call('/poppy/tools/my_bookings', tokens.access_token, { proof }),
        'a Bearer token at a tool': () => world.agent.call('/poppy/tools/my_bookings', bearer.access_token),
        'a DPoP token at MCP': () => listTools(world, `Bearer ${tokens.access_token}`),
      }
      for (const [name, request] of Object.entries(refused))
        expect([name, await trips(request())]).toEqual([name, [401, 0]])
      for (const path of ['/.well-known/poppy.json', '/poppy/openapi.json'])
        expect(await trips(world.send(new Request(origin + path)))).toEqual([200, 0])
      world.clock.now += 3600_000
      expect(await trips(call(world, tokens))).toEqual([401, 0])
    })

    it('are one more at most once a minute, when the use is noted beside an embedded database', async () => {
      const { world, tokens, trips } = await begin()
      world.clock.now += 61_000
      const [status, statements] = await trips(call(world, tokens))
      // PostgreSQL notes Session and grant in the same statement; SQLite, in this process, has no way to go.
      expect([status, statements]).toEqual([200, name === 'postgres' ? 1 : 3])
      expect(await trips(call(world, tokens))).toEqual([200, 1])
    })
  })
}
