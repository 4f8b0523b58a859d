import { formatChallenge } from '@poppyseed/protocol'
import type { ChallengeForm } from './switches.ts'

/** One refusal in many spellings, all of them right by RFC 9110, 11.6.1 (K41). */

/** What a challenge says. */
export interface Said {
  readonly error: string
  readonly scope: string | undefined
}

/** `WWW-Authenticate` header lines, and the body's error where it is said there. */
export function writeChallenge(
  scheme: 'DPoP' | 'Bearer',
  said: Said,
  form: 'plain' | ChallengeForm,
): { readonly lines: readonly string[]; readonly inBody: boolean } {
  const { error, scope } = said
  const plain = formatChallenge(scheme, { error, scope })
  const other = scheme === 'DPoP' ? 'Bearer' : 'DPoP'
  const lines = (...them: string[]) => ({ lines: them, inBody: false })
  const scoped = scope === undefined ? '' : `, scope="${scope}"`
  switch (form) {
    case 'plain':
      return { lines: [plain], inBody: true }
    case 'other_scheme_first':
      return lines(`${other} error="other_error", scope="other:scope", ${plain}`)
    case 'two_lines':
      return lines(`${other} realm="a, b", error="other_error"`, plain)
    case 'escaped_quotes':
      return lines(
        `${scheme} error_description="it said \\"error=\\\\\\"other_error\\\\\\"\\"", error="${error}"${scoped}`,
      )
    case 'commas':
      return lines(`${scheme} error_description="a, error=other_error, scope=other:scope", error="${error}"${scoped}`)
    case 'bare':
      return lines(`${scheme} error=${error}${scoped}`)
    case 'upper_case':
      return lines(`${scheme.toUpperCase()}  ERROR = "${error}"${scoped.replace('scope', 'SCOPE')}`)
    case 'similar_names':
      return lines(
        `${scheme} x_error="other_error", x_scope="other:scope", error_uri="error", error="${error}"${scoped}`,
      )
    case 'only_body':
      return { lines: [], inBody: true }
  }
}
