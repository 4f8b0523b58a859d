import { createPersonalAgent, generateKey, memoryStore } from '@poppyseed/agent'
import { describe, expect, it } from 'vitest'
import { createPerson } from '../examples/hotel/src/person.ts'
import { listen } from './setup/listen.ts'
import { guests, openSite } from './setup/site.ts'
import { stores } from './setup/stores.ts'

// 4.4: a person gives more access in one Session, whose old Account Token is then revoked, while another Session of the same
// account is at work with it.

const timeout = 120_000
const all = ['poppy:read', 'poppy:write', 'loyalty']

type Fetch = NonNullable<Parameters<typeof createPersonalAgent>[0]['fetch']>

/** A site, and an agent whose User is there with two Sessions: `desk` signs in, `task` works. */
async function open(
  store: ReturnType<Awaited<ReturnType<(typeof stores)[number]['fresh']>>['store']>,
  rotation: boolean,
  through: (send: Fetch) => Fetch = (send) => send,
) {
  const site = await openSite({ store, rotation, signIn: { direct: all } })
  const key = await generateKey()
  let agent: ReturnType<typeof createPersonalAgent> | undefined
  await listen((origin) => {
    agent = createPersonalAgent({
      clientId: `${origin}/agent.json`,
      name: 'Example Agent',
      keys: [key],
      store: memoryStore(),
      allowHttp: true,
      fetch: through((input, init) => fetch(input, init)),
    })
    return agent.fetch
  })
  if (!agent) throw new Error('no agent')
  const user = agent.forUser('maya')
  const company = await user.company(site.origin)
  const [desk, task] = [company.session(), company.session({ name: 'task' })]
  const person = createPerson()
  const signIn = async (scopes: readonly string[]) => {
    const pending = await desk.beginSignIn({ scopes })
    let page = await person.open(pending.url)
    if (page.html.includes('type="password"')) page = await person.submit(page, guests.maya)
    const approved = person.submit(page, { scope: all, decision: 'approve' })
    const [result] = await Promise.all([pending.done, approved])
    return result
  }
  return { site, user, task, signIn }
}

describe.each(stores)('a step-up on $name', ({ missing, fresh }) => {
  it.skipIf(missing).each([false, true])(
    'leaves what works beside it at work: no call is refused, and the old access is gone (rotation %s) [4.4.revoke-replaced-agent]',
    { timeout },
    async (rotation) => {
      const { store } = await fresh()
      const { site, user, task, signIn } = await open(store(), rotation)
      await signIn(['poppy:read'])
      const read = async () => (await task.call('my_bookings')).body
      expect(await read()).toEqual({ account: 'acc-maya' })

      let isDone = false
      const answers: unknown[] = []
      const work = async () => {
        while (!isDone) answers.push(await read())
      }
      const workers = Promise.all([work(), work(), work()])
      for (const scope of ['poppy:write', 'loyalty'] as const) {
        expect(await signIn([scope])).toMatchObject({ missing: [], replaced: 'revoked', switched: false })
      }
      isDone = true
      await workers
      expect(answers.length).toBeGreaterThan(5)
      expect(new Set(answers.map((one) => JSON.stringify(one)))).toEqual(new Set(['{"account":"acc-maya"}']))
      expect((await task.call('points')).body).toMatchObject({})
      const [connected] = await site.company.accounts.connectedAgents('acc-maya')
      expect(connected?.rights.map(({ scope }) => scope).toSorted()).toEqual(all.toSorted())
      expect(await user.companies()).toMatchObject([{ unrevoked: 0 }])
    },
  )

  it.skipIf(missing).each([false, true])(
    'that comes while what was refused because of another one is tried again, refuses nothing (rotation %s) [4.4.revoke-replaced-agent]',
    { timeout },
    async (rotation) => {
      const { store } = await fresh()
      const sent: string[] = []
      let between: (() => Promise<unknown>) | undefined
      const { task, signIn } = await open(store(), rotation, (send) => async (input, init) => {
        const { pathname } = new URL(input)
        if (pathname.endsWith('/my_bookings')) {
          sent.push(pathname)
          if (sent.length === 3) await between?.()
        }
        return send(input, init)
      })
      await signIn(['poppy:read'])
      const read = async () => (await task.call('my_bookings')).body
      expect(await read()).toEqual({ account: 'acc-maya' })
      await signIn(['poppy:write'])
      // Refused with what the first one ended, and sent again with what the next one has ended meanwhile.
      between = () => signIn(['loyalty'])
      expect(await read()).toEqual({ account: 'acc-maya' })
      expect(sent).toHaveLength(4)
    },
  )
})
