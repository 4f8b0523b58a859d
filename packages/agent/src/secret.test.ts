import { inspect } from 'node:util'
import { expect, it } from 'vitest'
import { Secret } from './secret.ts'

it('a secret prints as one, whatever prints it, and is there for whoever asks by name [4.8.never-shown-agent]', () => {
  const secret = new Secret('pat_canary')
  const held = { token: secret, list: [secret], map: new Map([['token', secret]]) }
  const printed = [
    ...[secret, held].flatMap((value) => [JSON.stringify(value), inspect(value, { depth: 9, showHidden: true })]),
    `${secret}`,
    String(secret),
    JSON.stringify(Object.entries(secret)),
    new Error(`for ${secret}`).stack,
  ].join('\n')
  expect(printed).not.toContain('canary')
  expect(printed).toContain('[secret]')
  expect(secret.reveal()).toBe('pat_canary')
})
