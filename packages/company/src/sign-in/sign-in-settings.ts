import { isPlain } from '../config-shapes.ts'
import { wrong } from '../configuration-error.ts'
import { checkMediated, type MediatedSettings } from './mediated/mediated-settings.ts'
import type { Account } from './person.ts'

/** Which types of sign-in a company offers, and the scopes that each can grant (4.4). */
export interface SignInTypes {
  /** Direct Sign-In (4.5): on the company's own page, in the person's browser. */
  readonly direct?: readonly string[]
  /** Device Sign-In (4.6): by a short code, on any device. */
  readonly device?: readonly string[]
  /** Mediated Sign-In (4.7): with credentials that the agent holds. Only where the other two can't work. */
  readonly mediated?: MediatedSettings
}

/** Each type that is offered, with its scopes. */
export interface OfferedSignIn {
  readonly direct: readonly string[] | undefined
  readonly device: readonly string[] | undefined
  readonly mediated: MediatedSettings | undefined
}

const types = { direct: 'Direct Sign-In', device: 'Device Sign-In' } as const

/** @throws ConfigurationError with a sentence that says what to write */
export function checkSignIn(
  config: {
    readonly signIn?: SignInTypes
    readonly account?: ((request: Request) => Account | null | Promise<Account | null>) | undefined
    readonly signInPage?: ((returnTo: string) => string) | undefined
  },
  scopes: Readonly<Record<string, string>>,
): OfferedSignIn {
  const { signIn = {} } = config
  if (!isPlain(signIn as unknown)) throw wrong("Write signIn: { direct: ['poppy:read'] }.")
  for (const type of Object.keys(signIn)) {
    if (!Object.hasOwn(types, type) && type !== 'mediated')
      throw wrong(
        `There is no \`signIn.${type}\`. Write signIn: { direct: ['poppy:read'] }, or device in the same way.`,
      )
  }
  return { direct: check('direct'), device: check('device'), mediated: checkMediated(signIn.mediated, scopes) }

  function check(type: keyof typeof types): readonly string[] | undefined {
    const listed: unknown = signIn[type]
    if (listed === undefined) return undefined
    if (!Array.isArray(listed) || listed.length === 0)
      throw wrong(`\`signIn.${type}\` lists the scopes that ${types[type]} can grant, such as ['poppy:read'].`)
    for (const scope of listed) {
      if (!Object.hasOwn(scopes, scope))
        throw wrong(
          `\`signIn.${type}\` names '${scope}', which \`scopes\` does not describe. Write scopes: { '${scope}': '…' }.`,
        )
    }
    if (new Set(listed).size !== listed.length) throw wrong(`\`signIn.${type}\` names a scope twice.`)
    if (typeof config.account !== 'function')
      throw wrong(
        `${types[type]} needs \`account\`: (request) => who is signed in to your site, as { id, name }, or null.`,
      )
    if (typeof config.signInPage !== 'function')
      throw wrong(
        `${types[type]} needs \`signInPage\`: (returnTo) => the address of your sign-in page, such as '/login?next=' + encodeURIComponent(returnTo).`,
      )
    return Object.freeze([...listed])
  }
}

/** Every scope that some type of sign-in can grant. */
export function grantableScopes(offered: OfferedSignIn): readonly string[] {
  return [...new Set([...(offered.direct ?? []), ...(offered.device ?? []), ...(offered.mediated?.scopes ?? [])])]
}
