import { checkProof, importPublicKey, isJsonObject, PoppyError, readJwt } from '@poppyseed/protocol'
import { calculateJwkThumbprint, type JWK } from 'jose'
import { type Conduct, type Findings, isOfOurClock } from './conduct.ts'
import type { Exchange } from './exchange.ts'
import { type Ledger, sha256, type TokenRecord } from './ledger.ts'

/** DPoP Proofs and nonces (4.3). */

/** Checks proofs, and gives nonces. */
export interface Proofs {
  /**
   * @returns the thumbprint of the key
   * @throws PoppyError `invalid_dpop_proof` or `use_dpop_nonce`
   */
  readonly check: (
    exchange: Exchange,
    sent?: { readonly token: string; readonly record: TokenRecord },
  ) => Promise<string>
  /** The nonce that an answer brings along, if any. */
  readonly nonceFor: (exchange: Exchange, error: string | undefined) => string | undefined
}

/** Makes the checks of one Company. */
export function createProofs(origin: string, ledger: Ledger, { report }: Findings, conduct: Conduct): Proofs {
  let count = 1
  const nonce = () => `nonce-${count}`
  /** Whose proof an exchange carried, so that its answer can tell them the nonce. */
  const senders = new WeakMap<Exchange, string>()

  return {
    async check(exchange, sent) {
      const { switches, headers } = exchange
      const proof = headers.dpop
      const jwt = typeof proof === 'string' ? readJwt(proof) : 'none'
      if (typeof jwt === 'string') {
        report('4.3.dpop-scheme-agent', `no proof that can be read: ${jwt}`, exchange)
        throw new PoppyError('invalid_dpop_proof', { reason: jwt })
      }
      const { payload, header } = jwt
      const given = typeof payload.nonce === 'string' ? payload.nonce : undefined
      if (isJsonObject(header.jwk)) {
        const key = await calculateJwkThumbprint(header.jwk as JWK).catch(() => 'unusable')
        senders.set(exchange, key)
        if (ledger.publishedKeys.has(key)) report('4.1.dpop-keys-apart', 'a published key signs proofs', exchange)
        if (switches.nonce !== 'off') conduct.nonceUsed(exchange, key, given)
      }
      if (sent === undefined && payload.ath !== undefined)
        report('4.3.no-ath-at-token-agent', 'a proof for the token endpoint has ath', exchange)
      const wantsNonce = switches.nonce !== 'off'
      let checked: Awaited<ReturnType<typeof checkProof>>
      try {
        checked = await checkProof(proof as string, {
          method: exchange.method,
          url: origin + exchange.path,
          now: exchange.now / 1000,
          window: 60,
          skew: 5,
          importKey: importPublicKey,
          ...(sent === undefined ? {} : { tokenHash: sha256(sent.token), boundTo: sent.record.thumbprint ?? 'no key' }),
          ...(wantsNonce ? { acceptsNonce: (one) => switches.nonce === 'required' && one === nonce() } : {}),
        })
      } catch (error) {
        if (error instanceof PoppyError && error.code === 'invalid_dpop_proof' && !isOfOurClock(error.reason, exchange))
          report('4.3.proof-claims-agent', `the proof was refused: ${error.reason ?? error.code}`, exchange)
        throw error
      }
      const used = `proof ${checked.thumbprint} ${checked.id}`
      if (ledger.seen.has(used)) {
        report('4.3.proof-per-request-agent', 'a proof came twice', exchange)
        throw new PoppyError('invalid_dpop_proof', { reason: 'used before' })
      }
      ledger.seen.add(used)
      conduct.accepted(exchange, checked.thumbprint)
      return checked.thumbprint
    },
    nonceFor(exchange, error) {
      const { nonce: mode, nonceRotation } = exchange.switches
      if (mode === 'off' || mode === 'headerless' || !isWithProof(exchange)) return undefined
      const isRefused = error === 'use_dpop_nonce'
      const turns = nonceRotation === 'always' || nonceRotation === (error === undefined ? 'on_success' : 'on_refusal')
      if (turns || (mode === 'forever' && isRefused)) count += 1
      const key = senders.get(exchange)
      if (key !== undefined) conduct.nonceTold(exchange, key, nonce(), isRefused)
      return nonce()
    },
  }
}

function isWithProof({ route }: Exchange): boolean {
  return ['token', 'tool', 'conversations', 'events'].includes(route)
}
