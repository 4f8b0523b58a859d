/**
 * The rules of a Personal Agent that a misbehaving Company watches: ids of requirements (section and slug) and of cases,
 * as this project numbers them. A finding names one of them.
 */
export const agentRules = [
  // 3: finding a Company
  '3.redirect-https',
  '3.1.protocol-version-agent',
  '3.1.organization-domain-agent',
  '3.2.issuer-exact',
  '3.2.poppy-domains-agent',
  // 4.1, 4.2: who it is, and how it starts a Session
  '4.1.client-id-https-agent',
  '4.1.client-id-exact-agent',
  '4.1.jwks-same-domain-agent',
  '4.1.redirect-uris-same-domain-agent',
  '4.1.public-keys-agent',
  '4.1.private-key-jwt-agent',
  '4.1.dpop-keys-apart',
  '4.2.user-id-not-personal',
  '4.2.three-parts-agent',
  '4.2.aud-exact-agent',
  '4.2.exp-short-agent',
  '4.2.jti-random-agent',
  '4.2.session-ended-agent',
  // 4.3: tokens and proofs
  '4.3.dpop-scheme-agent',
  '4.3.key-per-user-agent',
  '4.3.proof-per-request-agent',
  '4.3.proof-claims-agent',
  '4.3.no-ath-at-token-agent',
  '4.3.nonce-agent',
  '4.3.bearer-resource-agent',
  '4.3.always-send-agent',
  '4.3.newest-token-agent',
  '4.3.no-token-in-url-agent',
  '4.3.retry-after-agent',
  // 4.4, 4.5: signing in
  '4.4.scope-required-agent',
  '4.4.all-scopes-agent',
  '4.4.account-mismatch-agent',
  '4.5.state-agent',
  '4.5.pkce-agent',
  '4.5.iss-exact-agent',
  '4.5.session-id-agent',
  // 4.6, 4.7: by a device, and by credentials
  '4.6.start-agent',
  '4.6.device-code-private-agent',
  '4.6.interval-agent',
  '4.6.slow-down-agent',
  '4.6.stop-agent',
  '4.7.every-field-agent',
  '4.7.only-code-agent',
  '4.7.credentials-only-there-agent',
  // 4.8, 4.9: Account Tokens
  '4.8.rotation-agent',
  '4.8.invalid-grant-agent',
  '4.8.never-shown-agent',
  '4.9.revoke-agent',
  // 7: conversations
  '7.2.id-format-agent',
  '7.3.message-id-unique-agent',
  '7.3.retry-same-id-agent',
  '7.4.content-agent',
  '7.4.context-format-agent',
  '7.5.cursor-opaque-agent',
  '7.5.cursor-expired-agent',
  '7.6.last-event-id-agent',
  '7.6.delta-no-act-agent',
  '7.8.sender-agent',
  '7.10.as-written-agent',
  // Operations: confirming
  'ops.approve-revision-agent',
  'ops.standing-permission-agent',
  'ops.newest-copy-agent',
  // Cases that no requirement says by itself
  'K12',
  'K13',
  'K22',
] as const

/** The id of a rule in {@link agentRules}. */
export type AgentRule = (typeof agentRules)[number]

/** One rule that a Personal Agent broke, as a Company saw it. */
export interface Finding {
  readonly requirement: AgentRule
  /** What was seen, for a person. Holds no token, code, assertion, proof or key. */
  readonly seen: string
  /** `POST /token`: where. */
  readonly at: string
}
