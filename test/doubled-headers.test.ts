import { once } from 'node:events'
import { connect } from 'node:net'
import { sqlite } from 'poppyseed/sqlite'
import { describe, expect, it } from 'vitest'
import { listen } from './setup/listen.ts'
import { openLosingWorld } from './setup/losing.ts'
import { makeWorld } from './setup/world.ts'

/** Header lines twice, on the wire, through the listeners that sites use: some parsers keep the first of two and say nothing. */

async function statusOf(port: number, path: string, lines: readonly string[]): Promise<string> {
  const socket = connect(port, '127.0.0.1')
  let text = ''
  socket.setEncoding('utf8').on('data', (part: string) => {
    text += part
  })
  const body = '{"text":"x"}'
  const head = [
    `POST ${path} HTTP/1.1`,
    `host: localhost:${port}`,
    'connection: close',
    'content-type: application/json',
    `content-length: ${body.length}`,
    ...lines,
  ]
  socket.write(`${head.join('\r\n')}\r\n\r\n${body}`)
  await once(socket, 'close')
  return `${/^HTTP\/1\.1 (\d+)/.exec(text)?.[1]} ${/error="(\w+)"/.exec(text)?.[1] ?? ''}`.trim()
}

const listeners = {
  'Node’s own, by toNodeHandler': async () => {
    const { world } = await openLosingWorld(sqlite(':memory:'))
    return { world, port: Number(new URL(world.origin).port) }
  },
  '@hono/node-server': async () => {
    const world = await makeWorld({
      origin: 'http://localhost:1',
      development: true,
      organization: { name: 'H', domain: 'localhost' },
    })
    const { port } = await listen(() => (request) => world.company.fetch(request))
    return { world, port }
  },
}

describe.each(Object.entries(listeners))('behind %s', (_name, open) => {
  it('two Authorization lines, or two proofs, are refused, whichever comes first [K09, 6.invalid-token, 4.3.failed-proof]', async () => {
    const { world, port } = await open()
    const { agent, origin } = world
    const { access_token } = await world.start()
    const path = '/poppy/tools/echo'
    const proof = () => agent.proof('POST', origin + path, access_token)
    const right = async () => [`authorization: DPoP ${access_token}`, `dpop: ${await proof()}`]
    const end = async (...lines: string[]) => statusOf(port, path, lines)
    const isHere = (await end(...(await right()))).startsWith('200')
    for (const other of ['authorization: DPoP x', 'authorization: Bearer x', `authorization: DPoP ${access_token}`]) {
      expect(await end(...(await right()), other)).toMatch(/^401 invalid_token|^421/)
      expect(await end(other, ...(await right()))).toMatch(/^401 invalid_token|^421/)
    }
    for (const other of ['dpop: x', `dpop: ${await proof()}`]) {
      expect(await end(...(await right()), other)).toMatch(/^401 invalid_dpop_proof|^421/)
      expect(await end(other, ...(await right()))).toMatch(/^401 invalid_dpop_proof|^421/)
    }
    expect(isHere).toBe(true)
  })
})
