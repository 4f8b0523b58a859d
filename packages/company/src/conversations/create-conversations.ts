import type { WireOperation } from '@poppyseed/protocol'
import type { FaultSettings } from '../faults/faults.ts'
import type { DurableWork } from '../lifecycle.ts'
import type { StoredOperation } from '../operations/agreement.ts'
import type { OperationNews } from '../operations/hooks.ts'
import type { Revising } from '../operations/revising.ts'
import type { Gauges } from '../telemetry/work.ts'
import type { Wordings } from '../words/wording.ts'
import { careForConversations } from './caring.ts'
import { createConversationQueue } from './ledger.ts'
import { createListening } from './listening.ts'
import { createOperationNews } from './operation-news.ts'
import type { ConversationParts } from './parts.ts'
import { createPeople } from './presence.ts'
import { type CompanyConversations, createCompanyConversations } from './staff.ts'
import { operationNow, reviseUnderRights } from './staff-revising.ts'
import { countForStaff } from './staff-store.ts'
import { createStreams, type Streams } from './streaming.ts'
import { callTool, offeredNow } from './turn-tools.ts'
import { createTurnEngine, type TurnEngine, type TurnEngineParts } from './turns.ts'

/** Conversations, put together. */

/** What {@link createConversations} needs. */
export interface ConversationsOptions
  extends Pick<
      ConversationParts,
      | 'scope'
      | 'now'
      | 'random'
      | 'log'
      | 'settings'
      | 'sessionLimits'
      | 'agent'
      | 'changes'
      | 'outgoing'
      | 'watch'
      | 'askedHash'
    >,
    Pick<TurnEngineParts, 'registry' | 'supports' | 'grantableScopes' | 'standardLocale' | 'track'> {
  readonly faults: FaultSettings | null
  /** Aborts when the Company closes and waits no longer for what runs. */
  readonly givenUp: AbortSignal
  readonly wordings: Pick<Wordings, 'in'>
  /** The company's name, as people are told it. */
  readonly organization: string
  /** An operation as it travels. */
  readonly writeOperation: (stored: StoredOperation) => WireOperation
  /** Revises operations for staff. */
  readonly revising: Revising
  /** Aborts when the Company begins to close. */
  readonly ending: AbortSignal
}

/** See {@link createConversations}. */
export interface Conversations {
  readonly parts: ConversationParts
  /** Null where nothing is streamed. */
  readonly streams: Streams | null
  /** Tells a conversation what becomes of what was proposed in it. */
  readonly news: OperationNews
  /** What runs the turns of the Company Agent, and finds those that were left. */
  readonly turns: TurnEngine
  /** What looks after conversations in which somebody waits, is gone, or nothing happens. */
  readonly care: DurableWork
  readonly ofCompany: CompanyConversations
  /** What metrics tell of them. */
  readonly gauges: Gauges
}

/** Up to which number those who wait for a person are counted. */
const mostCounted = 10_000

/** Makes what accepts, reads and closes. */
export function createConversations({
  faults,
  wordings,
  organization,
  ending,
  givenUp,
  ...options
}: ConversationsOptions): Conversations {
  const { scope, now, settings, agent } = options
  const parts: ConversationParts = {
    ...options,
    people: createPeople({
      ...{ scope, now, ...settings, changes: options.changes, wordings, organization },
      hasAgent: agent !== null,
    }),
    listening: createListening({ ...{ scope, now, ending }, ...options }),
    queue: createConversationQueue(),
    at: (point, id) => faults?.atPoint?.(point, id),
    begin: (due) => turns.begin(due),
  }
  const streams = settings.streams && createStreams({ ...parts, settings: settings.streams, ending })
  const turns = createTurnEngine({ ...parts, ...options, wordings })
  const toolParts = { ...parts, ...options }
  const ofCompany = createCompanyConversations({
    ...parts,
    givenUp,
    callTool: (row, call) => callTool(toolParts, row, call),
    proposes: (name) => options.registry.find(name)?.proposes === true,
    offered: (row) => offeredNow(toolParts, row),
    revise: (row, revision) => reviseUnderRights(toolParts, row, revision),
    operation: (row, id) => operationNow(toolParts, row, id),
  })
  const care: DurableWork = { sweep: () => careForConversations(parts), stop: () => {} }
  const news = createOperationNews(parts, { write: options.writeOperation })
  const gauges: Gauges = {
    turns: turns.size,
    streams: () => streams?.size() ?? 0,
    waiting: async () => (await countForStaff(await scope(), { staffId: '', most: mostCounted })).waiting,
  }
  return { parts, streams, turns, care, news, ofCompany, gauges }
}
