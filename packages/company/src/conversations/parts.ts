import type { AskedParts } from '../audit/asked.ts'
import type { Changes } from '../changes/changes.ts'
import type { CompanyAgent } from '../company-agent/turn.ts'
import type { FaultPoint } from '../faults/faults.ts'
import type { SessionLimits } from '../sessions/rights.ts'
import type { Logger, Scope } from '../store/database.ts'
import type { WorkWatch } from '../telemetry/telemetry.ts'
import type { Outgoing } from '../webhooks/outgoing.ts'
import type { ConversationQueue } from './ledger.ts'
import type { Listening } from './listening.ts'
import type { People } from './presence.ts'
import type { ConversationRow } from './row.ts'
import type { CheckedConversations } from './settings.ts'

/** What all that is done to conversations is done with. */

/** A conversation whose turn is due: whose it is says whether there is room for it. */
export type DueTurn = Pick<ConversationRow, 'id' | 'client_id' | 'user_id'>

/** See `createConversations`. */
export interface ConversationParts extends AskedParts {
  readonly scope: () => Promise<Scope>
  /** Milliseconds since 1970. */
  readonly now: () => number
  readonly random: (length: number) => Uint8Array
  readonly log: Logger
  readonly settings: CheckedConversations
  readonly sessionLimits: SessionLimits
  /** The company's own agent; null where people alone answer. */
  readonly agent: CompanyAgent | null
  readonly people: People
  /** Told of each change after its commit; whoever waits is told there. */
  readonly changes: Changes
  /** What the company's own systems are told; null or left out where there are no webhooks. */
  readonly outgoing?: Outgoing | null
  /** Hears who listens where people are wanted or at work. */
  readonly listening: Listening
  /** Lets the changes that this process makes of one conversation follow each other. */
  readonly queue: ConversationQueue
  /** Has a turn that is due begun, after that is committed. Where nobody does, it is found by looking. */
  readonly begin: (due: DueTurn) => void
  /** Tells of turns and of waits for a person; left out, nobody does. */
  readonly watch?: WorkWatch
  /** Named points at which tests end the process. */
  readonly at: (point: FaultPoint, id: string) => void | Promise<void>
}
