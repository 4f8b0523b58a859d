import { section } from './section.ts'

/** Sections 4.4 to 4.9: signing in, Account Tokens, signing out. */
export const signIn = [
  ...section('4.4', {
    built: {
      'user-in-person-agent': 'agent MUST leave Direct and Device Sign-In to the User in person',
      'only-listed-agent': 'plain: agent MUST use only the sign-in types that the Company lists',
      independent: 'plain: company MUST treat poppy:read and poppy:write as independent of each other',
      enforce: 'plain: company MUST enforce the scopes it asks for everywhere it gives account access',
      'reserved-names': 'plain: company MUST NOT give a scope of its own a name that begins with poppy:',
      'grant-at-most': 'company MUST NOT grant a scope that was not requested or that this sign-in type does not allow',
      'scope-required': 'company MUST require a scope in each sign-in request',
      'scope-required-agent': 'agent MUST send a scope in each sign-in request, separated by spaces',
      'invalid-scope': 'plain: company MUST refuse missing, unknown and unavailable scopes with invalid_scope',
      'all-scopes-agent': 'plain: agent MUST request all the scopes it needs when it signs in again for more',
      'revoke-replaced-agent': 'agent SHOULD revoke the Account Token that a new sign-in replaced',
      'failed-keeps-tokens':
        'plain: company MUST leave existing tokens as they are while a sign-in is pending and after it failed',
      'failed-keeps-tokens-agent':
        'plain: agent MUST keep its existing tokens while a sign-in is pending and after it failed',
      'both-tokens':
        'plain: company MUST end a sign-in with an Account Token and a signed-in Session Token for the Session',
      'response-scope': 'plain: company MUST state the scopes that were granted in the response to a sign-in',
      'check-scope-agent': 'plain: agent MUST check which scopes were granted before it goes on',
      'grant-record':
        'plain: company MUST record for each Account Token its client_id, User ID, account, scopes and expiry',
      'session-record': 'plain: company MUST record for each Session its client_id, User ID and account',
      'one-account': 'plain: company MUST refuse with account_mismatch to sign a Session in to a second account',
      'account-mismatch-agent': 'plain: agent MUST start a new Session after account_mismatch',
      'two-accounts-agent': 'plain: agent MUST keep an Account Token and separate Sessions for each account of a User',
      'token-as-issued': 'plain: company MUST handle a token that was issued before sign-in as signed out',
      'look-before-sign-in-agent':
        'agent SHOULD look for an Account Token that covers the task before it starts a sign-in',
    },
  }),
  ...section('4.5', {
    built: {
      'state-agent': 'plain: agent MUST make a random state for each sign-in and check it on return',
      pkce: 'plain: company MUST require PKCE with S256 and verify the code verifier',
      'pkce-agent': 'plain: agent MUST send an S256 code challenge and then its verifier',
      'shows-agent': 'plain: company MUST show which Personal Agent asks, by its name and its host',
      'shows-logo': 'plain: company MUST show the logo of the Personal Agent that asks, where it has one',
      'shows-scopes': 'plain: company MUST show the requested scopes and let the User approve all, some or none',
      'redirect-uri-exact':
        'company MUST refuse a redirect_uri that is not exactly one of the redirect_uris of the Personal Agent',
      'redirect-carries': 'plain: company MUST send the User back with a one-time code, the same state and iss',
      'access-denied': 'plain: company MUST send the User back with access_denied and iss when they decline',
      'iss-exact-agent': 'agent MUST check that iss is exactly the issuer of the Company where it started',
      'session-id': 'plain: company MUST sign in the Session that the code exchange names',
      'session-id-agent': 'plain: agent MUST send session_id, client assertion and proof with the code',
      'session-same-client':
        'plain: company MUST check that the Session of a code exchange belongs to the same client_id',
      'code-once': 'plain: company MUST refuse a code that has expired or was used, with invalid_grant',
      'code-bound': 'plain: company MUST accept a code only with the client_id and redirect_uri that it was issued for',
    },
  }),
  ...section('4.6', {
    built: {
      start:
        'plain: company MUST answer an authenticated device request with device_code, user_code, verification_uri and expires_in',
      'consent-page':
        'plain: company MUST show which Personal Agent asks for which scopes, and let the User choose or decline',
      'link-never-approves': 'company MUST NOT approve a request just because its link was opened',
      pending: 'plain: company MUST answer authorization_pending until the User is done',
      'slow-down': 'plain: company MUST be able to answer slow_down to a Personal Agent that polls too fast',
      complete: 'plain: company MUST answer with an Account Token and a signed-in Session Token once the User approved',
      'access-denied': 'plain: company MUST answer access_denied when the User declined',
      'expired-token': 'plain: company MUST answer expired_token after expires_in',
      'unauthorized-client':
        'table: company MUST answer unauthorized_client to a device request when it does not offer Device Sign-In',
      'start-agent': 'plain: agent MUST send the scopes it needs and its client assertion to start Device Sign-In',
      'device-code-private-agent': 'plain: agent MUST keep the device_code private',
      'shows-user-code-agent': 'plain: agent MUST show the User the link and the code',
      'interval-agent': 'plain: agent MUST leave at least the interval between two polls',
      'slow-down-agent': 'plain: agent MUST wait longer between polls after slow_down',
      'stop-agent': 'plain: agent MUST stop polling after access_denied and expired_token',
    },
  }),
  ...section('4.7', {
    built: {
      complete: 'plain: company MUST answer correct credentials with complete and the fields of a token response',
      'code-required': 'plain: company MUST answer code_required with a sign_in_id when it needs a one-time code',
      'wrong-code': 'plain: company MUST answer code_required to a wrong code until its limit, and then failed',
      'same-session': 'plain: company MUST let only the Session that started a sign-in finish it',
      'rate-limit': 'company MUST limit the rate of attempts',
      'never-returns-credentials': 'company MUST NOT send credentials back',
      'unusual-code': 'company SHOULD ask for a one-time code as well when a sign-in is suspicious',
      'secret-agent':
        'agent MUST protect a secret field: never show it to the User again, log it, or send it elsewhere',
      'every-field-agent': 'plain: agent MUST send each listed field under its name, with its current Session Token',
      'only-code-agent':
        'plain: agent MUST send only the one-time code in the second step, never the credentials again',
      'credentials-only-there-agent':
        "agent MUST NOT send credentials anywhere but to the Company's auth.mediated.endpoint",
    },
  }),
  ...section('4.8', {
    built: {
      'with-session':
        'plain: company MUST answer an Account Token and a session_id with a signed-in token for that Session',
      'without-session': 'plain: company MUST start a new signed-in Session for an Account Token without session_id',
      'account-token-where':
        'company MUST refuse an Account Token everywhere but at its token and revocation endpoints',
      'account-token-client':
        'company MUST accept an Account Token only from the client_id it was issued to, authenticated by assertion',
      'same-owner': 'company MUST check that the Session belongs to the client_id and User ID of the Account Token',
      'same-account':
        'company MUST check that the Session is signed out or signed in to the account of the Account Token',
      'fewer-scopes':
        'plain: company MUST issue a token with fewer scopes when asked, and never with more than the Account Token has',
      'not-extended': 'plain: company MUST NOT extend the lifetime of an Account Token because it was used',
      'rotation-agent': 'agent MUST use a new Account Token from the moment it got one',
      'invalid-grant': 'plain: company MUST answer invalid_grant for an Account Token that has expired or was revoked',
      'invalid-grant-agent': 'plain: agent MUST go on signed out after invalid_grant for its Account Token',
      'stored-as-secret-agent': 'agent MUST keep Account Tokens as it keeps its other secrets',
      'never-shown-agent': 'agent MUST NOT put an Account Token into model context, messages, logs or URLs',
    },
  }),
  ...section('4.9', {
    built: {
      revoke: 'plain: company MUST revoke the Account Token that its Personal Agent sends to the revocation endpoint',
      'revoke-agent': 'plain: agent MUST revoke its Account Token, with its client assertion, to sign out',
      'signs-out-sessions': 'plain: company MUST sign out each Session that was signed in with a revoked Account Token',
      'continue-signed-out':
        'plain: company MUST let those Sessions go on signed out, or end them and answer invalid_session',
      'continue-signed-out-agent':
        'plain: agent MUST renew a signed-out Session with its assertion, and start a new one after invalid_session',
      'at-once': 'company SHOULD make sign-out work at once, by looking up the Session on each request',
      'short-tokens': 'company SHOULD let Session Tokens live for minutes only when it does not look them up',
      disconnect:
        'plain: company MUST revoke the Account Tokens and sign out the Sessions when the User disconnects the Personal Agent',
      'disconnect-agent': 'plain: agent MUST go on signed out when it finds out that it was disconnected',
    },
  }),
]
