import { section } from './section.ts'

/** Sections 4 to 4.3: who the Personal Agent is, how a Session starts, and how its tokens are used. */
export const sessions = [
  ...section('4', {
    built: {
      'starts-signed-out': 'plain: company MUST start a Session signed out, unless an Account Token starts it',
      'one-session-one-user': 'plain: company MUST tie a Session to one User and one Personal Agent',
      'several-sessions': 'plain: company MUST let a User have several Sessions at once through one Personal Agent',
      'end-keeps-account-token': 'plain: company MUST keep an Account Token usable when a Session ends',
    },
  }),
  ...section('4.1', {
    built: {
      'client-id-https': 'company MUST refuse a client_id that is not an HTTPS URL',
      'client-id-https-agent': 'agent MUST use as client_id an HTTPS URL that returns its metadata document',
      'client-id-exact':
        'company MUST refuse a metadata document whose client_id is not the URL that it was fetched from',
      'client-id-exact-agent': 'agent MUST state in its metadata document the client_id that it is served under',
      'jwks-same-domain': 'company MUST refuse a jwks_uri that is not HTTPS on the domain of the client_id',
      'jwks-same-domain-agent': 'agent MUST host its key set over HTTPS on the domain of its client_id',
      'redirect-uris-same-domain':
        'company MUST refuse a document with a redirect_uri that is not HTTPS on the domain of the client_id',
      'redirect-uris-same-domain-agent':
        'agent MUST keep its redirect_uris on HTTPS and on the domain of its client_id',
      'public-keys': 'plain: company MUST refuse a key set that has a private or symmetric key in it',
      'public-keys-agent': 'plain: agent MUST publish public keys only',
      'private-key-jwt': 'plain: company MUST authenticate a client by an assertion signed with a key of its jwks_uri',
      'private-key-jwt-agent':
        'plain: agent MUST authenticate at the token endpoint with a client assertion signed by a published key',
      'dpop-keys-apart': 'plain: agent MUST keep its DPoP keys apart from its published signing keys',
      'auth-method': 'table: company MUST expect private_key_jwt as the token_endpoint_auth_method of a Personal Agent',
      'extensions-agent':
        'plain: agent MUST list the extensions it supports in its metadata document, each with a version',
      blocklist: 'plain: company MUST be able to refuse or revoke a Personal Agent by its client_id',
      registration:
        'plain: company MUST answer 401 invalid_client to an unregistered Personal Agent when it requires registration',
    },
  }),
  ...section('4.2', {
    built: {
      'user-id': 'agent MUST give each User an ID of their own at each Company, the Company being its issuer',
      'user-id-stable': 'plain: agent MUST keep a User ID the same across Sessions',
      'user-id-opaque': 'plain: agent MUST make User IDs that are opaque and differ from Company to Company',
      'user-id-not-personal':
        'agent MUST NOT put personal information into a User ID, nor derive it from any, not even by a keyed hash',
      'three-parts':
        'plain: company MUST ask of a Session request a Session assertion, a client assertion and a DPoP proof',
      'three-parts-agent':
        'plain: agent MUST send a Session assertion, a client assertion and a DPoP proof to start a Session',
      signature: 'plain: company MUST verify both assertions with the keys at the jwks_uri of the Personal Agent',
      'iss-client-id': 'plain: company MUST refuse a Session assertion whose iss is not the authenticated client_id',
      'aud-exact':
        'plain: company MUST accept a Session assertion only when its aud is the token endpoint, as one string',
      'aud-exact-agent':
        'plain: agent MUST address a Session assertion to the token endpoint of the Company, as one string',
      'exp-short': 'plain: company MUST refuse a Session assertion that has expired or lives too long',
      'exp-short-agent': 'plain: agent MUST make its Session assertions short-lived',
      'jti-once': 'plain: company MUST refuse a Session assertion whose jti it has seen',
      'jti-random-agent': 'plain: agent MUST give each assertion a fresh jti of at least 128 random bits',
      response: 'table: company MUST answer with access_token, token_type, expires_in, scope, session_id and signed_in',
      'no-store': 'plain: company MUST forbid caching of a token response',
      'expires-in-positive': 'company MUST state an expires_in greater than zero',
      'hours-not-days': 'company SHOULD let a Session Token expire within a day',
      'session-id-no-credential': 'plain: company MUST NOT take a session_id as a credential',
      'signed-out-no-scope':
        'plain: company MUST grant no scope with a signed-out token, and state scope as an empty string',
      renew:
        'plain: company MUST answer a Session request that names a session_id with a new signed-out token for that Session',
      'renew-agent': 'plain: agent MUST renew a signed-out Session with fresh assertions and its session_id',
      'renew-same-owner': 'plain: company MUST check that a Session to renew belongs to the same client_id and User ID',
      'session-ended': 'plain: company MUST answer invalid_session for a Session that has ended',
      'session-ended-agent': 'plain: agent MUST start a new Session after invalid_session',
      'token-opaque-agent': 'agent MUST NOT depend on what is inside a Session Token',
      'token-encrypted': 'company MUST encrypt a Session Token when it puts Session credentials of its own in it',
      'error-body': 'plain: company MUST report token errors in the OAuth error format',
      'invalid-client': 'table: company MUST answer 401 invalid_client when client authentication fails',
      'invalid-grant':
        'table: company MUST answer 400 invalid_grant for a bad, expired or used assertion, code or Account Token',
      'invalid-session':
        'table: company MUST answer 400 invalid_session for a Session that is unknown, ended or of someone else',
      'account-mismatch': 'table: company MUST answer 400 account_mismatch when the Session belongs to another account',
      'invalid-scope':
        'table: company MUST answer 400 invalid_scope for a scope that is missing, unknown, unavailable or too wide',
      'invalid-target': 'table: company MUST answer 400 invalid_target for a resource that it does not have',
      'invalid-dpop-proof':
        'table: company MUST answer 400 invalid_dpop_proof at the token endpoint for a missing or failing proof',
      'use-dpop-nonce':
        'table: company MUST answer 400 use_dpop_nonce with a nonce in DPoP-Nonce when the token request needs one',
      'invalid-request': 'table: company MUST answer 400 invalid_request for a parameter that is missing or sent twice',
      'unsupported-grant-type':
        'table: company MUST answer 400 unsupported_grant_type for a grant that it does not offer',
    },
  }),
  ...section('4.3', {
    built: {
      'dpop-scheme':
        'company MUST take Session Tokens at APIs and conversations by the DPoP scheme, together with a proof',
      'dpop-scheme-agent': 'agent MUST send its Session Token by the DPoP scheme, together with a proof',
      'key-per-user-agent':
        'plain: agent MUST make a DPoP key pair for each User at each Company and keep the private key to itself',
      'proof-per-request-agent':
        'plain: agent MUST sign a new proof, with a new jti, for each request, token requests too',
      'proof-claims-agent': 'plain: agent MUST state jti, htm, htu, iat and, with a token, ath in a proof',
      'no-ath-at-token-agent': 'plain: agent MUST leave ath out of a proof for the token endpoint',
      bind: 'plain: company MUST bind a Session Token to the key of the proof in its token request',
      signature: 'company MUST refuse a proof whose signature does not fit the key in its header',
      'bound-key': 'company MUST refuse a proof by another key than the one its Session Token is bound to',
      htm: 'company MUST refuse a proof that was made for another method',
      htu: 'company MUST refuse a proof that was made for another URL; query and fragment do not count',
      iat: 'company MUST refuse a proof that is too old or from the future',
      'jti-once': 'company MUST refuse a proof whose jti it has accepted, for as long as that proof could pass',
      ath: 'company MUST refuse a proof whose ath is not the hash of the Session Token beside it',
      'proof-type':
        'plain: company MUST accept only proofs of typ dpop+jwt with an asymmetric algorithm and a public key',
      'nonce-agent': 'agent MUST support nonces that the Company asks for in proofs',
      'failed-proof':
        'plain: company MUST answer a failed proof with invalid_dpop_proof or use_dpop_nonce in WWW-Authenticate: DPoP',
      'bearer-for-mcp':
        'plain: company MUST issue a Bearer token when a token request has no proof and names an MCP server',
      'bearer-resource': 'company MUST refuse a token request with neither a proof nor an MCP server as its resource',
      'bearer-resource-agent':
        'agent MUST name the MCP server of poppy.json as resource when it asks for a Bearer token',
      'bearer-only-at-mcp': 'company MUST accept Bearer Session Tokens only at its MCP APIs',
      'bearer-one-server': 'plain: company MUST accept a Bearer token only at the MCP server it was issued for',
      'dpop-elsewhere': 'company MUST take no token without DPoP outside its MCP APIs',
      'both-kinds': 'plain: company MUST let a Session have DPoP and Bearer tokens at the same time',
      'narrower-scope': 'plain: company MUST issue a token with fewer scopes when a token request asks for fewer',
      'one-service':
        'plain: company MUST accept a token that was asked for one service at that service and nowhere else',
      resource:
        'plain: company MUST accept a token at a service that has a resource only if it was issued for that resource',
      'resource-agent': 'plain: agent MUST ask for a token of its own for a service whose entry has a resource',
      'no-cookies': 'company MUST be content with the token in the Authorization header, and need no cookie',
      'always-send-agent': 'agent MUST send a Session Token on each API and conversation request',
      'never-hide-agent': 'agent MUST NOT leave the token out to pass for a person on their own',
      'newest-token-agent': 'agent MUST use the new Session Token from the moment it has one for a Session',
      'no-token-in-url': 'company MUST NOT accept a token from a URL',
      'no-token-in-url-agent': 'agent MUST NOT send a token in a URL',
      'rate-limit': 'plain: company MUST answer 429 with Retry-After when it limits a Personal Agent',
      'retry-after-agent':
        'agent MUST wait at least as long as Retry-After says before it sends a request again after 429',
    },
  }),
]
