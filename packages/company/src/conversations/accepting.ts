import { makeId, PoppyError, type WireAgentMessage } from '@poppyseed/protocol'
import { accepted, type Caller, directOpened, emptyConversation } from './conversation.ts'
import { readCursor } from './cursor.ts'
import { directBegins, withStanding } from './direct.ts'
import { announce, changeConversation, type Inserted, insertConversation, withConversation } from './ledger.ts'
import type { Held } from './ledger-sql.ts'
import { digestOf, type StartRequest } from './message.ts'
import { requireOwner } from './owning.ts'
import type { ConversationParts } from './parts.ts'
import { callerNow } from './rights-now.ts'
import type { ConversationRow, NewReceipt } from './row.ts'
import { countOpen, findConversation, findReceipt, type Receipt } from './store.ts'

/**
 * Accepting messages (7.3). A message that was accepted before is known by its receipt, whatever has happened since: it is
 * looked for first, and the store's key decides where one comes twice at once.
 */

/** A message that was accepted, now or before: its receipt is what it was answered with. */
export interface Acceptance {
  readonly conversationId: string
  readonly receipt: Pick<Receipt, 'code' | 'status' | 'responder'>
}

/** How a message is accepted, beside itself. */
export interface HowAccepted {
  readonly caller: Caller
  /** The cursor that the answer is to be read from: looked at before anything is accepted. Left out, no answer is read. */
  readonly cursor?: string | null | undefined
}

/** How often it is tried again after somebody else's change. */
const mostTries = 50

/**
 * Accepts a first message, and opens its conversation (7.3), or a Direct Conversation beside the one that it names (7.10).
 * @throws PoppyError `message_id_conflict`, those of the parent, `rate_limited` where too many are open
 */
export async function startConversation(
  parts: ConversationParts,
  { message, parentId }: StartRequest,
  { caller, cursor }: HowAccepted,
): Promise<Acceptance> {
  const scope = await parts.scope()
  const receipt = receiptOf(message, { caller, digest: digestOf(message, { parent: parentId }), code: 201 })
  const known = await findReceipt(scope, receipt)
  if (known !== null) return knownFirst(parts, known, { receipt, caller, cursor })
  try {
    // One User's one after another: else many at once would each be counted before any of them is there.
    return await parts.queue.run(`${receipt.clientId} ${receipt.userId}`, () =>
      open(parts, { message, caller, receipt, parentId }, cursor),
    )
  } catch (error) {
    const winner = isOvertaken(error) ? await findReceipt(scope, receipt) : null
    if (winner === null) throw error
    return knownFirst(parts, winner, { receipt, caller, cursor })
  }
}

/** What a message may be refused for because of itself, where it comes twice at once: it is known by then (reading 18). */
const overtaking: ReadonlySet<string> = new Set(['conversation_closed', 'direct_conversation_open', 'rate_limited'])
const isOvertaken = (error: unknown) => error instanceof PoppyError && overtaking.has(error.code)

async function open(
  parts: ConversationParts,
  { parentId, ...first }: First & { readonly parentId: string | null },
  cursor: string | null | undefined,
): Promise<Acceptance> {
  const scope = await parts.scope()
  const { receipt } = first
  let { caller } = first
  // Nothing has happened in it that there could be a cursor of.
  if (cursor !== undefined && cursor !== null)
    throw new PoppyError('invalid_cursor', { description: 'A new conversation is read without a cursor.' })
  if ((await countOpen(scope, { ...receipt, most: parts.settings.open })) >= parts.settings.open)
    throw new PoppyError('rate_limited', {
      description: `A User has at most ${parts.settings.open} open conversations. Close one that is done.`,
      retryAfter: 60,
    })

  const id = makeId('cnv', parts.random)
  await parts.at('accepting', id)
  for (let tries = 0; tries < mostTries; tries++) {
    const inserted = await (parentId === null
      ? insert(parts, id, { ...first, caller })
      : insertBeside(parts, id, { ...first, caller, parentId }))
    if (inserted === null) continue
    if (inserted.kept !== null) {
      announce(parts, inserted.kept, null)
      await parts.at('accepted', id)
      const { status, responder } = inserted.kept
      return { conversationId: id, receipt: { code: receipt.code, status, responder } }
    }
    if (inserted.because === 'gone') {
      // Signed out meanwhile, it is begun signed out; where the Session is over, this says so.
      caller = await callerNow(parts, caller)
      continue
    }
    const winner = await findReceipt(scope, receipt)
    if (winner !== null) return knownFirst(parts, winner, { receipt, caller, cursor })
  }
  throw new Error(
    `A conversation of ${caller.principal.clientId} could not be opened beside one that changes all the time.`,
  )
}

interface First {
  readonly message: WireAgentMessage
  readonly caller: Caller
  readonly receipt: NewReceipt
}

async function insert(parts: ConversationParts, id: string, { message, caller, receipt }: First): Promise<Inserted> {
  const now = parts.now()
  const { outgoing } = parts
  const { timing } = parts.settings
  const seen = emptyConversation(id, { caller, now })
  const decided = accepted(seen, { message, caller, now })
  const holds = holdOf(caller)
  return insertConversation(await parts.scope(), { ...decided, seen, now, timing, outgoing, receipt, holds })
}

const undone = new Error('The Direct Conversation was not kept.')

/** Null when the parent changed meanwhile. */
async function insertBeside(
  parts: ConversationParts,
  id: string,
  { message, caller, receipt, parentId }: First & { readonly parentId: string },
): Promise<Inserted | null> {
  const scope = await parts.scope()
  return parts.queue.run(parentId, async () => {
    const parent = await findConversation(scope, parentId)
    requireOwner(parent, caller.principal)
    const now = parts.now()
    const opened = directOpened(parent, id)
    const seen = { ...emptyConversation(id, { caller, now }), ...directBegins(parent) }
    const { outgoing } = parts
    const { timing } = parts.settings
    let outcome: Inserted | null = null
    let told: ConversationRow | null = null
    try {
      await scope.db.transaction(async () => {
        told = await changeConversation(scope, { ...opened, seen: parent, now, timing, outgoing })
        if (told === null) throw undone
        outcome = await insertConversation(scope, {
          ...withStanding(seen, accepted(seen, { message, caller, now })),
          seen,
          now,
          timing,
          outgoing,
          receipt,
          holds: holdOf(caller),
        })
        if (outcome.kept === null) throw undone
      })
    } catch (error) {
      if (error !== undone) throw error
      return outcome
    }
    if (told !== null) announce(parts, told, parent)
    return outcome
  })
}

/** 7.3: the first message again gives the conversation that it opened. */
async function knownFirst(
  parts: ConversationParts,
  known: Receipt,
  { receipt, caller, cursor }: HowAccepted & { readonly receipt: NewReceipt },
): Promise<Acceptance> {
  requireSame(known, receipt)
  const row = await findConversation(await parts.scope(), known.conversation_id)
  requireOwner(row, caller.principal)
  if (cursor !== undefined) readCursor(row, cursor)
  return { conversationId: row.id, receipt: known }
}

/**
 * Accepts a later message (7.3).
 * @param found what {@link findOwn} gave, so that whose it is was checked before the message was read
 * @throws PoppyError `message_id_conflict`, `conversation_closed`, `direct_conversation_open`, `conversation_not_found`
 */
export async function acceptMessage(
  parts: ConversationParts,
  row: ConversationRow,
  { message, cursor, ...how }: HowAccepted & { readonly message: WireAgentMessage },
): Promise<Acceptance> {
  const scope = await parts.scope()
  let { caller } = how
  const digest = digestOf(message, { conversation: row.id })
  const receipt = receiptOf(message, { caller, digest, code: 202 })
  if (cursor !== undefined) readCursor(row, cursor)
  await parts.at('accepting', row.id)
  const decide = (current: ConversationRow) => {
    requireOwner(current, caller.principal)
    return { ...accepted(current, { message, caller, now: parts.now() }), receipt, holds: holdOf(caller) }
  }
  const again = async () => {
    caller = await callerNow(parts, caller)
  }
  // Reading 18: whether it was accepted before is asked where that is what keeps it from being accepted, or something else does.
  // Nearly all are new, and are spared the question: the receipt's key says it with the change itself.
  const settled = await withConversation(parts, row.id, decide, row, again).catch(async (error: unknown) => {
    if (error instanceof PoppyError && (await findReceipt(scope, receipt)) !== null) {
      requireOwner(await findConversation(scope, row.id), caller.principal)
      return { row, isChanged: false }
    }
    throw error
  })
  if (settled === null) throw notFound()
  if (settled.isChanged) {
    await parts.at('accepted', row.id)
    const { status, responder } = settled.row
    return { conversationId: row.id, receipt: { code: receipt.code, status, responder } }
  }
  const winner = await findReceipt(scope, receipt)
  if (winner === null) throw notFound()
  requireSame(winner, receipt)
  return { conversationId: row.id, receipt: winner }
}

const notFound = () => new PoppyError('conversation_not_found', { description: 'There is no such conversation.' })

/** @throws PoppyError `message_id_conflict` */
function requireSame(known: Pick<Receipt, 'digest'>, { digest }: NewReceipt): void {
  if (known.digest === digest) return
  throw new PoppyError('message_id_conflict', {
    description: 'Another message of this User has this id. Ids are unique for the User; a retry has the same content.',
  })
}

/** The rights that a message is accepted with: the body of a request may come long after its token was looked at. */
function holdOf({ principal, epoch }: Caller): Held {
  return { heldSession: principal.sessionId, heldAccount: principal.account, heldEpoch: epoch }
}

function receiptOf(
  { id }: WireAgentMessage,
  { caller, ...more }: { readonly caller: Caller; readonly digest: string; readonly code: number },
): NewReceipt {
  const { clientId, userId } = caller.principal
  return { clientId, userId, messageId: id, ...more }
}
