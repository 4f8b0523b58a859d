import { describe, expect, it } from 'vitest'
import { agentRow, minutes, now } from '../../../../test/setup/rows.ts'
import { stores } from '../../../../test/setup/stores.ts'
import type { Scope } from '../store/database.ts'
import { addAgent, agentNames, countNewAgents, findAgent, noteAgent } from './store.ts'

const company = 'https://miramar.example'
const limits = { since: now - minutes(60), most: 10, mostOfSite: 3 }

function agent(clientId: string, site = new URL(clientId).host, at = now) {
  const { last_seen_at: _, ...row } = agentRow({ client_id: clientId, site, first_seen_at: at })
  return { ...row, ...limits }
}

describe.each(stores)('Agents in $name', { timeout: 60_000 }, ({ missing, fresh }) => {
  const test = it.skipIf(missing !== null)
  async function start(): Promise<{ readonly scope: Scope; readonly other: Scope }> {
    const { open } = await fresh()
    return { scope: { db: await open(), company }, other: { db: await open(), company } }
  }

  test('are added once, found as they were added, and noted later', async () => {
    const { scope } = await start()
    expect(await findAgent(scope, 'https://a.example/x')).toBeNull()
    expect(await addAgent(scope, agent('https://a.example/x'))).toBe(true)
    expect(await addAgent(scope, { ...agent('https://a.example/x'), name: 'Another name' })).toBe(false)
    const row = { ...agentRow({ client_id: 'https://a.example/x', site: 'a.example' }), company }
    expect(await findAgent(scope, 'https://a.example/x')).toEqual(row)
    await noteAgent(scope, { clientId: 'https://a.example/x', name: 'Renamed 🌺', now: now + 5 })
    expect(await findAgent(scope, 'https://a.example/x')).toEqual({ ...row, name: 'Renamed 🌺', last_seen_at: now + 5 })
    await noteAgent(scope, { clientId: 'https://a.example/x', name: 'A', now: now + 6, registeredAt: now + 6 })
    expect(await findAgent(scope, 'https://a.example/x')).toMatchObject({ name: 'A', registered_at: now + 6 })
    expect([...(await agentNames(scope, ['https://a.example/x', 'https://b.example/x']))]).toEqual([
      ['https://a.example/x', 'A'],
    ])
    expect((await agentNames(scope, [])).size).toBe(0)
  })

  test('are counted since a moment, in all and of one site', async () => {
    const { scope } = await start()
    const count = (site: string) => countNewAgents(scope, { site, since: limits.since })
    expect(await count('a.example')).toMatchObject({ total: 0, ofSite: 0 })
    await addAgent(scope, agent('https://a.example/old', 'a.example', limits.since))
    await addAgent(scope, agent('https://a.example/1', 'a.example', now - 2))
    await addAgent(scope, agent('https://a.example/2', 'a.example', now - 1))
    await addAgent(scope, agent('https://b.example/1', 'b.example', now - 3))
    expect(await count('a.example')).toEqual({ total: 3, firstAt: now - 3, ofSite: 2, firstOfSiteAt: now - 2 })
    expect(await count('c.example')).toMatchObject({ total: 3, ofSite: 0 })
  })

  test('are no more than may be new, of one site and in all, also when two instances add them at once', async () => {
    const { scope, other } = await start()
    const added = async (clientIds: readonly string[]) => {
      const done = await Promise.all(
        clientIds.map((clientId, index) => addAgent(index % 2 ? other : scope, agent(clientId, siteOf(clientId)))),
      )
      return done.filter(Boolean).length
    }
    const siteOf = (clientId: string) => new URL(clientId).host
    // One after the other, the limit is exact.
    let one = 0
    for (let index = 0; index < 5; index++) if (await addAgent(scope, agent(`https://one.example/${index}`))) one += 1
    expect(one).toBe(3)
    const many = Array.from({ length: 40 }, (_, index) => `https://site${index}.example/`)
    const atOnce = await added(many)
    if (scope.db.name === 'sqlite') expect(atOnce).toBe(7)
    // PostgreSQL counts what others have committed: no more than the connections of the instances can slip through.
    else expect(atOnce).toBeLessThanOrEqual(7 + 20)
    expect(await added(many.map((clientId) => `${clientId}again`))).toBe(0)
    // An hour later there is room again.
    const later = { ...agent('https://late.example/', 'late.example', now + minutes(61)), since: now + minutes(1) }
    expect(await addAgent(scope, later)).toBe(true)
  })
})
