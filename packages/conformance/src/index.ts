/** Hostile parties for the Personal Agent Protocol, over HTTP. */

export {
  createHostileDns,
  type DnsAnswers,
  type HostileDns,
  oddSpellings,
  privateAddresses,
  privateUrls,
} from './agent-host/dns.ts'
export {
  type HostileJwt,
  hostileClientAssertions,
  hostileProofs,
  hostileSessionAssertions,
} from './agent-host/hostile-jwts.ts'
export type { KeyPair } from './agent-host/keys.ts'
export type { Addressee, Bend, MadeUpAgent, ProofFor } from './agent-host/made-up-agent.ts'
export {
  createMisbehavingAgentHost,
  type MisbehavingAgentHost,
  type MisbehavingAgentHostOptions,
  type RecordedFetch,
} from './agent-host/misbehaving-agent-host.ts'
export { type AgentDocument, type HostSwitches, wellBehavedHost } from './agent-host/switches.ts'
export type { Fetch } from './company/agents.ts'
export type { ConversationEntry, Step } from './company/conversation-script.ts'
export type { ConversationDesk } from './company/conversations.ts'
export type { RecordedRequest } from './company/exchange.ts'
export { credentialFields, oneTimeCode } from './company/mediated.ts'
export {
  createMisbehavingCompany,
  type MisbehavingCompany,
  type MisbehavingCompanyOptions,
} from './company/misbehaving-company.ts'
export { type ChallengeForm, type RouteName, type Switches, wellBehaved } from './company/switches.ts'
export { hostileText } from './company/words.ts'
export type { Delivery } from './delivery.ts'
export type { ListenerTls } from './listener.ts'
export { type AgentRule, agentRules, type Finding } from './rules.ts'
