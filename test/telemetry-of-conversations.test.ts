import { SpanKind, SpanStatusCode } from '@opentelemetry/api'
import { describe, expect, it } from 'vitest'
import { watchConversations } from './setup/watched-conversations.ts'

/** What whoever runs a Company sees of its conversations: traces and numbers of what no request waits for. */

describe('of conversations', { timeout: 60_000 }, () => {
  it('each turn is a trace of its own, with its tools in it and a link to the request', async () => {
    const { telemetry, ids } = await watchConversations()
    const spans = telemetry.spans()
    const turns = spans.filter(({ name }) => name === 'turn')
    expect(turns.map(({ attributes }) => attributes)).toEqual(
      [
        { id: ids.answered, outcome: 'answered' },
        { id: ids.broken, outcome: 'failed' },
        { id: ids.waited, outcome: 'handed_off' },
      ].map(({ id, outcome }) => ({
        'poppy.conversation.id': id,
        'poppy.turn.attempt': 1,
        'poppy.client.host': 'agent.example',
        'poppy.outcome': outcome,
        ...(outcome === 'failed' ? { 'error.type': 'failed' } : {}),
      })),
    )
    for (const { kind, parentSpanContext } of turns)
      expect([kind, parentSpanContext]).toEqual([SpanKind.INTERNAL, undefined])
    expect(turns.map(({ status }) => status.code)).toEqual([
      SpanStatusCode.UNSET,
      SpanStatusCode.ERROR,
      SpanStatusCode.UNSET,
    ])
    const requests = spans.filter(({ name }) => name === 'POST /poppy/conversations')
    expect(turns.map(({ links }) => links.map(({ context }) => context.spanId))).toEqual(
      requests.map((request) => [request.spanContext().spanId]),
    )
    const look = spans.find(({ name }) => name === 'tool look')
    expect(look?.parentSpanContext?.spanId).toBe(turns[0]?.spanContext().spanId)
    expect(look?.attributes).toEqual({ 'poppy.tool.name': 'look', 'poppy.tool.via': 'conversation' })
  })

  it('a wait for a person is a span as long as the wait, and what waits, runs and is open is counted', async () => {
    const { telemetry, ids, meanwhile } = await watchConversations()
    const handoff = telemetry.spans().find(({ name }) => name === 'handoff')
    expect(handoff?.attributes).toEqual({ 'poppy.conversation.id': ids.waited, 'poppy.outcome': 'taken' })
    expect(handoff?.duration).toEqual([42, 0])
    expect(handoff?.parentSpanContext).toBeUndefined()
    const points = await telemetry.points()
    const here = { 'server.address': 'localhost' }
    expect(meanwhile['poppy.handoff.waiting']).toEqual([{ attributes: here, value: 1 }])
    expect(meanwhile['poppy.stream.active']).toEqual([{ attributes: here, value: 1 }])
    expect(points['poppy.handoff.waiting']).toEqual([{ attributes: here, value: 0 }])
    expect(points['poppy.stream.active']).toEqual([{ attributes: here, value: 0 }])
    expect(points['poppy.turn.active']).toEqual([{ attributes: here, value: 0 }])
    expect(points['poppy.handoff.duration']).toMatchObject([
      { attributes: { 'poppy.outcome': 'taken' }, value: { count: 1, sum: 42 } },
    ])
    expect(points['poppy.turn.duration']).toMatchObject([
      { attributes: { 'poppy.outcome': 'answered' }, value: { count: 1 } },
      { attributes: { 'poppy.outcome': 'failed' }, value: { count: 1 } },
      { attributes: { 'poppy.outcome': 'handed_off' }, value: { count: 1 } },
    ])
  })

  it('each try of a webhook is a request of ours, and those that failed are counted', async () => {
    const { telemetry } = await watchConversations()
    const tries = telemetry.spans().filter(({ name, kind }) => name === 'POST' && kind === SpanKind.CLIENT)
    expect(tries.length).toBeGreaterThan(4)
    for (const { attributes, status, parentSpanContext } of tries) {
      expect(parentSpanContext).toBeUndefined()
      expect(status.code).toBe(SpanStatusCode.ERROR)
      expect(attributes).toMatchObject({
        'http.request.method': 'POST',
        'server.address': 'localhost',
        'http.response.status_code': 503,
        'error.type': '503',
        'poppy.webhook.name': 'webhooks[0]',
        'poppy.outcome': 'failed',
      })
    }
    const { 'poppy.webhook.deliveries': counted = [] } = await telemetry.points()
    expect(counted.map(({ attributes }) => attributes['poppy.webhook.event']).toSorted()).toEqual([
      'conversation.closed',
      'conversation.message',
      'handoff.requested',
    ])
    expect(counted.reduce((sum, { value }) => sum + Number(value), 0)).toBe(tries.length)
  })

  it('is told while an SDK is there alone, and nothing holds up what it watches', async () => {
    const { telemetry, world } = await watchConversations()
    await world.company.close()
    // Closed, a Company is no longer looked at: its store is gone.
    const before = telemetry.spans().length
    await telemetry.points()
    expect(telemetry.spans().length).toBe(before)
  })
})
