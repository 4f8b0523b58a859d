import { section } from './section.ts'

/** Sections 5 and 6: the website in the same Session, and APIs. */
export const webAndApis = [
  ...section('5', {
    built: {
      'body-only': 'company MUST refuse an assertion that comes in the URL',
      signature: 'company MUST refuse an assertion that no key of its iss has signed',
      typ: 'company MUST refuse an assertion of another typ than poppy-browser+jwt',
      'not-at-token-endpoint': 'company MUST refuse a browser assertion at the token endpoint',
      aud: 'company MUST refuse an assertion that is addressed to another endpoint',
      'not-expired': 'company MUST refuse an assertion that has expired',
      'exp-60': 'company MUST refuse an assertion that lives longer than 60 seconds',
      'jti-once': 'company MUST refuse an assertion whose jti it has accepted',
      'session-active': 'company MUST refuse a Session that has ended or is of another client_id or User',
      'return-to': 'company MUST refuse a return_to that is not HTTPS on its own domain',
      'see-other': 'plain: company MUST set a cookie for the Session and answer 303 to return_to when all checks pass',
      'error-page': 'plain: company MUST answer 400 with an error page and no cookie when a check fails',
      'cookie-follows': 'company MUST let the cookie follow the current state and scopes of the Session',
      'cookie-not-longer': 'company MUST NOT honour the cookie once its Session has ended',
      'cookie-flags': 'company MUST make the cookie Secure and HttpOnly, with SameSite Lax or None',
      'website-scopes': 'plain: company MUST apply the scopes of the Session on its website',
      'cookie-wins':
        'plain: company MUST handle requests with the cookie as that Session, whatever other cookies there are',
      'replaces-cookie': 'plain: company MUST replace the earlier cookie when a new browser assertion is posted',
      'join-first-agent':
        'agent MUST join its browser to a Session before it browses a website that lists the endpoint',
      'ordinary-visitor-agent':
        'plain: agent MUST browse as an ordinary signed-out visitor where a website lists no endpoint',
      'typ-agent': 'plain: agent MUST sign browser assertions with a published key and typ poppy-browser+jwt',
      'return-to-agent': 'agent MUST name in return_to an HTTPS URL on organization.domain or a subdomain of it',
      'exp-60-agent': 'plain: agent MUST let a browser assertion expire within 60 seconds of iat',
      'body-only-agent': 'agent MUST send the assertion in the body of the request and never in the URL',
      'own-browser-agent':
        "agent MUST keep browser assertions out of other browsers than its own, the User's above all",
    },
  }),
  ...section('6', {
    built: {
      'api-type': 'company MUST give each API a defined type: openapi or mcp',
      'skip-unknown-agent': 'agent SHOULD pass over APIs of an unknown type',
      'accepts-tokens': 'company MUST accept Session Tokens at each listed API: DPoP at OpenAPI, Bearer at MCP',
      'calls-agent': 'plain: agent MUST call an API with its token in the Authorization header',
      'mcp-tokens': 'company MUST let each listed MCP server work with Session Tokens',
      'mcp-scopes': 'company MUST enforce the scopes of the token at a listed MCP server',
      'mcp-own-url': 'company MUST accept at an MCP server only tokens issued for its url',
      'mcp-metadata': 'plain: company MUST publish protected resource metadata for each listed MCP server',
      'mcp-authorization-servers': 'company MUST have auth.issuer among the authorization_servers of an MCP server',
      'mcp-own-flow':
        "plain: company MUST treat a sign-in through MCP's own flow as the start of a new signed-in Session",
      challenge: 'plain: company MUST put these errors into WWW-Authenticate',
      'challenge-agent': 'plain: agent MUST read these errors from WWW-Authenticate',
      'known-caller': 'plain: company MUST know of each request which Personal Agent makes it and for which User',
      'invalid-token':
        'table: company MUST answer 401 invalid_token for a token that is missing, expired, revoked, unknown or used wrongly',
      'invalid-dpop-proof': 'table: company MUST answer 401 invalid_dpop_proof at an API for a proof that fails',
      'use-dpop-nonce':
        'table: company MUST answer 401 use_dpop_nonce with a nonce in DPoP-Nonce when an API needs one',
      'sign-in-required':
        'table: company MUST answer 403 sign_in_required when a signed-out token asks for the account',
      'insufficient-scope': 'table: company MUST answer 403 insufficient_scope with all the scopes that are needed',
      'invalid-token-agent': 'table: agent MUST renew its token or start a new Session after invalid_token',
      'sign-in-required-agent': 'table: agent MUST use its Account Token or sign in after sign_in_required',
      'insufficient-scope-agent': 'table: agent MUST ask for more scopes after insufficient_scope',
    },
  }),
]
