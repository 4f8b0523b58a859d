import { describe, expect, it } from 'vitest'
import { asked, openBookings, signedIn, told as toldOf } from './setup/bookings.ts'
import { converse, pageOf, said, standingOf, words } from './setup/converse.ts'
import { makeWorld, outcome } from './setup/world.ts'

/** Conversations over real requests: started, continued, read and closed at their endpoint (7.1 to 7.5, 7.12). */

const silent = async function* () {}

async function open(config: Parameters<typeof makeWorld>[0] = {}) {
  const world = await makeWorld({ agent: silent, ...config })
  const { access_token: token } = await world.start()
  return { world, token, talk: converse(world.agent, token) }
}

describe('a conversation', () => {
  it('is offered in poppy.json, where there are any [7.1.type-poppy, 3.1.agent-protocols]', async () => {
    const document = async (world: { origin: string; send: (request: Request) => Promise<Response> }) =>
      (await (await world.send(new Request(`${world.origin}/.well-known/poppy.json`))).json()) as object
    const endpoint = 'https://miramar.example/poppy/conversations'
    expect(await document(await makeWorld({ agent: silent }))).toMatchObject({
      agent: { protocols: [{ type: 'poppy', endpoint }] },
    })
    const resource = 'https://miramar.example/talk'
    expect(await document(await makeWorld({ conversations: { resource } }))).toMatchObject({
      agent: { protocols: [{ type: 'poppy', endpoint, resource }] },
    })
    const without = await makeWorld()
    expect(await document(without)).not.toHaveProperty('agent')
    const { access_token } = await without.start()
    expect(await outcome(await converse(without.agent, access_token).start(said('Hello?')))).toBe('404 not_found')
  })

  it('starts with its first message and goes on with the next [7.3.start, 7.3.next, 7.2.id-prefix]', async () => {
    const { talk } = await open()
    const first = await talk.start(said('Is breakfast included?'))
    expect(first.status).toBe(201)
    expect(first.headers.get('cache-control')).toBe('no-store')
    const started = await standingOf(first)
    expect(started).toEqual({
      conversation_id: expect.stringMatching(/^cnv_[A-Za-z0-9_-]{20,200}$/),
      status: 'working',
      responder: 'agent',
    })
    const next = await talk.send(started.conversation_id, said('And parking?'))
    expect(next.status).toBe(202)
    expect(await standingOf(next)).toEqual({ ...started, status: expect.stringMatching(/working|idle/) })
    const page = await pageOf(await talk.read(started.conversation_id))
    expect(words(page.events).slice(0, 2)).toEqual(['user as agent: Is breakfast included?', 'working/agent'])
    expect(words(page.events)).toContain('user as agent: And parking?')
  })

  it('is closed by the agent, once; it takes no more messages, and is still read [7.12.close, 7.12.closed-refuses, 7.12.closed-readable, 7.13.conversation-closed]', async () => {
    const { talk } = await open()
    const { conversation_id: id } = await standingOf(await talk.start(said('Is breakfast included?')))
    const closed = await talk.close(id)
    expect(closed.status).toBe(200)
    expect(await standingOf(closed)).toEqual({ conversation_id: id, status: 'closed', responder: 'agent' })
    expect(await standingOf(await talk.close(id))).toEqual({
      conversation_id: id,
      status: 'closed',
      responder: 'agent',
    })
    expect(await outcome(await talk.send(id, said('And parking?')))).toBe('409 conversation_closed')
    const page = await pageOf(await talk.read(id, '?wait=30'))
    expect(page).toMatchObject({ status: 'closed', responder: 'agent', has_more: false })
    expect(words(page.events).filter((word) => word === 'closed/agent')).toHaveLength(1)
    expect(page.events.at(-1)).toMatchObject({ type: 'state', status: 'closed' })
  })

  it('leaves what it has begun as it is when it is closed [7.12.close-keeps-effects]', async () => {
    const world = await openBookings({
      async *agent() {
        yield { type: 'call', name: 'book_room', input: { nights: 2 } }
      },
    })
    const { access_token: token } = await signedIn(world)
    const talk = converse(world.agent, token)
    const page = await pageOf(await talk.start(said('Two nights, please.'), { query: '?wait=30' }))
    const told = page.events.find((event) => event.type === 'message' && event.message.operation !== undefined)
    expect(told).toMatchObject({ message: { operation: { state: 'proposed', revision: 1 } } })
    const { operation_id: operation } = (told as unknown as { message: { operation: { operation_id: string } } })
      .message.operation
    await talk.close(page.conversation_id ?? '')
    const agent = asked(world.agent, token)
    await agent.confirm(operation)
    await expect.poll(async () => (await toldOf(await agent.read(operation))).is).toBe('200 succeeded')
    const { events } = await pageOf(await talk.read(page.conversation_id ?? ''))
    expect(events.at(-1)).toMatchObject({ type: 'state', status: 'closed' })
  })
})
