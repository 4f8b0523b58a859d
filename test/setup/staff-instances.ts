import { PoppyError } from '@poppyseed/protocol'
import { careForConversations } from '../../packages/company/src/conversations/caring.ts'
import { accepted, turnEnded } from '../../packages/company/src/conversations/conversation.ts'
import { handedOff } from '../../packages/company/src/conversations/handoff.ts'
import type { Staff } from '../../packages/company/src/conversations/held.ts'
import { withConversation } from '../../packages/company/src/conversations/ledger.ts'
import type { ConversationRow } from '../../packages/company/src/conversations/row.ts'
import { createCompanyConversations } from '../../packages/company/src/conversations/staff.ts'
import { eventsAfter, findConversation } from '../../packages/company/src/conversations/store.ts'
import { insertSession } from '../../packages/company/src/sessions/store.ts'
import type { Scope } from '../../packages/company/src/store/database.ts'
import { caller, conversationParts, noTools, startConversation } from './conversation-parts.ts'
import { grantRow, sessionRow, now as start } from './rows.ts'
import type { FreshStore } from './stores.ts'

/** The staff's functions at two instances of one Company, on one database and with one clock. */

export const rita: Staff = { id: 'rita', name: 'Rita' }
export const omar: Staff = { id: 'omar', name: 'Omar' }
export const minute = 60_000
const company = 'https://miramar.example'

/** What came of something: `done`, or why not. */
export async function settled(work: Promise<unknown>): Promise<unknown> {
  try {
    await work
    return 'done'
  } catch (error) {
    if (error instanceof PoppyError) return error.extra?.because ?? error.code
    throw error
  }
}

/** Makes them, with a Session that is signed in to the account `ada` by the grant `g`. */
export async function staffInstances({ open }: FreshStore) {
  const clock = { now: start }
  const scopes: Scope[] = [
    { db: await open(), company },
    { db: await open(), company },
  ]
  const [scope] = scopes as [Scope]
  await insertSession(scope, sessionRow({ account: 'ada', grant_id: 'g' }))
  await scope.db.query
    .insertInto('poppy_grants')
    .values({ ...grantRow({ expires_at: null }), company })
    .execute()
  const instances = scopes.map((one) => {
    const { parts, begun } = conversationParts(one, { now: () => clock.now, agent: async function* () {} })
    const staff = createCompanyConversations({
      ...parts,
      ...noTools,
      givenUp: new AbortController().signal,
      callTool: async (row, { name, staff: by }) => ({ ok: true, value: [row.id, name, by] }),
    })
    return { parts, begun, staff, care: () => careForConversations(parts) }
  })
  const [first, second] = instances as [(typeof instances)[0], (typeof instances)[0]]
  const row = async (id: string) => (await findConversation(scope, id)) as ConversationRow
  const events = async (id: string) =>
    (await eventsAfter(scope, await row(id), { after: 0, limit: 1000 })).map(
      ({ body }) => JSON.parse(body) as Record<string, unknown>,
    )
  const said = async (id: string) =>
    (await events(id)).map((event) =>
      event.type === 'state'
        ? `${event.status}/${event.responder}`
        : event.type === 'message'
          ? (event.message as { sender: string; role: string; text: string }).role === 'user'
            ? 'user'
            : (event.message as { sender: string }).sender
          : String(event.type),
    )
  let count = 0
  /** A conversation in which somebody waits for a person. */
  async function queued(by = caller()): Promise<string> {
    count += 1
    const { id } = await startConversation(scope, { id: `cnv_${count}`, by })
    await withConversation(first.parts, id, (one) => turnEnded(one, { answered: one.asked, now: clock.now }))
    const who = { comes: true } as const
    await withConversation(first.parts, id, (one) => handedOff(one, { now: clock.now, who, messageId: 'msg_h' }))
    clock.now += 1
    return id
  }
  const ask = (id: string, message: string, by = caller()) =>
    withConversation(first.parts, id, (one) =>
      accepted(one, {
        message: { id: message, sender: 'agent', text: 'And?' },
        caller: by,
        now: clock.now,
      }),
    )
  /** What the audit says, oldest first. */
  async function audit() {
    const rows = await scope.db.query
      .selectFrom('poppy_audit')
      .selectAll()
      .where('company', '=', company)
      .orderBy('at')
      .orderBy('id')
      .execute()
    return rows.map(({ staff_id, act, conversation_id, detail }) => ({
      did: `${staff_id} ${act}`,
      conversation: conversation_id,
      detail: detail === null ? null : (JSON.parse(detail) as Record<string, unknown>),
    }))
  }
  return { clock, scope, first, second, row, events, said, queued, ask, audit }
}
