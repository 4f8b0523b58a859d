/** Whom a case is about. The gateway is a Company side that serves many Companies. */
export type CaseSide = 'company' | 'agent' | 'gateway'

/** A situation that broke systems like this one, and what is right there. */
export interface Case {
  /** `K01` to `K56`. Tests cite it in square brackets in their title. */
  readonly id: string
  readonly side: readonly CaseSide[]
  /** One of those to settle before the rest. */
  readonly first: boolean
  readonly situation: string
  readonly right: string
  /** True once the code does it. Then some test must cite it, and until then none may. */
  readonly built: boolean
}

/** The cases, in their order. */
export const cases: readonly Case[] = [
  {
    id: 'K01',
    side: ['company'],
    first: true,
    situation:
      'A proof whose iat lies at the far edge of the accepted window, in the past or in the future, is sent twice.',
    right:
      'The second one is refused: a jti is remembered for as long as its proof could still be accepted, on both sides of now.',
    built: true,
  },
  {
    id: 'K02',
    side: ['company', 'gateway'],
    first: true,
    situation:
      'Two instances share one database, and the same proof reaches both, one after the other and at the same moment.',
    right: 'Exactly one of them accepts it.',
    built: true,
  },
  {
    id: 'K03',
    side: ['company'],
    first: false,
    situation: 'A server starts in production with storage in memory, where several replicas would not see each other.',
    right: 'It refuses to start or warns once and loudly, and the health answer names the storage.',
    built: true,
  },
  {
    id: 'K04',
    side: ['company', 'gateway'],
    first: false,
    situation:
      'Behind a proxy that ends TLS a request arrives under an inner address, with and without X-Forwarded headers.',
    right: 'htu is compared with the configured public origin, so both get the same answer.',
    built: true,
  },
  {
    id: 'K05',
    side: ['company', 'gateway'],
    first: false,
    situation: 'A proxy strips a path prefix, so the server sees another path than the caller.',
    right: 'The public base path is configured, and used for htu, aud, discovery and redirects alike.',
    built: true,
  },
  {
    id: 'K06',
    side: ['gateway'],
    first: false,
    situation:
      'A proxy asks for a verdict by a sub-request, with a proof for the public URL, a proof for the inner URL, or none.',
    right: 'Only the proof for the public URL passes.',
    built: true,
  },
  {
    id: 'K07',
    side: ['company'],
    first: true,
    situation: 'A valid proof carries no nonce, an expired one, an invented one, or the one before the last rotation.',
    right:
      'The first three get use_dpop_nonce and a fresh nonce, never invalid_dpop_proof; the fourth passes for a short while.',
    built: true,
  },
  {
    id: 'K08',
    side: ['company'],
    first: false,
    situation: 'A Personal Agent in a browser sends a preflight, and then a request that gets 401.',
    right:
      'The request headers are allowed, and the challenge, nonce and Retry-After headers can be read, on errors too; no credentials.',
    built: true,
  },
  {
    id: 'K09',
    side: ['company'],
    first: true,
    situation: 'The Authorization scheme comes in odd letter case, with two spaces, twice, or without a token.',
    right: 'Any letter case works; a malformed or doubled header is refused and never counts as no token at all.',
    built: true,
  },
  {
    id: 'K10',
    side: ['agent'],
    first: false,
    situation: 'The Company accepts a call with one nonce, and asks for another at the next call.',
    right: 'The request is sent once more with the new nonce, a new jti and a new iat, and the caller sees success.',
    built: true,
  },
  {
    id: 'K11',
    side: ['agent'],
    first: false,
    situation: 'The Company sends a new nonce with an error answer, and with a successful one.',
    right: 'The newest nonce from any answer is used for the next request.',
    built: true,
  },
  {
    id: 'K12',
    side: ['agent'],
    first: true,
    situation: 'The Company asks for a new nonce for ever, or asks for one and sends none.',
    right: 'One more try and then a clear error; no further try when there is no nonce to use.',
    built: true,
  },
  {
    id: 'K13',
    side: ['agent'],
    first: true,
    situation: 'A token request with a proof is answered with token_type dpop, DPOP, Bearer, or none.',
    right: 'DPoP counts in any letter case; Bearer or nothing is an error, and that token is never sent.',
    built: true,
  },
  {
    id: 'K14',
    side: ['company'],
    first: true,
    situation:
      'The same client assertion, or the same Session assertion, comes twice: at one endpoint, at two, or at the same moment.',
    right: 'Only the first one counts.',
    built: true,
  },
  {
    id: 'K15',
    side: ['company'],
    first: false,
    situation:
      'Metadata documents of real Personal Agents differ in algorithm, number of keys and extra fields; attackers use none, HS256 with the public key, or an algorithm that does not fit the key.',
    right: 'The honest ones are accepted, the others always get invalid_client.',
    built: true,
  },
  {
    id: 'K16',
    side: ['company', 'gateway'],
    first: true,
    situation:
      'The host of a client_id redirects inward, resolves to a public address first and a private one next, or sends a body that is huge or never ends.',
    right:
      'No redirect is followed, the address that was checked is the one dialled, size and time are bounded, and outside all failures look the same.',
    built: true,
  },
  {
    id: 'K17',
    side: ['company', 'gateway'],
    first: true,
    situation:
      'A private address is written as a number, in hex, as mapped IPv6 or in a reserved range; or the metadata document changes between consent and code exchange.',
    right:
      'All such addresses are refused before dialling; the code stays bound to the redirect_uri that the User saw, and addresses on another domain are refused.',
    built: true,
  },
  {
    id: 'K18',
    side: ['company', 'gateway'],
    first: true,
    situation:
      'A Personal Agent rotates its key, sends many unknown key ids, or its key endpoint fails during a refetch.',
    right:
      'One refetch finds the new key, a cool-down bounds the fetches, old keys are kept while the endpoint is down, and a removed key stops working after its cache time.',
    built: true,
  },
  {
    id: 'K19',
    side: ['company'],
    first: true,
    situation: 'Ten requests use one Account Token at the same moment while rotation is on.',
    right: 'There is one successor, no server error, and everybody ends with a working token.',
    built: true,
  },
  {
    id: 'K20',
    side: ['company'],
    first: true,
    situation:
      'The answer to a rotation is lost, and the old Account Token comes again: soon, late, or from another client_id.',
    right:
      'Soon, the same successor is returned; late, it is refused and its chain revoked; another client is always refused.',
    built: true,
  },
  {
    id: 'K21',
    side: ['agent'],
    first: false,
    situation: 'A token answer has no new Account Token, and the next one has.',
    right: 'The old one is kept, then replaced and never used again.',
    built: true,
  },
  {
    id: 'K22',
    side: ['agent'],
    first: true,
    situation: 'Twenty calls at once find their Session Token expired, in two processes with one store.',
    right: 'The store sees one token request, and all calls succeed with its result.',
    built: true,
  },
  {
    id: 'K23',
    side: ['company', 'agent'],
    first: false,
    situation:
      'A Bearer token for one MCP server is renewed for it, for another server, and with no resource and no proof.',
    right: 'Each token works only at the server it names, and the request that names none is refused.',
    built: true,
  },
  {
    id: 'K24',
    side: ['agent'],
    first: false,
    situation: 'The User approved fewer scopes than were asked for, and the Session Token expires.',
    right: 'The Personal Agent asks for what was granted, or names no scope, and reports the smaller access.',
    built: true,
  },
  {
    id: 'K25',
    side: ['company'],
    first: true,
    situation:
      'An authorization code is exchanged twice, twice at once, with a wrong verifier first, or by another Personal Agent.',
    right: 'At most one exchange succeeds, later ones get invalid_grant, and reuse revokes what the code gave.',
    built: true,
  },
  {
    id: 'K26',
    side: ['company'],
    first: false,
    situation: 'PKCE is left out, plain, or incomplete, at the authorization page or at the exchange.',
    right:
      'No code challenge or a plain one is refused at the page; a missing, empty or short verifier is refused at the exchange.',
    built: true,
  },
  {
    id: 'K27',
    side: ['company'],
    first: false,
    situation:
      "A revocation names an unknown token, a revoked one, a wrong hint, another client's token, or comes with a bad assertion.",
    right:
      'Unknown, repeated and wrongly hinted ones get 200; the other client is refused and the token lives on; the bad assertion gets 401.',
    built: true,
  },
  {
    id: 'K28',
    side: ['company', 'agent'],
    first: true,
    situation:
      'A sign-in returns with success, a decline or a bad scope; and the Personal Agent is fed a return with no iss, a wrong one, or one with an extra slash.',
    right: 'The Company always states iss; the Personal Agent refuses the three and sends no code.',
    built: true,
  },
  {
    id: 'K29',
    side: ['company', 'agent'],
    first: true,
    situation:
      'A device code is polled after it expired, approved after it expired, and polled after success and after a decline.',
    right: 'It gets expired_token, a page that says so, invalid_grant and access_denied, and the Personal Agent stops.',
    built: true,
  },
  {
    id: 'K30',
    side: ['agent'],
    first: false,
    situation: 'Polling meets pending, a broken gateway page, a time-out, slow_down and then success.',
    right:
      'It goes on within the lifetime, waits five seconds longer after each slow_down, with fresh assertion and proof each time.',
    built: true,
  },
  {
    id: 'K31',
    side: ['company'],
    first: true,
    situation:
      'A redirect_uri differs a little from a listed one: user part, dot segments, query, fragment, letter case, slash, port.',
    right: 'Only an equal string passes; else an error page here, and no redirect.',
    built: true,
  },
  {
    id: 'K32',
    side: ['company'],
    first: false,
    situation:
      'A page on another origin posts the browser assertion in a real browser, and the answer redirects to the website.',
    right: 'The page sees the Session; the cookie is Secure, HttpOnly and Lax or None.',
    built: true,
  },
  {
    id: 'K33',
    side: ['company'],
    first: true,
    situation:
      "A return_to only looks like the Company's: longer host, user part, backslashes, no scheme, plain HTTP, control characters, huge.",
    right: 'It is refused with 400 and no cookie; subdomains pass.',
    built: true,
  },
  {
    id: 'K34',
    side: ['company'],
    first: false,
    situation:
      "The consent page is put into a frame; the client's name has hidden or endless characters or markup; its logo is at a dangerous address.",
    right:
      'Framing is forbidden, the name is cleaned and cut, the host of the Personal Agent is always shown, and the logo is not simply loaded.',
    built: true,
  },
  {
    id: 'K35',
    side: ['company'],
    first: false,
    situation:
      'Someone already signed in meets a second request: wider scopes, another Personal Agent, remembered consent.',
    right: 'They are asked again for anything new, and what they leave unticked is not granted.',
    built: true,
  },
  {
    id: 'K36',
    side: ['agent'],
    first: false,
    situation: 'Two sign-ins run at once and end in reverse order, and the first return is replayed.',
    right: 'Each ends on its own, the replay is refused, and a failed one leaves existing tokens alone.',
    built: true,
  },
  {
    id: 'K37',
    side: ['company', 'gateway'],
    first: false,
    situation: 'An MCP server lives under a path, and a client asks it without a token.',
    right:
      'The 401 points to its resource metadata, whose resource is the url in poppy.json and which names the issuer.',
    built: true,
  },
  {
    id: 'K38',
    side: ['company', 'gateway'],
    first: true,
    situation: 'Host and forwarded headers name a strange host, a strange scheme, or carry quotes and commas.',
    right:
      'Only the configured origin is ever published, an unknown host is refused, and forwarded headers count only when switched on.',
    built: true,
  },
  {
    id: 'K39',
    side: ['company', 'agent'],
    first: false,
    situation: 'Two tools need different scopes and are called in turn; another Company never grants the second.',
    right:
      'The Personal Agent asks for the union and stops after a decline; the server names every scope that a call needs.',
    built: true,
  },
  {
    id: 'K40',
    side: ['company', 'agent', 'gateway'],
    first: true,
    situation:
      'A Bearer token goes to another MCP server, to conversations or an HTTP tool; a DPoP token goes to MCP as Bearer; a token stands in the query.',
    right: 'Each gets 401 invalid_token.',
    built: true,
  },
  {
    id: 'K41',
    side: ['agent'],
    first: false,
    situation:
      'Challenges come combined, on two lines, with escapes, commas in quotes, look-alike names and odd letter case.',
    right: 'They are parsed as challenges, and the parameters of the DPoP challenge are the ones that count.',
    built: true,
  },
  {
    id: 'K42',
    side: ['company', 'agent', 'gateway'],
    first: false,
    situation: 'A conversation stream stays idle for minutes behind a proxy that closes idle connections.',
    right: 'A comment line keeps it alive, and the client reconnects if it dies.',
    built: true,
  },
  {
    id: 'K43',
    side: ['company', 'agent'],
    first: true,
    situation:
      'A stream is cut after each event in turn, after a text piece, and between two events of the same millisecond.',
    right:
      'Reading goes on exactly after the last event, in order, by Last-Event-ID and by cursor alike; text pieces are dropped.',
    built: true,
  },
  {
    id: 'K44',
    side: ['company', 'agent'],
    first: true,
    situation:
      'A first message is sent again: later, at the same moment, with wait, after the reply, from a renewed Session, and with one character changed.',
    right:
      'The same conversation and the original answer come back, the change is a conflict, and the model runs once.',
    built: true,
  },
  {
    id: 'K45',
    side: ['agent'],
    first: false,
    situation:
      'The Company closes the stream when the token expires, and sends the last events again after the reconnect.',
    right: 'The reconnect has a new token, a fresh proof and the last handled event, and repeats are skipped.',
    built: true,
  },
  {
    id: 'K46',
    side: ['agent'],
    first: false,
    situation:
      'A stream comes byte by byte, with every kind of line end, a byte order mark, cut characters, comments, and no last blank line.',
    right: 'The events are the same, and an unfinished last one is dropped.',
    built: true,
  },
  {
    id: 'K47',
    side: ['company', 'gateway'],
    first: false,
    situation: 'Hundreds of streams and long reads are opened and dropped, and one reader is slow.',
    right:
      'Timers, listeners and queries go back to where they were; the slow reader is closed and memory stays bounded.',
    built: true,
  },
  {
    id: 'K48',
    side: ['company', 'gateway'],
    first: true,
    situation:
      'A stream or long read is open when the User signs out, disconnects, the Personal Agent is blocked or the token expires; then an event comes.',
    right:
      'It is closed before that event, and a reconnect gets sign_in_required once the conversation has used the account.',
    built: true,
  },
  {
    id: 'K49',
    side: ['company'],
    first: false,
    situation:
      'A person takes over while the Company Agent still writes, a message comes meanwhile, and the person hands back.',
    right:
      'The late reply is dropped or kept private, responder and senders are right and in order, and nothing of the machine goes out as human.',
    built: true,
  },
  {
    id: 'K50',
    side: ['company', 'agent'],
    first: true,
    situation:
      'An operation takes effect outside and then throws, hangs or the process dies; it is confirmed again, also after a restart.',
    right: 'It is performed once and stays in progress until settled; an unknown outcome is never a failure.',
    built: true,
  },
  {
    id: 'K51',
    side: ['company'],
    first: true,
    situation: 'Fifty confirmations come at once over two replicas.',
    right: 'One performance and fifty consistent answers.',
    built: true,
  },
  {
    id: 'K52',
    side: ['company'],
    first: false,
    situation: 'The process dies between the effect of an operation and the note that it happened.',
    right: "The note is durable before the effect; after a restart the operation is in progress and can't run again.",
    built: true,
  },
  {
    id: 'K53',
    side: ['company', 'agent'],
    first: false,
    situation: 'The terms change to a new revision while the User looks at the old one, and the old one is confirmed.',
    right: 'It is refused with the current revision and terms, and nothing is done.',
    built: true,
  },
  {
    id: 'K54',
    side: ['company'],
    first: false,
    situation: 'The process dies after an event was written and before its step was recorded, and the step runs again.',
    right: 'There is one event.',
    built: true,
  },
  {
    id: 'K55',
    side: ['agent'],
    first: false,
    situation:
      'Retry-After comes as seconds, a date, a past date, a negative number, a word or ten days, at every kind of endpoint.',
    right:
      'The Personal Agent waits at least that long or reports it, within a sane bound, with a fresh proof afterwards.',
    built: true,
  },
  {
    id: 'K56',
    side: ['company', 'agent', 'gateway'],
    first: false,
    situation:
      'Every flow runs at the most talkative log level, failures included, with marked tokens, codes, credentials and assertions.',
    right: 'None of the marks is found in logs, errors, model prompts, URLs or crash output.',
    built: true,
  },
]
