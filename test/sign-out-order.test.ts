import pg from 'pg'
import { postgres } from 'poppyseed/postgres'
import { describe, expect, it, onTestFinished } from 'vitest'
import { freshSchema, postgresMissing } from './setup/postgres.ts'
import { makeWorld, outcome, type World } from './setup/world.ts'

/** A sign-out that has revoked the grant and not yet signed out its Sessions, held still between the two. */
async function halfSignedOut(url: string) {
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  onTestFinished(() => client.end())
  const { rows } = await client.query<{ pid: number }>('select pg_backend_pid() as pid')
  await client.query('begin')
  await client.query('update poppy_grants set revoked_at = last_used_at')
  return {
    /** Until somebody waits for what it holds, or is done without waiting. */
    async untilAwaited(answer: Promise<unknown>) {
      let isDone = false
      const done = () => {
        isDone = true
      }
      answer.then(done, done)
      const waiting = 'select 1 from pg_stat_activity where $1::int = any(pg_blocking_pids(pid))'
      while (!isDone && (await client.query(waiting, [rows[0]?.pid])).rowCount === 0);
    },
    async finish() {
      await client.query('update poppy_sessions set grant_id = null, epoch = epoch + 1')
      await client.query('commit')
    },
  }
}

describe.skipIf(postgresMissing)('while an agent is being signed out', () => {
  it.each([
    [
      'a call',
      (world: World, tokens) => world.agent.call('/poppy/tools/my_bookings', tokens.access_token),
      ['200', '403 sign_in_required'],
    ],
    [
      'a refresh',
      (world: World, { refresh_token = '', session_id }) =>
        world.agent.token({ grant_type: 'refresh_token', refresh_token, session_id }),
      ['200', '400 invalid_grant'],
    ],
    ['a renewal', (world: World, { session_id }) => world.agent.startSession({ session_id }), ['200']],
  ] satisfies [string, (world: World, tokens: Awaited<ReturnType<World['signIn']>>) => Promise<Response>, string[]][])(
    '%s and the sign-out never wait for each other [4.9.at-once]',
    async (_, act, allowed) => {
      const schema = await freshSchema()
      onTestFinished(schema.drop)
      const world = await makeWorld({}, postgres(schema.url))
      const { session_id } = await world.start()
      const tokens = await world.signIn(world.agent, session_id)
      // Late enough that the use of both rows is noted.
      world.clock.now += 120_000
      const signOut = await halfSignedOut(schema.url)
      const answer = act(world, tokens).then(outcome)
      await signOut.untilAwaited(answer)
      await signOut.finish()
      expect(allowed).toContain(await answer)
      expect(await outcome(await world.agent.call('/poppy/tools/my_bookings', tokens.access_token))).toBe(
        '403 sign_in_required',
      )
      expect(world.log.filter((line) => line.startsWith('error'))).toEqual([])
    },
  )
})
