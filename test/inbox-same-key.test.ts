import { describe, expect, it } from 'vitest'
import { openBookings, signedIn } from './setup/bookings.ts'
import { converse, said, standingOf } from './setup/converse.ts'
import { atDesk, pageOf, staffLogin } from './setup/inbox.ts'
import { stores } from './setup/stores.ts'

// A form, or a request, that comes with the key of another one, which was done: going back and writing something else is no way
// to lose it.

describe.each(stores)('a key that was used, on $name', { timeout: 60_000 }, ({ missing, fresh }) => {
  const test = it.skipIf(missing)

  async function held() {
    const world = await openBookings({ conversations: {}, ...staffLogin }, (await fresh()).store())
    const talk = converse(world.agent, (await signedIn(world)).access_token)
    const { conversation_id: id } = await standingOf(await talk.start(said('A person, please.')))
    const rita = atDesk(world, 'rita')
    await rita.on(id, 'take')
    const told = async () =>
      (await rita.open(id)).entries.flatMap((one) => (one.kind === 'message' && one.by === 'staff' ? [one.text] : []))
    return { world, id, rita, told }
  }

  test('takes no other words for said: they are on the page again, and go with the next form', async () => {
    const { id, rita, told } = await held()
    const { token = '', once = '' } = (await rita.page(`/conversations/${id}`)).view ?? {}
    const send = (form: object, text: string) => rita.post(`/conversations/${id}/reply`, { token, once, ...form, text })
    expect((await send({}, 'Yes, we can.')).status).toBe(303)
    // The same form again, which is what going back gives: the same words are there already, and others aren't.
    expect((await send({}, 'Yes, we can.')).headers.get('location')).toContain('done=reply')
    const refused = await pageOf(await send({}, 'No, we can’t after all.'))
    expect(refused.status).toBe(409)
    expect(refused.view?.notice).toEqual({
      kind: 'refused',
      text: 'This page sent something else before, and that arrived. Look at what is there; what you wrote now was not sent yet.',
    })
    expect(refused.text).toMatch(/<textarea[^>]*>No, we can’t after all\.<\/textarea>/)
    expect(await told()).toEqual(['Yes, we can.'])
    const next = { token: refused.view?.token ?? '', once: refused.view?.once ?? '' }
    expect(next.once).not.toBe(once)
    expect((await send(next, 'No, we can’t after all.')).status).toBe(303)
    expect(await told()).toEqual(['Yes, we can.', 'No, we can’t after all.'])
  })

  test('proposes nothing else, and settles nothing as something else', async () => {
    const { world, id, rita } = await held()
    const { token = '', once = '' } = (await rita.page(`/conversations/${id}`)).view ?? {}
    const propose = (nights: string) =>
      rita.post(`/conversations/${id}/call-tool`, { token, once, tool: 'book_room', 'arg.nights': nights })
    const proposed = await pageOf(await propose('2'))
    expect(proposed.view?.notice?.kind).toBe('done')
    expect((await pageOf(await propose('2'))).view?.notice?.kind).toBe('done')
    expect((await pageOf(await propose('3'))).status).toBe(409)
    const { operations } = await world.company.operations.list()
    expect(operations.map(({ summary }) => summary)).toEqual(['2 nights in a sea view room, 260 €.'])
    const operation = operations[0]?.id ?? ''
    const revise = (nights: string) =>
      rita.post(`/conversations/${id}/revise`, { token, once, operation, revision: '1', 'arg.nights': nights })
    expect((await pageOf(await revise('4'))).view?.notice?.kind).toBe('done')
    expect((await pageOf(await revise('4'))).view?.notice?.kind).toBe('done')
    expect((await pageOf(await revise('5'))).status).toBe(409)
    expect(await world.company.operations.get(operation)).toMatchObject({ revision: 2, input: { nights: 4 } })
  })

  test('is told to a help desk with its reason', async () => {
    const { world, id, told } = await held()
    const call = (path: string, body: object) =>
      world.send(
        new Request(`${world.origin}/poppy/inbox/api/conversations/${id}/${path}`, {
          method: 'POST',
          headers: { cookie: 'desk=rita', 'content-type': 'application/json', 'idempotency-key': 'ticket-7' },
          body: JSON.stringify(body),
        }),
      )
    const statuses = async (path: string, bodies: readonly object[]) => {
      const seen: unknown[] = []
      for (const body of bodies) {
        const answer = await call(path, body)
        seen.push(answer.ok ? 200 : [answer.status, ((await answer.json()) as { readonly because: string }).because])
      }
      return seen
    }
    const used = [409, 'key_used']
    expect(await statuses('reply', [{ text: 'One.' }, { text: 'One.' }, { text: 'Two.' }])).toEqual([200, 200, used])
    expect(await statuses('note', [{ text: 'One.' }, { text: 'One.' }, { text: 'Two.' }])).toEqual([200, 200, used])
    expect(await told()).toEqual(['One.'])
    const { entries } = (await (
      await world.send(
        new Request(`${world.origin}/poppy/inbox/api/audit?conversation_id=${id}`, {
          headers: { cookie: 'desk=rita' },
        }),
      )
    ).json()) as { readonly entries: readonly { readonly detail: object | null }[] }
    expect(entries.length).toBeGreaterThan(2)
    for (const { detail } of entries) expect(Object.keys(detail ?? {})).not.toContain('asked')
  })
})
