/** The Personal Agent's side of the Personal Agent Protocol. */
export type { CallInput } from './apis/build-request.ts'
export type { CallResult, CompanyApiOperation, ListOptions } from './apis/call.ts'
export type { CompanyTool, ToolsOptions } from './apis/company-tools.ts'
export { type McpConnection, readToolError, type ToolRefusal } from './apis/mcp.ts'
export type { ApiOperation, OperationParameter } from './apis/openapi.ts'
export type { SessionFetch, SessionFetchInit } from './apis/session-fetch.ts'
export type { OneShotPage } from './browser/one-shot-page.ts'
export type { Company, SessionOptions } from './company.ts'
export type {
  Conversation,
  FollowOptions,
  OwnerCallbacks,
  SendOptions,
  SentMessage,
  UserAnswer,
  UserRequest,
} from './conversations/conversation.ts'
export type { ResumedMessage, SessionConversations } from './conversations/conversations.ts'
export type {
  AuthorizationOutcome,
  ConversationEvent,
  ConversationMessage,
  UserOutcome,
} from './conversations/event.ts'
export type { ConversationContext, ConversationStanding, OutgoingMessage } from './conversations/message.ts'
export type { KnownUnsent, UnsentMessage } from './conversations/outbox.ts'
export type { KnownConversation } from './conversations/records.ts'
export type { ConversationReply, ReplyOptions } from './conversations/reply.ts'
export type { AskToSignIn, AuthorizationNeed, SignInNeeded } from './conversations/step-up.ts'
export { type AgentAction, AgentError, type AgentErrorCode, type AgentErrorDetails, agentErrors } from './errors.ts'
export type { SupportedExtension } from './identity/extensions.ts'
export type { IdentityKey, IdentityKeys } from './identity/key-ring.ts'
export { generateKey, type PrivateKeyJson } from './identity/keys.ts'
export type { ApprovalRequest, ConfirmOptions, ConfirmResult } from './operations/approval.ts'
export type { Operation } from './operations/operation.ts'
export type { Resumed, SessionOperations, WaitOptions } from './operations/operations.ts'
export type { StandingPermission } from './operations/permissions.ts'
export type { KnownOperation } from './operations/records.ts'
export type { TermMatcher } from './operations/term-matchers.ts'
export {
  type AgentTimeouts,
  type AgentUser,
  createPersonalAgent,
  type PersonalAgent,
  type PersonalAgentOptions,
} from './personal-agent.ts'
export type { Session, SessionState, SignInRequest } from './session.ts'
export type { PendingDeviceSignIn } from './sessions/device-sign-in.ts'
export type { KnownAccount, KnownCompany } from './sessions/known.ts'
export type { CodeRequest, CredentialField, MediatedSignInRequest } from './sessions/mediated-sign-in.ts'
export type { PendingSignIn } from './sessions/sign-in.ts'
export type { SignInResult } from './sessions/sign-in-end.ts'
export { type FileStoreOptions, fileStore } from './store/file.ts'
export { memoryStore } from './store/memory.ts'
export type { AgentStore, StoredValue } from './store/store.ts'
