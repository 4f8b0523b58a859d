import { readFile, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { emptyFolder, openCompany, sitDown } from '../../test/sit-down.ts'

describe('poppy', () => {
  it('makes an identity once, for its owner alone', async () => {
    const { poppy, init, home, port } = await sitDown()
    const before = await poppy('status')
    expect([before.code, before.err]).toEqual([1, expect.stringContaining('Try: poppy init --local')])
    const made = await init()
    expect([made.code, made.out]).toEqual([0, expect.stringContaining(`http://localhost:${port}/agent.json`)])
    expect((await stat(join(home, 'identity.json'))).mode & 0o777).toBe(0o600)
    expect((await stat(home)).mode & 0o777).toBe(0o700)
    const kept = await readFile(join(home, 'identity.json'), 'utf8')
    const again = await init()
    expect([again.code, again.err]).toEqual([1, expect.stringContaining('There is an identity already')])
    expect(await readFile(join(home, 'identity.json'), 'utf8')).toBe(kept)
    expect((await poppy('status')).out).toContain('No Company has been visited yet.')
  })

  it('shows its signing keys and rotates them, and no private part of one', async () => {
    const { poppy, init } = await sitDown()
    await init()
    expect((await poppy('identity')).out).toMatch(/^http:\/\/localhost:\d+\/agent\.json\n\n {2}\S{43} {2}signs\n$/)
    const rotated = await poppy('identity', 'rotate')
    expect([rotated.code, rotated.out]).toEqual([
      0,
      expect.stringMatching(/signs +until .* UTC\n.*signs next +from .* UTC\n/),
    ])
    const { keys } = JSON.parse((await poppy('identity', '--json')).out) as { keys: Record<string, unknown>[] }
    expect(keys.map((key) => [key.state, Object.keys(key)])).toEqual([
      ['signing', ['kid', 'state', 'signsFrom', 'until']],
      ['next', ['kid', 'state', 'signsFrom', 'until']],
    ])
    const alone = await poppy('identity', 'rotate', '--compromised', '--json')
    expect((JSON.parse(alone.out) as { keys: unknown[] }).keys).toHaveLength(1)
    expect((await poppy('identity', 'spin')).code).toBe(2)
  })

  it('says to type npx where it came by npx', async () => {
    const { poppy, init } = await sitDown({ env: { POPPY_HOME: await emptyFolder(), npm_lifecycle_event: 'npx' } })
    expect((await poppy('status')).err).toContain(
      '\nTry: npx poppy init --local (for development), or npx poppy init --help\n',
    )
    expect((await init()).out).toContain('\nNext: npx poppy discover localhost:4000\n')
  })

  it('wants to know where the agent lives', async () => {
    const { poppy } = await sitDown()
    for (const args of [[], ['--local', 'x'], ['--client-id', 'https://a.example/a.json', '--local']]) {
      expect((await poppy('init', ...args)).code).toBe(2)
    }
    expect((await poppy('init', '--client-id', 'http://a.example/agent.json')).code).toBe(1)
    expect((await poppy('init', '--client-id', 'https://a.example/agent.json')).out).toContain('Next: poppy serve')
  })

  it('visits a Company: discover, tools, call, sign in, call, sign out', async () => {
    const fake = await openCompany()
    const { poppy, init, until, port } = await sitDown()
    await init()
    const company = fake.origin
    expect((await poppy('discover', company)).out).toContain('in your browser: poppy:read, poppy:write, addresses')
    const tools = await poppy('tools', company)
    expect(tools.out).toMatch(/^get_order +needs poppy:read$/m)
    expect(tools.out).toMatch(/^greet$/m)
    expect((await poppy('call', company, 'echo', '--arg', 'text=5', '--arg', 'n=5')).out).toContain('"n": 5')
    expect((await poppy('call', company, 'greet')).out).toBe('Hello from greet\n')

    const refused = await poppy('call', company, 'get_order', '--arg', 'id=1')
    expect([refused.code, refused.out, refused.err]).toEqual([
      3,
      '',
      `Error: Fake Company needs you to sign in for this.\nTry: poppy sign-in ${company} --scope poppy:read\n`,
    ])
    const signingIn = poppy('sign-in', company, '--scope', 'poppy:read')
    const page = await fetch(fake.approve(await until(/(http\S+\/authorize\S+)/)))
    expect([page.status, await page.text()]).toEqual([200, expect.stringContaining('You can close this window.')])
    expect((await signingIn).out).toContain('Signed in at Fake Company with poppy:read.')
    expect((await poppy('call', company, 'get_order', '{"id":"7"}', '--json')).out).toContain('"path":"/api/orders/7"')
    expect((await poppy('status')).out).toContain('signed in: poppy:read')
    expect((await poppy('sign-out', company)).out).toContain('Signed out at Fake Company.')
    expect((await poppy('call', company, 'get_order', '--arg', 'id=1')).code).toBe(3)
    // The port is free again after each command.
    await expect(fetch(`http://localhost:${port}/agent.json`)).rejects.toThrow()
  })

  it('takes the callback in one process and tells the other, while poppy serve runs', async () => {
    const fake = await openCompany()
    const stop = new AbortController()
    const { poppy, init, until, home } = await sitDown({ stop: stop.signal })
    await init()
    const serving = poppy('serve')
    await until(/Serving/)
    const other = await sitDown()
    const signingIn = other.poppy('sign-in', fake.origin, '--json', '--home', home)
    const opened = await other.until(/"open":"([^"]+)"/)
    await fetch(fake.approve(opened))
    const { code, out } = await signingIn
    expect([code, out.trim().split('\n').length, out]).toEqual([
      0,
      2,
      expect.stringContaining('"granted":["poppy:read"'),
    ])
    stop.abort()
    expect((await serving).code).toBe(0)
  })

  it('says a decline, and exits with 1', async () => {
    const fake = await openCompany()
    const { poppy, init, until } = await sitDown()
    await init()
    const signingIn = poppy('sign-in', fake.origin)
    await fetch(fake.approve(await until(/(http\S+\/authorize\S+)/), { decline: true }))
    expect(await signingIn).toMatchObject({ code: 1, err: 'Error: The sign-in was declined. Nothing was granted.\n' })
    // All was declined together, so a part may still be asked for; a part that was declined is not.
    const call = () => poppy('call', fake.origin, 'get_order', '--arg', 'id=1')
    expect((await call()).code).toBe(3)
    const again = poppy('sign-in', fake.origin, '--scope', 'poppy:read')
    await fetch(fake.approve(await until(/(http\S+\/authorize\S+)/), { decline: true }))
    await again
    const { code, err } = await call()
    expect([code, err]).toEqual([
      1,
      expect.stringContaining(`If you have changed your mind: poppy sign-in ${fake.origin} --scope poppy:read\n`),
    ])
  })

  it('exits with 2 for what it does not understand, and with 4 for what may work later', async () => {
    const fake = await openCompany()
    const { poppy, init } = await sitDown()
    await init()
    for (const args of [
      ['frobnicate'],
      ['call', fake.origin],
      ['discover', fake.origin, '--colour'],
      ['call', fake.origin, 'echo', '[1]'],
      ['call', fake.origin, 'echo', '{}', '--arg', 'a=b'],
      ['call', fake.origin, 'echo', '--arg', 'a'],
      ['discover', 'not a domain'],
    ]) {
      expect([args, (await poppy(...args)).code]).toEqual([args, 2])
    }
    // What a command lacks is told with that command's help, not with the list of all of them.
    expect((await poppy('call', fake.origin)).err).toContain('Try: poppy call --help')
    const unknown = await poppy('call', fake.origin, 'nonesuch')
    expect([unknown.code, unknown.err]).toEqual([1, expect.stringContaining(`Try: poppy tools ${fake.origin}`)])
    fake.switches.limit = { path: '/api/', times: 9, retryAfter: '3600' }
    expect(await poppy('call', fake.origin, 'echo', '--json')).toMatchObject({
      code: 4,
      err: '',
      out: expect.stringContaining('"retryAfter":3600'),
    })
    expect((await poppy('--help')).out).toContain('3  you are needed')
    expect((await poppy('call', '--help')).code).toBe(0)
  })

  it('writes JSON that a terminal can show: what it would act on is escaped, and nothing is lost', async () => {
    const fake = await openCompany()
    const { poppy, init } = await sitDown({ isTerminal: true })
    await init()
    const odd = 'a\u001b[2J\u009b2J\u007f\u202eb\u2028'
    fake.switches.answers.push({
      status: 200,
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ odd }),
    })
    const { out } = await poppy('call', fake.origin, 'echo', '--json')
    // biome-ignore lint/suspicious/noControlCharactersInRegex: that there are none is what is tested
    expect(out).not.toMatch(/[\u0000-\u0009\u000b-\u001f\u007f-\u009f\u2028\u202e]/)
    expect(JSON.parse(out)).toMatchObject({ result: { odd } })
  })

  it('says nothing but JSON, one value a line, to whoever asks with --json', async () => {
    const fake = await openCompany()
    const stop = new AbortController()
    const { poppy, until, port } = await sitDown({ stop: stop.signal, isTerminal: true })
    const company = fake.origin
    const said = async (...args: readonly string[]) => {
      const { code, out, err } = await poppy(...args, '--json')
      expect([args[0], err, out.endsWith('\n')]).toEqual([args[0], '', true])
      const values = out.trimEnd().split('\n') as readonly string[]
      return { code, values: values.map((line) => JSON.parse(line) as Record<string, unknown>) }
    }
    expect(await said('status')).toMatchObject({ code: 1, values: [{ error: 'misconfigured', action: 'give_up' }] })
    expect(await said('init', '--local', String(port))).toMatchObject({ code: 0, values: [{ local: true }] })
    expect(await said('discover', company)).toMatchObject({ code: 0, values: [{ name: 'Fake Company' }] })
    expect((await said('tools', company)).code).toBe(0)
    expect(await said('call', company, 'get_order', '--arg', 'id=1')).toMatchObject({
      code: 3,
      values: [{ error: 'sign_in_required', action: 'ask_owner', scopes: ['poppy:read'] }],
    })
    const signingIn = said('sign-in', company, '--scope', 'poppy:read')
    await fetch(fake.approve(await until(/"open":"([^"]+)"/)))
    expect(await signingIn).toMatchObject({
      code: 0,
      values: [{ open: expect.any(String) }, { granted: ['poppy:read'] }],
    })
    expect((await said('call', company, 'get_order', '--arg', 'id=1')).code).toBe(0)
    expect(await said('status')).toMatchObject({ code: 0, values: [{ companies: [{ name: 'Fake Company' }] }] })
    expect(await said('sign-out', company)).toMatchObject({ code: 0, values: [{ revoked: true }] })
    const serving = said('serve')
    await until(/"port":/)
    stop.abort()
    expect(await serving).toMatchObject({ code: 0, values: [{ port }] })
  })

  it('prints a Company’s text without its escapes, and quotes what a shell would run', async () => {
    const fake = await openCompany()
    fake.switches.poppy = (document) => ({
      ...document,
      organization: { name: 'Bad \u001b]0;title\u0007\u001b[2J\u202eName', domain: 'localhost' },
    })
    const { poppy, init, home } = await sitDown({ isTerminal: true })
    await init()
    const env = { POPPY_HOME: home }
    for (const surroundings of [{ env: { ...env, NO_COLOR: '1' } }, { env, isTerminal: false }]) {
      const { poppy: plain } = await sitDown(surroundings)
      const { out } = await plain('discover', fake.origin)
      expect(out).toContain('Bad ]0;title [2J Name')
      // biome-ignore lint/suspicious/noControlCharactersInRegex: that there are none is what is tested
      expect(out).not.toMatch(/[\u0000-\u0009\u000b-\u001f\u007f-\u009f\u202e]/)
    }
    // A terminal shows the name in bold.
    const { poppy: bright } = await sitDown({ env, isTerminal: true })
    expect((await bright('discover', fake.origin)).out).toContain('\u001b[1mBad ]0;title [2J Name\u001b[22m')

    await poppy('call', fake.origin, 'echo')
    fake.switches.answers.push({
      status: 403,
      headers: { 'www-authenticate': `DPoP error="sign_in_required", scope="$(id) it's a:b"` },
      body: '',
    })
    expect((await poppy('call', fake.origin, 'echo')).err).toContain(`--scope '$(id)' --scope 'it'\\''s' --scope a:b`)
  })

  it('signs in with a code on another device: link and code, plain words, and no escape codes [4.6.shows-user-code-agent]', async () => {
    const fake = await openCompany()
    let decision = {}
    const { poppy, init } = await sitDown({
      isTerminal: true,
      wait: async () => fake.decideDevice(fake.lastUserCode(), decision),
    })
    await init()
    const done = await poppy('sign-in', fake.origin, '--device', '--scope', 'poppy:read')
    expect([done.code, done.err]).toEqual([0, expect.stringContaining('The code ends after 10 minutes.')])
    for (const part of [
      'enter the code:',
      'WDJB-0000',
      `  ${fake.origin}/device?user_code=WDJB-0000`,
      'with poppy:read.',
    ])
      expect(done.out).toContain(part)
    decision = { decline: true }
    const declined = await poppy('sign-in', fake.origin, '--device', '--again', '--json')
    expect(declined.code).toBe(1)
    const [shown, end] = declined.out
      .trim()
      .split('\n')
      .map((line): unknown => JSON.parse(line))
    expect(shown).toEqual({
      userCode: 'WDJB-0001',
      verificationUri: `${fake.origin}/device`,
      verificationUriComplete: `${fake.origin}/device?user_code=WDJB-0001`,
      isOwnPage: true,
      expiresAt: expect.stringMatching(/^\d{4}-.*Z$/),
    })
    expect(end).toMatchObject({ error: 'sign_in_declined' })
    const plain = await sitDown({
      isTerminal: true,
      env: { POPPY_HOME: await emptyFolder(), NO_COLOR: '1' },
      wait: async () => fake.decideDevice(fake.lastUserCode(), { decline: true }),
    })
    await plain.init()
    const without = await plain.poppy('sign-in', fake.origin, '--device')
    expect([without.code, without.out + without.err]).toEqual([1, expect.not.stringContaining('\u001b')])
    expect(without.err).toContain('The sign-in was declined. Nothing was granted.')
    fake.switches.poppy = (document) => ({ ...document, auth: { issuer: fake.origin } })
    const other = await sitDown()
    await other.init()
    expect((await other.poppy('sign-in', fake.origin, '--device')).err).toContain('no sign-in with a code')
  })

  it('lets a browser that an agent controls join the visit, with a warning [5.own-browser-agent]', async () => {
    const fake = await openCompany()
    fake.switches.poppy = (document) => ({
      ...document,
      web: { browser_session_endpoint: `${fake.origin}/browser-session` },
    })
    const { poppy, until, init } = await sitDown({ wait: async () => {} })
    await init()
    const opening = poppy('open', fake.origin, `${fake.origin}/bookings`)
    const html = await (await fetch(await until(/http:\/\/127\.0\.0\.1:\d+\/[\w-]{43}/))).text()
    expect(html).toContain(`action="${fake.origin}/browser-session"`)
    const { code, out } = await opening
    expect([code, out]).toEqual([0, expect.stringContaining('Not in your own browser')])
    const elsewhere = await poppy('open', fake.origin, 'https://evil.example/', '--json')
    expect([elsewhere.code, JSON.parse(elsewhere.out)]).toEqual([
      1,
      expect.objectContaining({ error: 'foreign_origin' }),
    ])
    fake.switches.poppy = (document) => document
    const { err } = await poppy('open', fake.origin)
    expect(err).toContain('browse its website as an ordinary visitor')
  })
})
