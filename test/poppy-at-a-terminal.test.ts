import { execFileSync } from 'node:child_process'
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, it, onTestFinished } from 'vitest'
import { readQrCode } from '../packages/agent/test/qr-reader.ts'
import { build } from './setup/build.ts'
import { startChild } from './setup/child.ts'
import { freePort } from './setup/free-port.ts'
import { openSite } from './setup/site.ts'

// `poppy` as a person meets it, at a terminal of its own that echoes what is typed unless it is told not to. `script`, of
// util-linux, makes one; where it isn't there, nobody can tell.

const timeout = 180_000
const credentials = { email: 'maya@example.com', password: 'canary-password-s3cret' }
const codes: string[] = []

const scriptMissing = (() => {
  try {
    return execFileSync('script', ['--version'], { encoding: 'utf8' }).includes('util-linux') ? null : 'another script'
  } catch {
    return 'no script'
  }
})()

async function sitDown() {
  codes.length = 0
  const site = await openSite({
    signIn: {
      direct: ['poppy:read', 'poppy:write', 'loyalty'],
      device: ['poppy:read'],
      mediated: {
        scopes: ['poppy:read'],
        fields: [
          { name: 'email', label: 'Email', secret: false },
          { name: 'password', label: 'Password', secret: true },
        ],
        verify: ({ email, password }) =>
          email === credentials.email && password === credentials.password ? 'acc-maya' : null,
        sendCode: (code) => {
          codes.push(code)
          return 'Text to the phone number ending in 71'
        },
      },
    },
  })
  await build()
  const folder = mkdtempSync(join(tmpdir(), 'poppyseed-terminal-'))
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
  const home = join(folder, 'home')
  const port = await freePort()
  const poppy = ['packages/agent/bin/poppy.js', 'init', '--local', String(port)]
  expect(await startChild(process.execPath, poppy, { POPPY_HOME: home }).ended).toBe(0)
  return {
    site,
    home,
    atTerminal: (...args: readonly string[]) => {
      const command = [process.execPath, 'packages/agent/bin/poppy.js', ...args].map((word) => `'${word}'`).join(' ')
      const line = `stty cols 100 rows 60; ${command}`
      return startChild('script', ['-qefc', line, '/dev/null'], { POPPY_HOME: home, TERM: 'xterm' }, 'typed')
    },
  }
}

describe.skipIf(scriptMissing)('poppy at a terminal', () => {
  it('shows what is typed, and nothing of a secret; no file keeps it [4.7.secret-agent]', { timeout }, async () => {
    const { site, home, atTerminal } = await sitDown()
    const child = atTerminal('sign-in', site.origin, '--mediated')
    await child.says('Email: ')
    child.type(credentials.email)
    await child.says('Password: ')
    child.type(credentials.password)
    await child.says('Code: ')
    child.type(codes[0] ?? '')
    expect(await child.ended).toBe(0)
    const { stdout } = child.output
    // The line as the terminal echoed it shows that it does.
    expect(stdout).toContain(`Email: ${credentials.email}`)
    expect(stdout).toContain('Signed in at Hotel Miramar with poppy:read.')
    const files = readdirSync(home).map((name) => readFileSync(join(home, name), 'utf8'))
    for (const secret of [credentials.password, ...codes]) expect([stdout, ...files].join()).not.toContain(secret)
  })

  it('draws a code that a phone reads as the link', { timeout }, async () => {
    const { site, atTerminal } = await sitDown()
    const child = atTerminal('sign-in', site.origin, '--device')
    await child.says('user_code=')
    await child.says('Waiting for you')
    child.signal('SIGINT')
    const lines = child.output.stdout.split(/\r?\n/)
    const link = lines.find((line) => line.includes('user_code='))?.trim()
    const drawn = lines.filter((line) => /[▀▄█]/.test(line)).map((line) => [...line.slice(2)])
    const dark = drawn.flatMap((line) => ['▀█', '▄█'].map((light) => line.map((one) => !light.includes(one))))
    const size = dark[0]?.length ?? 0
    expect(readQrCode(dark.slice(4, size - 4).map((row) => row.slice(4, size - 4)))).toBe(link)
  })
})
