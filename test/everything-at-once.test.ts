import { describe, expect, it } from 'vitest'
import { makeInstances } from './setup/instances.ts'
import { stores } from './setup/stores.ts'
import { type Tokens, verifierOf } from './setup/world.ts'

// Two instances, and everything that may happen to an account at one moment: nobody waits for ever, and an end is an end.

const scopes = ['poppy:read', 'poppy:write', 'loyalty']
const mediated = {
  scopes,
  fields: [{ name: 'email', label: 'Email', secret: false }],
  verify: ({ email = '' }: Readonly<Record<string, string>>) => email,
}

describe.each(stores.filter(({ name }) => name === 'postgres'))('an account on $name', ({ missing, fresh }) => {
  it.skipIf(missing !== null)(
    'is never locked up, and has no agent after all access was ended [4.9.disconnect]',
    async () => {
      const { store } = await fresh()
      const config = { signIn: { direct: scopes, device: scopes, mediated }, rotation: true, limits: false } as const
      const { agent, worlds, turnTo, clock } = await makeInstances([
        { store: store(), config },
        { store: store(), config },
      ])
      const [one, two] = worlds
      if (!one || !two) throw new Error('no instances')
      for (let round = 0; round < 14; round++) {
        const account = `acc-${round}`
        one.site.account = { id: account, name: 'maya@example.com' }
        two.site.account = one.site.account
        turnTo(0)
        const sessions: Tokens[] = []
        for (let times = 0; times < 3; times++) sessions.push(await one.start(agent))
        const grants: Tokens[] = []
        for (const [at, scope] of ['loyalty', 'loyalty poppy:read', 'poppy:read poppy:write'].entries())
          grants.push(await one.signIn(agent, sessions[at]?.session_id ?? '', { scope }))
        const code = (await one.decide(agent, {})).searchParams.get('code')
        const refresh = (grant: number, session: number) =>
          agent.token({
            grant_type: 'refresh_token',
            refresh_token: grants[grant]?.refresh_token ?? '',
            session_id: sessions[session]?.session_id ?? null,
          })
        const begin = (session: number) =>
          agent.call('/poppy/sign-in', sessions[session]?.access_token ?? '', {
            body: { scope: 'poppy:read', credentials: { email: account } },
          })
        const exchange = () =>
          agent.token({
            grant_type: 'authorization_code',
            code,
            redirect_uri: agent.redirectUri,
            code_verifier: verifierOf(agent),
            session_id: sessions[0]?.session_id ?? '',
          })
        const people = (at: number) => worlds[at % 2]?.company.accounts ?? one.company.accounts
        const work: readonly (() => Promise<unknown>)[] = [
          () => people(0).takeAway(account, agent.clientId, 'loyalty'),
          () => refresh(1, 0),
          () => begin(0),
          () => people(1).takeAway(account, agent.clientId, 'poppy:read'),
          () => refresh(2, 1),
          () => refresh(0, 2),
          exchange,
          () => agent.revoke(grants[1]?.refresh_token ?? ''),
          () => begin(1),
          () => people(1).disconnect(account, agent.clientId),
          () => refresh(1, 2),
          exchange,
          () => people(0).exportPerson(account),
          () => refresh(2, 0),
          () => (round % 3 === 0 ? people(1).erasePerson(account) : people(1).revokeAll(account)),
          () => begin(2),
          () => refresh(0, 1),
        ]
        const started: Promise<unknown>[] = []
        for (let at = 0; at < work.length; at++) {
          turnTo((at + round) % 2)
          started.push(work[(at * (1 + (round % 5)) + round) % work.length]?.() ?? Promise.resolve())
          if (round > 6) await new Promise((resolve) => setImmediate(resolve))
        }
        const results = await Promise.all(started)
        const statuses = results.filter((result) => result instanceof Response).map(({ status }) => status)
        expect(statuses.filter((status) => status >= 500)).toEqual([])
        clock.now += 1
        await people(0).revokeAll(account)
        expect(await people(1).connectedAgents(account)).toEqual([])
        turnTo(round % 2)
        for (const result of results) {
          if (!(result instanceof Response) || result.status !== 200) continue
          const text = await result.text()
          if (!text.includes('access_token')) continue
          const { access_token } = JSON.parse(text) as Tokens
          expect([401, 403]).toContain((await agent.call('/poppy/tools/my_bookings', access_token)).status)
        }
      }
    },
  )
})
