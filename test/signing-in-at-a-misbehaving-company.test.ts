import { describe, expect, it } from 'vitest'
import {
  agentErrorOf,
  endOf,
  flipped,
  oneConnection,
  openAddress,
  signedIn,
  signInSwitches,
  started,
  using,
  visitHostileCompany,
} from './setup/hostile-company.ts'

// The Personal Agent as it is published signs in at a Company that misbehaves, and keeps what it got: the outcome is right,
// and the Company has seen no rule broken.

describe('Account Tokens', () => {
  it.each(['off', 'strict', 'grace'] as const)(
    'are kept or replaced, as the Company says (%s) [4.8.rotation-agent, K21]',
    async (rotation) => {
      const { company, session, signIn, clock } = await visitHostileCompany(using({ rotation }), {
        fetch: oneConnection(),
      })
      const here = await session()
      await signIn(here, ['poppy:read'])
      for (let day = 0; day < 3; day++) {
        clock.now += 3600_000
        await here.call('get_order', { id: String(day) })
      }
      expect(company.ran).toHaveLength(3)
      expect(company.findings).toEqual([])
      expect(company.state().signIns).toHaveLength(1)
    },
  )

  it('whose successor was lost on the way end the sign-in at worst, never in a loop [4.8.invalid-grant-agent]', async () => {
    for (const rotation of ['strict', 'grace'] as const) {
      const { company, session, clock, sent } = await signedIn({ rotation }, 'token')
      clock.now += 3600_000
      const here = await session()
      company.next(1, using({ delivery: 'lost' }), 'token')
      expect(await endOf(here.call('get_order', { id: '1' }))).toBe('unreachable')
      const end = await endOf(here.call('get_order', { id: '1' }))
      expect(end).toBe(rotation === 'grace' ? 'fine' : 'sign_in_required')
      expect(sent().filter((line) => line.includes('/token')).length).toBeLessThan(5)
      expect(company.findings).toEqual([])
    }
  })

  it('of one Session are used once, however many calls find it expired', async () => {
    const { company, session, clock, sent } = await signedIn({ rotation: 'strict' }, 'token', {})
    clock.now += 3600_000
    const here = await session()
    await Promise.all(Array.from({ length: 20 }, (_, id) => here.call('get_order', { id: String(id) })))
    expect(sent().filter((line) => line.includes('/token'))).toEqual(['POST /token 200'])
    expect(company.findings).toEqual([])
  })

  it.each(['any', 'token_endpoint', 'revocation_endpoint'] as const)(
    'are revoked where the client assertion is to name %s [4.9.revoke-agent]',
    async (revocationAudience) => {
      const { company, session } = await signedIn({ revocationAudience }, 'revoke')
      expect(await (await session()).signOut()).toEqual({ revoked: true })
      expect([company.state().signIns, company.findings]).toEqual([[], []])
    },
  )
})

describe('signing in', () => {
  it.each(['missing', 'other', 'slash', 'upper_case', 'doubled'] as const)(
    'takes no callback whose iss is %s, and sends no code [K28, 4.5.iss-exact-agent]',
    async (iss) => {
      const { company, session, signIn, sent } = await started({ iss }, 'authorize')
      expect(await endOf(signIn(await session(), ['poppy:read']))).toBe('sign_in_failed')
      expect(sent().filter((line) => line.includes('/token'))).toEqual([])
      expect(company.findings).toEqual([])
    },
  )

  it.each(['missing', 'other'] as const)('takes no callback whose state is %s [4.5.state-agent]', async (state) => {
    const { company, session, signIn, sent } = await started({ state }, 'authorize')
    expect(await endOf(signIn(await session(), ['poppy:read']))).toBe('sign_in_unknown')
    expect(sent().filter((line) => line.includes('/token'))).toEqual([])
    expect(company.findings).toEqual([])
  })

  it('that is declined leaves what was there [4.4.failed-keeps-tokens-agent]', async () => {
    const { company, session, signIn } = await signedIn({ consent: 'decline' }, 'authorize')
    const here = await session()
    expect(await endOf(signIn(here, ['poppy:write']))).toBe('sign_in_declined')
    await here.call('get_order', { id: '1' })
    expect([company.ran, company.findings]).toEqual([['get_order'], []])
  })

  it('that grants fewer scopes is told, and refreshed with those [K24, 4.4.check-scope-agent]', async () => {
    const { company, session, signIn, clock } = await started({ grantsFewer: true }, 'authorize')
    const here = await session()
    const result = await signIn(here, ['poppy:read', 'poppy:write'])
    expect([result.granted, result.missing]).toEqual([['poppy:read'], ['poppy:write']])
    clock.now += 3600_000
    await here.call('get_order', { id: '1' })
    expect(company.findings).toEqual([])
  })

  it('is asked for with the union of scopes, and stops where one is never granted [K39, 4.4.all-scopes-agent, 6.insufficient-scope-agent]', async () => {
    const { company, session, signIn } = await signedIn({ neverGrants: ['addresses'] }, 'authorize')
    const here = await session()
    const tries = []
    for (let at = 0; at < 2; at++) {
      const error = await agentErrorOf(here.call('set_address', {}))
      tries.push([error.code, error.action, error.scopes])
      if (at === 0) await signIn(here, error.scopes ?? [])
      await here.call('get_order', { id: '1' })
    }
    expect(tries).toEqual([
      ['insufficient_scope', 'ask_owner', ['poppy:read', 'addresses']],
      ['sign_in_declined', 'give_up', ['poppy:read', 'addresses']],
    ])
    expect([company.ran, company.findings]).toEqual([['get_order', 'get_order'], []])
  })

  it('with another account than the Session had begins a Session of its own [4.4.account-mismatch-agent]', async () => {
    const { company, session, signIn } = await signedIn({ account: 'account-2' }, 'authorize')
    const here = await session()
    const { sessionId } = await here.state()
    company.next(1, { refuse: 'account_mismatch' }, 'token')
    await signIn(here, ['poppy:read']).catch(() => undefined)
    expect((await here.state()).sessionId).not.toBe(sessionId)
    expect(company.findings).toEqual([])
  })
})

describe('two sign-ins at once', () => {
  it('finish on their own, in any order, and a replayed callback is refused [K36]', async () => {
    const { company, session } = await visitHostileCompany()
    const here = await session()
    const [first, second] = [
      await here.beginSignIn({ scopes: ['poppy:read'] }),
      await here.beginSignIn({ scopes: ['poppy:read', 'poppy:write'] }),
    ]
    const later = await openAddress(second.url)
    const earlier = await openAddress(first.url)
    expect((await here.completeSignIn(later)).granted).toEqual(['poppy:read', 'poppy:write'])
    expect(await endOf(here.completeSignIn(later))).toBe('sign_in_unknown')
    expect((await here.completeSignIn(earlier)).granted).toEqual(['poppy:read'])
    expect(company.state().signIns).toHaveLength(1)
  })
})

describe('the stories above', () => {
  it('have flipped every switch of signing in', () => {
    expect(signInSwitches.filter((name) => !flipped.has(name))).toEqual([])
  })
})
