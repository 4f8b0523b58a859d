import { describe, expect, it } from 'vitest'
import { asked, bookings, type Counts, lists, openBookings, signedIn, told } from './setup/bookings.ts'
import { stores } from './setup/stores.ts'
import { makeWorld, type World } from './setup/world.ts'

/** What somebody may do is looked at once more in the step that confirms (Operations 5.2): it may have ended since. */

type Happening = (world: World) => Promise<unknown>

/** A world in which something happens just before a confirmation is written. */
async function openWith(happens: Happening, store: Parameters<typeof makeWorld>[1]) {
  const counts: Counts = { propose: 0, perform: 0 }
  let world: World | null = null
  let left = 1
  world = await makeWorld(
    {
      origin: 'http://localhost:4999',
      organization: { name: 'Hotel Miramar', domain: 'localhost' },
      development: true,
      operations: bookings(counts),
      faults: {
        async atPoint(point) {
          if (point === 'confirming' && world !== null && left-- > 0) await happens(world)
        },
      },
    },
    store,
  )
  lists(world.agent)
  return { world, counts }
}

describe.each(stores)('a confirmation on $name', ({ missing, fresh }) => {
  it.skipIf(missing).each<[string, string, Happening]>([
    [
      'is disconnected',
      '403 sign_in_required',
      (world) => world.company.accounts.disconnect('acc-maya', world.agent.clientId),
    ],
    ['is signed out of all', '403 sign_in_required', (world) => world.company.accounts.revokeAll('acc-maya')],
    [
      'loses the scope',
      '403 insufficient_scope',
      (world) => world.company.accounts.takeAway('acc-maya', world.agent.clientId, 'poppy:write'),
    ],
  ])(
    'does nothing when the agent %s at that very moment [ops.insufficient-scope, ops.sign-in-required]',
    async (_, is, happens) => {
      const { world, counts } = await openWith(happens, (await fresh()).store())
      const { access_token } = await signedIn(world)
      const agent = asked(world.agent, access_token)
      const { operation_id } = await agent.propose('book_room', { nights: 2 })
      const refused = await told(await agent.confirm(operation_id))
      expect(refused.is).toBe(is)
      expect(refused.operation.state).toBe('proposed')
      expect(refused.operation.confirmation).toBeUndefined()
      await world.company.work()
      expect(counts.perform).toBe(0)
    },
  )

  it.skipIf(missing)('holds when a right that it does not need goes at that moment', async () => {
    const { world, counts } = await openWith(
      (here) => here.company.accounts.takeAway('acc-maya', here.agent.clientId, 'poppy:read'),
      (await fresh()).store(),
    )
    const agent = asked(world.agent, (await signedIn(world)).access_token)
    const { operation_id } = await agent.propose('book_room', { nights: 2 })
    expect((await told(await agent.confirm(operation_id))).is).toMatch(/^200 /)
    await expect.poll(() => counts.perform).toBe(1)
  })
})

describe('what was confirmed', () => {
  it('goes on after the person disconnects the agent, and is read again once they are signed in [ops.after-confirm]', async () => {
    const world = await openBookings()
    const agent = asked(world.agent, (await signedIn(world)).access_token)
    const { operation_id } = await agent.propose('book_room', { nights: 2 })
    await agent.confirm(operation_id)
    await world.company.accounts.disconnect('acc-maya', world.agent.clientId)
    await expect.poll(() => world.counts.perform).toBe(1)
    expect((await told(await agent.read(operation_id))).is).toBe('403 sign_in_required')
    const again = asked(world.agent, (await signedIn(world)).access_token)
    await expect.poll(async () => (await told(await again.read(operation_id))).is).toBe('200 succeeded')
  })
})
