import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { conversationRow } from '../../../../test/setup/conversation-rows.ts'
import {
  agentRow,
  codeRow,
  days,
  grantRow,
  minutes,
  now,
  operationRow,
  revisionRow,
  sessionRow,
} from '../../../../test/setup/rows.ts'
import { silent, stores } from '../../../../test/setup/stores.ts'
import * as persons from '../accounts/person-store.ts'
import * as accounts from '../accounts/store.ts'
import * as agents from '../agents/store.ts'
import * as auditing from '../audit/audit.ts'
import * as audits from '../audit/reading.ts'
import * as browsers from '../browser/store.ts'
import { standardTiming } from '../conversations/care.ts'
import * as last from '../conversations/last-messages.ts'
import * as ledger from '../conversations/ledger.ts'
import * as listening from '../conversations/listening-store.ts'
import * as notes from '../conversations/notes.ts'
import * as personConversations from '../conversations/person-conversations.ts'
import * as presence from '../conversations/presence.ts'
import * as conversationRetention from '../conversations/retention.ts'
import * as searching from '../conversations/search-store.ts'
import * as staff from '../conversations/staff-store.ts'
import * as conversations from '../conversations/store.ts'
import * as streams from '../conversations/stream-store.ts'
import * as turns from '../conversations/turn-store.ts'
import * as personOperations from '../operations/person-operations.ts'
import * as retention from '../operations/retention.ts'
import * as operations from '../operations/store.ts'
import * as outbox from '../outbox/store.ts'
import * as sessions from '../sessions/store.ts'
import * as attempts from '../sign-in/attempts.ts'
import * as devices from '../sign-in/device/store.ts'
import * as mediated from '../sign-in/mediated/store.ts'
import * as signIn from '../sign-in/store.ts'
import * as givenUp from '../webhooks/given-up.ts'
import * as webhooks from '../webhooks/store.ts'
import * as cleaning from './clean-up.ts'
import type { Database, Scope } from './database.ts'

/** Every query names the Company: shown for each function that a chapter's `store.ts` exports, also for new ones. */

const later = now + days(400)
const proof = {
  sessionId: 's',
  thumbprint: 'key',
  proofId: 'p',
  passesUntil: now,
  now: now + minutes(2),
  idle: days(30),
}

const { last_seen_at: _, ...newAgent } = {
  ...agentRow({ client_id: 'https://new.example/client', site: 'new.example' }),
  since: now - 1,
  most: 2,
  mostOfSite: 1,
}
const device = {
  code_hash: 'device',
  user_code_hash: 'user code',
  client_id: 'https://agent.example/agent.json',
  scopes: 'poppy:read',
  status: 'pending',
  account: null,
  approved_scopes: null,
  created_at: now,
  expires_at: now + minutes(10),
  polled_at: null,
  interval_seconds: 5,
} as const
const waiting = {
  id: 'mediated',
  session_id: 's',
  client_id: 'https://agent.example/client',
  account: 'ada',
  scopes: 'poppy:read',
  code_hash: 'hash of a code',
  sent_to: 'a phone',
  status: 'waiting',
  tries: 0,
  created_at: now,
  expires_at: now + minutes(10),
} as const
const entry = { event: 'confirmed', channel: 'endpoint', who: { clientId: 'https://agent.example/client' } } as const
const change = (id: string) => ({ id, now, entry })
/** An operation in each state that a change begins in. */
const operationsHere = [
  operationRow({ id: 'proposed', identity: 'the same thing' }),
  operationRow({ id: 'over', expires_at: now }),
  operationRow({ id: 'confirmed', state: 'in_progress', expires_at: null, approved_by: 'user', confirmed_at: now }),
  operationRow({ id: 'begun', state: 'in_progress', expires_at: null, turn: 1, started_at: now }),
  operationRow({ id: 'unknown', state: 'in_progress', expires_at: null, turn: 2, unknown_since: now }),
]
const work = { id: 'tell:proposed:1', kind: 'tell', operation_id: 'proposed', payload: null, created_at: now } as const
const about = { conversationId: 'talk', operationId: null }
const delivery = { id: 'dlv_1', endpoint: 'desk', event: 'conversation.closed', body: '{"to":"ada"}', ...about, now }
const due = { ...delivery, attempts: 0, due_at: now }
const attempt = { kind: 'user_code:person', owner: 'ada' }

/** A conversation for each thing that is done to one. */
const conversationsHere = [
  conversationRow({ id: 'talk', session_id: 's', last_event: 2, asked: 1, turn_due_at: now, turn: 1, account: 'ada' }),
  conversationRow({ id: 'waits', status: 'queued', queued_at: now, care_due_at: now }),
  conversationRow({ id: 'held', responder: 'human', held_by: 'rita', held_name: 'Rita' }),
  conversationRow({ id: 'over', status: 'closed', closed_at: now }),
]
const talk = conversationsHere[0] as (typeof conversationsHere)[0]
const said = { set: {}, events: [{ type: 'user_requested', reason: 'Because.', writtenFor: 'turn:1:2' }] } as const
const heard = { clientId: talk.client_id, userId: talk.user_id, messageId: 'msg_1' }
const note = {
  conversation_id: 'talk',
  kind: 'note',
  who: '{}',
  text: 'Asks often.',
  data: null,
  created_at: now,
} as const
const audited = {
  id: 'a',
  by: { id: 'rita', name: 'Rita' },
  act: 'took',
  conversation: 'talk',
  operation: null,
} as const
const conversationBite = { now: later, limit: 10, retention: { conversations: 1, events: 1, audit: 1 } }

/** Each function with ids that both Companies have. */
const calls: Readonly<Record<string, (scope: Scope) => Promise<unknown>>> = {
  admitProof: (scope) => sessions.admitProof(scope, proof),
  readSession: (scope) => sessions.readSession(scope, proof),
  peekSession: (scope) => sessions.peekSession(scope, 's'),
  claimProof: (scope) => sessions.claimProof(scope, proof),
  claimIds: (scope) => sessions.claimIds(scope, [{ kind: 'form', owner: 'ada', id: 'f', expiresAt: now }]),
  insertSession: (scope) => sessions.insertSession(scope, sessionRow({ id: 'new' })),
  signInSession: (scope) => sessions.signInSession(scope, { sessionId: 's', account: 'ada', grantId: 'g2', now }),
  endSession: (scope) => sessions.endSession(scope, { sessionId: 's', now }),
  insertGrant: (scope) => accounts.insertGrant(scope, grantRow({ id: 'new' })),
  findGrantByToken: (scope) => accounts.findGrantByToken(scope, 'hash of g'),
  findGrantById: (scope) => accounts.findGrantById(scope, 'g'),
  findRetired: (scope) => accounts.findRetired(scope, 'hash of an older g'),
  replaceToken: (scope) =>
    accounts.replaceToken(scope, { grantId: 'g', tokenHash: 'hash of g', successorHash: 'hash of a newer g', now }),
  noteGrantUse: (scope) => accounts.noteGrantUse(scope, { grantId: 'g', now: later }),
  revokeGrant: (scope) => accounts.revokeGrant(scope, { grantId: 'g', now }),
  grantsOf: (scope) => accounts.grantsOf(scope, { account: 'ada', now }),
  revokeGrantsOf: (scope) => accounts.revokeGrantsOf(scope, { account: 'ada', now }),
  readPerson: (scope) => persons.readPerson(scope, 'ada'),
  deletePerson: (scope) => persons.deletePerson(scope, { person: 'ada', formsUntil: now }),
  endForms: (scope) => persons.endForms(scope, { account: 'ada', until: now }),
  wasEndedSince: (scope) => persons.wasEndedSince(scope, { account: 'ada', at: now }),
  wasRevokedSince: (scope) =>
    accounts.wasRevokedSince(scope, { account: 'ada', clientId: 'https://agent.example/client', since: 0 }),
  takeScopeAway: (scope) =>
    accounts.takeScopeAway(scope, {
      account: 'ada',
      clientId: 'https://agent.example/client',
      name: 'poppy:read',
      now,
    }),
  insertCode: (scope) => signIn.insertCode(scope, codeRow({ code_hash: 'new' })),
  findCode: (scope) => signIn.findCode(scope, 'code'),
  spendCode: (scope) => signIn.spendCode(scope, { codeHash: 'code', now }),
  noteGrantOfCode: (scope) => signIn.noteGrantOfCode(scope, { codeHash: 'code', grantId: 'g' }),
  findAgent: (scope) => agents.findAgent(scope, 'https://agent.example/client'),
  countNewAgents: (scope) => agents.countNewAgents(scope, { site: 'agent.example', since: now - 1 }),
  addAgent: (scope) => agents.addAgent(scope, newAgent),
  noteAgent: (scope) => agents.noteAgent(scope, { clientId: 'https://agent.example/client', name: 'New name', now }),
  agentNames: async (scope) => [...(await agents.agentNames(scope, ['https://agent.example/client']))],
  isAgentBlocked: (scope) => agents.isAgentBlocked(scope, 'https://agent.example/client'),
  blockAgent: (scope) => agents.blockAgent(scope, { clientId: 'https://agent.example/client', reason: 'again', now }),
  unblockAgent: (scope) => agents.unblockAgent(scope, 'https://agent.example/client'),
  blockedAgents: async (scope) => (await agents.blockedAgents(scope)).map(({ company: _company, ...agent }) => agent),
  agentsOnRecord: (scope) => agents.agentsOnRecord(scope, { limit: 10 }),
  insertBrowser: (scope) => browsers.insertBrowser(scope, { cookieHash: 'new', sessionId: 's', now, expiresAt: later }),
  findBrowser: (scope) => browsers.findBrowser(scope, { cookieHash: 'cookie', now }),
  deleteBrowser: (scope) => browsers.deleteBrowser(scope, 'cookie'),
  insertDevice: (scope) => devices.insertDevice(scope, { ...device, code_hash: 'new', user_code_hash: 'new' }),
  findDevice: (scope) => devices.findDevice(scope, 'device'),
  findDeviceByUserCode: (scope) => devices.findDeviceByUserCode(scope, 'user code'),
  decideDevice: (scope) =>
    devices.decideDevice(scope, { codeHash: 'device', account: 'ada', scopes: 'poppy:read', now }),
  spendDevice: (scope) => devices.spendDevice(scope, { codeHash: 'device', now }),
  notePoll: (scope) => devices.notePoll(scope, { codeHash: 'device', now, interval: 10 }),
  insertMediated: (scope) => mediated.insertMediated(scope, { ...waiting, id: 'new' }),
  findMediated: (scope) => mediated.findMediated(scope, { id: 'mediated', sessionId: 's' }),
  takeTry: (scope) => mediated.takeTry(scope, { id: 'mediated', sessionId: 's', most: 5, now }),
  endMediated: (scope) => mediated.endMediated(scope, { id: 'mediated', status: 'done' }),
  countAttempt: (scope) => attempts.countAttempt(scope, { ...attempt, most: 5, window: 1000, now }),
  countAttempts: (scope) => attempts.countAttempts(scope, [{ ...attempt, most: 5, window: 1000 }], now),
  forgetAttempt: (scope) => attempts.forgetAttempt(scope, attempt),
  holdSession: (scope) => sessions.holdSession(scope, 's'),
  holdConversation: (scope) => conversations.holdConversation(scope, 'talk'),
  insertOperation: (scope) =>
    operations.insertOperation(scope, {
      operation: operationRow({ id: 'new' }),
      revision: revisionRow({ operation_id: 'new' }),
      entry,
      tells: true,
    }),
  findOperation: (scope) => operations.findOperation(scope, 'proposed'),
  findWithGrant: (scope) => operations.findWithGrant(scope, { id: 'proposed', grantId: 'g' }),
  findOpen: (scope) => operations.findOpen(scope, 'the same thing'),
  findRevision: (scope) => operations.findRevision(scope, { id: 'proposed', revision: 1 }),
  listOperations: (scope) =>
    operations.listOperations(scope, { account: 'ada', limit: 2, after: { at: now, id: 'unknown' } }),
  expiredOperations: (scope) => operations.expiredOperations(scope, { now, limit: 2 }),
  revisionOfEntry: (scope) => operations.revisionOfEntry(scope, { id: 'proposed', number: 1 }),
  trailOf: (scope) => operations.trailOf(scope, 'proposed'),
  addRevision: (scope) =>
    operations.addRevision(scope, {
      ...change('proposed'),
      from: 1,
      revision: revisionRow({ operation_id: 'proposed', revision: 2 }),
      tells: true,
    }),
  confirmOperation: (scope) =>
    operations.confirmOperation(scope, {
      grantId: null,
      grantScopes: null,
      ...change('proposed'),
      confirmed: 1,
      approvedBy: 'user',
      scopes: '',
      dueAt: now,
      tells: true,
    }),
  cancelOperation: (scope) => operations.cancelOperation(scope, { ...change('proposed'), result: null }),
  expireOperation: (scope) => operations.expireOperation(scope, change('over')),
  startOperation: (scope) => operations.startOperation(scope, { ...change('confirmed'), turn: 0, dueAt: later }),
  takeOver: (scope) => operations.takeOver(scope, { ...change('begun'), turn: 1, dueAt: later }),
  finishOperation: (scope) =>
    operations.finishOperation(scope, { ...change('begun'), turn: 1, state: 'succeeded', result: null }),
  settleOperation: (scope) =>
    operations.settleOperation(scope, { ...change('unknown'), state: 'failed', result: null }),
  finishCancelled: (scope) => operations.finishCancelled(scope, { ...change('begun'), turn: null, result: null }),
  noteCancelAsked: (scope) => operations.noteCancelAsked(scope, change('begun')),
  linkOperation: (scope) => operations.linkOperation(scope, { id: 'proposed', conversationId: 'talk' }),
  addToTrail: (scope) => operations.addToTrail(scope, change('begun')),
  deleteOverOperations: async (scope) => {
    const bite = { now: later, limit: 2, retention: retention.standardRetention }
    return Number((await retention.deleteOverOperations(scope, bite)).numDeletedRows)
  },
  deleteWhole: (scope) => retention.deleteWhole(scope, ['proposed']),
  readOperationsOf: (scope) => personOperations.readOperationsOf(scope, 'ada'),
  deleteOperationsOf: (scope) => personOperations.deleteOperationsOf(scope, 'ada'),
  dueWork: (scope) => outbox.dueWork(scope, { what: 'do', now: later, limit: 1 }),
  claimWork: (scope) =>
    outbox.claimWork(scope, { work: { ...work, due_at: now, attempts: 0 }, now: later, until: later + 1 }),
  putOffWork: (scope) => outbox.putOffWork(scope, { work, until: later }),
  addWork: (scope) => outbox.addWork(scope, { ...work, id: 'cancel:begun', kind: 'cancel', due_at: now, attempts: 0 }),
  deleteWork: (scope) => outbox.deleteWork(scope, work),
  backlog: (scope) => outbox.backlog(scope, { now: later }),
  insertDeliveries: (scope) => webhooks.insertDeliveries(scope, [{ ...delivery, id: 'dlv_2' }]),
  dueDeliveries: (scope) => webhooks.dueDeliveries(scope, { endpoint: 'desk', now: later, limit: 10 }),
  claimDelivery: (scope) => webhooks.claimDelivery(scope, { delivery: due, now: later, until: later + 1 }),
  putOffDelivery: (scope) =>
    webhooks.putOffDelivery(scope, { id: 'dlv_1', lease: now, dueAt: later, why: 'status 503' }),
  giveUpDelivery: (scope) => webhooks.giveUpDelivery(scope, { id: 'dlv_1', lease: now, now: later, why: 'status 503' }),
  deleteDelivery: (scope) => webhooks.deleteDelivery(scope, 'dlv_1'),
  giveUpOthers: (scope) => webhooks.giveUpOthers(scope, { known: ['another'], dueBefore: later, now: later }),
  listGivenUp: (scope) => givenUp.listGivenUp(scope, { since: 0, from: null, limit: 10 }),
  sendOneAgain: (scope) => givenUp.sendOneAgain(scope, { id: 'dlv_0', known: ['desk'], now: later }),
  sendManyAgain: (scope) => givenUp.sendManyAgain(scope, { since: 0, known: ['desk'], limit: 10, now: later }),
  deliveryBacklog: (scope) => webhooks.deliveryBacklog(scope, { now: later }),
  changeConversation: (scope) => ledger.changeConversation(scope, { ...said, seen: talk, now, timing: standardTiming }),
  insertConversation: (scope) =>
    ledger.insertConversation(scope, {
      ...said,
      seen: { ...talk, id: 'new', version: 0, last_event: 0 },
      now,
      timing: standardTiming,
      receipt: { ...heard, messageId: 'msg_2', digest: 'd', code: 201 },
    }),
  findConversation: (scope) => conversations.findConversation(scope, 'talk'),
  eventsAfter: (scope) => conversations.eventsAfter(scope, talk, { after: 0, limit: 10 }),
  findReceipt: (scope) => conversations.findReceipt(scope, heard),
  areWritten: (scope) => conversations.areWritten(scope, 'talk', [{ ...said.events[0], writtenFor: 'turn:1:1' }]),
  countOpen: (scope) => conversations.countOpen(scope, { ...heard, most: 5 }),
  deleteOverConversations: async (scope) =>
    Number((await conversationRetention.deleteOverConversations(scope, conversationBite)).numDeletedRows),
  deleteOldEvents: async (scope) =>
    Number((await conversationRetention.deleteOldEvents(scope, conversationBite)).numDeletedRows),
  deleteConversations: (scope) => conversationRetention.deleteConversations(scope, ['talk']),
  readConversationsOf: (scope) => personConversations.readConversationsOf(scope, 'ada'),
  deleteConversationsOf: (scope) => personConversations.deleteConversationsOf(scope, 'ada'),
  queuedConversations: (scope) => staff.queuedConversations(scope, 10),
  heldConversations: (scope) => staff.heldConversations(scope, 'rita'),
  waitingConversations: (scope) => staff.waitingConversations(scope, { limit: 10, after: { at: now - 1, id: 'a' } }),
  openConversations: (scope) =>
    staff.openConversations(scope, { limit: 10, status: 'working', account: 'ada', clientId: talk.client_id }),
  closedConversations: (scope) => staff.closedConversations(scope, { limit: 10, after: { at: later, id: 'z' } }),
  countForStaff: (scope) => staff.countForStaff(scope, { staffId: 'rita', most: 10 }),
  lastMessages: async (scope) => [...(await last.lastMessages(scope, ['talk', 'over']))],
  conversationsByIds: (scope) => searching.conversationsByIds(scope, ['talk', 'over', 'none']),
  conversationsOfAccount: (scope) => searching.conversationsOfAccount(scope, { account: 'ada', limit: 10 }),
  conversationsOfAgents: (scope) =>
    searching.conversationsOfAgents(scope, {
      range: { from: 'https://agent.example/', to: 'https://agent.example0' },
      limit: 10,
    }),
  candidates: (scope) => searching.candidates(scope, { half: 'open', after: { at: later, id: 'z' }, limit: 10 }),
  saidIn: (scope) => searching.saidIn(scope, ['talk', 'over']),
  saidBetween: (scope) => searching.saidBetween(scope, { id: 'talk', from: 1, before: 2 }),
  notedIn: (scope) => searching.notedIn(scope, ['talk']),
  messagesAt: async (scope) => [
    ...(await searching.messagesAt(scope, [
      { id: 'talk', kind: 'message', number: 1 },
      { id: 'over', kind: 'message', number: 1 },
    ])),
  ],
  notesAt: (scope) => searching.notesAt(scope, [{ id: 'talk', kind: 'note', number: 1 }]),
  lastEventAt: (scope) => searching.lastEventAt(scope, { id: 'talk', at: later }),
  readAudit: (scope) => audits.readAudit(scope, { conversation: 'talk', staff: 'rita', limit: 1 }),
  staffSeen: (scope) => presence.staffSeen(scope, now - 1),
  conversationsInCare: (scope) => staff.conversationsInCare(scope, { now: later, limit: 10 }),
  careLater: (scope) => staff.careLater(scope, { id: 'waits', version: 1 }, later),
  insertNote: (scope) => notes.insertNote(scope, { ...note, number: 2 }),
  notesOf: (scope) => notes.notesOf(scope, 'talk'),
  noteSeen: (scope) => presence.noteSeen(scope, { id: 'rita', name: 'Rita' }, later),
  noteStays: (scope) => presence.noteStays(scope, 'rita', later),
  forgetSeen: (scope) => presence.forgetSeen(scope, 'rita'),
  seenAt: (scope) => presence.seenAt(scope, 'rita'),
  noteListening: (scope) => listening.noteListening(scope, { id: 'talk', now, endsAt: later }),
  renewListening: (scope) => listening.renewListening(scope, { ids: ['talk'], endsAt: later }),
  stopListening: (scope) => listening.stopListening(scope, { id: 'talk', endsAt: later }),
  lastSeenOf: (scope) => listening.lastSeenOf(scope, { ids: ['talk'], now }),
  readDelivery: (scope) => streams.readDelivery(scope, { id: 'talk', after: 0, limit: 10, sessionId: 's' }),
  claimTurn: (scope) => turns.claimTurn(scope, { id: 'talk', now: later, until: later + 1 }),
  renewTurn: (scope) => turns.renewTurn(scope, { id: 'talk', runner: 0, until: later }),
  dueTurnCount: (scope) => turns.dueTurnCount(scope, { now: later }),
  dueTurns: (scope) => turns.dueTurns(scope, { now: later, after: '', clients: 10, each: 10, fullUsers: [] }),
  doneBefore: (scope) => turns.doneBefore(scope, { id: 'talk', turn: 1, turn_asked: 0 }),
  recordStep: (scope) =>
    turns.recordStep(scope, { id: 'talk', turn: 1, runner: 0, step: 2, digest: 'e', recorded: {} as never, now }),
  endedOf: (scope) =>
    streams.endedOf(
      scope,
      [{ conversationId: 'talk', sessionId: 's', userId: talk.user_id, account: 'bob', epoch: 0 }],
      { now, idle: days(30) },
    ),
  insertAudit: (scope) => auditing.insertAudit(scope, { ...audited, id: 'aud_2' }, now),
  findAudit: (scope) => auditing.findAudit(scope, 'a'),
  completeAudit: (scope) => auditing.completeAudit(scope, { ...audited, act: 'ran', detail: { tool: 'charge' } }),
  lastAct: (scope) => auditing.lastAct(scope, { conversation: 'talk', acts: ['took', 'gave'] }),
  didSince: (scope) =>
    auditing.didSince(scope, { by: 'rita', act: 'took', conversation: 'talk', operation: null, since: now - 1 }),
  forgetSteps: (scope) => turns.forgetSteps(scope, { id: 'talk', turn: 2 }),
  cleanUp: (scope) => cleaning.cleanUp(scope, { now: later, limit: 2, log: silent }),
}

/** Of what they export, what takes no scope. */
const pure = [
  'auditId',
  'readDetail',
  'scopesOf',
  'exportOperations',
  'exportConversations',
  'checkConversationRetention',
  'createConversationQueue',
  'withConversation',
  'announce',
  'noted',
  'sideOf',
  'changeWithNote',
  'createPeople',
  'saidKey',
  'sessionOf',
  'isNews',
]

const tables = [
  'poppy_sessions',
  'poppy_grants',
  'poppy_codes',
  'poppy_used_ids',
  'poppy_agents',
  'poppy_browsers',
  'poppy_device_codes',
  'poppy_attempts',
  'poppy_mediated',
  'poppy_retired_tokens',
  'poppy_blocked_agents',
  'poppy_proofs',
  'poppy_operations',
  'poppy_revisions',
  'poppy_trail',
  'poppy_outbox',
  'poppy_conversations',
  'poppy_events',
  'poppy_receipts',
  'poppy_steps',
  'poppy_notes',
  'poppy_staff',
  'poppy_audit',
  'poppy_deliveries',
  'poppy_listeners',
] as const

async function everything(db: Database, company: string): Promise<unknown> {
  const rows = []
  for (const table of tables) {
    const found = await db.query.selectFrom(table).selectAll().where('company', '=', company).execute()
    rows.push(found.map((row) => JSON.stringify(row)).sort())
  }
  return rows
}

async function fill(scope: Scope): Promise<void> {
  await accounts.insertGrant(scope, grantRow())
  await sessions.insertSession(scope, sessionRow({ account: 'ada', grant_id: 'g' }))
  const older = { token_hash: 'hash of an older g', successor_hash: 'hash of g' }
  await scope.db.query
    .insertInto('poppy_retired_tokens')
    .values({ company: scope.company, grant_id: 'g', retired_at: now, ...older })
    .execute()
  await signIn.insertCode(scope, codeRow())
  await browsers.insertBrowser(scope, { cookieHash: 'cookie', sessionId: 's', now, expiresAt: later })
  await devices.insertDevice(scope, device)
  await mediated.insertMediated(scope, waiting)
  await attempts.countAttempt(scope, { ...attempt, most: 5, window: 1000, now })
  await sessions.claimProof(scope, { ...proof, proofId: 'earlier' })
  await sessions.claimIds(scope, [{ kind: 'form', owner: 'ada', id: 'earlier', expiresAt: now }])
  for (const operation of operationsHere)
    await operations.insertOperation(scope, {
      operation,
      revision: revisionRow({ operation_id: operation.id }),
      entry,
      tells: true,
    })
  const { company } = scope
  const of = { company, conversation_id: 'talk' }
  for (const row of conversationsHere)
    await scope.db.query
      .insertInto('poppy_conversations')
      .values({ ...row, company })
      .execute()
  const body = '{"message":{"role":"user","sender":"agent","text":"Breakfast?"}}'
  for (const number of [1, 2])
    await scope.db.query
      .insertInto('poppy_events')
      .values({ ...of, number, type: 'message', body, written_for: `turn:1:${number - 1}`, created_at: now })
      .execute()
  const receipt = { client_id: talk.client_id, user_id: talk.user_id, message_id: 'msg_1', digest: 'd', code: 201 }
  await scope.db.query
    .insertInto('poppy_receipts')
    .values({ ...of, ...receipt, status: 'working', responder: 'agent', event: 1 })
    .execute()
  await scope.db.query
    .insertInto('poppy_steps')
    .values({ ...of, turn: 1, step: 1, digest: 'd', outcome: '{}', created_at: now })
    .execute()
  await webhooks.insertDeliveries(scope, [delivery, { ...delivery, id: 'dlv_0' }])
  await webhooks.giveUpDelivery(scope, { id: 'dlv_0', lease: now, now, why: 'status 503' })
  await notes.insertNote(scope, { ...note, number: 1 })
  await presence.noteSeen(scope, { id: 'rita', name: 'Rita' }, now)
  await scope.db.query
    .insertInto('poppy_audit')
    .values({
      ...of,
      id: 'a',
      at: now,
      staff_id: 'rita',
      staff_name: 'Rita',
      act: 'took',
      operation_id: null,
      detail: '{}',
    })
    .execute()
  await agents.addAgent(scope, { ...newAgent, client_id: 'https://agent.example/client', site: 'agent.example' })
  await agents.blockAgent(scope, { clientId: 'https://agent.example/client', reason: null, now })
}

/** How often a statement touches a table, and how often it names the Company for it. */
function misses(sql: string): boolean {
  const text = sql.toLowerCase().replaceAll('"', '')
  const touched = text.match(/\b(?:from|into|update|join) poppy_\w+/g)?.length ?? 0
  const named = text.match(/\bcompany(?: = (?:cast\()?(?:\?|\$\d+|(?:s|c|operation)\.company)|[,)])/g)?.length ?? 0
  return named < touched
}

it('each function of the chapters that asks the store is among the calls', () => {
  const exported = [
    sessions,
    accounts,
    persons,
    signIn,
    agents,
    browsers,
    devices,
    mediated,
    attempts,
    operations,
    personOperations,
    retention,
    outbox,
    ledger,
    conversations,
    conversationRetention,
    personConversations,
    staff,
    last,
    searching,
    audits,
    notes,
    presence,
    listening,
    streams,
    turns,
    givenUp,
    webhooks,
    auditing,
    cleaning,
  ].flatMap((chapter) =>
    Object.entries(chapter)
      .filter(([name, value]) => typeof value === 'function' && !pure.includes(name))
      .map(([name]) => name),
  )
  expect(Object.keys(calls).sort()).toEqual(exported.sort())
})

it('a statement that leaves the Company out is noticed', () => {
  expect(misses('update "poppy_sessions" set "epoch" = ? where "id" = ?')).toBe(true)
  expect(misses('delete from poppy_codes where company = ? and code_hash in (select code_hash from poppy_codes)')).toBe(
    true,
  )
  expect(misses('select 1 from poppy_codes where company = $1')).toBe(false)
})

describe.each(stores)('In $name', ({ missing, lasting }) => {
  const seen: string[] = []
  let made: Awaited<ReturnType<typeof lasting>> | null = null
  beforeAll(async () => {
    if (missing === null) made = await lasting({ onQuery: (sql) => seen.push(sql) })
  })
  afterAll(() => made?.end())

  it.skipIf(missing !== null).each(Object.keys(calls))(
    '%s names the Company, and sees and changes no other',
    async (name) => {
      const call = calls[name] as (scope: Scope) => Promise<unknown>
      const { db } = made as NonNullable<typeof made>
      // Companies of its own, beside those of all tests before it.
      const [mine, others, nobody] = ['miramar', 'other', 'nobody'].map(
        (host) => `https://${host}.${name.toLowerCase()}.example`,
      ) as [string, string, string]

      // Alone, then beside a Company with the very same ids: what it gets is the same, and the other keeps what it has.
      await fill({ db, company: mine })
      seen.length = 0
      const alone = await db
        .transaction(async () => {
          const got = await call({ db, company: mine })
          throw { got, left: await everything(db, mine) }
        })
        .catch((thrown: unknown) => thrown)
      const asked = seen.filter((sql) => sql.includes('poppy_'))
      expect(asked.length).toBeGreaterThan(0)
      expect(asked.filter(misses)).toEqual([])

      await fill({ db, company: others })
      const before = await everything(db, others)
      const got = await call({ db, company: mine })
      expect({ got, left: await everything(db, mine) }).toEqual(alone)
      expect(await everything(db, others)).toEqual(before)

      // A Company that has nothing finds nothing of the others.
      const found = JSON.stringify(await call({ db, company: nobody }))
      if (!name.startsWith('insert')) expect(found ?? '').not.toMatch(/agent\.example|"ada"/)
      expect(await everything(db, others)).toEqual(before)
    },
  )
})
