import { createHash } from 'node:crypto'
import { clientAssertionType } from '@poppyseed/protocol'
import type { AgentPlaces } from './documents.ts'
import { type KeyPair, makeKeyPair, randomId, signed } from './keys.ts'

/** A Personal Agent that exists only on a misbehaving host: its keys, and whatever it may sign, right or bent. */

/** Claims and header members laid over the right ones; `undefined` takes one away. */
export interface Bend {
  readonly claims?: Readonly<Record<string, unknown>>
  readonly header?: Readonly<Record<string, unknown>>
  readonly key?: KeyPair
}

/** Where assertions are for. */
export interface Addressee {
  readonly tokenEndpoint: string
  readonly issuer: string
}

/** What a proof is for. */
export interface ProofFor {
  readonly method: string
  readonly url: string
  /** The Session Token beside it; left out at the token endpoint. */
  readonly token?: string
  readonly nonce?: string
}

/** A made-up Personal Agent. */
export interface MadeUpAgent extends AgentPlaces {
  readonly redirectUri: string
  readonly userId: string
  /** The keys that it publishes, the first signs. */
  readonly keys: readonly KeyPair[]
  readonly dpopKey: KeyPair
  readonly clientAssertion: (to: Addressee, bend?: Bend) => string
  readonly sessionAssertion: (to: Addressee, bend?: Bend) => string
  readonly proof: (request: ProofFor, bend?: Bend) => string
  /** A form with the client assertion in it; null leaves a parameter out. */
  readonly form: (to: Addressee, parameters: Readonly<Record<string, string | null>>) => URLSearchParams
  /** Takes a new key: under a new name, under the old one, or under none (K18). */
  readonly rotateKey: (name: 'new' | 'same' | 'none') => void
}

/** Makes one. `now` is Unix time in milliseconds. */
export function makeMadeUpAgent(places: AgentPlaces, now: () => number): MadeUpAgent {
  let keys = [makeKeyPair()]
  let isNamed = true
  const dpopKey = makeKeyPair()
  const userId = `usr_${randomId()}`
  const seconds = () => Math.floor(now() / 1000)
  const signing = () => keys[0] as KeyPair
  const make = (header: object, claims: object, bend: Bend, key: KeyPair) =>
    signed({ ...header, ...bend.header }, { ...claims, ...bend.claims }, (bend.key ?? key).privateKey)
  const assertion = (sub: string, aud: string, bend: Bend) =>
    make(
      { alg: 'ES256', ...(isNamed ? { kid: signing().kid } : {}), typ: 'JWT' },
      { iss: places.clientId, sub, aud, jti: randomId(), iat: seconds(), exp: seconds() + 60 },
      bend,
      signing(),
    )
  const clientAssertion = (to: Addressee, bend: Bend = {}) => assertion(places.clientId, to.tokenEndpoint, bend)
  return {
    ...places,
    redirectUri: `${places.base}callback`,
    userId,
    get keys() {
      return keys
    },
    dpopKey,
    clientAssertion,
    sessionAssertion: (to, bend = {}) => assertion(userId, to.tokenEndpoint, bend),
    proof: ({ method, url, token, nonce }, bend = {}) =>
      make(
        { typ: 'dpop+jwt', alg: 'ES256', jwk: dpopKey.publicJwk },
        {
          jti: randomId(),
          htm: method,
          htu: url,
          iat: seconds(),
          ...(token === undefined ? {} : { ath: createHash('sha256').update(token).digest('base64url') }),
          ...(nonce === undefined ? {} : { nonce }),
        },
        bend,
        dpopKey,
      ),
    form(to, parameters) {
      const form = new URLSearchParams({
        client_id: places.clientId,
        client_assertion_type: clientAssertionType,
        client_assertion: clientAssertion(to),
      })
      for (const [name, value] of Object.entries(parameters)) value === null ? form.delete(name) : form.set(name, value)
      return form
    },
    rotateKey(name) {
      keys = [name === 'same' ? makeKeyPair(signing().kid) : makeKeyPair()]
      isNamed = name !== 'none'
    },
  }
}
