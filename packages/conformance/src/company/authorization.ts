import { PoppyError, parseScope } from '@poppyseed/protocol'
import type { Reply } from '../delivery.ts'
import type { AssertionParts } from './assertions.ts'
import type { Exchange } from './exchange.ts'
import { random } from './ledger.ts'

/** The authorization endpoint (4.5): whoever comes has consented, or declined, by the time they are there. */

/** Scopes that this Company offers at Direct Sign-In. */
export const offeredScopes = ['poppy:read', 'poppy:write', 'addresses'] as const

/** Characters of 128 random bits in base64url, and of a SHA-256. */
const [shortestState, challengeLength] = [22, 43]

/** `GET`: decides at once and redirects to the agent. */
export async function answerAuthorization(
  exchange: Exchange,
  parts: AssertionParts & { readonly issuer: string },
): Promise<Reply> {
  const { query, switches } = exchange
  const { ledger, findings } = parts
  const { report } = findings
  const { metadata } = await parts.agents.find(query.get('client_id') ?? '', exchange)
  const redirectUri = query.get('redirect_uri') ?? ''
  // 4.5: never a redirect to an address that isn't the agent's own
  if (!metadata.redirectUris.includes(redirectUri)) throw new PoppyError('invalid_request')

  const state = query.get('state') ?? ''
  if (state.length < shortestState) report('4.5.state-agent', 'state is missing or can be guessed', exchange)
  if (ledger.states.has(state)) report('4.5.state-agent', 'the same state came twice', exchange)
  ledger.states.add(state)
  const challenge = query.get('code_challenge') ?? ''
  if (query.get('code_challenge_method') !== 'S256' || challenge.length !== challengeLength)
    report('4.5.pkce-agent', 'no S256 code challenge', exchange)
  if (ledger.challenges.has(challenge)) report('4.5.pkce-agent', 'the same code challenge came twice', exchange)
  ledger.challenges.add(challenge)
  const asked = parseScope(query.get('scope') ?? '') ?? []
  const isOffered = asked.length > 0 && asked.every((scope) => offeredScopes.some((offered) => offered === scope))
  if (asked.length === 0) report('4.4.scope-required-agent', 'no scope in a sign-in request', exchange)

  const callback = new URL(redirectUri)
  const say = (name: string, value: string) => callback.searchParams.append(name, value)
  if (switches.state !== 'missing') say('state', switches.state === 'other' ? random('other-') : state)
  for (const iss of issOf(switches.iss, parts.issuer)) say('iss', iss)
  if (!isOffered) say('error', 'invalid_scope')
  else if (switches.consent === 'decline') say('error', 'access_denied')
  else {
    const granted = asked.filter((scope) => !switches.neverGrants.includes(scope))
    const code = random('code-')
    ledger.codes.set(code, {
      clientId: metadata.clientId,
      redirectUri,
      challenge,
      asked,
      granted: switches.grantsFewer ? granted.slice(0, 1) : granted,
      account: switches.account,
      mustNotCome: switches.iss !== 'right' ? 'iss' : switches.state !== 'right' ? 'state' : null,
      used: false,
      usedBy: null,
    })
    say('code', code)
  }
  return { status: 303, headers: { location: callback.href, 'cache-control': 'no-store' }, body: '' }
}

function issOf(how: Exchange['switches']['iss'], issuer: string): readonly string[] {
  switch (how) {
    case 'right':
      return [issuer]
    case 'missing':
      return []
    case 'other':
      return ['https://other.example']
    case 'slash':
      return [`${issuer}/`]
    case 'upper_case':
      return [issuer.toUpperCase()]
    case 'doubled':
      return [issuer, 'https://other.example']
  }
}
