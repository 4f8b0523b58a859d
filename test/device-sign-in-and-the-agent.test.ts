import { createPersonalAgent, generateKey, memoryStore } from '@poppyseed/agent'
import { describe, expect, it } from 'vitest'
import { createPerson } from '../examples/hotel/src/person.ts'
import { listen } from './setup/listen.ts'
import { guests, openSite, type Site } from './setup/site.ts'

// Section 4.6, our two sides together over real HTTP: the agent waits, and a person approves on another device.

const scopes = ['poppy:read', 'poppy:write']

/** An agent on a host of its own; `onWait` happens whenever it waits, and time passes with the waiting. */
async function openAgent(clock: { now: number }, onWait: (waits: number) => Promise<void>) {
  const keys = [await generateKey()]
  const polls: number[] = []
  let waits = 0
  let agent: ReturnType<typeof createPersonalAgent> | undefined
  await listen((origin) => {
    agent = createPersonalAgent({
      clientId: `${origin}/agent.json`,
      name: 'Speaker',
      keys,
      store: memoryStore(),
      allowHttp: true,
      now: () => clock.now,
      wait: async (milliseconds) => {
        await onWait(++waits)
        clock.now += milliseconds
      },
      fetch: async (url, init) => {
        if (String(init.body).includes('device_code=')) polls.push(clock.now)
        return fetch(url, init)
      },
    })
    return agent.fetch
  })
  if (!agent) throw new Error('The agent was not made.')
  return { agent, polls }
}

/** A person with a browser: signs in at the site, looks at the page behind the link, and decides. */
async function decide(link: string, guest: keyof typeof guests, decision: 'approve' | 'decline', chosen = scopes) {
  const person = createPerson()
  let page = await person.open(link)
  if (page.html.includes('type="password"')) page = await person.submit(page, guests[guest])
  return person.submit(page, { scope: chosen, decision })
}

async function open(clock: { now: number }): Promise<Site> {
  return openSite({ signIn: { direct: [...scopes, 'loyalty'], device: scopes }, now: () => clock.now })
}

describe('an agent without a browser', () => {
  it('lets a person approve on another device, in a Session for each account [4.6.start-agent, 4.6.complete, 4.4.two-accounts-agent]', async () => {
    const clock = { now: Date.now() }
    const site = await open(clock)
    let next: () => Promise<unknown> = async () => {}
    const { agent, polls } = await openAgent(clock, async (waits) => {
      if (waits % 2 === 0) await next()
    })
    const company = await agent.forUser('maya').company(site.origin)
    for (const guest of ['maya', 'jonas'] as const) {
      const session = company.session({ account: guest })
      const asked = await session.beginDeviceSignIn({ scopes })
      next = () => decide(asked.verificationUriComplete ?? '', guest, 'approve')
      expect(await asked.done).toMatchObject({ granted: scopes, missing: [], replaced: 'none' })
      expect((await session.call('my_bookings')).body).toEqual({ account: `acc-${guest}` })
    }
    expect((await company.session({ account: 'maya' }).call('my_bookings')).body).toEqual({ account: 'acc-maya' })
    expect(polls).toHaveLength(4)
  })

  it('learns that part of it was approved, that it was declined, and that nobody came [4.6.stop-agent, K29, 4.4.check-scope-agent]', async () => {
    const clock = { now: Date.now() }
    const site = await open(clock)
    let next: () => Promise<unknown> = async () => {}
    const { agent, polls } = await openAgent(clock, async () => void (await next()))
    const session = (await agent.forUser('maya').company(site.origin)).session()
    const part = await session.beginDeviceSignIn({ scopes })
    next = () => decide(part.verificationUriComplete ?? '', 'maya', 'approve', ['poppy:read'])
    expect(await part.done).toMatchObject({ granted: ['poppy:read'], missing: ['poppy:write'] })

    const no = await session.beginDeviceSignIn({ scopes: ['poppy:write'] })
    next = () => decide(no.verificationUriComplete ?? '', 'maya', 'decline')
    await expect(no.done).rejects.toMatchObject({ code: 'sign_in_declined' })
    await expect(session.call('add_note')).rejects.toMatchObject({ code: 'sign_in_declined' })
    expect((await session.call('my_bookings')).body).toEqual({ account: 'acc-maya' })

    polls.length = 0
    next = async () => {}
    const begun = clock.now
    const late = await session.beginDeviceSignIn({ scopes })
    await expect(late.done).rejects.toMatchObject({ code: 'sign_in_expired' })
    expect(clock.now - begun).toBe(600_000)
    expect(polls).toHaveLength(119)
    expect(polls.every((at, index) => at - (polls[index - 1] ?? begun) >= 5000)).toBe(true)
  })
})
