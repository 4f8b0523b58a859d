import { tool } from 'poppyseed'
import { expect, it } from 'vitest'
import { makeWorld, outcome } from './setup/world.ts'

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
