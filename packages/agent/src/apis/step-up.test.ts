import { describe, expect, it } from 'vitest'
import { errorOf, startVisit, type Visit } from '../../test/visit.ts'
import type { AgentError, Session } from '../index.ts'

/** A host that does as errors say: it asks the owner, calls again, and stops where it is told to. */
async function host(
  { fake }: Visit,
  session: Session,
  work: () => Promise<unknown>,
  owner: Parameters<Visit['fake']['approve']>[1] = {},
): Promise<{ readonly asks: readonly string[]; readonly error: AgentError | undefined }> {
  const asks: string[] = []
  for (;;) {
    const error = await work().then(
      () => undefined,
      (reason: unknown) => reason as AgentError,
    )
    if (error?.action !== 'ask_owner') return { asks, error }
    if (asks.length > 5) throw new Error('It goes round in a circle.')
    await session
      .signIn({
        scopes: error.scopes ?? [],
        open: async (url) => {
          asks.push(new URL(url).searchParams.get('scope') ?? '')
          await session.completeSignIn(fake.approve(url, owner)).catch(() => {})
        },
      })
      .catch(() => {})
  }
}

const kinds = [
  ['over HTTP', false, false],
  ['over MCP', true, false],
  ['over MCP, said in the tool’s answer', true, true],
] as const

describe.each(kinds)('more access in the middle of a task, %s', (_, isMcp, toolErrors) => {
  async function visit(): Promise<
    Visit & { here: Session; read: () => Promise<unknown>; write: () => Promise<unknown> }
  > {
    const started = await startVisit()
    started.fake.switches.toolErrors = toolErrors
    const here = await started.session()
    const callTool = async (name: string) => {
      const mcp = await here.mcp()
      try {
        return await mcp.call(name)
      } finally {
        await mcp.close()
      }
    }
    return {
      ...started,
      here,
      read: () => (isMcp ? callTool('my_orders') : here.call('get_order', { id: '1' })),
      write: () => (isMcp ? callTool('my_addresses') : here.call('set_address')),
    }
  }

  it('is asked for once, with what there is, and then both tools go on [K39, 4.4.all-scopes-agent]', async () => {
    const all = await visit()
    const { here, read, write } = all
    expect(await host(all, here, read)).toEqual({ asks: ['poppy:read'], error: undefined })
    expect((await host(all, here, write)).asks).toEqual(['poppy:read addresses'])
    for (const work of [read, write, read, write])
      expect(await host(all, here, work)).toEqual({ asks: [], error: undefined })
  })

  it.each([
    ['ticks it off', { scopes: ['poppy:read'] }],
    ['declines', { decline: true }],
  ])('is not asked for again once the owner %s, and says so [K39]', async (_how, owner) => {
    const all = await visit()
    const { here, read, write, signIn, fake } = all
    await host(all, here, read)
    const first = await host(all, here, write, owner)
    expect(first.asks).toEqual(['poppy:read addresses'])
    for (const { error, asks } of [first, await host(all, here, write, owner), await host(all, here, write, owner)]) {
      expect([error?.code, error?.action, error?.scopes]).toEqual([
        'sign_in_declined',
        'give_up',
        ['poppy:read', 'addresses'],
      ])
      expect(error?.message).toContain('declined')
      if (error !== first.error) expect(asks).toEqual([])
    }
    // What they have goes on, what they may still be asked for is asked for.
    expect((await host(all, here, read)).error).toBeUndefined()
    // On purpose it is asked for again, and a yes ends it.
    await signIn(here, ['addresses'])
    expect((await host(all, here, write)).error).toBeUndefined()
    // Another Session begins anew.
    for (const grant of fake.grants.values()) grant.revoked = true
    const other = await all.session('another')
    expect((await errorOf(other.call('set_address'))).code).toBe('sign_in_required')
  })
})

describe('an ask that leads nowhere', () => {
  it('stops where nothing was given at all, and another ask may still be made', async () => {
    const all = await startVisit()
    const here = await all.session()
    const read = () => here.call('get_order', { id: '1' })
    const declined = await host(all, here, read, { decline: true })
    expect([declined.asks, declined.error?.code]).toEqual([['poppy:read'], 'sign_in_declined'])
    expect((await host(all, here, () => here.call('set_address'))).asks).toEqual(['addresses'])
  })

  it.each([
    ['what it was given', ', scope="poppy:read"', 'asks for access that it has been given: poppy:read'],
    ['something without a name', '', "doesn't say which"],
  ])('stops where a Company wants %s', async (_, scope, words) => {
    const all = await startVisit()
    const here = await all.session()
    await all.signIn(here, ['poppy:read'])
    const { asks, error } = await host(all, here, () => {
      const headers = { 'www-authenticate': `DPoP error="insufficient_scope"${scope}` }
      const answer = { status: 403, headers, body: '' }
      // Also to the token that it gave when it was asked what it still gives.
      all.fake.switches.answers = [answer, answer]
      return here.call('echo')
    })
    expect([asks, error?.code, error?.action]).toEqual([[], 'insufficient_scope', 'give_up'])
    expect(error?.message).toContain(words)
  })

  it('stops where a Company asks to sign in and never believes it', async () => {
    const all = await startVisit()
    const here = await all.session()
    await all.signIn(here, ['poppy:read'])
    const answer = { status: 403, headers: { 'www-authenticate': 'DPoP error="sign_in_required"' }, body: '' }
    const { asks, error } = await host(all, here, () => {
      all.fake.switches.answers.push(answer, answer)
      return here.call('echo')
    })
    expect([asks, error?.code, error?.action]).toEqual([[], 'sign_in_required', 'give_up'])
  })

  it('is forgotten with the Session, and kept from run to run until then', async () => {
    const all = await startVisit()
    const here = await all.session()
    const read = (session: Session) => session.call('get_order', { id: '1' })
    await host(all, here, () => read(here), { decline: true })
    // The same Session from the store, as another run of the program has it.
    expect((await errorOf(read(await all.session()))).code).toBe('sign_in_declined')
    for (const session of all.fake.sessions.values()) session.ended = true
    expect((await errorOf(read(here))).code).toBe('sign_in_required')
  })
})
