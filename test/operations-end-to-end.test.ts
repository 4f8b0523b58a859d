import { AgentError, type ApprovalRequest } from '@poppyseed/agent'
import { describe, expect, it } from 'vitest'
import { createPerson } from '../examples/hotel/src/person.ts'
import { openAgentAtSite } from './setup/agent-at-site.ts'
import { bookings, type Counts } from './setup/bookings.ts'
import { guests } from './setup/site.ts'

// Our Personal Agent at our Company, over real HTTP: what is proposed, approved and done.

/** A guest at a site with operations, and their agent. */
async function open() {
  const counts: Counts = { propose: 0, perform: 0 }
  const { site, company, signIn } = await openAgentAtSite({ operations: bookings(counts) })
  const asked: ApprovalRequest[] = []
  const approve = async (request: ApprovalRequest) => {
    asked.push(request)
    return { approved: true }
  }
  return { site, counts, company, signIn, asked, approve }
}

const codeOf = (work: Promise<unknown>) =>
  work.then(
    () => 'fine',
    (error: unknown) => (error instanceof AgentError ? error.code : String(error)),
  )

describe('a room at a real Company', () => {
  it('is proposed, approved, booked once and told truthfully [ops.approve-revision-agent]', async () => {
    const { counts, company, signIn, asked, approve, site } = await open()
    expect(company.extensions).toContain('operations')
    const here = company.session()
    expect(await codeOf(here.call('book_room', { nights: 2 }))).toBe('sign_in_required')
    await signIn(here, ['poppy:write'])
    const { operation, status } = await here.call('book_room', { nights: 2 })
    expect([status, operation?.summary, operation?.action]).toEqual([
      202,
      '2 nights in a sea view room, 260 €.',
      'book_room',
    ])
    const id = operation?.id ?? ''
    const result = await here.operations.confirm(id, { approve })
    expect([result.outcome, result.approvedBy, asked.length]).toEqual(['confirmed', 'user', 1])
    const ended = await here.operations.wait(id)
    expect([ended.state, ended.result, ended.objection]).toEqual(['succeeded', { booking: 'b-2-flexible' }, undefined])
    expect(ended.confirmation).toMatchObject({ revision: 1, approvedBy: 'user' })
    await here.operations.confirm(id, { approve })
    expect([counts, asked.length]).toEqual([{ propose: 1, perform: 1 }, 1])
    expect((await site.company.operations.get(id))?.state).toBe('succeeded')
  })

  it('over MCP: the same, and confirmed in another Session of the account', async () => {
    const { company, signIn, approve, counts } = await open()
    const here = company.session()
    await signIn(here, ['poppy:write'])
    const mcp = await here.mcp()
    const said = await mcp.call('book_room', { nights: 3 })
    await mcp.close()
    const operation = await here.operations.of(said)
    expect(operation?.terms).toEqual({ nights: 3, price: { amount: '390.00', currency: 'EUR' } })
    const other = await company.startSession()
    expect((await other.operations.confirm(operation?.id ?? '', { approve })).outcome).toBe('confirmed')
    expect((await here.operations.wait(operation?.id ?? '')).state).toBe('succeeded')
    expect(counts.perform).toBe(1)
  })

  it('whose terms staff changes while the guest looks: the old revision is refused, they are asked about the new one [K53, ops.newest-copy-agent]', async () => {
    const { company, signIn, asked, approve, site, counts } = await open()
    const here = company.session()
    await signIn(here, ['poppy:write'])
    const { operation } = await here.call('book_room', { nights: 2 })
    const result = await here.operations.confirm(operation?.id ?? '', {
      approve: async (request) => {
        if (asked.length === 0) {
          await site.company.operations.revise(
            operation?.id ?? '',
            {
              revision: 1,
              summary: '2 nights, 240 €.',
              terms: { nights: 2, price: { amount: '240.00', currency: 'EUR' } },
            },
            { by: 'front desk' },
          )
        }
        return approve(request)
      },
    })
    expect(asked.map(({ reason, operation: one }) => [reason, one.revision])).toEqual([
      ['new', 1],
      ['changed', 2],
    ])
    expect(result.operation.confirmation?.revision).toBe(2)
    expect((await here.operations.wait(operation?.id ?? '')).state).toBe('succeeded')
    expect(counts.perform).toBe(1)
  })

  it('is declined or cancelled, and nothing was done', async () => {
    const { company, signIn, counts } = await open()
    const here = company.session()
    await signIn(here, ['poppy:write'])
    const { operation } = await here.call('book_room', { nights: 2 })
    const id = operation?.id ?? ''
    expect((await here.operations.confirm(id, { approve: async () => ({ approved: false }) })).outcome).toBe('declined')
    expect((await here.operations.cancel(id)).state).toBe('cancelled')
    expect([(await here.operations.read(id)).state, counts.perform]).toEqual(['cancelled', 0])
  })
})

describe('a standing permission at a real Company', () => {
  it('is enough where the Company says so, and asked about where it doesn’t [ops.standing-permission-agent]', async () => {
    const { company, signIn, asked, approve } = await open()
    const here = company.session()
    await signIn(here, ['poppy:read', 'poppy:write'])
    const permissions = [
      {
        ...{ id: 'cancel', company: company.issuer ?? '', account: 'default', action: 'cancel_booking' },
        terms: { booking: { equals: 'b-7' } },
      },
      {
        ...{ id: 'book', company: company.issuer ?? '', account: 'default', action: 'book_room' },
        terms: { nights: { atMost: 9 }, price: { currency: 'EUR', max: '2000' } },
      },
    ]
    const cancel = await here.call('cancel_booking', { booking: 'b-7' })
    const byRule = await here.operations.confirm(cancel.operation?.id ?? '', { permissions, approve })
    expect([byRule.approvedBy, asked.length]).toEqual(['standing_permission', 0])
    const other = await here.call('cancel_booking', { booking: 'b-8' })
    expect((await here.operations.confirm(other.operation?.id ?? '', { permissions, approve })).approvedBy).toBe('user')
    const book = await here.call('book_room', { nights: 2 })
    expect((await here.operations.confirm(book.operation?.id ?? '', { permissions, approve })).approvedBy).toBe('user')
    expect(asked.length).toBe(2)
  })
})

describe('what needs more', () => {
  it('is the Company’s own page: its address goes to the owner, and it is the Company’s', async () => {
    const { company, signIn, asked, approve, site } = await open()
    const here = company.session()
    await signIn(here, ['poppy:write'])
    const { operation } = await here.call('pay_deposit', {})
    const error = await here.operations.confirm(operation?.id ?? '', { approve }).catch((one: unknown) => one)
    expect(error).toMatchObject({ code: 'company_confirmation_required', action: 'ask_owner' })
    expect((error as AgentError).confirmationUrl).toMatch(new RegExp(`^${site.origin}/`))
    const last = await here.operations.confirm(operation?.id ?? '', {
      openPage: async (url) => {
        const person = createPerson()
        const page = await person.submit(await person.open(url), guests.maya)
        await person.submit(page, { decision: 'confirm' })
      },
    })
    expect([last.outcome, last.approvedBy, asked]).toEqual(['confirmed', undefined, []])
    expect((await here.operations.wait(operation?.id ?? '')).result).toEqual({ paid: true })
  })

  it('is a sign-in: what was proposed signed out belongs to the User, and what is the account’s wants it', async () => {
    const { company, signIn, approve } = await open()
    const here = company.session()
    const { operation } = await here.call('call_back', { phone: '+34 1' })
    expect((await here.operations.confirm(operation?.id ?? '', { approve })).outcome).toBe('confirmed')

    const other = company.session({ name: 'other' })
    await signIn(other, ['poppy:write'])
    const room = await other.call('book_room', { nights: 2 })
    await other.signOut()
    expect(await codeOf(other.operations.confirm(room.operation?.id ?? '', { approve }))).toBe('sign_in_required')
    expect(await codeOf(other.operations.read('opn_unknown'))).toBe('operation_not_found')
  })
})
