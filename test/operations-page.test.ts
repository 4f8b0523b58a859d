import { failed, operation } from 'poppyseed'
import { describe, expect, it } from 'vitest'
import { z } from 'zod'
import { asked, openBookings, signedIn, told } from './setup/bookings.ts'
import { outcome, type World } from './setup/world.ts'

/** The company's own page: what an agent proposed is confirmed by the person, signed in to the site. */

const bob = { id: 'acc-bob', name: 'bob@example.com' }

/** A person in their browser. */
const person = (world: World, id: string, headers: Record<string, string> = {}) => {
  const url = `${world.origin}/poppy/operations/${id}/page`
  return {
    open: () => world.send(new Request(url, { headers })),
    form: async () => {
      const page = await (await world.send(new Request(url, { headers }))).text()
      return /name="request" value="([^"]+)"/.exec(page)?.[1] ?? ''
    },
    send: (fields: Record<string, string> | [string, string][], more: Record<string, string> = {}) =>
      world.send(
        new Request(url, {
          method: 'POST',
          body: new URLSearchParams(fields),
          headers: { origin: world.origin, ...headers, ...more },
        }),
      ),
  }
}

async function deposit(world: World) {
  const agent = asked(world.agent, (await signedIn(world)).access_token)
  const proposed = await agent.propose('pay_deposit')
  return { agent, proposed, id: proposed.operation_id }
}

describe('the company’s own page', () => {
  it('is the only way for what has to be confirmed there [ops.company-page, ops.company-page-only]', async () => {
    const world = await openBookings()
    const { agent, proposed, id } = await deposit(world)
    const url = `${world.origin}/poppy/operations/${id}/page`
    expect(proposed).toMatchObject({ user_approval_required: true, confirmation_url: url })
    for (const approved_by of ['user', 'standing_permission']) {
      const answer = await agent.confirm(id, { revision: 1, approved_by })
      expect(answer.status).toBe(403)
      expect(await answer.json()).toMatchObject({
        error: 'company_confirmation_required',
        confirmation_url: url,
        operation: { operation_id: id, state: 'proposed', confirmation_url: url },
      })
    }
    const maya = person(world, id)
    const answer = await maya.send({ request: await maya.form(), decision: 'confirm' })
    expect([answer.status, answer.headers.get('location')]).toEqual([303, url])
    const done = await told(await agent.read(id, '?wait=10'))
    expect(done).toMatchObject({
      is: '200 succeeded',
      operation: { result: { paid: true }, confirmation: { revision: 1, approved_by: 'user' } },
    })
    expect(done.operation.confirmation_url).toBeUndefined()
    expect((await world.company.operations.get(id))?.confirmation?.approvedBy).toBe('page')
    const trail = await world.company.operations.trail(id)
    expect(trail[1]).toMatchObject({ event: 'confirmed', channel: 'page', who: { account: 'acc-maya' }, revision: 1 })
    const after = await (await maya.open()).text()
    expect(after).toContain('This is done.')
    expect(after).not.toContain('<button')
  })

  it('shows who asks, all of the terms, the account and until when, in the person’s language', async () => {
    const world = await openBookings()
    const { id } = await deposit(world)
    const page = await person(world, id).open()
    expect(page.headers.get('content-security-policy')).toContain("form-action 'self'")
    expect(page.headers.get('content-security-policy')).toContain("frame-ancestors 'none'")
    const text = await page.text()
    for (const shown of [
      'Hotel Miramar',
      'Example Agent asks you to confirm',
      '<strong>agent.example</strong>',
      '<strong>maya@example.com</strong>',
      'A deposit of 100 € is paid.',
      '<th scope="row">Amount</th><td>100.00</td>',
      '<th scope="row">Currency</th><td>EUR</td>',
      'for another 15 minutes',
    ])
      expect(text).toContain(shown)
    expect(await (await person(world, id, { 'accept-language': 'de' }).open()).text()).toContain(
      'bittet Sie um Bestätigung',
    )
  })

  it('shows what an agent put into a proposal as it is: as text, and nothing in it turns or hides the rest', async () => {
    const world = await openBookings({
      operations: [
        operation({
          name: 'write_card',
          description: 'Writes a card for the room.',
          input: z.object({ card: z.string() }),
          scope: 'poppy:write',
          propose: ({ card }) => ({ summary: `A card, “${card}”, for 260 €.`, terms: { card } }),
          perform: () => failed('Nobody can read\u202e that.'),
        }),
      ],
    })
    const agent = asked(world.agent, (await signedIn(world)).access_token)
    const { operation_id: id } = await agent.propose('write_card', { card: '<b>Hi\u202e\u2066\u200b</b>' })
    const text = await (await person(world, id).open()).text()
    expect(text).toContain('A card, “&lt;b&gt;Hi���&lt;/b&gt;”, for 260 €.')
    expect(text).toContain('<td>&lt;b&gt;Hi���&lt;/b&gt;</td>')
    await agent.confirm(id, { revision: 1, approved_by: 'user', wait: 10 })
    expect(await (await person(world, id).open()).text()).toContain('Nobody can read� that.')
  })

  it('serves every operation of an account, once with whatever the agent says [ops.one-record]', async () => {
    const world = await openBookings()
    const agent = asked(world.agent, (await signedIn(world)).access_token)
    const { operation_id: id } = await agent.propose('book_room', { nights: 2 })
    const maya = person(world, id)
    const form = await maya.form()
    const [byAgent, byPerson] = await Promise.all([
      agent.confirm(id, { revision: 1, approved_by: 'user', wait: 20 }),
      maya.send({ request: form, decision: 'confirm' }),
    ])
    expect((await told(byAgent)).is).toBe('200 succeeded')
    expect(byPerson.status).toBe(303)
    expect(world.counts.perform).toBe(1)
    const events = (await world.company.operations.trail(id)).map(({ event }) => event)
    expect(events.filter((event) => event === 'confirmed')).toHaveLength(1)
  })

  it('confirms the revision that was on it, and shows a newer one to be read first [ops.latest-revision, K53]', async () => {
    const world = await openBookings()
    const { id } = await deposit(world)
    const maya = person(world, id)
    const form = await maya.form()
    const next = { revision: 1, summary: 'A deposit of 150 € is paid.', terms: { amount: '150.00' } }
    await world.company.operations.revise(id, next, { by: 'Rita' })
    const answer = await maya.send({ request: form, decision: 'confirm' })
    expect(answer.status).toBe(409)
    const text = await answer.text()
    expect(text).toContain('The terms have changed')
    expect(text).toContain('A deposit of 150 € is paid.')
    expect((await world.company.operations.get(id))?.state).toBe('proposed')
    const newer = /name="request" value="([^"]+)"/.exec(text)?.[1] ?? ''
    expect((await maya.send({ request: newer, decision: 'confirm' })).status).toBe(303)
    expect((await world.company.operations.get(id))?.confirmation?.revision).toBe(2)
  })

  it('turns an operation down, for good', async () => {
    const world = await openBookings()
    const { agent, id } = await deposit(world)
    const maya = person(world, id)
    const form = await maya.form()
    expect((await maya.send({ request: form, decision: 'decline' })).status).toBe(303)
    expect((await maya.send({ request: form, decision: 'confirm' })).status).toBe(303)
    expect((await told(await agent.read(id))).is).toBe('200 cancelled')
    expect(await (await maya.open()).text()).toContain('This was cancelled. Nothing of it is done.')
  })

  it('is for the person whose account it is: others sign in, or learn nothing', async () => {
    const world = await openBookings()
    const { id } = await deposit(world)
    const maya = person(world, id)
    const form = await maya.form()
    world.site.account = null
    for (const answer of [await maya.open(), await maya.send({ request: form, decision: 'confirm' })]) {
      expect(answer.status).toBe(303)
      expect(answer.headers.get('location')).toBe(
        `${world.origin}/login?next=${encodeURIComponent(`/poppy/operations/${id}/page`)}`,
      )
    }
    world.site.account = bob
    for (const answer of [await maya.open(), await maya.send({ request: form, decision: 'confirm' })]) {
      expect(answer.status).toBe(403)
      const text = await answer.text()
      expect(text).toContain('This is for another account')
      expect(text).toContain('bob@example.com')
      expect(text).not.toMatch(/deposit|maya|Example Agent/)
    }
    const theirs = asked(world.agent, (await world.start()).access_token)
    const { operation_id: nobodys } = await theirs.propose('call_back', { phone: '1' })
    for (const wrong of [nobodys, 'opn_unknown', 'opn_%2e%2e', '%00', 'a'.repeat(300)])
      expect((await person(world, wrong).open()).status, wrong).toBe(404)
  })

  it('takes only its own forms: for this person, operation and revision, sent from here, not too old', async () => {
    const world = await openBookings()
    const { id } = await deposit(world)
    const agent = asked(world.agent, (await signedIn(world)).access_token)
    const { operation_id: other } = await agent.propose('book_room', { nights: 2 })
    const maya = person(world, id)
    const form = await maya.form()
    const confirm = { request: form, decision: 'confirm' }
    const status = async (answer: Promise<Response>) => (await answer).status
    expect(await status(maya.send(confirm, { origin: 'https://evil.example' }))).toBe(403)
    expect(await status(maya.send(confirm, { 'sec-fetch-site': 'cross-site' }))).toBe(403)
    expect(await status(maya.send({ ...confirm, request: await person(world, other).form() }))).toBe(400)
    expect(await status(person(world, other).send(confirm))).toBe(400)
    for (const wrong of [
      { decision: 'confirm' },
      { request: form },
      { request: `${form}x`, decision: 'confirm' },
      { request: form, decision: 'approve' },
    ])
      expect(await status(maya.send(wrong))).toBe(400)
    expect(
      await status(
        maya.send([
          ['request', form],
          ['decision', 'decline'],
          ['decision', 'confirm'],
        ]),
      ),
    ).toBe(400)
    // A form of the account page, which is sealed with the same key.
    const agents = await (await world.send(new Request(`${world.origin}/poppy/agents`))).text()
    const foreign = /name="request" value="([^"]+)"/.exec(agents)?.[1] ?? ''
    expect(foreign).not.toBe('')
    expect(await status(maya.send({ request: foreign, decision: 'confirm' }))).toBe(400)
    // The same account id at another Company that shares the secret.
    const elsewhere = await openBookings({ origin: 'https://www.miramar.example' })
    const theirs = await deposit(elsewhere)
    expect(await status(maya.send({ request: await person(elsewhere, theirs.id).form(), decision: 'confirm' }))).toBe(
      400,
    )
    world.clock.now += 30 * 60_000
    expect(await status(maya.send(confirm))).toBe(400)
    expect((await world.company.operations.get(id))?.state).toBe('expired')
    expect(world.counts.perform).toBe(0)
  })

  it('is not offered where the site doesn’t say who is signed in, and such an operation is refused there', async () => {
    const { bookings } = await import('./setup/bookings.ts')
    const { createCompany } = await import('poppyseed')
    const { secret } = await import('./setup/world.ts')
    const [room, , , pay] = bookings()
    const least = {
      organization: { name: 'Hotel Miramar', domain: 'miramar.example' },
      origin: 'https://miramar.example',
      secret,
      scopes: { 'poppy:read': 'See', 'poppy:write': 'Change' },
      signIn: {
        mediated: {
          scopes: ['poppy:read', 'poppy:write'],
          fields: [{ name: 'email', label: 'Email', secret: false }],
          verify: () => null,
        },
      },
    }
    expect(() => createCompany({ ...least, operations: pay ? [pay] : [] })).toThrow(
      'Operation pay_deposit is confirmed on your own page, which takes `account` and `signInPage`',
    )
    const company = createCompany({ ...least, operations: room ? [room] : [] })
    const url = 'https://miramar.example/poppy/operations/opn_a'
    expect([url, `${url}/confirm`, `${url}/page`].map((one) => company.owns(new Request(one)))).toEqual([
      true,
      true,
      false,
    ])
  })

  it('turns away the browser of an agent', async () => {
    const world = await openBookings({ browser: true })
    const { id } = await deposit(world)
    const { session_id } = await signedIn(world)
    const joined = await world.send(
      new Request(`${world.origin}/poppy/browser-session`, {
        method: 'POST',
        body: new URLSearchParams({ assertion: await world.agent.browserAssertion(session_id, `${world.origin}/`) }),
      }),
    )
    const cookie = joined.headers.get('set-cookie')?.split(';')[0] ?? ''
    const own = person(world, id)
    const form = await own.form()
    const agents = person(world, id, { cookie })
    expect(cookie).not.toBe('')
    expect((await agents.open()).status).toBe(403)
    expect((await agents.send({ request: form, decision: 'confirm' })).status).toBe(403)
    expect((await world.company.operations.get(id))?.state).toBe('proposed')
    expect(await outcome(await world.send(new Request(`${world.origin}/poppy/operations/${id}`)))).toBe(
      '401 invalid_token',
    )
  })
})
