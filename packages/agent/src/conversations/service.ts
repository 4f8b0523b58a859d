import type { FoundCompany } from '../discovery/discover.ts'
import { AgentError } from '../errors.ts'

/** Where a Company takes conversations: the `poppy` entry of `agent.protocols` (7.1). Other types were skipped. */
export interface ConversationService {
  /** As published; a new conversation is posted to just that. */
  readonly endpoint: string
  /** Without a slash at the end: what stands before a Conversation ID. */
  readonly base: string
  /** Where it wants tokens of its own (4.3). */
  readonly resource: string | undefined
}

/** @throws AgentError `conversations_unavailable` */
export function requireConversations(found: FoundCompany): ConversationService {
  const entry = found.discovery.conversations.find(({ endpoint }) => !endpoint.includes('?'))
  if (!entry) {
    throw new AgentError(
      'conversations_unavailable',
      `${found.name} takes no conversations, or none in a protocol that this Personal Agent speaks.`,
    )
  }
  const { endpoint, resource } = entry
  return { endpoint, base: endpoint.replace(/\/+$/, ''), resource }
}
