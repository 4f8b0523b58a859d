import { PoppyError } from '@poppyseed/protocol'
import { afterEach, describe, expect, it, vi } from 'vitest'
import { z } from 'zod'
import { ConfigurationError } from '../configuration-error.ts'
import type { Principal } from '../sessions/principal.ts'
import { createToolRegistry } from './registry.ts'
import { type Tool, type ToolContext, type ToolDefinition, tool } from './tool.ts'
import { ToolError } from './tool-error.ts'

const signedOut: Principal = {
  company: 'https://miramar.example',
  clientId: 'https://agent.example/agent.json',
  userId: 'usr_Q7c1vK',
  sessionId: 'ses_2Lm0',
  account: null,
  scopes: [],
  resource: null,
  grantId: null,
}
const maya: Principal = { ...signedOut, account: 'maya', scopes: ['poppy:read'], grantId: 'grt_1' }

function registryOf(...tools: Tool[]) {
  const logged: { fields: object; message: string }[] = []
  const record = (fields: object, message: string) => void logged.push({ fields, message })
  const registry = createToolRegistry(tools, {
    declaredScopes: ['poppy:read', 'poppy:write', 'loyalty'],
    grantableScopes: ['poppy:read', 'poppy:write'],
    log: { debug: record, info: record, warn: record, error: record },
    now: () => 0,
    random: (length) => new Uint8Array(length),
  })
  return { ...registry, logged }
}

function context(principal = maya, signal = new AbortController().signal): ToolContext {
  return { principal, signal, via: 'http' }
}

/** One tool, called once: what it answered, or the error it ended in. */
async function callOf(definition: Partial<ToolDefinition<undefined, undefined>>, input: unknown = {}, who = maya) {
  const registry = registryOf(tool({ name: 'it', description: 'A tool.', run: () => null, ...definition }))
  const outcome = await registry.call('it', input, context(who)).catch((error: unknown) => error)
  return { outcome, logged: registry.logged }
}

afterEach(() => {
  vi.useRealTimers()
})

describe('a registry', () => {
  it('refuses two tools of one name, and a scope that nobody declared', () => {
    const one = tool({ name: 'one', description: 'A tool.', run: () => null })
    expect(() => registryOf(one, one)).toThrow(ConfigurationError)
    expect(() => registryOf(one, one)).toThrow('Two tools are named one')
    const addresses = tool({ name: 'two', description: 'A tool.', scope: 'addresses', run: () => null })
    expect(() => registryOf(addresses)).toThrow("Write scopes: { 'addresses':")
    expect(() => registryOf({ name: 'x' } as Tool)).toThrow('tools[0] is not a tool')
  })

  it('refuses a tool that no sign-in opens', () => {
    const points = tool({ name: 'points', description: 'A tool.', scope: ['poppy:read', 'loyalty'], run: () => null })
    expect(() => registryOf(points)).toThrow('Tool points needs the scope loyalty, which no type of sign-in can grant')
  })

  it('asks a signed-out caller to sign in, and names all scopes to one who lacks some [6.sign-in-required, 6.insufficient-scope, K39]', async () => {
    const ran = vi.fn()
    const both = { scope: ['poppy:read', 'poppy:write'], run: ran } as const
    expect((await callOf(both, {}, signedOut)).outcome).toMatchObject({ code: 'sign_in_required' })
    expect((await callOf(both)).outcome).toMatchObject({ code: 'insufficient_scope', scope: 'poppy:read poppy:write' })
    expect(ran).not.toHaveBeenCalled()
    expect((await callOf({ scope: 'poppy:read' })).outcome).toMatchObject({ json: 'null' })
    expect((await callOf({}, {}, signedOut)).outcome).toMatchObject({ json: 'null' })
  })

  it('knows the tools that it has', async () => {
    await expect(registryOf().call('toString', {}, context())).rejects.toMatchObject({ code: 'tool_not_found' })
  })

  it('hands the tool what the schema made of the input, and who is calling', async () => {
    const seen: unknown[] = []
    const search = tool({
      name: 'search',
      description: 'A tool.',
      input: z.object({ guests: z.number().default(2) }),
      run: (input, { principal, via }) => {
        seen.push(input, principal, via)
        return { rooms: ['sea'] }
      },
    })
    const result = await registryOf(search).call('search', { unknown: true }, context())
    expect(seen).toEqual([{ guests: 2 }, maya, 'http'])
    expect(result).toEqual({ value: { rooms: ['sea'] }, json: '{"rooms":["sea"]}' })
  })

  it.each<[string, object, unknown]>([
    ['zod', z.object({ room: z.object({ id: z.string().regex(/^r\d+$/) }) }), { room: { id: 'canary-4711' } }],
    ['zod, another type', z.object({ room: z.object({ id: z.boolean() }) }), { room: { id: 'canary-4711' } }],
    [
      'JSON Schema',
      { type: 'object', properties: { room: { properties: { id: { enum: ['r1'] } } } } },
      { room: { id: 'canary-4711' } },
    ],
    [
      'a library that repeats the value',
      {
        '~standard': {
          version: 1,
          vendor: 'chatty',
          validate: () => ({ issues: [{ message: 'not "canary-4711", canary-4711', path: [{ key: 'room' }, 'id'] }] }),
          jsonSchema: { input: () => ({ type: 'object' }), output: () => ({}) },
        },
      },
      { room: { id: 'canary-4711' } },
    ],
  ])('says where an input is wrong and never repeats it: %s', async (_, schema, input) => {
    const { outcome } = await callOf({ input: schema as never }, input)
    expect(outcome).toBeInstanceOf(PoppyError)
    const body = (outcome as PoppyError).body()
    expect(body).toMatchObject({
      error: 'invalid_request',
      issues: [{ path: '/room/id', message: expect.any(String) }],
    })
    expect(JSON.stringify(body)).not.toContain('canary')
  })

  it('bounds how many values an input has: each that is wrong would cost as much as many requests', async () => {
    const judged = vi.fn(() => ({ issues: [] }))
    const jsonSchema = { input: () => ({ type: 'object' }), output: () => ({}) }
    const input = { '~standard': { version: 1, vendor: 'counting', validate: judged, jsonSchema } } as never
    const rows = Array.from({ length: 100 }, () => Array.from({ length: 300 }, () => 1))
    for (const flood of [{ list: rows.flat() }, { rows }, Object.fromEntries(rows.flat().entries())]) {
      expect((await callOf({ input }, flood)).outcome).toMatchObject({ code: 'invalid_request' })
    }
    expect(judged).not.toHaveBeenCalled()
    expect((await callOf({}, { rows: rows.slice(0, 50) })).outcome).toMatchObject({ json: 'null' })
  })

  it('bounds depth and refuses a member that would become a prototype', async () => {
    const deep = JSON.parse(`${'{"a":'.repeat(40)}1${'}'.repeat(40)}`)
    expect((await callOf({}, deep)).outcome).toMatchObject({ code: 'invalid_request' })
    expect((await callOf({}, JSON.parse('{"a":{"__proto__":{"admin":true}}}'))).outcome).toMatchObject({
      code: 'invalid_request',
    })
  })

  it("tells a ToolError's sentence, and of any other error nothing but an id that the log has too", async () => {
    const fails = (error: unknown) => callOf({ run: () => Promise.reject(error) })
    expect((await fails(new ToolError('Room 12 is taken.'))).outcome).toMatchObject({
      code: 'tool_failed',
      description: 'Room 12 is taken.',
    })
    const { outcome, logged } = await fails(new Error('password of db is canary'))
    const body = (outcome as PoppyError).body()
    expect(body).toMatchObject({ error: 'server_error', error_id: expect.stringMatching(/^err_/) })
    expect(JSON.stringify(body)).not.toContain('canary')
    expect(logged).toMatchObject([{ fields: { id: body.error_id, tool: 'it' } }])
    expect((await fails(new PoppyError('invalid_token'))).outcome).toMatchObject({ code: 'server_error' })
    expect((await fails(new PoppyError('extension_required', { extension: 'operations' }))).outcome).toMatchObject({
      code: 'extension_required',
      extension: 'operations',
    })
    expect((await fails(undefined)).outcome).toMatchObject({ code: 'server_error' })
  })

  it('lets nothing out that is not JSON or not in the output schema', async () => {
    const cycle: Record<string, unknown> = {}
    cycle.self = cycle
    for (const value of [cycle, 1n, () => 1])
      expect((await callOf({ run: () => value })).outcome).toMatchObject({ code: 'server_error' })
    expect((await callOf({ run: () => undefined })).outcome).toMatchObject({ json: 'null' })
    const output = z.object({ name: z.string() }) as never
    expect((await callOf({ output, run: () => ({ name: 'Maya', password: 'x' }) })).outcome).toMatchObject({
      json: '{"name":"Maya"}',
    })
    expect((await callOf({ output, run: () => ({}) })).outcome).toMatchObject({ code: 'server_error' })
    const raw = { type: 'object', properties: { at: { type: 'string', format: 'date-time' } } } as never
    expect((await callOf({ output: raw, run: () => ({ at: new Date(0) }) })).outcome).toMatchObject({
      json: '{"at":"1970-01-01T00:00:00.000Z"}',
    })
    expect((await callOf({ output: raw, run: () => ({ at: 1 }) })).outcome).toMatchObject({ code: 'server_error' })
  })

  it('gives a tool up when its time is over, and tells the tool', async () => {
    vi.useFakeTimers()
    const signals: AbortSignal[] = []
    const slow = tool({
      name: 'slow',
      description: 'A tool.',
      timeout: 5000,
      run: (_, { signal }) => {
        signals.push(signal)
        return new Promise(() => {})
      },
    })
    const call = registryOf(slow).call('slow', {}, context())
    const refused = expect(call).rejects.toMatchObject({ code: 'tool_timeout' })
    await vi.advanceTimersByTimeAsync(4999)
    expect(signals[0]?.aborted).toBe(false)
    await vi.advanceTimersByTimeAsync(1)
    await refused
    expect(signals[0]?.reason).toMatchObject({ name: 'TimeoutError' })
  })

  it('aborts the call of a client that went away, and never starts one for a client that is gone', async () => {
    const client = new AbortController()
    const ran = vi.fn((_: unknown, { signal }: ToolContext) => {
      client.abort()
      return new Promise<null>((resolve) => signal.addEventListener('abort', () => resolve(null)))
    })
    const registry = registryOf(tool({ name: 'it', description: 'A tool.', run: ran }))
    await expect(registry.call('it', {}, context(maya, client.signal))).rejects.toMatchObject({
      code: 'temporarily_unavailable',
    })
    await expect(registry.call('it', {}, context(maya, client.signal))).rejects.toMatchObject({
      code: 'temporarily_unavailable',
    })
    expect(ran).toHaveBeenCalledTimes(1)
    expect(ran.mock.calls[0]?.[1].signal.aborted).toBe(true)
  })
})
