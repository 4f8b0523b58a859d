import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { createServer, Agent as HttpAgent, request as sendRequest } from 'node:http'
import type { AddressInfo, Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { tool } from 'poppyseed'
import { stopServer, toNodeHandler } from 'poppyseed/node'
import { expect, it, onTestFinished } from 'vitest'
import { z } from 'zod'
import { build } from './setup/build.ts'
import { startChild } from './setup/child.ts'
import { seedHotel } from './setup/seeded-hotel.ts'
import { makeWorld } from './setup/world.ts'

/** A process with a Company in it is told to end while people are calling: nobody who was let in is cut off. */

/** What became of one request. */
type Fate =
  | { readonly id: string; readonly status: number; readonly body: string }
  | { readonly id: string; readonly lost: string }

/** Sends one request over a connection of the agent's and reads its whole answer, or tells what broke it. */
function send(
  to: { readonly port: number; readonly agent: HttpAgent },
  of: Request,
  body: string,
  id: string,
): Promise<Fate> {
  const { pathname, search } = new URL(of.url)
  return new Promise((resolve) => {
    let begun = 'before an answer'
    const lost = (error: Error) =>
      resolve({ id, lost: `${'code' in error ? String(error.code) : error.name} ${begun}` })
    const sent = sendRequest(
      {
        port: to.port,
        host: '127.0.0.1',
        agent: to.agent,
        method: of.method,
        path: pathname + search,
        headers: Object.fromEntries(of.headers),
      },
      (answer) => {
        begun = 'in the middle'
        let text = ''
        answer.setEncoding('utf8')
        answer.on('data', (chunk: string) => {
          text += chunk
        })
        answer.on('end', () =>
          answer.complete ? resolve({ id, status: answer.statusCode ?? 0, body: text }) : lost(new Error('cut short')),
        )
        answer.on('error', lost)
      },
    )
    sent.on('error', lost)
    sent.end(body)
  })
}

it('answers whole whatever its tools began, and the Company takes no more', { timeout: 60_000 }, async () => {
  const begun = new Set<string>()
  const world = await makeWorld({
    tools: [
      tool({
        name: 'count',
        description: 'Notes that it began, and takes its time.',
        input: z.object({ id: z.string() }),
        async run({ id }) {
          begun.add(id)
          for (let turn = 0; turn < 5; turn++) await new Promise((resolve) => setImmediate(resolve))
          return { id, text: 'x'.repeat(20_000) }
        },
      }),
    ],
  })
  const server = createServer(toNodeHandler(world.company))
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  const { access_token } = await world.start()
  const url = `${world.origin}/poppy/tools/count`
  // Proofs beforehand, so that the connections are busy and not the signer.
  const made = await Promise.all(
    Array.from({ length: 600 }, async (_, index) => ({
      id: `call ${index}`,
      request: new Request(url, {
        method: 'POST',
        headers: {
          host: 'miramar.example',
          authorization: `DPoP ${access_token}`,
          dpop: await world.agent.proof('POST', url, access_token),
          'content-type': 'application/json',
        },
      }),
    })),
  )
  const agent = new HttpAgent({ keepAlive: true, maxSockets: 8 })
  onTestFinished(() => agent.destroy())
  const fates: Fate[] = []
  let stopping: Promise<void> | undefined
  const line = async () => {
    for (let one = made.pop(); one; one = made.pop()) {
      fates.push(await send({ port, agent }, one.request, JSON.stringify({ id: one.id }), one.id))
      if (fates.length === 100) stopping = stopServer(server, world.company, { drain: 60 })
    }
  }
  await Promise.all(Array.from({ length: 8 }, line))
  await stopping
  expect(server.listening).toBe(false)
  const answered = fates.filter((fate) => 'status' in fate)
  const whole = answered.filter(
    ({ status, id, body }) => status === 200 && JSON.parse(body).id === id && body.length > 20_000,
  )
  // Every call that a tool began came back whole, and nothing broke in the middle of an answer.
  expect(new Set(whole.map(({ id }) => id))).toEqual(begun)
  expect(fates.filter((fate) => 'lost' in fate && fate.lost.endsWith('in the middle'))).toEqual([])
  // Whoever came later was told so, or found no connection.
  for (const { status, body } of answered.filter((fate) => !whole.includes(fate)))
    expect({ status, code: (JSON.parse(body) as { error: string }).error }).toEqual({
      status: 503,
      code: 'temporarily_unavailable',
    })
  expect(whole.length).toBeGreaterThan(100)
  expect(whole.length).toBeLessThan(600)
  await expect(
    new Promise((resolve, reject) => sendRequest({ port, host: '127.0.0.1' }, resolve).on('error', reject).end()),
  ).rejects.toMatchObject({ code: 'ECONNREFUSED' })
})

/** The hotel as whoever runs it starts it. */
async function openHotel() {
  const directory = mkdtempSync(join(tmpdir(), 'hotel-stopping-'))
  onTestFinished(() => rmSync(directory, { recursive: true, force: true }))
  await build()
  const child = startChild(process.execPath, ['examples/hotel/dist/main.js'], {
    PORT: '0',
    DATABASE_DIR: seedHotel(directory),
  })
  await child.says('Look around')
  const port = Number(/open at http:\/\/localhost:(\d+)/.exec(child.output.stdout)?.[1])
  return { child, port }
}

it('the hotel closes under load: answers are whole, and it ends with 0', { timeout: 120_000 }, async () => {
  const { child, port } = await openHotel()
  const agent = new HttpAgent({ keepAlive: true, maxSockets: 12 })
  onTestFinished(() => agent.destroy())
  const fates: Fate[] = []
  const paths = ['/', '/rooms/faro', '/.well-known/poppy.json', '/poppy/openapi.json', '/hotel.css']
  let told = 0
  const line = async (at: number) => {
    for (let turn = 0; turn < 2000; turn++) {
      const path = paths[(turn + at) % paths.length] ?? '/'
      const request = new Request(`http://localhost:${port}${path}`, { headers: { host: `localhost:${port}` } })
      const fate = await send({ port, agent }, request, '', path)
      fates.push(fate)
      if ('lost' in fate) return
      if (fates.length >= 60 && told === 0) {
        told = performance.now()
        child.signal('SIGTERM', 'leader')
      }
    }
  }
  await Promise.all(Array.from({ length: 12 }, (_, at) => line(at)))
  expect(await child.ended).toBe(0)
  expect(performance.now() - told).toBeLessThan(10_000)
  const after = fates.slice(60)
  expect(after.length).toBeGreaterThan(12)
  for (const fate of fates) {
    if ('lost' in fate) expect(fate.lost).toMatch(/^(?:ECONNREFUSED|ECONNRESET|EPIPE) before an answer$/)
    else expect([200, 503]).toContain(fate.status)
  }
  // While it drains, everybody is served as before; the connections end in order and not in the middle of anything.
  expect(fates.filter((fate) => 'status' in fate && fate.status === 200).length).toBeGreaterThan(60)
  expect(child.output.stderr).not.toMatch(/cleanly|gave|fail|error/i)
})

it('whoever insists ends it at once', { timeout: 120_000 }, async () => {
  const { child, port } = await openHotel()
  // A request that never comes to its end keeps it open.
  const agent = new HttpAgent()
  onTestFinished(() => agent.destroy())
  const endless = sendRequest({
    port,
    host: '127.0.0.1',
    agent,
    method: 'POST',
    path: '/poppy/token',
    headers: { 'content-length': '100', 'content-type': 'application/x-www-form-urlencoded' },
  })
  endless.on('error', () => {})
  endless.write('client_id=')
  const [socket] = (await once(endless, 'socket')) as [Socket]
  if (socket.connecting) await once(socket, 'connect')
  let isOver = false
  const over = child.ended.finally(() => {
    isOver = true
  })
  const started = performance.now()
  while (!isOver) {
    child.signal('SIGTERM', 'leader')
    await Promise.race([over, new Promise((resolve) => setTimeout(resolve, 50))])
  }
  expect(await over).toBe(143)
  expect(performance.now() - started).toBeLessThan(5000)
})
