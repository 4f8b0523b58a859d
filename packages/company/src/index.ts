/** The Company's side of the Personal Agent Protocol, on Web `Request` and `Response`. */
export { PoppyError } from '@poppyseed/protocol'
export type { ConnectedAgent } from './accounts/connected-agent.ts'
export type { NewConnection, OnConnection } from './accounts/connection-hook.ts'
export type { Accounts } from './accounts/connections.ts'
export type { ErasedPerson, PersonData } from './accounts/person.ts'
export type { Person } from './accounts/person-store.ts'
export type { SignOutSettings } from './accounts/sign-out-settings.ts'
export type { Agents, BlockedAgent } from './agents/blocking.ts'
export type { FetchLogo } from './agents/logo.ts'
export type { NewAgent, RegisterAgent } from './agents/registration.ts'
export type { AgentSettings } from './agents/settings.ts'
export type { AuditAsked, AuditEntry, AuditPage } from './audit/reading.ts'
export type { Company } from './company.ts'
export { type Heard, type Line, type Rule, type Script, type Step, scriptedAgent } from './company-agent/script.ts'
export type { CompanyAgent, HeardMessage, LockedTool, Said, ToolOutcome, Turn, TurnTool } from './company-agent/turn.ts'
export type { CompanyConfig } from './config.ts'
export { ConfigurationError } from './configuration-error.ts'
export type { FoundBy, FoundWords } from './conversations/found-by.ts'
export type { TextPiece } from './conversations/found-words.ts'
export type { Because, Staff } from './conversations/held.ts'
export type { InboxCounts } from './conversations/inbox-counts.ts'
export type { LastMessage } from './conversations/last-messages.ts'
export type { OpeningHours } from './conversations/opening-hours.ts'
export type { PeopleSettings } from './conversations/people-settings.ts'
export type { SearchAsked, SearchFound } from './conversations/search.ts'
export type { ConversationSettings } from './conversations/settings.ts'
export type {
  ClosedBy,
  CompanyConversations,
  OfferedToStaff,
  StaffMessage,
  StaffRevised,
} from './conversations/staff.ts'
export type { StaffAccount } from './conversations/staff-account.ts'
export type { StaffOptions } from './conversations/staff-input.ts'
export type { ConversationList, ConversationsAsked } from './conversations/staff-lists.ts'
export type { ConversationsPage } from './conversations/staff-reading.ts'
export type { ConversationNote, ConversationRead, ConversationRecord } from './conversations/staff-view.ts'
export type { StreamSettings } from './conversations/stream-settings.ts'
export { createCompany } from './create-company.ts'
export type { OwnApi } from './discovery/apis.ts'
export type { OrganizationConfig } from './discovery/domains.ts'
export type { ExtensionEntry } from './discovery/extensions.ts'
export { AnswerDropped } from './faults/answer-dropped.ts'
export type { AnswerAt, FaultPoint, FaultSettings } from './faults/faults.ts'
export type { CustomerCard, SavedReply, SignedInStaff } from './inbox/settings.ts'
export type { CloseOptions, Worked } from './lifecycle.ts'
export type { Agreement, TrailEntry } from './operations/agreement.ts'
export type { ChangedBy } from './operations/changed-by.ts'
export type {
  CompanyOperations,
  OperationChangedBy,
  OperationRecord,
  OperationRevision,
  OperationsAsked,
  OperationsPage,
} from './operations/company-operations.ts'
export type { ApprovalNeed, Operation, Proposal, WorkContext } from './operations/definition.ts'
export type { OperationEvent, OperationHooks } from './operations/hooks.ts'
export { type OperationDefinition, operation } from './operations/operation.ts'
export {
  type CancelOutcome,
  cancelled,
  failed,
  type Outcome,
  succeeded,
  tooLate,
  unknown,
} from './operations/outcome.ts'
export type { Settlement } from './operations/settle.ts'
export type { OperationView } from './operations/view.ts'
export type { Backlog } from './outbox/store.ts'
export type { ApiNeed } from './sessions/own-api.ts'
export type { Principal } from './sessions/principal.ts'
export type { Account } from './sign-in/person.ts'
export type { Logger, Store } from './store/database.ts'
export {
  type PrincipalWith,
  type ScopeNeed,
  type SignedInPrincipal,
  type Tool,
  type ToolAnnotations,
  type ToolContext,
  type ToolConversation,
  type ToolDefinition,
  tool,
} from './tools/tool.ts'
export { ToolError } from './tools/tool-error.ts'
export type {
  CompanyWebhooks,
  GivenUpAsked,
  GivenUpDelivery,
  GivenUpPage,
  SendAgain,
} from './webhooks/company-webhooks.ts'
export type { WebhookSettings } from './webhooks/settings.ts'
export type { DeliveryBacklog } from './webhooks/store.ts'
export { type VerifyWebhookOptions, verifyWebhook } from './webhooks/verify.ts'
export type { WebhookEvent, WebhookEventType } from './webhooks/wire.ts'
export type { ScopeText } from './words/settings.ts'
export type { Word, Words } from './words/words.ts'
