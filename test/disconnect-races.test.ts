import { describe, expect, it } from 'vitest'
import { stores } from './setup/stores.ts'
import { makeWorld, type Tokens, verifierOf } from './setup/world.ts'

/** Whatever runs at the moment at which a person ends an agent's access: nothing of it is access afterwards (4.9). */
describe.each(stores)('a disconnect on $name', ({ missing, fresh }) => {
  it.skipIf(missing)(
    'leaves no access to what ran beside it: exchange, refresh, refresh into a new Session [4.9.disconnect]',
    async () => {
      const { store } = await fresh()
      const world = await makeWorld({}, store())
      const { agent, company } = world
      for (let round = 0; round < 12; round++) {
        const before = await world.signIn(agent, (await world.start()).session_id)
        const other = await world.start()
        const code = (await world.decide(agent, {})).searchParams.get('code')
        const refresh = (session_id: string | null) =>
          agent.token({ grant_type: 'refresh_token', refresh_token: before.refresh_token ?? '', session_id })
        const work = [
          () =>
            agent.token({
              grant_type: 'authorization_code',
              code,
              redirect_uri: agent.redirectUri,
              code_verifier: verifierOf(agent),
              session_id: other.session_id,
            }),
          () => refresh(before.session_id),
          () => refresh(null),
          () => refresh(other.session_id),
        ]
        // Another place in the row each time, so that each is seen before, after and in the middle.
        const started: Promise<Response>[] = []
        let disconnected: Promise<number> | undefined
        for (let at = 0; at <= work.length; at++) {
          if (at === round % (work.length + 1)) disconnected = company.accounts.disconnect('acc-maya', agent.clientId)
          const next = work[(at + round) % work.length]
          if (at < work.length && next) started.push(next())
          if (round > 4) await new Promise((resolve) => setImmediate(resolve))
        }
        const answers = await Promise.all(started)
        await disconnected
        // Those that failed with a server's fault would hide what they did.
        expect(answers.map(({ status }) => status).filter((status) => status >= 500)).toEqual([])
        for (const answer of answers) {
          if (answer.status !== 200) continue
          const given = (await answer.json()) as Tokens
          expect((await agent.call('/poppy/tools/my_bookings', given.access_token)).status).toBe(403)
          if (given.refresh_token === undefined) continue
          const again = await agent.token({ grant_type: 'refresh_token', refresh_token: given.refresh_token })
          expect(again.status).toBe(400)
        }
        expect((await agent.call('/poppy/tools/my_bookings', before.access_token)).status).toBe(403)
        expect((await refresh(null)).status).toBe(400)
        expect(await company.accounts.connectedAgents('acc-maya')).toEqual([])
      }
    },
  )

  it.skipIf(missing)('is not undone by a token from before it, whoever signs in again [4.9.disconnect]', async () => {
    const { store } = await fresh()
    const world = await makeWorld({}, store())
    const { agent, company } = world
    const session = await world.start()
    const old: string[] = []
    for (let round = 0; round < 3; round++) {
      const { access_token } = await world.signIn(agent, session.session_id)
      expect((await agent.call('/poppy/tools/my_bookings', access_token)).status).toBe(200)
      for (const token of old) expect((await agent.call('/poppy/tools/my_bookings', token)).status).toBe(403)
      old.push(access_token)
      await company.accounts.disconnect('acc-maya', agent.clientId)
    }
  })
})
