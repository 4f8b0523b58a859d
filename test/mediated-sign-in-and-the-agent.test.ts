import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { inspect } from 'node:util'
import { createPersonalAgent, fileStore, generateKey } from '@poppyseed/agent'
import { describe, expect, it, onTestFinished } from 'vitest'
import { runPoppy } from '../packages/agent/src/cli/poppy.ts'
import { freePort } from './setup/free-port.ts'
import { listen } from './setup/listen.ts'
import { openSite } from './setup/site.ts'

// Section 4.7, our two sides together over real HTTP: the agent signs in with credentials that its User gave it.

const password = 'canary-password-s3cret'
const credentials = { email: 'maya@example.com', password }
const scopes = ['poppy:read']

function folder(): string {
  const path = mkdtempSync(join(tmpdir(), 'poppyseed-mediated-'))
  onTestFinished(() => rmSync(path, { recursive: true, force: true }))
  return path
}

/** A hotel that takes email and password, and sends a code to the agent that it doesn't know yet. */
async function openHotel() {
  const codes: string[] = []
  const site = await openSite({
    signIn: {
      direct: ['poppy:read', 'poppy:write', 'loyalty'],
      mediated: {
        scopes,
        fields: [
          { name: 'email', label: 'Email', secret: false },
          { name: 'password', label: 'Password', secret: true },
        ],
        verify: (given) => (given.email === credentials.email && given.password === password ? 'acc-maya' : null),
        sendCode: (code) => {
          codes.push(code)
          return 'Text to the phone number ending in 71'
        },
      },
    },
  })
  return { ...site, codes }
}

describe('an agent with credentials', () => {
  it('signs in, with a code the first time, and leaves no trace of either [4.7.every-field-agent, 4.7.only-code-agent, 4.7.secret-agent, 4.7.complete, 4.7.code-required]', async () => {
    const { origin, codes, log } = await openHotel()
    const path = folder()
    const keys = [await generateKey()]
    const wire: string[] = []
    let agent: ReturnType<typeof createPersonalAgent> | undefined
    await listen((own) => {
      agent = createPersonalAgent({
        clientId: `${own}/agent.json`,
        name: 'Example Agent',
        keys,
        store: fileStore(join(path, 'state.json')),
        allowHttp: true,
        fetch: async (url, init) => {
          wire.push(`${url} ${String(init.body)}`)
          return fetch(url, init)
        },
      })
      return agent.fetch
    })
    if (!agent) throw new Error('no agent')
    const session = (await agent.forUser('maya').company(origin)).session()
    const told: unknown[] = []
    const asked: boolean[] = []
    const request = {
      scopes,
      credentials,
      code: (one: { readonly sentTo: string; readonly isRepeated: boolean }) => {
        told.push(one)
        asked.push(one.isRepeated)
        const right = codes.at(-1) ?? ''
        return one.isRepeated ? right : right.replace(/.$/, (digit) => String((Number(digit) + 1) % 10))
      },
    }
    told.push(await session.signInMediated(request))
    expect(asked).toEqual([false, true])
    expect((await session.call('my_bookings')).body).toEqual({ account: 'acc-maya' })
    told.push(await session.state(), session)
    // Known by now: no code, and the Account Token before is replaced.
    expect(await session.signInMediated(request)).toMatchObject({ granted: scopes, replaced: 'revoked' })
    expect(codes).toHaveLength(1)
    const wrong = { scopes, credentials: { ...credentials, password: `${password}-not` } }
    told.push(await session.signInMediated(wrong).catch((error: unknown) => error))
    expect(told.at(-1)).toMatchObject({ code: 'sign_in_failed' })
    expect((await session.call('my_bookings')).body).toEqual({ account: 'acc-maya' })

    const files = readdirSync(path).map((name) => readFileSync(join(path, name), 'utf8'))
    const texts = [...files, ...log, ...told.map((one) => inspect(one, { depth: 9, showHidden: true }))]
    for (const secret of [password, ...codes]) expect(texts.filter((text) => text.includes(secret))).toEqual([])
    const carrying = wire.filter((text) => text.includes(password)).map((text) => text.split(' ')[0])
    expect(new Set(carrying)).toEqual(new Set([`${origin}/poppy/sign-in`]))
  })

  it('asks at the terminal, secrets apart, and says what happens in plain words [4.7.secret-agent]', async () => {
    const { origin, codes } = await openHotel()
    const port = await freePort()
    const prompts: string[] = []
    let isThere = true
    let out = ''
    const poppy = (...args: readonly string[]) =>
      runPoppy(args, {
        stdout: (text) => {
          out += text
        },
        stderr: (text) => {
          out += text
        },
        isTerminal: true,
        env: { POPPY_HOME: home, NO_COLOR: '1' },
        now: Date.now,
        prompt: () => ({
          ask: async (label, { secret }) => {
            prompts.push(`${label}${secret ? ' (secret)' : ''}`)
            if (!isThere) return undefined
            return { Email: credentials.email, Password: password, Code: codes.at(-1) }[label]
          },
          close: () => void prompts.push('closed'),
        }),
      })
    const home = join(folder(), 'home')
    await poppy('init', '--local', String(port))
    out = ''
    expect(await poppy('sign-in', origin, '--mediated')).toBe(0)
    expect(prompts).toEqual(['Email', 'Password (secret)', 'Code (secret)', 'closed'])
    expect(out).toContain('A one-time code is on its way: Text to the phone number ending in 71.')
    expect(out).toContain('Signed in at Hotel Miramar with poppy:read.')
    // The access is there: nobody is asked again.
    prompts.length = 0
    expect(await poppy('sign-in', origin, '--mediated', '--json')).toBe(0)
    expect(prompts).toEqual(['closed'])
    expect(await poppy('sign-in', origin, '--mediated', '--device')).toBe(2)
    isThere = false
    expect(await poppy('sign-in', origin, '--mediated', '--again')).toBe(3)
    expect(out).toContain('Email was not entered, so nothing was sent.')
    for (const secret of [password, ...codes]) expect(out).not.toContain(secret)
    const files = readdirSync(home).map((name) => readFileSync(join(home, name), 'utf8'))
    for (const secret of [password, ...codes]) expect(files.join()).not.toContain(secret)
  })
})
