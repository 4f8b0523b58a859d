import { readFileSync } from 'node:fs'
import { operation, succeeded, tool } from 'poppyseed'
import { CallRefused, createTestCompany } from 'poppyseed/testing'
import { describe, expect, it, onTestFinished } from 'vitest'
import { z } from 'zod'
import { testTools } from './setup/world.ts'

/** What a company’s own tests stand on. The first is in the guide, word by word. */

const loans: Record<string, string[]> = { maya: ['The Dispossessed'] }
const myLoans = tool({
  name: 'my_loans',
  description: 'The books that the reader has at home.',
  scope: 'poppy:read',
  run: (_input, { principal }) => ({ loans: loans[principal.account] ?? [] }),
})

it('readers see their own loans', async () => {
  await using test = await createTestCompany({ tools: [myLoans] })

  const maya = await test.signIn('maya', ['poppy:read'])
  expect(await maya.call('my_loans')).toEqual({ loans: ['The Dispossessed'] })
  expect(await maya.callOverMcp('my_loans')).toEqual({ loans: ['The Dispossessed'] })

  const nobody = await test.start()
  await expect(nobody.call('my_loans')).rejects.toMatchObject({ code: 'sign_in_required' })
})

it('the guide shows it as it is', () => {
  const guide = readFileSync(new URL('../docs/your-site.md', import.meta.url), 'utf8')
  const own = readFileSync(new URL(import.meta.url), 'utf8')
  const shown = /## Testing your tools[\s\S]*?```ts\n([\s\S]*?)```/.exec(guide)?.[1] ?? ''
  const body = shown.slice(shown.indexOf("it('readers"))
  expect(body.length).toBeGreaterThan(300)
  expect(own).toContain(body)
})

describe.each(['HTTP', 'MCP'])('a call over %s', (via) => {
  async function open(config: Parameters<typeof createTestCompany>[0] = {}) {
    const test = await createTestCompany({ tools: testTools(), ...config })
    onTestFinished(test.close)
    return test
  }
  type Session = Awaited<ReturnType<Awaited<ReturnType<typeof open>>['start']>>
  const call = (session: Session, name: string, input?: object) =>
    via === 'HTTP' ? session.call(name, input) : session.callOverMcp(name, input)

  it('has the rights that were approved and no others, and is refused with what is missing', async () => {
    const test = await open()
    const maya = await test.signIn({ id: 'acc-maya', name: 'maya@example.com' }, ['poppy:read'])
    expect(await call(maya, 'my_bookings')).toEqual({ account: 'acc-maya' })
    const refusal = await call(maya, 'add_note').catch((error: unknown) => error)
    expect(refusal).toBeInstanceOf(CallRefused)
    expect(refusal).toMatchObject({ code: 'insufficient_scope', status: 403, scope: 'poppy:read poppy:write' })
    await maya.signIn('acc-maya', ['poppy:read', 'poppy:write'])
    expect(await call(maya, 'add_note')).toEqual({ done: true })
    await expect(maya.signIn('acc-bob')).rejects.toMatchObject({ code: 'account_mismatch' })
    await maya.signOut()
    await expect(call(maya, 'my_bookings')).rejects.toMatchObject({ code: 'sign_in_required' })
  })

  it('is refused with what is wrong with the input', async () => {
    const session = await (await open()).start()
    await expect(call(session, 'echo', { text: 7 })).rejects.toMatchObject({
      code: 'invalid_request',
      body: { issues: [{ path: '/text' }] },
    })
    expect(await call(session, 'echo', { text: 'hello' })).toMatchObject({ text: 'hello', account: null })
  })

  it('goes on when the clock is moved, and ends when all access is ended', async () => {
    const test = await open({ nonces: true, lifetimes: { accountToken: 86_400 * 7 } })
    const maya = await test.signIn('acc-maya')
    for (let hours = 0; hours < 30; hours += 5) {
      test.clock.advance(5 * 3_600_000)
      expect(await call(maya, 'points')).toEqual({ points: 7 })
    }
    expect(await test.company.accounts.revokeAll('acc-maya')).toBe(1)
    await expect(call(maya, 'points')).rejects.toMatchObject({ code: 'sign_in_required' })
    expect(test.log.some((line) => line.startsWith('info request {"method":"POST"'))).toBe(true)
  })
})

it('asks the site’s own API as an agent does', async () => {
  await using test = await createTestCompany({ scopes: { 'poppy:read': 'See your loans' } })
  const maya = await test.signIn('maya')
  const caller = await test.company.authenticate(await maya.request('/api/loans?page=2'), { scope: 'poppy:read' })
  expect(caller).toMatchObject({ account: 'maya', userId: maya.userId, sessionId: maya.sessionId })
  const other = await test.start({ clientId: 'https://other.example/agent.json', userId: 'usr_the-same-as-everywhere' })
  const refused = await test.company.authenticate(await other.request('/api/loans'), { scope: 'poppy:read' })
  expect(refused instanceof Response && refused.status).toBe(403)
})

it('says what is wrong with a configuration, and takes what a Company takes', async () => {
  await expect(createTestCompany({ tools: testTools(), scopes: { 'poppy:other': 'No' } })).rejects.toThrow(
    'poppy:other',
  )
  await using test = await createTestCompany({
    organization: { name: 'Library', domain: 'library.example' },
    origin: 'https://api.library.example',
    tools: testTools(),
    signIn: { direct: ['poppy:read', 'poppy:write', 'loyalty'] },
  })
  expect(await (await test.signIn('a')).call('my_bookings')).toEqual({ account: 'a' })
  await using bare = await createTestCompany()
  await expect(bare.signIn('a')).rejects.toThrow('no Direct Sign-In')
})

describe('operations', () => {
  it('are proposed like a tool, and confirmed with a request of the Session', async () => {
    const lend = operation({
      name: 'lend',
      description: 'Lends a book.',
      input: z.object({ title: z.string() }),
      scope: 'poppy:read',
      propose: ({ title }) => ({ summary: `${title}, for three weeks.`, terms: { title } }),
      perform: ({ terms, account }) => succeeded({ lent: `${terms.title} to ${account}` }),
    })
    await using test = await createTestCompany({ tools: [myLoans], operations: [lend] })
    const maya = await test.signIn('maya')
    const { operation: proposed } = await maya.call<{ operation: { operation_id: string; summary: string } }>('lend', {
      title: 'Kindred',
    })
    expect(proposed.summary).toBe('Kindred, for three weeks.')
    const answer = await test.company.fetch(
      await maya.request(`/poppy/operations/${proposed.operation_id}/confirm`, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify({ revision: 1, approved_by: 'user', wait: 20 }),
      }),
    )
    expect(await answer.json()).toMatchObject({
      operation: { state: 'succeeded', result: { lent: 'Kindred to maya' } },
    })
    const plain = await test.start({ clientId: 'https://plain.example/agent.json', extensions: [] })
    await expect(plain.call('lend', { title: 'Kindred' })).rejects.toMatchObject({ code: 'extension_required' })
  })
})

describe('services and extensions', () => {
  const spa = 'https://company.example/spa'
  const concierge = 'https://company.example/concierge'
  const loyalty = 'company.example/loyalty'

  it('are met as an agent meets them: with the token for each, and with what it lists', async () => {
    const tier = tool({ name: 'tier', description: 'The tier.', extension: loyalty, run: () => 'gold' })
    await using test = await createTestCompany({
      tools: [myLoans, tier],
      toolsResource: 'https://company.example/tools',
      apis: [
        { type: 'openapi', url: 'https://company.example/spa.json', description: 'The spa', resource: spa },
        { type: 'mcp', url: concierge, description: 'The concierge' },
      ],
      extensions: { [loyalty]: { version: 2 } },
    })
    const maya = await test.signIn('maya')
    expect(await maya.call('my_loans')).toEqual({ loans: ['The Dispossessed'] })
    expect(await maya.call('tier')).toBe('gold')
    expect(await maya.callOverMcp('tier')).toBe('gold')
    const { authenticate } = test.company
    expect(await authenticate(await maya.request('/spa/hours', {}, spa), { resource: spa })).toMatchObject({
      account: 'maya',
      resource: spa,
    })
    expect(await authenticate(await maya.request('/spa/hours'), { resource: spa })).toBeInstanceOf(Response)
    expect(await authenticate(await maya.request('/concierge', {}, concierge), { mcp: concierge })).toMatchObject({
      account: 'maya',
    })

    const plain = await test.start({ clientId: 'https://plain.example/agent.json', extensions: [] })
    const refused = { code: 'extension_required', body: { extension: loyalty } }
    await expect(plain.call('tier')).rejects.toMatchObject({ ...refused, status: 403 })
    await expect(plain.callOverMcp('tier')).rejects.toMatchObject({ ...refused, status: 200 })
  })
})
