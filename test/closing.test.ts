import { type ToolContext, tool } from 'poppyseed'
import { expect, it } from 'vitest'
import { makeWorld, outcome, type Tokens, type World } from './setup/world.ts'

/** A tool that runs until it is released or told to stop. */
function waitingTool() {
  const running = Promise.withResolvers<AbortSignal>()
  const released = Promise.withResolvers<string>()
  const run = (_input: unknown, { signal }: ToolContext) => {
    running.resolve(signal)
    return released.promise
  }
  return {
    tool: tool({ name: 'slow', description: 'Waits until it is released.', run }),
    running: running.promise,
    release: () => released.resolve('done'),
  }
}

async function callOverMcp(world: World): Promise<Promise<Response>> {
  const { session_id } = await world.start()
  const resource = `${world.origin}/poppy/mcp`
  const grant = { grant_type: 'urn:ietf:params:oauth:grant-type:jwt-bearer', session_id, resource }
  const assertion = await world.agent.sessionAssertion()
  const { access_token } = (await (await world.agent.token({ ...grant, assertion }, { proof: null })).json()) as Tokens
  const message = { jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name: 'slow', arguments: {} } }
  const headers = {
    authorization: `Bearer ${access_token}`,
    'content-type': 'application/json',
    accept: 'application/json, text/event-stream',
    'mcp-protocol-version': '2025-11-25',
  }
  return world.send(new Request(resource, { method: 'POST', headers, body: JSON.stringify(message) }))
}

it('finishes a call that runs before it closes, and takes no other', async () => {
  let release = () => {}
  let isRunning = () => {}
  const running = new Promise<void>((resolve) => {
    isRunning = resolve
  })
  const slow = tool({
    name: 'slow',
    description: 'Waits until it is released.',
    run: () => {
      isRunning()
      return new Promise<string>((resolve) => {
        release = () => resolve('done')
      })
    },
  })
  const world = await makeWorld({ tools: [slow] })
  const { access_token } = await world.start()
  const call = world.agent.call('/poppy/tools/slow', access_token)
  await running
  let isClosed = false
  const closing = world.company.close().then(() => {
    isClosed = true
  })
  const late = await world.agent.call('/poppy/tools/slow', access_token)
  expect(late.headers.get('retry-after')).toBe('1')
  expect(await outcome(late)).toBe('503 temporarily_unavailable')
  expect(isClosed).toBe(false)
  release()
  expect(await (await call).json()).toBe('done')
  await closing
  expect(isClosed).toBe(true)
})

it('finishes an answer of MCP that is still being made', async () => {
  const { tool: slow, running, release } = waitingTool()
  const world = await makeWorld({ tools: [slow] })
  const call = callOverMcp(world)
  await running
  let isClosed = false
  const closing = world.company.close().then(() => {
    isClosed = true
  })
  const body = (async () => (await call).text())()
  // The tool runs, and nothing of its answer is there yet.
  for (let turn = 0; turn < 20; turn++) await new Promise((resolve) => setImmediate(resolve))
  expect(isClosed).toBe(false)
  release()
  expect(await body).toContain('"done"')
  await closing
})

it.each(['HTTP', 'MCP'])('gives up at the deadline what hangs, and says so over %s', async (via) => {
  const { tool: hangs, running } = waitingTool()
  const world = await makeWorld({ tools: [hangs] })
  const { access_token } = await world.start()
  const call = via === 'HTTP' ? world.agent.call('/poppy/tools/slow', access_token) : callOverMcp(world)
  const signal = await running
  await expect(world.company.close({ deadline: Number.NaN })).rejects.toThrow(TypeError)
  const closing = world.company.close({ deadline: 30 })
  const answer = await call
  const text = await answer.clone().text()
  expect(text).toContain('temporarily_unavailable')
  if (via === 'HTTP') {
    expect(answer.status).toBe(503)
    expect(answer.headers.get('retry-after')).toBe('1')
  }
  expect(signal.aborted).toBe(true)
  await closing
  expect(world.log.filter((line) => line.startsWith('warn requests still ran at the deadline'))).toHaveLength(1)
})

it('takes a deadline that no timer could run for', async () => {
  const { tool: slow, running, release } = waitingTool()
  const world = await makeWorld({ tools: [slow] })
  const { access_token } = await world.start()
  const call = world.agent.call('/poppy/tools/slow', access_token)
  const signal = await running
  const closing = world.company.close({ deadline: Number.MAX_SAFE_INTEGER })
  // One that goes off at once would have done so when others have gone off after each other.
  for (let turn = 0; turn < 3; turn++) await new Promise((resolve) => setTimeout(resolve, 1))
  expect(signal.aborted).toBe(false)
  release()
  expect((await call).status).toBe(200)
  await closing
})

it('does no more work once it is closed', async () => {
  const world = await makeWorld()
  await world.company.close()
  await expect(world.company.work()).rejects.toMatchObject({ code: 'temporarily_unavailable' })
})
