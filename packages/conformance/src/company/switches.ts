import type { ErrorCode } from '@poppyseed/protocol'
import type { Delivery } from '../delivery.ts'

/** What a misbehaving Company can do wrong. With the values of {@link wellBehaved} it does everything right. */

/** Where a request arrives. */
export type RouteName =
  | 'poppy.json'
  | 'oauth-metadata'
  | 'mcp-metadata'
  | 'openapi'
  | 'token'
  | 'revoke'
  | 'authorize'
  | 'device'
  | 'sign-in'
  | 'tool'
  | 'mcp'
  | 'operations'
  | 'conversations'
  | 'events'
  | 'nowhere'

/** The faults of a Company, each a switch. */
export interface Switches {
  // Before anything happens

  /** Answers 429 with this `Retry-After` (null: without one), and does nothing (4.3.retry-after-agent, K55). */
  limit: { readonly retryAfter: string | null } | null
  /** A proxy in front answers in the Company's place, and nothing happens: a page, or nothing (K30). */
  gateway: 'passes' | 'html_502' | 'empty_503'
  /**
   * Redirects (3.follow-redirects, 3.redirect-https, K16): `hosted` to the same document elsewhere, which is right for
   * poppy.json; `http` and `trap` to a listener that must not be reached over plain HTTP, or with a token; `private` to an
   * address inside; `loop` to itself; `chain` over ten more hops.
   */
  redirect: 'none' | 'hosted' | 'http' | 'trap' | 'private' | 'loop' | 'chain'
  /** Refuses with this error, whatever was sent: `invalid_session` at renewal, `account_mismatch`, … (4.2, 4.4). */
  refuse: ErrorCode | null

  // Time

  /** Seconds by which the Company's clock is ahead, in its checks and in its `Date`. */
  clockOffset: number
  /** What `Date` says: the Company's clock, or nothing that helps. */
  date: 'clock' | 'missing' | 'garbage' | 'epoch' | 'far_future'

  // Proofs (4.3)

  /**
   * `required` wants its newest nonce; `forever` is never content (K12); `headerless` asks for one and gives none (K12).
   * @see 4.3.nonce-agent
   */
  nonce: 'off' | 'required' | 'forever' | 'headerless'
  /** When the nonce changes (K10, K11): after successful answers, after refusals, or after each. */
  nonceRotation: 'never' | 'on_success' | 'on_refusal' | 'always'

  // Token answers (4.2)

  /** `token_type` after a proof; null leaves it out (K13). */
  tokenType: string | null
  /** What a Session Token looks like: as usual, in all characters that a header may have, or in some that it may not. */
  tokenText: 'plain' | 'odd' | 'line_break' | 'not_ascii' | 'empty' | 'huge'
  /** `expires_in`, in seconds; null leaves it out. */
  expiresIn: number | null
  /** Leaves out members, or gives them another type. */
  tokenAnswer: 'whole' | 'no_session_id' | 'no_scope' | 'wrong_types' | 'unknown_members'
  /** Account Tokens at refresh (4.8, K20, K21): kept; replaced; replaced, and the old one gives the same new one again. */
  rotation: 'off' | 'strict' | 'grace'

  // Signing in (4.4, 4.5)

  /** What the person does on the page. */
  consent: 'approve' | 'decline'
  /** Which account they are signed in to. */
  account: string
  /** Grants only the first scope that was asked for (4.4.check-scope-agent, K24). */
  grantsFewer: boolean
  /** Scopes that it never grants, whoever approves (K39). */
  neverGrants: readonly string[]
  /** `iss` of a callback (4.5.iss-exact-agent, K28). */
  iss: 'right' | 'missing' | 'other' | 'slash' | 'upper_case' | 'doubled'
  /** `state` of a callback (4.5.state-agent). */
  state: 'right' | 'missing' | 'other'
  /**
   * What polls are told (4.6): what the person decided, as `consent` says; that they haven't; to slow down, for ever; that it
   * is too late.
   */
  poll: 'answers' | 'pending' | 'slow_down' | 'expired'
  /** `interval` of a device request, in seconds; null leaves it out (RFC 8628, 3.2: then it is 5). */
  deviceInterval: number | null
  /**
   * Which page the person is sent to (4.6): its own; another host's, as in a code that was got there to be handed on; only
   * the link with the code in it elsewhere; plain HTTP; a script; control characters in the link; 40 KB of it; one with the
   * device code in it.
   */
  devicePage: 'own' | 'other_host' | 'link_elsewhere' | 'plain_http' | 'script' | 'escapes' | 'huge' | 'device_code'
  /**
   * What credentials get (4.7): tokens; a demand for a one-time code, which is then right; for one code after another, for
   * ever; the same with all that was sent repeated in it; with an ID that leads elsewhere; failed; expired; nobody knows what.
   */
  mediated: 'complete' | 'code' | 'codes_forever' | 'echo' | 'odd_id' | 'failed' | 'expired' | 'unknown'
  /** Whether its words hold what a terminal would act on: labels, user codes, descriptions of errors. */
  words: 'plain' | 'escapes'
  /** Which `aud` the revocation endpoint takes of a client assertion. */
  revocationAudience: 'any' | 'token_endpoint' | 'revocation_endpoint'

  // Documents (3)

  /** `issuer` of the metadata (3.2.issuer-exact). */
  issuer: 'right' | 'slash' | 'other' | 'missing'
  /** `poppy_domains` of the metadata (3.2.poppy-domains-agent). */
  poppyDomains: 'right' | 'missing' | 'empty' | 'other'
  /** `organization.domain` of poppy.json (3.1.organization-domain-agent). */
  domain: 'right' | 'other' | 'subdomain'
  /** `protocol_version` of poppy.json (3.1.protocol-version-agent). */
  protocolVersion: string
  /** Extensions, API types and members that nobody knows (3.3.ignore-unknown-agent, 6.skip-unknown-agent). */
  unknown: boolean
  /** What the MCP server's metadata names (6): its own, another issuer, or another resource. */
  mcpMetadata: 'right' | 'other_issuer' | 'other_resource'
  /** The OpenAPI entry and service have a `resource` of their own (4.3.resource-agent). */
  resource: boolean
  /** `Cache-Control` of documents; null leaves it out (3.cache-document). */
  cacheControl: string | null

  // Challenges (6)

  /** How `WWW-Authenticate` is written (K41). All but `plain` say nothing in the body. */
  challenge: 'plain' | ChallengeForm
  /** Tells a lack of rights inside MCP, as a tool error, instead of by HTTP. */
  toolErrors: boolean

  // Operations, version 1

  /** What poppy.json says of the extension (ops.other-version-agent). */
  operations: 'right' | 'absent' | 'version_2' | 'number' | 'plain_http' | 'no_endpoint' | 'with_resource'
  /** How an operation is written: under `operation`, by itself, or with `id` and `status`. */
  operationForm: 'wrapped' | 'bare' | 'aliases'
  /** What its terms and words hold: as agreed; nothing; tricks of terminals; too much; too deep; a member that gets lost. */
  operationTerms: 'plain' | 'missing' | 'hostile' | 'huge' | 'deep' | 'hidden'
  /** Whose id stands in answers. */
  operationId: 'right' | 'another'
  /** Whether a standing permission is enough, and whether it says so beforehand (ops.standing-permission-agent). */
  operationApproval: 'either' | 'user_only' | 'user_only_unsaid'
  /**
   * What it does with a confirmation: takes it; takes it for other terms of the same revision; changes the terms each time, so
   * that each comes too late (K53); or answers as if it had.
   */
  operationConfirm: 'right' | 'other_terms' | 'revises' | 'ignores'
  /** What it says was confirmed. */
  operationRecord: 'right' | 'missing' | 'other_revision' | 'other_approval'
  /** How it ends: well; not; never; final and then not; one end and then another. */
  operationEnd: 'succeeds' | 'fails' | 'never' | 'flips_back' | 'changes_its_mind'
  /** `Retry-After` of an answer that tells how it stands; null leaves it out. */
  operationRetryAfter: string | null
  /** Whether it confirms on its own page alone: not; told in a refusal; told in the operation too. */
  operationPage: 'none' | 'refuses' | 'told'
  /** Where that page is. */
  operationPageAt: 'own' | 'foreign' | 'script'

  // Conversations (7). `conversations` are the POSTs, `events` the reads

  /** What poppy.json says of them (7.1): as it is; not at all; beside protocols that nobody knows; a `resource` of its own. */
  conversations: 'right' | 'absent' | 'beside_others' | 'with_resource'
  /** What answers have in them: all; no `conversation_id` in any but the first; another one; no status; no cursor. */
  conversationAnswer: 'whole' | 'no_id' | 'other_id' | 'no_status' | 'no_cursor'
  /** Whether it streams where a stream is asked for (7.6.json-fallback-agent). */
  stream: 'streams' | 'json'
  /** Where a stream is cut (K43): after an event or a piece, in the middle of one, or where there is nothing more to say. */
  streamCut: 'never' | 'after_event' | 'in_event' | 'after_delta' | 'in_delta' | 'when_idle'
  /** How the bytes of a stream come (K46). */
  streamBytes: 'whole' | 'single'
  /** Line ends, byte order mark, comments and odd fields, data on several lines, no blank line at the end (K46). */
  streamForm: 'plain' | 'cr' | 'crlf' | 'bom' | 'comments' | 'data_lines' | 'unended'
  /** Whether a stream ends with its token (K45). */
  streamExpiry: 'closes' | 'ignores'
  /** Comments that keep a stream alive (K42): every 15 seconds, never, or without end. */
  keepAlives: 'usual' | 'none' | 'endless'
  /** So many events before the cursor come again (K45). */
  repeatsEvents: number
  /** What it says of every cursor that comes (7.5). */
  cursors: 'right' | 'expired' | 'invalid'
  /** `created_at` of events: the clock; always the same; each earlier than the one before (7.5.cursor-opaque-agent). */
  eventTimes: 'clock' | 'same' | 'backwards'
  /** Events of unknown types come between the others (7.5.skip-unknown-agent). */
  unknownEvents: boolean
  /** Before each message comes an event that is none, or that nobody should take whole. */
  oddEvent: 'none' | 'huge' | 'out_of_schema' | 'not_json' | 'no_id' | 'deep'
  /** Events of a page. */
  pageSize: number
  /** Seconds that a read is held at most. */
  pollSeconds: number
  /** Whether the caller's own messages end a wait, and whether a POST does anything with `wait`. */
  waits: 'right' | 'ends_on_echo' | 'not_on_posts'
  /** Asks for the account where it is needed, or without end whatever it has (7.11.authorization-agent). */
  authorization: 'when_needed' | 'always'
  /** Whether it has Direct Conversations. */
  directs: 'offered' | 'refused'

  /** What becomes of the answer, once all that the request does has happened (K20). */
  delivery: Delivery
}

/** Odd ways to write a challenge that all say the same (K41). */
export type ChallengeForm =
  | 'other_scheme_first'
  | 'two_lines'
  | 'escaped_quotes'
  | 'commas'
  | 'bare'
  | 'upper_case'
  | 'similar_names'
  | 'only_body'

/** A Company that does everything right. */
export const wellBehaved: Readonly<Switches> = {
  limit: null,
  gateway: 'passes',
  redirect: 'none',
  refuse: null,
  clockOffset: 0,
  date: 'clock',
  nonce: 'off',
  nonceRotation: 'never',
  tokenType: 'DPoP',
  tokenText: 'plain',
  expiresIn: 3600,
  tokenAnswer: 'whole',
  rotation: 'off',
  consent: 'approve',
  account: 'account-1',
  grantsFewer: false,
  neverGrants: [],
  iss: 'right',
  state: 'right',
  poll: 'answers',
  deviceInterval: 5,
  devicePage: 'own',
  mediated: 'complete',
  words: 'plain',
  revocationAudience: 'any',
  issuer: 'right',
  poppyDomains: 'right',
  domain: 'right',
  protocolVersion: '0.1',
  unknown: false,
  mcpMetadata: 'right',
  resource: false,
  cacheControl: 'max-age=300',
  challenge: 'plain',
  toolErrors: false,
  operations: 'right',
  operationForm: 'wrapped',
  operationTerms: 'plain',
  operationId: 'right',
  operationApproval: 'either',
  operationConfirm: 'right',
  operationRecord: 'right',
  operationEnd: 'succeeds',
  operationRetryAfter: null,
  operationPage: 'none',
  operationPageAt: 'own',
  conversations: 'right',
  conversationAnswer: 'whole',
  stream: 'streams',
  streamCut: 'never',
  streamBytes: 'whole',
  streamForm: 'plain',
  streamExpiry: 'closes',
  keepAlives: 'usual',
  repeatsEvents: 0,
  cursors: 'right',
  eventTimes: 'clock',
  unknownEvents: false,
  oddEvent: 'none',
  pageSize: 100,
  pollSeconds: 30,
  waits: 'right',
  authorization: 'when_needed',
  directs: 'offered',
  delivery: 'whole',
}
