import { expect, onTestFinished } from 'vitest'
import { startVisitingAgent } from '../../examples/hotel/src/agent-server.ts'
import { createPerson } from '../../examples/hotel/src/person.ts'
import type { MountedSite } from './mounted-site.ts'

/** A real agent visits a site that has a Company in it, over real HTTP, and the site is as it was. */

const maya = { name: 'maya@example.com', password: 'sea-view-42' }
const loans = [{ member: 'm-1', title: 'The Waves', due: '2027-03-03' }]

/** Everything that a mount has to carry, and the end of the process. */
export async function tourMountedSite({ origin, child }: MountedSite): Promise<void> {
  await visit(origin)
  await lookAround(origin)
  expect(child.output.stderr.replace(/^.*DEVELOPMENT MODE.*$/gm, '')).not.toMatch(/error|at .*:\d+:\d+/i)
  child.signal('SIGTERM')
  await child.ended
  await expect(fetch(origin)).rejects.toThrow()
}

/** The agent's way, and the person's over the site's own sign-in. */
async function visit(origin: string): Promise<void> {
  const { agent, close } = await startVisitingAgent()
  onTestFinished(close)
  const company = await agent.forUser('maya').company(origin)
  expect([company.name, company.apis.map(({ type }) => type)]).toEqual(['Corner Library', ['openapi', 'mcp']])
  const session = company.session()
  expect((await session.call('find_books', { title: 'the' })).body).toEqual({ books: ['The Waves', 'The Years'] })
  await expect(session.call('my_loans')).rejects.toMatchObject({ code: 'sign_in_required' })
  await expect(session.fetch(`${origin}/api/loans`)).rejects.toMatchObject({ code: 'sign_in_required' })

  const person = createPerson()
  const signedIn = await session.signIn({
    scopes: ['poppy:read'],
    open: async (url) => {
      const consent = await person.submit(await person.open(url), maya)
      expect(consent.html).toContain('Visiting Agent asks for access to your account')
      const back = await person.submit(consent, { scope: ['poppy:read'], decision: 'approve' })
      expect(back.html).toContain('You can close this window.')
    },
  })
  expect(signedIn.granted).toEqual(['poppy:read'])
  expect((await session.call('my_loans')).body).toEqual({ loans })

  const mcp = await session.mcp()
  onTestFinished(() => mcp.close())
  expect((await mcp.tools()).map(({ name }) => name).sort()).toEqual(['find_books', 'my_loans'])
  expect(await mcp.call('my_loans')).toMatchObject({ structuredContent: { loans } })

  // The site's API knows the agent by its token, and the person by the site's cookie.
  expect(await (await session.fetch(`${origin}/api/loans`)).json()).toEqual(loans)
  expect(JSON.parse((await person.open(`${origin}/api/loans`)).html)).toEqual(loans)
  expect((await person.open(origin)).html).toContain('maya@example.com')

  expect(await session.signOut()).toEqual({ revoked: true })
  await expect(session.call('my_loans')).rejects.toMatchObject({ code: 'sign_in_required' })
}

/** What a framework could get wrong about requests that aren't a plain GET or POST. */
async function lookAround(origin: string): Promise<void> {
  const ask = (path: string, init: RequestInit = {}) => fetch(origin + path, init)
  expect((await ask('/')).headers.get('content-type')).toContain('text/html')
  expect((await ask('/nothing-here')).status).toBe(404)

  const head = await ask('/.well-known/poppy.json', { method: 'HEAD' })
  expect([head.status, head.headers.get('access-control-allow-origin'), await head.text()]).toEqual([200, '*', ''])
  const preflight = await ask('/poppy/token', { method: 'OPTIONS' })
  expect([preflight.status, preflight.headers.get('access-control-allow-methods')]).toEqual([
    204,
    expect.stringContaining('POST'),
  ])
  for (const method of ['PUT', 'PATCH', 'DELETE']) {
    const wrong = await ask('/poppy/token', { method })
    expect([method, wrong.status, wrong.headers.get('allow')]).toEqual([method, 405, expect.stringContaining('POST')])
  }
  const stranger = await ask('/api/loans')
  expect([stranger.status, stranger.headers.get('www-authenticate')]).toEqual([401, expect.stringMatching(/^DPoP /)])
  // A body of unknown length, and one that is too large, end in the Company's own words.
  const form = { 'content-type': 'application/x-www-form-urlencoded' }
  const large = await ask('/poppy/token', { method: 'POST', headers: form, body: 'a'.repeat(70_000) })
  expect([large.status, await large.json()]).toMatchObject([413, { error: 'request_too_large' }])
  const stream = new Blob(['grant_type=unknown']).stream()
  const streamed = await ask('/poppy/token', { method: 'POST', headers: form, body: stream, duplex: 'half' })
  expect([streamed.status, streamed.headers.get('cache-control')]).toEqual([400, 'no-store'])
}
