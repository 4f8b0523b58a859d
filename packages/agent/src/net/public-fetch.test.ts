import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { describe, expect, it, onTestFinished } from 'vitest'
import { errorOf } from '../../test/visit.ts'
import { send } from './exchange.ts'
import { createPublicFetch, mayDial } from './public-fetch.ts'

describe('addresses', () => {
  it.each([
    ...['127.0.0.1', '10.1.2.3', '172.31.0.1', '192.168.1.1', '169.254.169.254', '100.64.0.1', '0.0.0.0', '198.18.0.1'],
    ...['255.255.255.255', '224.0.0.1', '::1', '::', 'fc00::1', 'fe80::1', 'fe80::1%eth0', 'ff02::1', '2001:db8::1'],
    ...['::ffff:127.0.0.1', '::ffff:10.0.0.1', '64:ff9b::192.168.0.1', '2002:a00:1::', '[::1]', 'localhost', ''],
  ])('%s is not dialled', (address) => {
    expect(mayDial(address, false)).toBe(false)
  })

  it.each(['8.8.8.8', '2606:4700::1111', '::ffff:8.8.8.8', '64:ff9b::8.8.8.8', '172.32.0.1'])(
    '%s is dialled',
    (address) => {
      expect(mayDial(address, false)).toBe(true)
    },
  )

  it('of this machine are dialled in development, and no other private ones', () => {
    expect(['127.0.0.1', '::1', '::ffff:127.0.0.1'].map((address) => mayDial(address, true))).toEqual([
      true,
      true,
      true,
    ])
    expect(['10.0.0.1', '169.254.169.254', 'fd00::1'].map((address) => mayDial(address, true))).toEqual([
      false,
      false,
      false,
    ])
  })
})

it('asks no private address, named or literal, and says so', async () => {
  let asked = 0
  const server = createServer((_, response) => {
    asked++
    response.end('hello')
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => void server.close())
  const { port } = server.address() as AddressInfo
  for (const host of ['localhost', '127.0.0.1', '[::ffff:127.0.0.1]', '2130706433']) {
    const error = await errorOf(send(createPublicFetch(false), `http://${host}:${port}/`, {}, { seconds: 5 }))
    expect([error.code, error.action, error.message]).toEqual([
      'unreachable',
      'give_up',
      expect.stringContaining('inside a private network'),
    ])
  }
  expect(asked).toBe(0)
  const answer = await send(createPublicFetch(true), `http://localhost:${port}/`, {}, { seconds: 5 })
  expect(await answer.text()).toBe('hello')
})
