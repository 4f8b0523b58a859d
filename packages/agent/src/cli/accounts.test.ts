import { describe, expect, it } from 'vitest'
import { openCompany, sitDown } from '../../test/sit-down.ts'

/** A person with two accounts at a Company, who signs in to the one that is asked for. */
async function sitWithTwo() {
  const fake = await openCompany()
  const desk = await sitDown()
  await desk.init()
  const { poppy, until } = desk
  const signIn = async (account: string, ...more: readonly string[]) => {
    const signingIn = poppy('sign-in', fake.origin, '--scope', 'poppy:read', ...more)
    await (await fetch(fake.approve(await until(/(http\S+\/authorize\S+)/), { account }))).text()
    return signingIn
  }
  const whoIs = async (...more: readonly string[]) => {
    const { code, out, err } = await poppy('call', fake.origin, 'get_order', '{"id":"1"}', '--json', ...more)
    return code === 0 ? /"account":"([^"]+)"/.exec(out)?.[1] : [code, out + err]
  }
  return { ...desk, fake, signIn, whoIs }
}

describe('several accounts at one Company', () => {
  it('have each a name, an Account Token and a Session of their own [4.4.two-accounts-agent]', async () => {
    const { poppy, fake, signIn, whoIs } = await sitWithTwo()
    const first = await signIn('account-1', '--account', 'private')
    expect(first.out).toContain('Signed in at Fake Company (private) with poppy:read.')
    expect(first.out).toContain(`Next: poppy tools ${fake.origin} --account private\n`)
    // The only one there is needs no name.
    expect(await whoIs()).toBe('account-1')
    await signIn('account-2', '--account', 'work')
    expect(await whoIs('--account', 'private')).toBe('account-1')
    expect(await whoIs('--account', 'work')).toBe('account-2')
    expect([...fake.grants.values()].map(({ revoked }) => revoked)).toEqual([false, false])
    const sessions = [...fake.sessions.values()].map(({ account }) => account)
    expect(sessions).toEqual(['account-1', 'account-2'])

    const { code, err } = await poppy('call', fake.origin, 'get_order', '{"id":"1"}')
    expect([code, err]).toEqual([
      2,
      expect.stringContaining(
        'Error: You use several accounts at Fake Company here: private, work. Say which with --account private\n',
      ),
    ])
    const status = await poppy('status')
    expect(status.out).toMatch(
      /Fake Company +localhost:\d+ +private +signed in: poppy:read +until .*\n.* work +signed in/,
    )
    expect(JSON.parse((await poppy('status', '--json')).out)).toMatchObject({
      companies: [{ accounts: [{ account: 'private' }, { account: 'work' }], unrevoked: 0 }],
    })

    const out = await poppy('sign-out', fake.origin, '--account', 'private')
    expect(out.out).toContain('Signed out at Fake Company (private).')
    expect(out.out).toContain('Still signed in there: work.\n')
    expect(await whoIs()).toBe('account-2')
    expect(await whoIs('--account', 'private')).toEqual([3, expect.stringContaining('sign_in_required')])
    expect([...fake.grants.values()].map(({ revoked }) => revoked)).toEqual([true, false])
  })

  it('are not mixed up: another account under the same name is told, also after signing out [4.4.account-mismatch-agent]', async () => {
    const { poppy, fake, signIn, whoIs } = await sitWithTwo()
    expect((await signIn('account-1')).out).not.toContain('another account')
    const switched = await signIn('account-2', '--again')
    expect([switched.code, switched.out]).toEqual([
      0,
      expect.stringContaining(
        `This is another account than before, and the agent uses it from now on instead of that one.\nTo use both, give one a name: poppy sign-in ${fake.origin} --account <name>\n`,
      ),
    ])
    expect(await whoIs()).toBe('account-2')
    expect([...fake.grants.values()].map(({ revoked }) => revoked)).toEqual([true, false])
    await poppy('sign-out', fake.origin)
    expect((await signIn('account-1')).out).toContain('This is another account than before')
    expect(await whoIs()).toBe('account-1')
    expect((await signIn('account-1', '--again')).out).not.toContain('another account')
  })

  it('keeps one without a name beside others, and says the command with the name that was given', async () => {
    const { poppy, fake, signIn, whoIs } = await sitWithTwo()
    await signIn('account-1')
    await signIn('account-2', '--account', 'work')
    expect(await whoIs()).toBe('account-1')
    const refused = await poppy('call', fake.origin, 'set_address', '{}', '--account', 'work')
    expect([refused.code, refused.err]).toEqual([
      3,
      expect.stringContaining(
        `Try: poppy sign-in ${fake.origin} --account work --scope poppy:read --scope addresses\n`,
      ),
    ])
    for (const name of ['', ' ', 'a\u001b[2J', '\u202e', 'x'.repeat(61)]) {
      const { code, err } = await poppy('call', fake.origin, 'echo', '--account', name)
      expect([code, err]).toEqual([2, expect.stringContaining('An account gets a short name of your own')])
    }
  })

  it('stays between the person and their agent: no Company hears the name', async () => {
    const { fake, signIn, whoIs } = await sitWithTwo()
    await signIn('account-1', '--account', 'canary-name')
    await whoIs('--account', 'canary-name')
    const heard = fake.requests.map(({ path, query, headers, body }) => JSON.stringify([path, query, headers, body]))
    expect(heard.filter((text) => text.includes('canary-name'))).toEqual([])
  })
})

describe('poppy status and poppy tools', () => {
  it('know a Company by the name that it has now', async () => {
    const { poppy, fake, signIn } = await sitWithTwo()
    await signIn('account-1')
    expect((await poppy('status')).out).toContain('Fake Company')
    fake.switches.poppy = (document) => ({ ...document, organization: { name: 'New Name', domain: 'localhost' } })
    await poppy('discover', fake.origin)
    const { out } = await poppy('status')
    expect(out).toContain('New Name')
    expect(out).not.toContain('Fake Company')
    expect(out).toContain('signed in: poppy:read')
  })

  it('show what can be read where one API does not answer, and say which one did not', async () => {
    const { poppy, fake } = await sitWithTwo()
    const broken = { type: 'openapi', url: `${fake.origin}/nowhere/openapi.json` }
    const brokenMcp = { type: 'mcp', url: `${fake.origin}/nowhere/mcp` }
    fake.switches.poppy = (document) => ({
      ...document,
      apis: [broken, brokenMcp, ...(document.apis as readonly object[])],
    })
    const listed = await poppy('tools', fake.origin)
    expect(listed.code).toBe(0)
    expect(listed.out).toMatch(/^get_order +needs poppy:read$/m)
    expect(listed.out).toMatch(/^greet$/m)
    expect(listed.out).toContain(`Not shown, because it could not be read: ${broken.url} (`)
    expect(listed.out).toContain(`Not shown, because it could not be read: ${brokenMcp.url} (`)
    expect((await poppy('tools', fake.origin, 'greet')).code).toBe(0)
    expect((await poppy('call', fake.origin, 'echo')).code).toBe(0)
    expect((await poppy('call', fake.origin, 'greet')).out).toBe('Hello from greet\n')
    const json = (await poppy('tools', fake.origin, '--json')).out.trim().split('\n')
    expect(json.map((line): unknown => JSON.parse(line))).toEqual([
      expect.arrayContaining([expect.objectContaining({ name: 'echo' })]),
      expect.objectContaining({ unavailable: broken.url }),
      expect.objectContaining({ unavailable: brokenMcp.url }),
    ])
    // Whatever is not found might be where nobody could look.
    const unknown = await poppy('call', fake.origin, 'nonesuch')
    expect([unknown.code, unknown.err]).toEqual([expect.any(Number), expect.not.stringContaining('no tool named')])
    fake.switches.poppy = (document) => ({ ...document, apis: [broken] })
    const none = await poppy('tools', fake.origin)
    expect([none.out, none.err]).toEqual(['', expect.stringMatching(/^Error: /)])
  })
})
