import type { AgentDirectory } from '../agents/directory.ts'
import type { CompanyConversations } from '../conversations/staff.ts'
import type { RequestLimits } from '../limits/request-limits.ts'
import type { CompanyOperations } from '../operations/company-operations.ts'
import type { TermStyle } from '../operations/terms.ts'
import type { SessionLimits } from '../sessions/rights.ts'
import type { Logger, Scope } from '../store/database.ts'
import type { CompanyWebhooks } from '../webhooks/company-webhooks.ts'
import type { Wording, Wordings } from '../words/wording.ts'
import type { FormTokenParts } from './form-token.ts'
import type { StaffStreamsOptions } from './live.ts'
import type { CheckedInbox, SignedInStaff } from './settings.ts'

/** What the inbox is made of. It has no rights of its own: all that it does is done by what is in here. */
export interface InboxParts extends FormTokenParts {
  readonly settings: CheckedInbox
  /** What staff see and do; null where there are no conversations. */
  readonly conversations: CompanyConversations | null
  /** Null where there are no operations. */
  readonly operations: CompanyOperations | null
  /** Null where there are no webhooks. */
  readonly webhooks: CompanyWebhooks | null
  readonly scope: () => Promise<Scope>
  readonly random: (length: number) => Uint8Array
  readonly log: Logger
  readonly origin: string
  readonly organization: string
  /** The inbox's own public path, such as `/poppy/inbox`. */
  readonly path: string
  readonly wordings: Wordings
  readonly requestLimits: Pick<RequestLimits, 'countConsent'>
  readonly directory: Pick<AgentDirectory, 'find'>
  readonly sessionLimits: SessionLimits
  /** Every scope that some sign-in can grant. */
  readonly grantableScopes: readonly string[]
  /** Whether there is a Company Agent that a conversation can be handed back to. */
  readonly hasAgent: boolean
  /** What makes its pages live. */
  readonly live: Pick<StaffStreamsOptions, 'changes' | 'track' | 'ending' | 'people' | 'absence'>
}

/** For whom something is shown: how they read, and who they are. */
export interface Reader {
  readonly me: SignedInStaff
  readonly wording: Wording
  readonly style: TermStyle
}

/** Makes the reader of a request. */
export function readerOf({ wordings }: Pick<InboxParts, 'wordings'>, request: Request, me: SignedInStaff): Reader {
  const wording = me.locale === undefined ? wordings.of(request) : wordings.in(me.locale)
  return { me, wording, style: { locale: wording.locale, yes: wording.say('inbox.yes'), no: wording.say('inbox.no') } }
}
