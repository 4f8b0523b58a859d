import type { ApprovalRequest, ConfirmOptions, Operation, PersonalAgentOptions, Session } from '@poppyseed/agent'
import type { MisbehavingCompany } from '@poppyseed/conformance'
import { type Faults, type HostileVisit, oneConnection, using, visitHostileCompany } from './hostile-company.ts'

/** An owner who was proposed a table at a Company that misbehaves, and says yes to what is shown. */
export interface Proposal extends HostileVisit {
  readonly here: Session
  readonly operation: Operation
  /** What the owner was asked. */
  readonly asked: ApprovalRequest[]
  readonly yes: NonNullable<ConfirmOptions['approve']>
  readonly no: NonNullable<ConfirmOptions['approve']>
  /** The operation in the Company's own books. */
  readonly book: () => MisbehavingCompany['operations'][number]
}

/** Signs in for booking, and is proposed a table. */
export async function proposedTable(
  faults: Faults = {},
  options: Partial<PersonalAgentOptions> = {},
): Promise<Proposal> {
  const visit = await visitHostileCompany({}, { fetch: oneConnection(), ...options })
  const here = await visit.session()
  await visit.signIn(here, ['poppy:write'])
  Object.assign(visit.company.switches, using(faults))
  const { operation } = await here.call('book_table', { text: 'for two' })
  if (!operation) throw new Error('nothing was proposed')
  visit.sent()
  const asked: ApprovalRequest[] = []
  const answer = (approved: boolean) => async (request: ApprovalRequest) => {
    asked.push(request)
    return { approved }
  }
  return {
    ...visit,
    ...{ here, operation, asked },
    yes: answer(true),
    no: answer(false),
    book: () => {
      const entry = visit.company.operations.find(({ id }) => id === operation.id)
      if (!entry) throw new Error('no such operation')
      return entry
    },
  }
}
