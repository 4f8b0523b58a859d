import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { type About, spots } from './setup/authority.ts'
import { bookings } from './setup/bookings.ts'
import { converse, said, standingOf } from './setup/converse.ts'
import { apply, bentJson, budgets, change, contentType, header, inputs, oddText, patience } from './setup/fuzz.ts'
import { atDesk, staffLogin } from './setup/inbox.ts'
import { setStage } from './setup/refusals.ts'

/** Anything at the staff inbox and its API, from somebody who may be there: no fault of ours, and nothing of it is markup. */

const origin = 'https://miramar.example'
const runsOfOneStage = 500
// A stream has no end to wait for; its own tests open it.
const tried = spots.filter(({ word }) => word !== 'live')

/** What each act takes, right; whatever an act doesn't know is odd at it. */
const right = {
  text: 'Good morning.',
  reason: 'Which day?',
  note: 'Late arrival.',
  to: 'omar',
  scope: 'loyalty',
  tool: 'echo',
  input: { text: 'Good morning.', nested: [{ room: 'poniente' }] },
  operation: 'opn_x',
  operation_id: 'opn_x',
  revision: 1,
  outcome: 'failed',
  why: 'Looked it up.',
  data: { rooms: [{ name: 'Mirador' }] },
  'arg.text': 'Good morning.',
  'data.0.name': 'room',
  'data.0.value': '12',
}

describe('whatever is sent to the staff inbox', () => {
  it('is answered, and stands on its pages as text', { timeout: patience.group }, async () => {
    for (let left = inputs('inbox'); left > 0; left -= runsOfOneStage) {
      const { world, token: agentToken } = await setStage(0, {
        ...staffLogin,
        operations: bookings(),
        agent: async function* () {},
      })
      const start = await converse(world.agent, agentToken).start(said('<x-hostile> is asked.'))
      const { conversation_id: conversation } = await standingOf(start)
      const rita = atDesk(world, 'rita')
      await rita.on(conversation, 'take')
      const { token } = (await rita.look()).view
      const about: About = { conversation, operation: 'opn_x' }
      await fc.assert(
        fc.asyncProperty(
          fc.constantFrom(...tried),
          fc.oneof({ weight: 4, arbitrary: fc.constant(null) }, { weight: 1, arbitrary: oddText }),
          fc.uuid(),
          bentJson(right),
          fc.array(change, { maxLength: 3 }),
          contentType,
          header,
          oddText,
          async ({ method, pattern, isApi }, odd, once, bent, changes, type, key, text) => {
            const id = odd ?? (pattern.includes('/operations/*') ? about.operation : about.conversation)
            const url = new URL(pattern.replace('*', encodeURIComponent(id.toWellFormed())), origin)
            url.search = String(apply(new URLSearchParams({ list: 'mine', q: text.toWellFormed() }), changes))
            const answer = await world.send(
              new Request(url, {
                method,
                headers: headersOf({
                  cookie: 'desk=rita',
                  accept: 'text/html',
                  'sec-fetch-site': 'same-origin',
                  origin: method === 'GET' ? undefined : origin,
                  'content-type': method === 'GET' ? undefined : isApi ? 'application/json' : type,
                  'idempotency-key': isApi ? key : undefined,
                }),
                ...(method === 'GET'
                  ? {}
                  : { body: isApi ? JSON.stringify(bent) : formOf(bent, changes, token, once) }),
              }),
            )
            const told = await answer.text()
            expect(answer.status, `${method} ${pattern}: ${told.slice(0, 200)}`).toBeLessThan(500)
            if (answer.headers.get('content-type')?.startsWith('text/html')) expect(told).not.toContain('<x-hostile')
            const to = answer.headers.get('location')
            if (to !== null) expect(new URL(to, origin).origin).toBe(origin)
          },
        ),
        { numRuns: Math.min(left, runsOfOneStage), timeout: patience.input },
      )
      expect(world.log.filter((line) => line.startsWith('error'))).toEqual([])
    }
    expect(tried.length).toBeGreaterThan(budgets.inbox.normal / 10)
  })
})

function headersOf(given: Readonly<Record<string, string | null | undefined>>): Headers {
  const headers = new Headers()
  for (const [name, value] of Object.entries(given))
    if (typeof value === 'string' && /^[\x20-\x7e]*$/.test(value)) headers.set(name, value)
  return headers
}

/** The same as a form: what is nested goes as JSON. */
function formOf(bent: unknown, changes: Parameters<typeof apply>[1], token: string, once: string): string {
  const fields = new URLSearchParams({ token, once })
  if (typeof bent === 'object' && bent !== null)
    for (const [name, value] of Object.entries(bent))
      fields.append(
        name.toWellFormed(),
        (typeof value === 'string' ? value : (JSON.stringify(value) ?? '')).toWellFormed(),
      )
  return String(apply(fields, changes))
}
