import { PassThrough } from 'node:stream'
import { describe, expect, it } from 'vitest'
import { openPrompt } from './prompt.ts'

function terminal(isTTY: boolean) {
  const input = Object.assign(new PassThrough(), { isTTY })
  const output = new PassThrough()
  let shown = ''
  output.on('data', (part: Buffer) => {
    shown += part.toString()
  })
  return { input, prompt: openPrompt(input, output), shown: () => shown }
}

describe('the prompt', () => {
  it('shows what is typed, but nothing of a secret [4.7.secret-agent]', async () => {
    const { input, prompt, shown } = terminal(true)
    const email = prompt.ask('Email', { secret: false })
    for (const key of 'maya@example.com\r') input.write(key)
    expect(await email).toBe('maya@example.com')
    const password = prompt.ask('Password', { secret: true })
    for (const key of 'sea-view-42') input.write(key)
    // Arrow keys bring back nothing that was typed before.
    input.write('\u001b[A\u001b[B\r')
    expect(await password).toBe('sea-view-42')
    prompt.close()
    expect(shown()).toContain('maya@example.com')
    expect(shown()).toContain('Password: ')
    expect(shown()).not.toMatch(/sea|view|42/)
  })

  it('shows nothing of a secret that comes too early: pasted together with what is before it, or typed between two questions [4.7.secret-agent]', async () => {
    const { input, prompt, shown } = terminal(true)
    const email = prompt.ask('Email', { secret: false })
    input.write('maya@example.com\rsea-view-42\r4711')
    expect(await email).toBe('maya@example.com')
    expect(await prompt.ask('Password', { secret: true })).toBe('sea-view-42')
    const code = prompt.ask('Code', { secret: true })
    input.write('47\r')
    expect(await code).toBe('471147')
    input.write('another')
    expect(shown()).toBe('Email: maya@example.com\r\nPassword: \nCode: \n')
    prompt.close()
    expect(await prompt.ask('Code', { secret: true })).toBeUndefined()
  })

  it('ends with nothing where the person gives up', async () => {
    const { input, prompt } = terminal(true)
    const password = prompt.ask('Password', { secret: true })
    input.write('sea\u0003')
    expect(await password).toBeUndefined()
  })

  it('reads the lines of a pipe, and ends when there are none', async () => {
    const { input, prompt, shown } = terminal(false)
    input.end('maya@example.com\nsea-view-42\n')
    expect(await prompt.ask('Email', { secret: false })).toBe('maya@example.com')
    expect(await prompt.ask('Password', { secret: true })).toBe('sea-view-42')
    expect(await prompt.ask('Code', { secret: true })).toBeUndefined()
    expect(shown()).toBe('Email: \nPassword: \nCode: \n')
  })
})
