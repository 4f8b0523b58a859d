import { execFileSync } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createMisbehavingCompany } from '@poppyseed/conformance'
import { describe, expect, it, onTestFinished } from 'vitest'
import { build } from './setup/build.ts'
import { startChild } from './setup/child.ts'
import { freePort } from './setup/free-port.ts'
import { terminalScreen } from './setup/terminal-screen.ts'

// `poppy chat` at a terminal of its own: what a person sees is read from the screen, row by row, as it stands at the end.

const timeout = 120_000
const columns = 60

const scriptMissing = (() => {
  try {
    return execFileSync('script', ['--version'], { encoding: 'utf8' }).includes('util-linux') ? null : 'another script'
  } catch {
    return 'no script'
  }
})()

async function sitDown() {
  await build()
  const company = await createMisbehavingCompany({})
  onTestFinished(company.close)
  const folder = mkdtempSync(join(tmpdir(), 'poppyseed-chat-terminal-'))
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
  const env = { POPPY_HOME: join(folder, 'home'), TERM: 'xterm', npm_lifecycle_event: '' }
  const port = await freePort()
  const poppy = 'packages/agent/bin/poppy.js'
  expect(await startChild(process.execPath, [poppy, 'init', '--local', String(port)], env).ended).toBe(0)
  const chat = (...options: readonly string[]) => {
    const command = [process.execPath, poppy, 'chat', company.origin, ...options].map((word) => `'${word}'`).join(' ')
    const line = `stty cols ${columns} rows 40; ${command}`
    const child = startChild('script', ['-qefc', line, '/dev/null'], env, 'typed')
    return { ...child, rows: () => terminalScreen(child.output.stdout, columns) }
  }
  return { company, chat, id: () => company.conversations.entries[0]?.id ?? '' }
}

describe.skipIf(scriptMissing)('poppy chat at a terminal', () => {
  it('shows a message above the line that is typed, however long that is, and keeps what was typed', {
    timeout,
  }, async () => {
    const { company, chat, id } = await sitDown()
    company.conversations.script([{ say: 'Which room?' }], [{ say: 'Noted.' }])
    const child = chat()
    await child.says('/help shows the rest.')
    child.type('It is loud here.')
    await child.says('Which room?')
    const half = 'The one on the second floor beside the stairs, where the'
    child.press(half)
    await child.says('where the')
    child.press(' bus stops all night long')
    await child.says('night long')
    company.conversations.say(id(), { say: 'Take your time.', sender: 'human' })
    await child.says('Take your time.')
    company.conversations.say(id(), { say: 'I wait.', sender: 'human' })
    await child.says('I wait.')
    child.type('.')
    await child.says('Noted.')
    child.type('/leave')
    expect(await child.ended).toBe(0)
    const rows = child.rows()
    expect(rows.slice(rows.indexOf('> It is loud here.'))).toEqual([
      '> It is loud here.',
      'Misbehaving Company (AI): Which room?',
      'Misbehaving Company (a person): Take your time.',
      'Misbehaving Company (a person): I wait.',
      ...terminalScreen(`> ${half} bus stops all night long.`, columns),
      'Misbehaving Company (AI): Noted.',
      '> /leave',
      ...terminalScreen(`Next: poppy chat ${company.origin} --continue ${id()}`, columns),
    ])
    expect(company.findings).toEqual([])
  })

  it('streams with nothing between the words, and shows what was typed meanwhile behind them', {
    timeout,
  }, async () => {
    const { company, chat } = await sitDown()
    company.conversations.script(
      [{ say: 'Which room?' }],
      [{ say: 'One moment,\nplease.', deltas: ['One mo', 'ment,\nplease.'], data: { floor: 2 } }],
    )
    const child = chat('--trace')
    await child.says('/help shows the rest.')
    child.type('It is loud here.')
    await child.says('text/event-stream')
    child.type('The one by the stairs.')
    await child.says('floor')
    child.press('\u0003')
    expect(await child.ended).toBe(0)
    const rows = child.rows()
    const at = rows.indexOf('Misbehaving Company (AI): One moment,')
    expect(rows.slice(at, at + 2)).toEqual(['Misbehaving Company (AI): One moment,', '  please.'])
    expect(rows.join('\n').match(/please\./g)).toHaveLength(1)
    expect(rows.filter((row) => row.startsWith('>') && row.includes('→'))).toEqual([])
    // Ctrl-C leaves the line as it is, and says how to go on below it.
    const next = rows.findIndex((row) => row.startsWith('Next: poppy chat '))
    expect(rows[next - 1]).toBe('>')
    expect(company.findings).toEqual([])
  })

  it('goes on while a page to sign in is open, which Ctrl-C closes, and the next Ctrl-C leaves', {
    timeout,
  }, async () => {
    const { company, chat, id } = await sitDown()
    company.conversations.script([{ needs: ['poppy:read'] }])
    const child = chat()
    await child.says('/help shows the rest.')
    child.type('Which room is mine?')
    await child.says('Open this address in your browser to sign in:')
    await child.says('Ctrl-C cancels the sign-in, and nothing else.')
    child.press('It is the one')
    await child.says('It is the one')
    company.conversations.say(id(), { state: { responder: 'human' } }, { say: 'I am Rosa.', sender: 'human' })
    await child.says('I am Rosa.')
    child.press('\u0003')
    await child.says('/sign-in opens it again.')
    child.type(' by the stairs.')
    await expect.poll(() => company.conversations.entries[0]?.received.length, { timeout: 30_000 }).toBe(2)
    child.press('\u0003')
    expect(await child.ended).toBe(0)
    const rows = child.rows()
    const at = rows.indexOf('A person answers now.')
    expect(rows.slice(at, at + 4)).toEqual([
      'A person answers now.',
      'Misbehaving Company (a person): I am Rosa.',
      ...terminalScreen('Sign-in cancelled; the conversation goes on without it. /sign-in opens it again.', columns),
    ])
    expect(rows).toContain('> It is the one by the stairs.')
    expect(rows.filter((row) => row.startsWith('Next: poppy chat '))).toHaveLength(1)
    expect(company.conversations.entries[0]?.received[1]?.text).toBe('It is the one by the stairs.')
    expect(company.findings).toEqual([])
  })

  it('writes nothing but JSON for a program, at a terminal too', { timeout }, async () => {
    const { company, chat } = await sitDown()
    company.conversations.script([{ say: 'Which room?' }])
    const child = chat('--json')
    child.type('It is loud here.')
    await child.says('Which room?')
    child.type('/close')
    child.press('\u0004')
    expect(await child.ended).toBe(0)
    const rows = child.output.stdout.split(/\r?\n/).filter((row) => row.startsWith('{'))
    const values = rows.map((row): unknown => JSON.parse(row))
    expect(values.at(-1)).toEqual({ conversation: company.conversations.entries[0]?.id, status: 'closed' })
    expect(child.output.stdout).not.toContain('\u001b')
    expect(child.output.stdout).not.toContain('> ')
  })
})
