import { once } from 'node:events'
import { createServer, type Server } from 'node:http'
import { type AddressInfo, connect } from 'node:net'
import { expect, it, onTestFinished } from 'vitest'
import { stopServer } from './stop.ts'

/** Listens, and has one client write a request. */
async function listen(server: Server, headers: string) {
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const client = connect((server.address() as AddressInfo).port, '127.0.0.1')
  client.on('error', () => {})
  onTestFinished(() => {
    client.destroy()
    server.closeAllConnections()
    server.close()
  })
  client.write(`GET / HTTP/1.1\r\nHost: h\r\n${headers}\r\n`)
  return client
}

it('ends at its deadline though a WebSocket is still open', async () => {
  const server = createServer()
  server.on('upgrade', (_request, socket) => {
    socket.on('error', () => {})
    socket.write('HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\r\n')
    onTestFinished(() => void socket.destroy())
  })
  const client = await listen(server, 'Upgrade: websocket\r\nConnection: Upgrade\r\n')
  await once(client, 'data')
  await stopServer(server, { close: async () => {} }, { drain: 0, deadline: 20 })
  expect([server.listening, client.destroyed]).toEqual([false, false])
})

it('takes a deadline that no timer could run for', async () => {
  const server = createServer()
  const arrived = once(server, 'request')
  const client = await listen(server, '')
  const [, response] = await arrived
  const closed = Promise.withResolvers<void>()
  const stopping = stopServer(
    server,
    { close: async () => closed.resolve() },
    { drain: 0, deadline: Number.MAX_SAFE_INTEGER },
  )
  await closed.promise
  // A timer that goes off at once goes off before one that was set after it.
  await new Promise((resolve) => setTimeout(resolve, 1))
  response.end('whole')
  const [answer] = await once(client.setEncoding('latin1'), 'data')
  expect(answer).toContain('whole')
  await stopping
})
