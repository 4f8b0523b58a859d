import { z } from 'zod'
import { BoundedCache } from '../crypto/bounded-cache.ts'
import type { Sealer } from '../crypto/seal.ts'

/**
 * Session Tokens (4.2, 4.3): sealed, so the Personal Agent can neither read nor change them. A token holds the Session
 * as it was when the token was issued.
 */

const contentSchema = z.object({
  /** The Company: its issuer. */
  i: z.string(),
  c: z.string(),
  u: z.string(),
  s: z.string(),
  /** Thumbprint of the DPoP key; absent in a Bearer token. */
  k: z.string().optional(),
  /** The one service that it is for; always there in a Bearer token. */
  r: z.string().optional(),
  /** The sign-in it was issued under; absent when signed out. */
  g: z.string().optional(),
  /** Scopes, space-separated. */
  p: z.string(),
  /** How many sign-outs its Session had seen. */
  e: z.number(),
  /** There when MCP's own flow opened its Session. */
  o: z.literal(1).optional(),
  /** Seconds since 1970. */
  x: z.number(),
})

/** What a Session Token says once it is opened. */
export interface SessionToken {
  readonly company: string
  readonly clientId: string
  readonly userId: string
  readonly sessionId: string
  readonly keyThumbprint: string | undefined
  readonly resource: string | undefined
  readonly grantId: string | undefined
  readonly scopes: readonly string[]
  readonly epoch: number
  /** Whether its Session was opened by MCP's own flow (6): worth nothing once it is signed out. */
  readonly ownMcpFlow: boolean
  /** Seconds since 1970. */
  readonly expiresAt: number
}

/** Session Tokens, made and opened. */
export interface SessionTokens {
  readonly issue: (token: SessionToken) => string
  /**
   * Opens a token, or null when it isn't one of ours. Expiry is for the caller to check.
   * @param tokenHash its SHA-256, which `ath` needs anyway, and under which the opened token is remembered
   */
  readonly open: (token: string, tokenHash: string) => SessionToken | null
}

/** Seals what a Session Token says (4.2: encrypted, opaque to the Personal Agent). */
export function createSessionTokens(sealer: Sealer): SessionTokens {
  const opened = new BoundedCache<SessionToken>(20_000)
  return {
    issue: (token) =>
      sealer.seal({
        i: token.company,
        c: token.clientId,
        u: token.userId,
        s: token.sessionId,
        ...(token.keyThumbprint === undefined ? {} : { k: token.keyThumbprint }),
        ...(token.resource === undefined ? {} : { r: token.resource }),
        ...(token.grantId === undefined ? {} : { g: token.grantId }),
        p: token.scopes.join(' '),
        e: token.epoch,
        ...(token.ownMcpFlow ? { o: 1 } : {}),
        x: token.expiresAt,
      }),
    open(token, tokenHash) {
      return opened.get(tokenHash) ?? openSealed(token, tokenHash)
    },
  }

  function openSealed(token: string, tokenHash: string): SessionToken | null {
    if (token.length > 8192) return null
    const read = contentSchema.safeParse(sealer.open(token))
    if (!read.success) return null
    const content = read.data
    const result: SessionToken = Object.freeze({
      company: content.i,
      clientId: content.c,
      userId: content.u,
      sessionId: content.s,
      keyThumbprint: content.k,
      resource: content.r,
      grantId: content.g,
      scopes: Object.freeze(content.p === '' ? [] : content.p.split(' ')),
      epoch: content.e,
      ownMcpFlow: content.o === 1,
      expiresAt: content.x,
    })
    opened.set(tokenHash, result)
    return result
  }
}
