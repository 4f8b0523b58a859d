import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, it, onTestFinished } from 'vitest'
import { createPerson } from '../examples/hotel/src/person.ts'
import { runPoppy } from '../packages/agent/src/cli/poppy.ts'
import { freePort } from './setup/free-port.ts'
import { guests, openSite } from './setup/site.ts'

// 4.4: somebody has two accounts at a hotel, a private one and one for work, and uses both through their agent: `poppy` on
// the one side, the Company and its site on the other.

const timeout = 120_000
type Guest = keyof typeof guests
type Way = 'direct' | 'device' | 'mediated'

async function sitDown() {
  const site = await openSite({
    signIn: {
      direct: ['poppy:read', 'poppy:write', 'loyalty'],
      device: ['poppy:read', 'poppy:write'],
      mediated: {
        scopes: ['poppy:read'],
        fields: [
          { name: 'user', label: 'Name', secret: false },
          { name: 'password', label: 'Password', secret: true },
        ],
        verify: ({ user, password }) =>
          Object.values(guests).some((guest) => guest.user === user && guest.password === password)
            ? `acc-${user}`
            : null,
      },
    },
  })
  const folder = mkdtempSync(join(tmpdir(), 'poppyseed-two-accounts-'))
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
  const free = await freePort()
  let guest: Guest = 'maya'
  /** What the person does when poppy shows an address: in a browser of their own, as whoever they choose to be. */
  const decide = async (address: string) => {
    const person = createPerson()
    let page = await person.open(address)
    if (page.html.includes('type="password"')) page = await person.submit(page, guests[guest])
    await person.submit(page, { scope: ['poppy:read'], decision: 'approve' })
  }
  const poppy = async (...args: readonly string[]) => {
    let [out, err] = ['', '']
    let decided: Promise<void> | undefined
    const code = await runPoppy(args, {
      stdout: (text) => {
        out += text
        const address = /^ {2}(http\S+(?:\/authorize\?|user_code=)\S+)/m.exec(out)?.[1]
        if (address !== undefined) decided ??= decide(address)
      },
      stderr: (text) => {
        err += text
      },
      isTerminal: false,
      env: { POPPY_HOME: join(folder, 'home') },
      now: Date.now,
      // The person is quick, and the Company's clock is not moved: at its pace it takes five seconds.
      wait: async () => void (await decided),
      prompt: () => ({
        ask: async (label) => (label === 'Name' ? guests[guest].user : guests[guest].password),
        close: () => {},
      }),
    })
    await decided
    return { code, out, err }
  }
  await poppy('init', '--local', String(free))
  const flags = { direct: [], device: ['--device'], mediated: ['--mediated'] } as const
  return {
    site,
    poppy,
    signIn: (as: Guest, way: Way, ...more: readonly string[]) => {
      guest = as
      return poppy('sign-in', site.origin, ...flags[way], '--scope', 'poppy:read', ...more)
    },
    whoIs: async (...more: readonly string[]) => {
      const { code, out, err } = await poppy('call', site.origin, 'my_bookings', '--json', ...more)
      return code === 0 ? /"account":"([^"]+)"/.exec(out)?.[1] : `${code} ${out}${err}`
    },
  }
}

describe('somebody with two accounts at one Company', () => {
  it.each(['direct', 'device', 'mediated'] as const)(
    'uses each by its name, and signs out of one ($0) [4.4.two-accounts-agent]',
    { timeout },
    async (way) => {
      const { site, poppy, signIn, whoIs } = await sitDown()
      expect(await signIn('maya', way, '--account', 'private')).toMatchObject({ code: 0, err: '' })
      expect(await signIn('jonas', way, '--account', 'work')).toMatchObject({ code: 0, err: '' })
      expect([await whoIs('--account', 'private'), await whoIs('--account', 'work')]).toEqual(['acc-maya', 'acc-jonas'])
      expect(await whoIs()).toMatch(/^2 .*private, work/)
      expect((await poppy('status')).out).toMatch(
        / private +signed in: poppy:read(?:.|\n)* work +signed in: poppy:read/,
      )
      const agents = async (account: string) => (await site.company.accounts.connectedAgents(account)).length
      expect([await agents('acc-maya'), await agents('acc-jonas')]).toEqual([1, 1])

      expect((await poppy('sign-out', site.origin, '--account', 'work')).out).toContain(
        'Still signed in there: private.',
      )
      expect(await whoIs('--account', 'private')).toBe('acc-maya')
      expect(await whoIs('--account', 'work')).toMatch(/^3 .*sign_in_required/)
      expect([await agents('acc-maya'), await agents('acc-jonas')]).toEqual([1, 0])
    },
  )

  it.each(['direct', 'device', 'mediated'] as const)(
    'who comes back as the other under the same name is told so, and nothing of the first is left ($0) [4.4.account-mismatch-agent, 4.4.revoke-replaced-agent]',
    { timeout },
    async (way) => {
      const { site, poppy, signIn, whoIs } = await sitDown()
      expect(await signIn('maya', way)).toMatchObject({ code: 0, err: '' })
      const other = await signIn('jonas', way, '--again')
      expect([other.code, other.err]).toEqual([0, ''])
      expect(other.out).toContain('This is another account than before, and the agent uses it from now on')
      expect(other.out).toContain(`To use both, give one a name: poppy sign-in ${site.origin} --account <name>`)
      expect(await whoIs()).toBe('acc-jonas')
      expect((await site.company.accounts.connectedAgents('acc-maya')).length).toBe(0)

      // Also after signing out: the Session was the other's.
      expect((await poppy('sign-out', site.origin)).out).toContain('Signed out at Hotel Miramar.')
      const back = await signIn('maya', way)
      expect([back.code, back.out]).toEqual([0, expect.stringContaining('This is another account than before')])
      expect(await whoIs()).toBe('acc-maya')
      expect((await signIn('maya', way, '--again')).out).not.toContain('another account')
    },
  )
})
