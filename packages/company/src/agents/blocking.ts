import { isClientId } from '@poppyseed/protocol'
import type { Logger, Scope } from '../store/database.ts'
import { agentNames, blockAgent, blockedAgents, unblockAgent } from './store.ts'

/** 4.1: blocking a Personal Agent for the whole Company, kept in the store and so the same for every instance. */

/** A Personal Agent that the company keeps out. */
export interface BlockedAgent {
  readonly clientId: string
  /** The host of its `client_id`: the part of its identity that can be checked. */
  readonly host: string
  /** What it called itself when it was here, in one line; its host where it never was. */
  readonly name: string
  /** Why, in the words of whoever blocked it; null where nobody said. */
  readonly reason: string | null
  /** Milliseconds since 1970. */
  readonly blockedAt: number
}

/** Which Personal Agents the company keeps out, beside the list in its configuration (4.1). */
export interface Agents {
  /**
   * Keeps an agent out, on the very next request of every instance: it gets no tokens, its Session Tokens and its browsers
   * are good for nothing, and nobody can let it in. Nothing of it is deleted, and it may still sign out (4.9). It is told
   * what every agent is told that may not come, never the reason. Blocked again, it keeps its first date and takes the new
   * reason, if there is one.
   * @param options.reason for whoever looks later: one line of at most 500 characters
   * @returns whether it wasn't blocked before
   * @throws TypeError for what is no `client_id`, since it would block nobody, and for a reason that is no line of text
   */
  readonly block: (clientId: string, options?: { readonly reason?: string }) => Promise<boolean>
  /**
   * Lets an agent in again, with what it had: its tokens and its Sessions, unless they have run out or were ended meanwhile.
   * @returns whether it was blocked
   * @throws TypeError for what is no `client_id`
   */
  readonly unblock: (clientId: string) => Promise<boolean>
  /** Who is blocked, the newest first. Agents of `agents.block` in the configuration are not among them. */
  readonly blocked: () => Promise<readonly BlockedAgent[]>
}

const longestReason = 500

/** Makes {@link Agents}. */
export function createAgents(options: {
  readonly scope: () => Promise<Scope>
  /** Milliseconds since 1970. */
  readonly now: () => number
  readonly log: Logger
  /** Development only: agents on `http:` loopback hosts. */
  readonly allowHttp: boolean
  /** Has the company's people told, after the commit, that what Sessions may do has changed. */
  readonly rightsChanged?: () => void
}): Agents {
  const { log } = options
  function check(clientId: unknown): void {
    // Compared as strings: what no agent can be called would keep nobody out, and nobody would notice.
    if (typeof clientId !== 'string' || !isClientId(clientId, options.allowHttp))
      throw new TypeError(
        "This is no client_id. Write the agent's whole address as it writes it, such as 'https://agent.example/agent.json'.",
      )
  }
  return {
    async block(clientId, { reason } = {}) {
      check(clientId)
      const text = readReason(reason)
      const isNew = await blockAgent(await options.scope(), { clientId, reason: text, now: options.now() })
      if (isNew) {
        options.rightsChanged?.()
        log.warn({ clientId }, 'a Personal Agent was blocked')
      }
      return isNew
    },
    async unblock(clientId) {
      check(clientId)
      const wasBlocked = await unblockAgent(await options.scope(), clientId)
      if (wasBlocked) {
        options.rightsChanged?.()
        log.warn({ clientId }, 'a Personal Agent is no longer blocked')
      }
      return wasBlocked
    },
    async blocked() {
      const scope = await options.scope()
      const rows = await blockedAgents(scope)
      const names = await agentNames(
        scope,
        rows.map(({ client_id }) => client_id),
      )
      return rows.map(({ client_id: clientId, reason, blocked_at: blockedAt }) => {
        const { host } = new URL(clientId)
        return { clientId, host, name: names.get(clientId) ?? host, reason, blockedAt }
      })
    },
  }
}

function readReason(reason: unknown): string | null {
  if (reason === undefined) return null
  const text = typeof reason === 'string' ? reason.trim() : ''
  if (text === '' || text.length > longestReason || /[\p{Cc}\p{Cs}\p{Zl}\p{Zp}]/u.test(text))
    throw new TypeError(`\`reason\` is one line of text of at most ${longestReason} characters. It may be left out.`)
  return text
}
