import fc from 'fast-check'
import { expect, it } from 'vitest'
import type { Faults } from './setup/hostile-company.ts'
import { talking } from './setup/talks.ts'

// Whatever happens to reads, and however often the reader dies: each event is handled, in order, and after that never again.

const faults: readonly Faults[] = [
  {},
  ...(['after_event', 'in_event', 'after_delta', 'in_delta', 'when_idle'] as const).map((streamCut) => ({ streamCut })),
  ...(['lost', 'cut', 'html', 'not_json', 'empty'] as const).map((delivery) => ({ delivery })),
  ...(['cr', 'crlf', 'unended', 'comments', 'data_lines'] as const).map((streamForm) => ({ streamForm })),
  ...[{ gateway: 'html_502' } as const, { gateway: 'empty_503' } as const, { limit: { retryAfter: '3' } }],
  ...[{ repeatsEvents: 2 }, { repeatsEvents: 100 }, { pageSize: 1 }, { pageSize: 2, repeatsEvents: 1 }],
  ...[{ streamBytes: 'single', streamCut: 'in_event' } as const, { stream: 'json', pageSize: 3 } as const],
  ...[{ streamExpiry: 'closes', expiresIn: 1 } as const, { conversationAnswer: 'no_id' } as const],
]
const turn = [
  ...Array.from({ length: 6 }, (_, at) => ({ say: `Message ${at}, größer 💥`, deltas: [`Message ${at}`] })),
  { closes: true } as const,
]

it('nothing is lost, and what was handled does not come again, by stream and by page', async () => {
  const life = fc.record({
    faults: fc.array(fc.constantFrom(...faults), { maxLength: 4 }),
    /** After so many events it dies with one in hand, or says that it was handled. */
    events: fc.nat(8),
    isHandled: fc.boolean(),
  })
  const run = fc.asyncProperty(fc.boolean(), fc.array(life, { maxLength: 6 }), async (hasStream, lives) => {
    const { here, conversation, company, book, clock } = await talking(turn, { stream: hasStream ? 'streams' : 'json' })
    const handled: string[] = []
    let inHand: string | undefined
    for (const { faults, events, isHandled } of [...lives, { faults: [], events: 1000, isHandled: true }]) {
      for (const fault of faults) company.next(1, fault, 'events')
      clock.now += 10_000
      const again = await here.conversations.open(conversation.id)
      let left = events
      for await (const event of again.follow()) {
        if (!('id' in event)) continue
        // The one that nobody said was handled comes first, and again.
        if (inHand !== undefined) expect(event.id).toBe(inHand)
        inHand = undefined
        expect(handled).not.toContain(event.id)
        if (left-- > 0) {
          handled.push(event.id)
          continue
        }
        if (isHandled) {
          await again.handled(event)
          handled.push(event.id)
        } else inHand = event.id
        break
      }
    }
    expect(handled).toEqual(book().events.map(({ id }) => id))
    expect(company.findings).toEqual([])
  })
  await fc.assert(run, { numRuns: 40, endOnFailure: true })
}, 120_000)
