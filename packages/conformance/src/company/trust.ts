import type { AgentRule } from '../rules.ts'
import type { Findings } from './conduct.ts'
import type { Exchange } from './exchange.ts'
import type { Ledger } from './ledger.ts'

/** Whether a client goes on with documents that no client may believe (3), and what it puts into URLs. */
export interface Trust {
  /** Notes what a document said. */
  readonly served: (exchange: Exchange) => void
  /** Looks at a request that only follows where the documents were believed. */
  readonly used: (exchange: Exchange) => void
}

const readable = new Set(['0.1', '0.2', '0.3'])

/** Makes the memory of what was served. */
export function createTrust({ report }: Findings, ledger: Ledger): Trust {
  const wrong = new Map<AgentRule, string>()
  /** Once a document was right the client may have kept it. */
  const right = new Set<AgentRule>()
  const note = (rule: AgentRule, isRight: boolean, seen: string) => {
    if (isRight) right.add(rule)
    else wrong.set(rule, seen)
  }
  return {
    served({ route, switches }) {
      if (route === 'poppy.json') {
        note('3.1.organization-domain-agent', switches.domain === 'right', 'poppy.json speaks for another domain')
        note('3.1.protocol-version-agent', readable.has(switches.protocolVersion), 'poppy.json has another version')
      } else {
        note('3.2.issuer-exact', switches.issuer === 'right', 'the metadata names another issuer')
        note('3.2.poppy-domains-agent', switches.poppyDomains === 'right', 'poppy_domains lacks the domain')
      }
    },
    used(exchange) {
      // 4.7: they are for one endpoint, and what comes below it has the code alone
      if (exchange.path !== '/sign-in' && [...ledger.credentials].some((secret) => allOf(exchange).includes(secret)))
        report('4.7.credentials-only-there-agent', 'credentials came to another place', exchange)
      for (const [rule, seen] of wrong) if (!right.has(rule)) report(rule, `it went on although ${seen}`, exchange)
      for (const part of [...exchange.query.values(), ...exchange.path.split('/').map(decode)]) {
        if (ledger.tokens.has(part)) report('4.3.no-token-in-url-agent', 'a Session Token in the URL', exchange)
        if (ledger.devices.has(part)) report('4.6.device-code-private-agent', 'a device code in the URL', exchange)
        if (ledger.grants.has(part)) report('4.8.never-shown-agent', 'an Account Token in the URL', exchange)
      }
    },
  }
}

/** All that a client wrote. */
function allOf({ path, query, headers, form, body }: Exchange): string {
  return [decode(path), ...query.values(), ...Object.values(headers).flat(), ...form.values(), body].join('\n')
}

function decode(text: string): string {
  try {
    return decodeURIComponent(text)
  } catch {
    return text
  }
}
