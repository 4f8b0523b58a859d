import type { SigningKey } from '@poppyseed/protocol'
import type { JWK } from 'jose'
import { z } from 'zod'
import { AgentError } from '../errors.ts'
import { type AgentStore, type StoredValue, storeKey } from '../store/store.ts'
import { generateKey, type PrivateKeyJson, publicKeyJson, readPrivateKey, signingKey } from './keys.ts'

/**
 * The keys of an identity (4.1), and how one takes another's place without a gap: the new one is published beside the old
 * for as long as Companies may have kept the set without it, then it signs, then the old one goes.
 *
 * A rotation is one record of times, written at once. Nothing has to happen later: each process reads from it what is
 * published now and what signs now. So there is no middle in which to crash, and no process that doesn't know.
 */

/** How long Companies are told to keep the key set, in seconds. */
export const keySetMaxAge = 300
/** How long a new key is published before it signs, in milliseconds: the above, with room for clocks and caches. */
const publishedAhead = 15 * 60 * 1000
/** How long the old one stays after it signed last: an assertion lives for a minute. */
const keptAfter = 15 * 60 * 1000
const maxGone = 100

const ringSchema = z.object({
  /** The first key that was handed in when this began. Another first key is another beginning. */
  first: z.string(),
  keys: z.array(
    z.object({
      key: z.unknown(),
      /** Unix time in milliseconds; null: it is published and doesn't sign. */
      signsFrom: z.number().nullable(),
      /** When it is no longer published. */
      until: z.number().nullable(),
    }),
  ),
  /** Ids of keys that were taken out, should they be handed in again. */
  gone: z.array(z.string()),
})

interface RingKey {
  readonly key: PrivateKeyJson
  readonly signsFrom: number | null
  readonly until: number | null
}

/** What may be known of a key: no part of it. Times are Unix time in milliseconds. */
export interface IdentityKey {
  readonly kid: string
  /** `next` is published and signs later; `retiring` has signed and goes soon; `kept` is published and doesn't sign. */
  readonly state: 'next' | 'signing' | 'retiring' | 'kept'
  readonly signsFrom: number | null
  readonly until: number | null
}

/** The keys of a Personal Agent's identity (4.1). Private keys stay inside and in the store. */
export interface IdentityKeys {
  /** The keys that are published now. */
  readonly keys: () => Promise<readonly IdentityKey[]>
  /**
   * Puts a new signing key in the place of the one that signs. It is published at once, signs a quarter of an hour later,
   * and the old one goes a quarter of an hour after that; `agent.fetch` must serve the key set all the while, in this
   * process or another with the same store. Asked again meanwhile, it changes nothing. Sign-ins stay: Account Tokens
   * belong to the `client_id`. The keys of DPoP proofs are others and stay too, since Session Tokens are bound to them.
   * @param options `compromised`: somebody else may have a key, so the new one signs now and all others go now. Companies
   *   that kept the set refuse this agent until they ask for it again, which a key that they don't know makes most do
   * @returns the keys that are published from now on
   */
  readonly rotate: (options?: { readonly compromised?: boolean }) => Promise<readonly IdentityKey[]>
}

/** The ring, for whoever signs and publishes. */
export interface KeyRing extends IdentityKeys {
  /** 4.1: public keys only. */
  readonly keySet: () => Promise<{ readonly keys: readonly JWK[] }>
  readonly signingKey: () => Promise<SigningKey>
}

/** @throws AgentError `misconfigured` */
export function createKeyRing(options: {
  readonly clientId: string
  readonly keys: readonly unknown[]
  readonly store: AgentStore
  readonly now: () => number
}): KeyRing {
  const { store, now } = options
  const handed = options.keys.map(readPrivateKey)
  const [first] = handed
  if (!first) throw new AgentError('misconfigured', 'keys must hold at least one key; generateKey() makes one.')
  const place = storeKey('identity', options.clientId)
  const ready = new Map<string, Promise<SigningKey>>()

  const ringOf = (stored: StoredValue | undefined) => {
    const parsed = ringSchema.safeParse(stored)
    const ring =
      parsed.success && parsed.data.first === first.kid ? parsed.data : { first: first.kid, keys: [], gone: [] }
    const kept = ring.keys.map((one): RingKey => ({ ...one, key: readPrivateKey(one.key) }))
    const known = new Set([...kept.map(({ key }) => key.kid), ...ring.gone])
    // What is handed in and was never taken out is published, as without a rotation.
    const added = handed.filter(({ kid }) => !known.has(kid))
    return {
      gone: ring.gone,
      keys: [
        ...kept,
        ...added.map((key): RingKey => ({ key, signsFrom: key === first ? 0 : null, until: null })),
      ].filter(({ until }) => until === null || now() < until),
    }
  }
  const read = async () => ringOf(await store.get(place)).keys

  const rotate: KeyRing['rotate'] = async ({ compromised = false } = {}) => {
    const made = await generateKey()
    await store.update(place, (before) => {
      const ring = ringOf(before)
      const time = now()
      // One at a time: whoever asks meanwhile asks for what is under way.
      if (!compromised && ring.keys.some(({ signsFrom }) => signsFrom !== null && signsFrom > time)) return before
      const signsFrom = compromised ? time : time + publishedAhead
      const old = signerOf(ring.keys, time)
      const others = compromised
        ? []
        : ring.keys.map((one) => (one === old ? { ...one, until: signsFrom + keptAfter } : one))
      const next = [...others, { key: made, signsFrom, until: null }]
      const left = new Set(next.map(({ key }) => key.kid))
      const earlier = ringSchema.safeParse(before)
      const was = [...handed, ...(earlier.success ? earlier.data.keys.map(({ key }) => readPrivateKey(key)) : [])]
      const gone = [...new Set([...ring.gone, ...was.map(({ kid }) => kid).filter((kid) => !left.has(kid))])]
      return {
        first: first.kid,
        keys: next.map((one) => ({ ...one, key: { ...one.key } })),
        gone: gone.slice(-maxGone),
      }
    })
    return describe(await read(), now())
  }

  return {
    rotate,
    keys: async () => describe(await read(), now()),
    keySet: async () => ({ keys: (await read()).map(({ key }) => publicKeyJson(key)) }),
    signingKey: async () => {
      const { key } = signerOf(await read(), now())
      const known = ready.get(key.kid) ?? signingKey(key)
      ready.set(key.kid, known)
      return known
    },
  }
}

/** The key whose time to sign came last. */
function signerOf(keys: readonly RingKey[], now: number): RingKey {
  let signer: RingKey | undefined
  for (const one of keys) {
    const { signsFrom } = one
    if (signsFrom !== null && signsFrom <= now && (signer?.signsFrom ?? -1) < signsFrom) signer = one
  }
  if (!signer) throw new AgentError('misconfigured', 'None of this agent’s keys signs now.')
  return signer
}

function describe(keys: readonly RingKey[], now: number): readonly IdentityKey[] {
  const signer = signerOf(keys, now)
  return keys.map((one) => {
    const { key, signsFrom, until } = one
    const state =
      one === signer
        ? 'signing'
        : signsFrom === null
          ? 'kept'
          : signsFrom > now
            ? 'next'
            : until === null
              ? 'kept'
              : 'retiring'
    return { kid: key.kid, state, signsFrom, until }
  })
}
