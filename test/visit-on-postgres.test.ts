import type { Session } from '@poppyseed/agent'
import { postgres } from 'poppyseed/postgres'
import { describe, expect, it, onTestFinished } from 'vitest'
import { startVisitingAgent } from '../examples/hotel/src/agent-server.ts'
import { createPerson, type Person } from '../examples/hotel/src/person.ts'
import { listen } from './setup/listen.ts'
import { freshSchema, postgresMissing } from './setup/postgres.ts'
import { createSiteCompany, guests, makeSitePages, siteHandler } from './setup/site.ts'

const timeout = 120_000

/** Two instances of one Company on one database, behind one origin that gives each request to the other one. */
async function openInstances(offset: number) {
  const schema = await freshSchema()
  onTestFinished(schema.drop)
  const pages = makeSitePages()
  const log: string[] = []
  const served: { readonly instance: number; readonly path: string }[] = []
  let next = offset
  const listener = await listen(async (origin) => {
    const instances = [0, 1].map(() =>
      createSiteCompany({ origin, pages, log }, { store: postgres(schema.url), nonces: true }),
    )
    onTestFinished(async () => {
      await Promise.all(instances.map((company) => company.close()))
    })
    // Both migrate the empty schema at once.
    await Promise.all(instances.map((company) => company.start()))
    return (request) => {
      const instance = next++ % instances.length
      const company = instances[instance]
      if (!company) throw new Error('no instance')
      if (company.owns(request)) served.push({ instance, path: new URL(request.url).pathname })
      return siteHandler(company, pages)(request)
    }
  })
  return { origin: listener.origin, log, served }
}

async function approve(person: Person, url: string, scopes: readonly string[]): Promise<void> {
  const first = await person.open(url)
  const consent = first.html.includes('name="password"') ? await person.submit(first, guests.maya) : first
  const back = await person.submit(consent, { scope: scopes, decision: 'approve' })
  expect(back.html).toContain('You are signed in')
}

function refusedUntilSignIn(session: Session): Promise<void> {
  return expect(session.call('my_bookings')).rejects.toMatchObject({ code: 'sign_in_required' })
}

describe.skipIf(postgresMissing)('the visit on PostgreSQL, over two instances that take turns', () => {
  it.each([0, 1])(
    'goes through every step, whichever begins ($0) [4.3.both-kinds, 4.4.both-tokens, 4.9.at-once, 6.calls-agent]',
    { timeout },
    async (offset) => {
      const { origin, log, served } = await openInstances(offset)
      const { agent, close } = await startVisitingAgent()
      onTestFinished(close)
      const person = createPerson()
      const company = await agent.forUser('maya').company(origin)
      const session = company.session()

      expect(await session.start()).toMatchObject({ signedIn: false, scopes: [] })
      for (const text of ['one', 'two', 'three']) {
        expect((await session.call('echo', { text })).body).toMatchObject({ text, account: null })
      }
      await refusedUntilSignIn(session)

      const signedIn = await session.signIn({
        scopes: ['poppy:read'],
        open: (url) => approve(person, url, ['poppy:read']),
      })
      expect(signedIn).toMatchObject({ granted: ['poppy:read'], missing: [] })
      for (const _ of [1, 2]) expect((await session.call('my_bookings')).body).toEqual({ account: 'acc-maya' })
      await expect(session.call('points')).rejects.toMatchObject({
        code: 'insufficient_scope',
        scopes: expect.arrayContaining(['loyalty']),
      })

      const wider = ['poppy:read', 'loyalty']
      await session.signIn({ scopes: wider, open: (url) => approve(person, url, wider) })
      const many = await Promise.all(Array.from({ length: 12 }, () => session.call('points')))
      expect(many.map(({ body }) => body)).toEqual(many.map(() => ({ points: 7 })))

      const mcp = await session.mcp()
      onTestFinished(mcp.close)
      expect((await mcp.tools()).map(({ name }) => name)).toContain('my_bookings')
      for (const _ of [1, 2]) {
        expect(await mcp.call('my_bookings')).toMatchObject({ structuredContent: { account: 'acc-maya' } })
      }

      expect(await session.signOut()).toEqual({ revoked: true })
      for (const _ of [1, 2]) await refusedUntilSignIn(session)
      expect((await session.call('echo', { text: 'still welcome' })).body).toMatchObject({ account: null })

      for (const path of ['/poppy/token', '/poppy/tools/my_bookings', '/poppy/mcp']) {
        const by = new Set(served.filter((one) => one.path === path).map(({ instance }) => instance))
        expect({ path, instances: [...by].sort() }).toEqual({ path, instances: [0, 1] })
      }
      expect(log.filter((line) => line.startsWith('error'))).toEqual([])
    },
  )
})
