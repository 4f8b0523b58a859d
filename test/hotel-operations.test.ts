import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Operation, Session } from '@poppyseed/agent'
import { describe, expect, it, onTestFinished } from 'vitest'
import { startVisitingAgent } from '../examples/hotel/src/agent-server.ts'
import { addDays, dayAt } from '../examples/hotel/src/days.ts'
import { type PaymentProcess, startPaymentProcess } from '../examples/hotel/src/payment-process.ts'
import { createPerson, type Person } from '../examples/hotel/src/person.ts'
import { startHotel } from '../examples/hotel/src/server.ts'
import { seedHotel } from './setup/seeded-hotel.ts'

// Rooms, cancellations and deposits at the hotel, over real HTTP, with the payment service in a process of its own that
// is told to misbehave: what the guest is told, what is booked, and what the ledger has.

const timeout = 120_000
const maya = { email: 'maya@example.com', password: 'sea-view-42' }
const day = (ahead: number) => addDays(dayAt(Date.now()), ahead)
/** Milliseconds that the hotel waits for the payment service. */
const usualPatience = 400

function freshDirectory(): string {
  const directory = mkdtempSync(join(tmpdir(), 'poppyseed-hotel-operations-'))
  onTestFinished(() => rmSync(directory, { recursive: true, force: true }))
  return seedHotel(directory)
}

async function openPayments(directory: string) {
  const payments = await startPaymentProcess(join(directory, 'payments'))
  onTestFinished(payments.close)
  return payments
}

/** The shop's own look at the payment service. */
async function ask({ address, key }: PaymentProcess, path: string, body?: object) {
  const response = await fetch(`${address}${path}`, {
    method: body ? 'PUT' : 'GET',
    headers: { authorization: `Bearer ${key}` },
    ...(body ? { body: JSON.stringify(body) } : {}),
  })
  expect(response.status).toBe(200)
  return response.json()
}

const behave = (payments: PaymentProcess, behaviour: object) => ask(payments, '/behaviour', behaviour)

/** What the ledger has for an operation: `taken`, or `given back`. */
async function ledger(payments: PaymentProcess, { id }: Pick<Operation, 'id'>) {
  const { charges } = (await ask(payments, `/charges?reference=${id}`)) as {
    readonly charges: readonly { readonly amount: number; readonly refundedAt: number | null }[]
  }
  return charges.map(({ amount, refundedAt }) => `${amount} ${refundedAt === null ? 'taken' : 'given back'}`)
}

async function openHotel(directory: string, payments: PaymentProcess, port = 0, patience = usualPatience) {
  const log: string[] = []
  const hotel = await startHotel({
    port,
    directory,
    log: (line) => log.push(line),
    payments: async () => ({ ...payments, patience }),
  })
  let isOpen = true
  const close = async () => {
    if (isOpen) await hotel.close()
    isOpen = false
  }
  onTestFinished(close)
  return { ...hotel, log, close, port: Number(new URL(hotel.origin).port) }
}

async function signIn(session: Session, person: Person) {
  const scopes = ['poppy:read', 'poppy:write']
  await session.signIn({
    scopes,
    open: async (url) => {
      const first = await person.open(url)
      const consent = first.html.includes('name="password"') ? await person.submit(first, maya) : first
      await person.submit(consent, { scope: scopes, decision: 'approve' })
    },
  })
}

/** Maya with her agent at the hotel. */
async function open(patience = usualPatience) {
  const directory = freshDirectory()
  const payments = await openPayments(directory)
  const hotel = await openHotel(directory, payments, 0, patience)
  const visiting = await startVisitingAgent()
  onTestFinished(visiting.close)
  const session = (await visiting.agent.forUser('maya').company(hotel.origin)).session()
  const person = createPerson()
  await signIn(session, person)
  const asked: Operation[] = []
  const approve = async ({ operation }: { readonly operation: Operation }) => {
    asked.push(operation)
    return { approved: true }
  }
  return {
    directory,
    payments,
    hotel,
    session,
    person,
    asked,
    host: new URL(visiting.agent.clientId).host,
    agent: visiting.agent,
    propose: (name: string, input: object, at = session) => propose(at, name, input),
    confirm: async ({ id }: Operation, at = session) => (await at.operations.confirm(id, { approve })).operation,
    wait: ({ id }: Operation, at = session) => at.operations.wait(id, { seconds: 60 }),
    bookings: async () =>
      ((await session.call('my_bookings')).body as { readonly bookings: readonly Readonly<Record<string, unknown>>[] })
        .bookings,
    page: async (path: string) => (await person.open(`${hotel.origin}${path}`)).html.replaceAll(/\s+/g, ' '),
  }
}

async function propose(session: Session, name: string, input: object): Promise<Operation> {
  const { operation } = await session.call(name, input as Readonly<Record<string, unknown>>)
  if (!operation) throw new Error(`${name} proposed nothing`)
  return operation
}

const room = (ahead: number) => ({ room: 'poniente', from: day(ahead), to: day(ahead + 2), guests: 2 })

describe('a room that an agent books', () => {
  it('is proposed with all its terms and holds nothing; approved it is booked once, shown as the agent’s, and mailed once [ops.terms-complete, ops.summary-complete]', {
    timeout,
  }, async () => {
    const at = await open()
    const operation = await at.propose('book_room', room(40))
    expect(operation.state).toBe('proposed')
    expect(operation.terms).toEqual({
      room: 'Poniente',
      arrival: day(40),
      departure: day(42),
      nights: 2,
      guests: 2,
      total: { amount: '250.00', currency: 'EUR' },
      payment: 'At the hotel',
      cancellation: 'Free until the day before arrival; a deposit that was paid is kept',
    })
    // In words: what, for how many, from when to when, for how much, how it is paid, and how to get out of it.
    expect(operation.summary).toMatch(
      /^Book Poniente for 2 guests, 2 nights: arrival on \w+, \d.*, departure on \w+, \d.*\. €250 in all, paid at the hotel\. You can cancel until the day before you arrive, and pay nothing then, unless you paid a deposit: that is kept\.$/,
    )
    // The same wish again is the same operation; nothing is booked, and the room is free for others.
    expect((await at.propose('book_room', room(40))).id).toBe(operation.id)
    expect(await at.bookings()).toHaveLength(3)
    await at.confirm(operation)
    const done = await at.wait(operation)
    expect([done.state, done.result]).toMatchObject(['succeeded', { room: 'Poniente', arrival: day(40) }])
    await at.confirm(operation)
    expect([at.asked.length, (await at.bookings()).length]).toEqual([1, 4])
    expect(await at.page('/bookings')).toContain(`Booked by your agent at ${at.host}`)
    await expect.poll(() => at.page('/outbox'), { timeout: 20_000 }).toContain('A room: done, MIR-')
    expect((await at.page('/outbox')).split('A room: done')).toHaveLength(2)
    expect(at.hotel.log.filter((line) => !line.includes('DEVELOPMENT MODE'))).toEqual([])
  })

  it('fails with a reason where the room was taken meanwhile, and is refused before where it can’t be', {
    timeout,
  }, async () => {
    const at = await open()
    const operation = await at.propose('book_room', room(40))
    const form = await at.person.open(`${at.hotel.origin}/rooms/poniente?from=${day(41)}&to=${day(43)}&guests=2`)
    // All that this form has is hidden: these names choose it.
    await at.person.submit(form, { from: [], to: [], guests: [], form_token: [] })
    expect(await at.bookings()).toHaveLength(4)
    await at.confirm(operation)
    const done = await at.wait(operation)
    expect([done.state, done.result]).toEqual(['failed', { reason: 'The room was taken meanwhile.' }])
    expect(await at.bookings()).toHaveLength(4)
    await expect.poll(() => at.page('/outbox'), { timeout: 20_000 }).toContain('A room: not done')
    for (const [wish, why] of [
      [room(40), /Poniente is not free for those days/],
      [room(-3), /That day has passed/],
      [{ ...room(90), guests: 3 }, /Poniente sleeps 1 to 2/],
      [{ ...room(90), room: 'attic' }, /no room of that name/],
      [{ ...room(90), to: day(90) }, /must come after/],
    ] as const)
      await expect(at.propose('book_room', wish)).rejects.toThrow(why)
  })

  it('is cancelled for what that costs; with a deposit paid meanwhile the terms no longer hold [ops.terms-complete, ops.summary-complete]', {
    timeout,
  }, async () => {
    const at = await open()
    const cancelling = await at.propose('cancel_booking', { booking: 'MIR-3121' })
    const isDay = expect.stringMatching(/^\d{4}-\d\d-\d\d$/)
    const stay = { booking: 'MIR-3121', room: expect.any(String), arrival: isDay, departure: isDay }
    expect(cancelling.terms).toEqual({
      ...stay,
      effect: 'The room is free for others at once',
      fee: { amount: '0.00', currency: 'EUR' },
    })
    expect(cancelling.summary).toMatch(/^Cancel MIR-3121: .*The room is free for others at once\. You pay nothing\.$/)
    const deposit = await at.propose('pay_deposit', { booking: 'MIR-3121' })
    const euros = { amount: expect.stringMatching(/^\d+\.\d\d$/), currency: 'EUR' }
    expect(deposit.terms).toEqual({
      ...stay,
      deposit: euros,
      payment: 'By the card that the hotel has',
      counts: 'Towards the price of the stay',
      stay: euros,
      refund: 'None if the booking is cancelled',
    })
    expect(deposit.summary).toMatch(
      /^Pay a deposit of €\S+ for MIR-3121, .*, by the card that we have of you\. It counts towards the €\S+ of the stay, and is not given back if you cancel the booking\.$/,
    )
    await at.confirm(deposit)
    expect((await at.wait(deposit)).state).toBe('succeeded')
    await at.confirm(cancelling)
    const refused = await at.wait(cancelling)
    expect(refused.state).toBe('failed')
    expect(refused.result).toEqual({ reason: expect.stringContaining('A deposit was paid meanwhile') })
    const again = await at.propose('cancel_booking', { booking: 'MIR-3121' })
    expect(again.summary).toMatch(/The deposit of €\S+ is not given back/)
    await at.confirm(again)
    expect((await at.wait(again)).state).toBe('succeeded')
    expect(await at.page('/bookings')).toContain(`Cancelled by your agent at ${at.host}`)
    expect(await ledger(at.payments, deposit)).toEqual([expect.stringContaining('taken')])
    await expect(at.propose('cancel_booking', { booking: 'MIR-3121' })).rejects.toThrow(/cancelled already/)
    await expect(at.propose('cancel_booking', { booking: 'MIR-3077' })).rejects.toThrow(/no booking with that number/)
    await expect(at.propose('pay_deposit', { booking: 'MIR-3121' })).rejects.toThrow(/takes no deposit/)
  })
})

describe('a deposit', () => {
  it.each([
    ['normal', { mode: 'normal' }, 'succeeded'],
    ['slow, within our patience', { mode: 'slow', milliseconds: 50, times: 1 }, 'succeeded'],
    ['too slow', { mode: 'slow', milliseconds: 4 * usualPatience, times: 1 }, 'succeeded'],
    ['failing after it took the money', { mode: 'error', times: 1 }, 'succeeded'],
    ['hanging after it took the money', { mode: 'hang', times: 1 }, 'succeeded'],
    ['failing each time after it took the money', { mode: 'error' }, 'succeeded'],
    ['failing so, and not looking at keys', { mode: 'error', deduplicates: false }, 'succeeded'],
    ['dead, and takes nothing at first', { mode: 'dead', times: 1 }, 'succeeded'],
    ['declining', { mode: 'refuse' }, 'failed'],
  ])(
    'with a service that is %s is taken once or not at all, and told as it is',
    {
      timeout,
    },
    async (_, behaviour, state) => {
      const at = await open()
      await behave(at.payments, behaviour)
      const operation = await at.propose('pay_deposit', { booking: 'MIR-3121' })
      expect(operation.summary).toMatch(/^Pay a deposit of €\S+ for MIR-3121.*not given back if you cancel/)
      const confirmed = await at.confirm(operation)
      expect(['in_progress', state]).toContain(confirmed.state)
      const done = await at.wait(operation)
      expect(done.state).toBe(state)
      expect(await ledger(at.payments, operation)).toEqual(
        state === 'failed' ? [] : [expect.stringMatching(/^\d+ taken$/)],
      )
      const shown = await at.page('/bookings')
      expect(shown.includes('Deposit of')).toBe(state === 'succeeded')
      if (state === 'failed') expect(done.result).toEqual({ reason: 'The card was declined. No money was taken.' })
      // Nobody pays a second one, by whatever agent.
      if (state === 'succeeded')
        await expect(at.propose('pay_deposit', { booking: 'MIR-3121' })).rejects.toThrow(/paid already/)
    },
  )

  it('by two operations of two agents is taken for one of them', { timeout }, async () => {
    const at = await open()
    const second = await startVisitingAgent()
    onTestFinished(second.close)
    const other = (await second.agent.forUser('maya').company(at.hotel.origin)).session()
    await signIn(other, at.person)
    const operations = [
      await at.propose('pay_deposit', { booking: 'MIR-3121' }),
      await at.propose('pay_deposit', { booking: 'MIR-3121' }, other),
    ] as const
    expect(operations[0].id).not.toBe(operations[1].id)
    await Promise.all([at.confirm(operations[0]), at.confirm(operations[1], other)])
    const ended = [await at.wait(operations[0]), await at.wait(operations[1], other)]
    expect(ended.map(({ state }) => state).sort()).toEqual(['failed', 'succeeded'])
    const taken = [...(await ledger(at.payments, operations[0])), ...(await ledger(at.payments, operations[1]))]
    expect(taken).toEqual([expect.stringContaining('taken')])
  })

  it('that hangs while the hotel is restarted is known by the next one, taken once, and mailed once', {
    timeout,
  }, async () => {
    const at = await open()
    await behave(at.payments, { mode: 'hang', times: 1 })
    const operation = await at.propose('pay_deposit', { booking: 'MIR-3121' })
    await at.confirm(operation)
    await expect.poll(() => ledger(at.payments, operation), { timeout: 20_000 }).toHaveLength(1)
    await at.hotel.close()
    const again = await openHotel(at.directory, at.payments, at.hotel.port)
    expect((await at.wait(operation)).state).toBe('succeeded')
    expect(await ledger(at.payments, operation)).toEqual([expect.stringContaining('taken')])
    await expect.poll(() => at.page('/outbox'), { timeout: 20_000 }).toContain('A deposit: done, MIR-3121')
    await again.close()
    // What was mailed once lies there still.
    await openHotel(at.directory, at.payments, at.hotel.port)
    expect((await at.page('/outbox')).split('A deposit: done')).toHaveLength(2)
  })

  it('whose service is gone isn’t known until it is back, with the same ledger', { timeout }, async () => {
    const at = await open()
    await at.payments.close()
    const operation = await at.propose('pay_deposit', { booking: 'MIR-3121' })
    await at.confirm(operation)
    const unknown = await at.session.operations.wait(operation.id, { seconds: 2 })
    expect([unknown.state, unknown.isFinal]).toEqual(['in_progress', false])
    await at.hotel.close()
    const back = await openPayments(at.directory)
    await openHotel(at.directory, back, at.hotel.port)
    expect((await at.wait(operation)).state).toBe('succeeded')
    expect(await ledger(back, operation)).toEqual([expect.stringContaining('taken')])
  })

  it('is stopped while the service hangs: the money goes back, and another one can be paid', { timeout }, async () => {
    // So patient that nobody has looked what was taken before it is stopped.
    const at = await open(60_000)
    await behave(at.payments, { mode: 'hang', times: 1 })
    const operation = await at.propose('pay_deposit', { booking: 'MIR-3121' })
    await at.confirm(operation)
    await expect.poll(() => ledger(at.payments, operation), { timeout: 20_000 }).toHaveLength(1)
    await at.session.operations.cancel(operation.id)
    const done = await at.wait(operation)
    expect([done.state, done.result]).toEqual(['cancelled', { reason: 'The money was given back.' }])
    expect(await ledger(at.payments, operation)).toEqual([expect.stringContaining('given back')])
    expect(await at.page('/bookings')).not.toContain('Deposit of')
    const again = await at.propose('pay_deposit', { booking: 'MIR-3121' })
    await at.confirm(again)
    expect((await at.wait(again)).state).toBe('succeeded')
    // The first request hangs still: it ends with the service, and changes nothing any more.
    await at.payments.close()
    expect((await at.session.operations.read(operation.id)).state).toBe('cancelled')
  })

  it('comes too late to be stopped while nothing is known to be taken: it goes on', { timeout }, async () => {
    const at = await open(3000)
    await behave(at.payments, { mode: 'dead', times: 1 })
    const operation = await at.propose('pay_deposit', { booking: 'MIR-3121' })
    await at.confirm(operation)
    expect((await at.session.operations.cancel(operation.id)).state).toBe('in_progress')
    expect((await at.wait(operation)).state).toBe('succeeded')
    expect(await ledger(at.payments, operation)).toEqual([expect.stringContaining('taken')])
  })
})
