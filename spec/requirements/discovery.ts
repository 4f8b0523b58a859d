import { section } from './section.ts'

/** Section 3: poppy.json, the OAuth server's metadata, extensions. */
export const discovery = [
  ...section('3', {
    built: {
      'well-known': 'company MUST serve poppy.json over HTTPS at the well-known path of a domain it controls',
      'follow-redirects': 'agent MUST follow a redirect from the well-known URL',
      'redirect-https': 'agent MUST refuse a redirect of poppy.json that leaves HTTPS',
      'redirect-https-company': 'company MUST redirect poppy.json to HTTPS URLs only',
      'cache-document': 'agent SHOULD keep poppy.json as long as its HTTP caching headers say',
      'speaks-for-asked-domain':
        'plain: agent MUST take the document to speak for the domain it asked, not for a host it was sent on to',
    },
  }),
  ...section('3.1', {
    built: {
      'protocol-version': 'table: company MUST state protocol_version',
      'protocol-version-agent':
        'table: agent MUST refuse a document whose major protocol version it does not implement',
      organization: 'table: company MUST state organization with a name and a domain',
      'organization-domain': 'table: company MUST state the domain that was asked for in organization.domain',
      'organization-domain-agent': 'table: agent MUST check that organization.domain is the domain it asked for',
      'auth-issuer': 'table: company MUST state auth.issuer as an HTTPS URL',
      'direct-scopes': 'table: company MUST list scopes in auth.direct when it offers Direct Sign-In',
      'custom-scopes': 'table: company MUST describe each scope of its own in auth.custom_scopes',
      'apis-fields': 'table: company MUST give each entry of apis a type and an HTTPS url',
      'something-to-use': 'table: company MUST state at least one of agent, apis and web',
      'required-fields-agent': 'table: agent MUST refuse a document that lacks a required field',
      'mediated-fields':
        'table: company MUST state endpoint, fields and scopes in auth.mediated when it offers Mediated Sign-In',
      'device-scopes': 'table: company MUST list scopes in auth.device when it offers Device Sign-In',
      'extensions-version': 'table: company MUST state a version for each entry of extensions',
      'browser-session-endpoint':
        'table: company MUST state web.browser_session_endpoint as an HTTPS URL when browsers may join',
      'agent-protocols': 'table: company MUST give each entry of agent.protocols a type and an HTTPS endpoint',
    },
  }),
  ...section('3.2', {
    built: {
      metadata: 'company MUST publish authorization server metadata for its issuer',
      'poppy-domains': 'company MUST list in poppy_domains each domain whose poppy.json names the issuer',
      'issuer-exact': 'agent MUST check that the issuer in the metadata is auth.issuer, character for character',
      'poppy-domains-agent': 'agent MUST check that poppy_domains has organization.domain before it uses the document',
      'token-endpoint': 'plain: company MUST state token_endpoint in the metadata',
      'revocation-endpoint': 'plain: company MUST state revocation_endpoint in the metadata',
      'authorization-endpoint': 'plain: company MUST state authorization_endpoint when it offers Direct Sign-In',
      'endpoints-agent': 'plain: agent MUST take the OAuth endpoints from the metadata',
      'device-endpoint': 'plain: company MUST state device_authorization_endpoint when it offers Device Sign-In',
      'unknown-metadata': 'plain: agent MUST ignore metadata fields that it does not know',
      'one-issuer':
        'plain: company MUST treat all domains of one issuer as one Company, with the same User IDs, Sessions and Account Tokens',
      'one-issuer-agent':
        'plain: agent MUST use one User ID, and the same Sessions and Account Tokens, at all domains of an issuer',
      'cache-metadata': 'agent SHOULD keep the metadata as long as its HTTP caching headers say',
    },
  }),
  ...section('3.3', {
    built: {
      'ignore-unknown': 'company MUST ignore extensions and fields of a Personal Agent that it does not know',
      'ignore-unknown-agent': 'agent MUST ignore extensions and fields of a Company that it does not know',
      'extension-name': 'both MUST begin the name of an extension of their own with a domain that they control',
      version: 'plain: company MUST list each supported extension with its major version',
      'version-agent': 'plain: agent MUST list each supported extension with its major version in its client metadata',
      'extension-required':
        'plain: company MUST refuse what needs an unlisted extension with 403 extension_required and its name',
    },
  }),
]
