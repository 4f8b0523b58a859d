import { makeId, type WireAgentMessage } from '@poppyseed/protocol'
import { createChanges } from '../../packages/company/src/changes/changes.ts'
import type { ToolOutcome } from '../../packages/company/src/company-agent/turn.ts'
import { standardTiming } from '../../packages/company/src/conversations/care.ts'
import { accepted, type Caller, emptyConversation } from '../../packages/company/src/conversations/conversation.ts'
import { createConversationQueue, insertConversation } from '../../packages/company/src/conversations/ledger.ts'
import { nobodyAsks } from '../../packages/company/src/conversations/listening.ts'
import type { ConversationParts } from '../../packages/company/src/conversations/parts.ts'
import { forgetSeen, noteSeen, noteStays, type People } from '../../packages/company/src/conversations/presence.ts'
import type { ConversationRow, NewReceipt } from '../../packages/company/src/conversations/row.ts'
import type { ToolsForStaff } from '../../packages/company/src/conversations/staff-tools.ts'
import { systemRandom } from '../../packages/company/src/crypto/random.ts'
import type { Scope } from '../../packages/company/src/store/database.ts'
import { createWordings } from '../../packages/company/src/words/wording.ts'
import { askedHash } from './asked-hash.ts'
import { days, now } from './rows.ts'
import { silent } from './stores.ts'

/** What storage tests of conversations stand on: parts over a scope, and a conversation that has begun. */

/** A caller of the User `user`, signed out unless said otherwise. */
export function caller(principal: Partial<Caller['principal']> = {}, epoch = 0): Caller {
  return {
    epoch,
    principal: {
      company: 'https://miramar.example',
      clientId: 'https://agent.example/client',
      userId: 'user',
      sessionId: 's',
      account: null,
      scopes: [],
      resource: null,
      grantId: null,
      ...principal,
    },
  }
}

export const message = (more: Partial<WireAgentMessage> = {}): WireAgentMessage => ({
  id: 'msg_1',
  sender: 'agent',
  text: 'Is breakfast included?',
  ...more,
})

export const receipt = (more: Partial<NewReceipt> = {}): NewReceipt => ({
  clientId: 'https://agent.example/client',
  userId: 'user',
  messageId: 'msg_1',
  digest: 'digest',
  code: 201,
  ...more,
})

const nobodyHere = (scope: Scope, time: () => number): People => ({
  seen: (staff) => noteSeen(scope, staff, time()),
  stays: async ({ id }) => void (await noteStays(scope, id, time())),
  gone: (id) => forgetSeen(scope, id),
  whoComes: async () => ({ comes: false, text: 'Nobody is here right now.' }),
  noneCame: () => 'Nobody came.',
  wording: () => wordings.in('en'),
})
const wordings = createWordings({ standard: 'en-GB', words: {}, scopes: {} })

/** What staff do with tools where a test has none. */
export const noTools: Omit<ToolsForStaff, 'callTool' | 'givenUp'> = {
  proposes: () => false,
  offered: async () => ({ tools: [], locked: [] }),
  revise: async () => noOperation,
  operation: async () => noOperation,
}
const noOperation: ToolOutcome = { ok: false, error: 'operation_not_found', description: 'There is none.' }

/** Parts over a scope; `begun` has the ids whose turn was to be begun. */
export function conversationParts(scope: Scope, more: Partial<ConversationParts> = {}) {
  const begun: string[] = []
  const parts: ConversationParts = {
    scope: async () => scope,
    now: () => now,
    random: systemRandom,
    log: silent,
    settings: {
      resource: undefined,
      open: 100,
      streams: null,
      hours: null,
      timing: standardTiming,
      turnTimeout: 20_000,
    },
    people: nobodyHere(scope, more.now ?? (() => now)),
    sessionLimits: { idle: days(7) },
    agent: null,
    changes: createChanges(),
    listening: nobodyAsks,
    queue: createConversationQueue(),
    begin: ({ id }) => void begun.push(id),
    askedHash,
    at: () => {},
    ...more,
  }
  return { parts, begun }
}

/** Starts a conversation with a first message, whose Session has to be there. */
export async function startConversation(
  scope: Scope,
  {
    id = makeId('cnv', systemRandom),
    by = caller(),
    ...more
  }: Partial<WireAgentMessage> & { readonly by?: Caller } = {},
): Promise<ConversationRow> {
  const first = message({ id: `msg_${id}`, ...more })
  const seen = emptyConversation(id, { caller: by, now })
  const { kept } = await insertConversation(scope, {
    seen,
    now,
    timing: standardTiming,
    ...accepted(seen, { message: first, caller: by, now }),
    receipt: receipt({ messageId: first.id }),
  })
  if (kept === null) throw new Error('the conversation was not kept')
  return kept
}
