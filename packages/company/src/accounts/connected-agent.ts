import type { GrantsTable } from '../store/tables.ts'

/** 4.9: a Personal Agent as the person sees it who let it in. */

/** A Personal Agent that a person let in. */
export interface ConnectedAgent {
  readonly clientId: string
  /** The host of its `client_id`: the part of its identity that was checked. */
  readonly host: string
  /** What it calls itself, in one line; show its host beside it, since the name is nothing but its word (4.5). */
  readonly name: string
  /** How it was let in (4.4), the last time where it was more than once. */
  readonly signIn: 'direct' | 'device' | 'mediated'
  /** The rights it has, as scopes and in the company's words; `language` where the company said which those are in. */
  readonly rights: readonly { readonly scope: string; readonly text: string; readonly language?: string | undefined }[]
  /** Milliseconds since 1970: when it was let in last. */
  readonly connectedAt: number
  /** Milliseconds since 1970. */
  readonly lastUsedAt: number
  /** Milliseconds since 1970: when the last of its access runs out; null for never. */
  readonly expiresAt: number | null
}

/** What a scope means, in the company's words. */
export type SentenceOf = (scope: string) => { readonly text: string; readonly language?: string | undefined }

/** Puts one sign-in into what a person reads. `name`: what the agent calls itself, where it is on record. */
export function describeSignIn(
  signIn: {
    readonly clientId: string
    readonly signIn: GrantsTable['sign_in']
    readonly scopes: readonly string[]
    readonly expiresAt: number | null
  },
  name: string | undefined,
  sentenceOf: SentenceOf,
): Omit<ConnectedAgent, 'connectedAt' | 'lastUsedAt'> {
  const { host } = new URL(signIn.clientId)
  return {
    clientId: signIn.clientId,
    host,
    name: name ?? host,
    // 6: to whoever approved it, MCP's own flow was a Direct Sign-In
    signIn: signIn.signIn === 'mcp' ? 'direct' : signIn.signIn,
    rights: signIn.scopes.map((scope) => ({ scope, ...sentenceOf(scope) })),
    expiresAt: signIn.expiresAt,
  }
}

/**
 * A person sees agents, not sign-ins: several of one agent are one. A sign-in for more rights leaves the earlier one behind
 * until the agent revokes it (4.4), and what is taken away or ended is of all of them.
 * @param signIns the newest first
 */
export function mergeSignIns(signIns: readonly ConnectedAgent[]): readonly ConnectedAgent[] {
  const byClient = new Map<string, ConnectedAgent>()
  for (const one of signIns) {
    const newer = byClient.get(one.clientId)
    if (newer === undefined) {
      byClient.set(one.clientId, one)
      continue
    }
    const known = new Set(newer.rights.map(({ scope }) => scope))
    byClient.set(one.clientId, {
      ...newer,
      rights: [...newer.rights, ...one.rights.filter(({ scope }) => !known.has(scope))],
      lastUsedAt: Math.max(newer.lastUsedAt, one.lastUsedAt),
      expiresAt: newer.expiresAt === null || one.expiresAt === null ? null : Math.max(newer.expiresAt, one.expiresAt),
    })
  }
  return [...byClient.values()]
}
