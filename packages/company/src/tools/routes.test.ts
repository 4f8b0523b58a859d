import { describe, expect, it } from 'vitest'
import { z } from 'zod'
import type { Principal } from '../sessions/principal.ts'
import { createToolRegistry } from './registry.ts'
import { callToolOverHttp } from './routes.ts'
import { tool } from './tool.ts'

const guest: Principal = {
  company: 'https://miramar.example',
  clientId: 'https://agent.example/agent.json',
  userId: 'usr_Q7c1vK',
  sessionId: 'ses_2Lm0',
  account: null,
  scopes: [],
  resource: null,
  grantId: null,
}

const tools = [
  tool({
    name: 'echo',
    description: 'Gives back what it got.',
    input: z.object({ word: z.string().default('none') }),
    run: (input, { via }) => ({ ...input, via }),
  }),
  tool({ name: 'my_bookings', description: 'Bookings.', scope: 'poppy:read', run: () => [] }),
  tool({ name: 'wait', description: 'Waits.', run: () => new Promise(() => {}) }),
]

const silent = () => {}
const registry = createToolRegistry(tools, {
  declaredScopes: ['poppy:read'],
  log: { debug: silent, info: silent, warn: silent, error: silent },
  now: () => 0,
  random: (length) => new Uint8Array(length),
})

/** A call as the HTTP layer hands it on: the body is read already. */
function call(name: string, body: string, type: string | null = 'application/json', signal?: AbortSignal) {
  const request = new Request(`https://miramar.example/poppy/tools/${name}`, {
    method: 'POST',
    headers: type === null ? {} : { 'content-type': type },
    ...(signal === undefined ? {} : { signal }),
  })
  return callToolOverHttp(registry, name, request, guest, body)
}

describe('a tool over HTTP', () => {
  it('answers with its result as JSON that no cache keeps', async () => {
    const response = await call('echo', '{"word":"sea","more":1}', 'application/json; charset=utf-8')
    expect(response.status).toBe(200)
    expect(response.headers.get('content-type')).toBe('application/json')
    expect(response.headers.get('cache-control')).toBe('no-store')
    expect(await response.json()).toEqual({ word: 'sea', via: 'http' })
  })

  it('takes an empty body for an empty object, whatever its type', async () => {
    expect(await (await call('echo', '', null)).json()).toMatchObject({ word: 'none' })
    expect(await (await call('echo', ' \n')).json()).toMatchObject({ word: 'none' })
  })

  it.each([
    ['a form', 'word=sea', 'application/x-www-form-urlencoded', 'unsupported_media_type'],
    ['text', '{"word":"sea"}', 'text/plain', 'unsupported_media_type'],
    ['no type', '{"word":"sea"}', null, 'unsupported_media_type'],
    ['broken JSON', '{"word":', 'application/json', 'invalid_request'],
    ['a list', '[]', 'application/json', 'invalid_request'],
    ['a word', '"sea"', 'application/json', 'invalid_request'],
    ['null', 'null', 'application/json', 'invalid_request'],
    ['a member twice', '{"word":"sea","word":"land"}', 'application/json', 'invalid_request'],
    ['JSON without a bottom', `{"word":${'['.repeat(99)}${']'.repeat(99)}}`, 'application/json', 'invalid_request'],
    ['a prototype', '{"__proto__":{"admin":true}}', 'application/json', 'invalid_request'],
    ['another type', '{"word":4}', 'application/json', 'invalid_request'],
  ])('refuses %s', async (_, body, type, code) => {
    await expect(call('echo', body, type)).rejects.toMatchObject({ code })
  })

  it('tells who may not call a tool nothing about its input', async () => {
    await expect(call('my_bookings', '{', 'text/plain')).rejects.toMatchObject({ code: 'sign_in_required' })
    await expect(call('nothing', '{', 'text/plain')).rejects.toMatchObject({ code: 'tool_not_found' })
  })

  it('ends when the client goes away', async () => {
    const client = new AbortController()
    const answer = call('wait', '', null, client.signal)
    client.abort()
    await expect(answer).rejects.toMatchObject({ code: 'temporarily_unavailable' })
  })
})
