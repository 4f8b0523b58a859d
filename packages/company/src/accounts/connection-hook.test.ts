import { describe, expect, it } from 'vitest'
import { silent } from '../../../../test/setup/stores.ts'
import { type BegunConnection, createConnectionHook, type OnConnection } from './connection-hook.ts'

const begun: BegunConnection = {
  grantId: 'grt_1',
  account: 'ada',
  clientId: 'https://agent.example/agent.json',
  signIn: 'mcp',
  scopes: ['poppy:read'],
  connectedAt: 1,
  expiresAt: null,
  isNewAgent: true,
  replaces: false,
}

function make(onConnection: OnConnection, limits = { answer: 10_000, hook: 10_000 }) {
  const log: { readonly fields: Record<string, unknown>; readonly message: string }[] = []
  const tracked: Promise<unknown>[] = []
  const hook = createConnectionHook({
    onConnection,
    nameOf: async () => 'Example Agent',
    sentenceOf: (scope) => ({ text: `May ${scope}` }),
    track(work) {
      tracked.push(work)
      return work
    },
    log: { ...silent, error: (fields, message) => void log.push({ fields: fields as never, message }) },
    limits,
  })
  return { hook, log, tracked }
}

describe('a company that is told of a new sign-in', () => {
  it('is told what a person would want to know, and nothing that opens anything', async () => {
    const told: unknown[] = []
    await make((connection, { signal }) => void told.push([connection, signal.aborted])).hook.tell(begun)
    expect(told).toEqual([
      [
        {
          account: 'ada',
          clientId: 'https://agent.example/agent.json',
          host: 'agent.example',
          name: 'Example Agent',
          signIn: 'direct',
          rights: [{ scope: 'poppy:read', text: 'May poppy:read' }],
          connectedAt: 1,
          expiresAt: null,
          isNewAgent: true,
          replaces: false,
        },
        false,
      ],
    ])
    expect(told).not.toHaveProperty('0.0.grantId')
  })

  it.each<[string, OnConnection]>([
    [
      'throws',
      () => {
        throw new RangeError('no mail to ada@example.com')
      },
    ],
    ['rejects', async () => Promise.reject(new RangeError('no mail to ada@example.com'))],
  ])('and %s is noted by the sign-in’s id, without anybody’s name', async (_, onConnection) => {
    const { hook, log } = make(onConnection)
    await hook.tell(begun)
    expect(log).toEqual([
      {
        fields: {
          grantId: 'grt_1',
          clientId: begun.clientId,
          signIn: 'mcp',
          error: 'RangeError',
          where: expect.arrayContaining([expect.stringContaining('connection-hook.test.ts')]),
        },
        message: expect.stringContaining('onConnection failed'),
      },
    ])
    expect(JSON.stringify(log)).not.toContain('ada')
  })

  it.each([undefined, null, 'a text', { message: 'ada' }])('and throws %j is noted too', async (thrown) => {
    const { hook, log } = make(() => Promise.reject(thrown))
    await hook.tell(begun)
    expect(log).toHaveLength(1)
    expect(JSON.stringify(log)).not.toContain('ada')
  })

  it('and takes its time holds the answer for a moment only, and is waited for by the end', async () => {
    const held = Promise.withResolvers<void>()
    const { hook, log, tracked } = make(() => held.promise, { answer: 1, hook: 10_000 })
    await hook.tell(begun)
    expect(tracked).toHaveLength(1)
    held.resolve()
    await Promise.all(tracked)
    expect(log).toEqual([])
  })

  it('and never ends is told to stop, and that is noted', async () => {
    let signal: AbortSignal | undefined
    const { hook, log, tracked } = make(
      (_, context) => {
        signal = context.signal
        return new Promise(() => {})
      },
      { answer: 1, hook: 1 },
    )
    await hook.tell(begun)
    await Promise.all(tracked)
    expect(signal?.aborted).toBe(true)
    expect(log).toMatchObject([{ fields: { grantId: 'grt_1' }, message: expect.stringContaining('took too long') }])
  })

  it('and fails after it was too late is no unhandled failure', async () => {
    const held = Promise.withResolvers<void>()
    const { hook, log, tracked } = make(() => held.promise, { answer: 1, hook: 1 })
    await hook.tell(begun)
    await Promise.all(tracked)
    held.reject(new Error('late'))
    await new Promise((resolve) => setImmediate(resolve))
    expect(log).toHaveLength(1)
  })
})
