import { isPlain, refuseUnknown } from '../../config-shapes.ts'
import { wrong } from '../../configuration-error.ts'

/** What a company sets for Mediated Sign-In (4.7): which credentials it takes, and what it makes of them. */

/** One credential that a Personal Agent asks its User for. */
export interface CredentialField {
  /** The key that the agent sends: letters, digits, `_` and `-`. */
  readonly name: string
  /** What the User is asked for, such as `'Email'`. */
  readonly label: string
  /** Whether the agent has to protect it: a password, a PIN. */
  readonly secret: boolean
}

/** Who wants to sign in. */
export interface MediatedAttempt {
  readonly clientId: string
  readonly userId: string
  readonly scopes: readonly string[]
}

/** A sign-in whose credentials were right. */
export interface MediatedSignIn extends MediatedAttempt {
  /** The company's own id of the account. */
  readonly account: string
  /**
   * Whether this Personal Agent has no access to the account for this User at this moment. One agent may act for many
   * people: for another User of it, who may be anybody with the password, it is new as well.
   */
  readonly isNewAgent: boolean
}

/** Mediated Sign-In (4.7). Offer it only where the other two can't work, and with few scopes. */
export interface MediatedSettings {
  /** The scopes that it can grant (4.4). */
  readonly scopes: readonly string[]
  readonly fields: readonly CredentialField[]
  /**
   * Says whose credentials these are: the company's own id of the account, or null when they are wrong. Keep them
   * nowhere. It has ten seconds.
   */
  readonly verify: (
    credentials: Readonly<Record<string, string>>,
    attempt: MediatedAttempt & { readonly signal: AbortSignal },
  ) => string | null | Promise<string | null>
  /**
   * Sends a one-time code to the person, by a way that they gave the company themselves, and says where it went in words
   * for them: `'Text to the phone number ending in 71'`. Without it there are no codes.
   */
  readonly sendCode?: (code: string, signIn: MediatedSignIn) => string | Promise<string>
  /** Whether this sign-in wants a code too; left out, it does where `isNewAgent` is true. */
  readonly needsCode?: (signIn: MediatedSignIn) => boolean | Promise<boolean>
}

/** @throws ConfigurationError with a sentence that says what to write */
export function checkMediated(
  setting: MediatedSettings | undefined,
  scopes: Readonly<Record<string, string>>,
): MediatedSettings | undefined {
  if (setting === undefined) return undefined
  if (!isPlain(setting))
    throw wrong('`signIn.mediated` is { scopes, fields, verify }, such as fields: [{ name, label, secret }].')
  refuseUnknown('signIn.mediated', setting, ['scopes', 'fields', 'verify', 'sendCode', 'needsCode'])
  const { scopes: offered, fields, verify, sendCode, needsCode } = setting
  if (!Array.isArray(offered) || offered.length === 0)
    throw wrong("`signIn.mediated.scopes` lists the scopes that it can grant, such as ['poppy:read'].")
  for (const scope of offered) {
    if (!Object.hasOwn(scopes, scope))
      throw wrong(
        `\`signIn.mediated.scopes\` names '${scope}', which \`scopes\` does not describe. Write scopes: { '${scope}': '…' }.`,
      )
  }
  if (new Set(offered).size !== offered.length) throw wrong('`signIn.mediated.scopes` names a scope twice.')
  checkFields(fields)
  if (typeof verify !== 'function')
    throw wrong('`signIn.mediated.verify` is (credentials) => the id of the account that they are for, or null.')
  if (sendCode !== undefined && typeof sendCode !== 'function')
    throw wrong('`signIn.mediated.sendCode` is (code, signIn) => where it was sent, in words for the person.')
  if (needsCode !== undefined && typeof needsCode !== 'function')
    throw wrong('`signIn.mediated.needsCode` is (signIn) => whether a one-time code is wanted too.')
  if (needsCode !== undefined && sendCode === undefined)
    throw wrong('`signIn.mediated.needsCode` wants a way to send codes: set `sendCode` as well.')
  return Object.freeze({ ...setting, scopes: Object.freeze([...offered]), fields: Object.freeze([...fields]) })
}

function checkFields(fields: unknown): void {
  if (!Array.isArray(fields) || fields.length === 0 || fields.length > 10)
    throw wrong(
      "`signIn.mediated.fields` lists the credentials, such as [{ name: 'email', label: 'Email', secret: false }].",
    )
  for (const field of fields as readonly unknown[]) {
    if (!isPlain(field)) throw wrong('Each of `signIn.mediated.fields` is { name, label, secret }.')
    refuseUnknown('signIn.mediated.fields', field, ['name', 'label', 'secret'])
    if (typeof field.name !== 'string' || !/^[A-Za-z][A-Za-z0-9_-]{0,63}$/.test(field.name))
      throw wrong("A field's `name` begins with a letter and has letters, digits, '_' and '-', such as 'email'.")
    if (typeof field.label !== 'string' || field.label.trim() === '' || field.label.length > 100)
      throw wrong(`The field '${field.name}' needs a \`label\`: what the person is asked for, such as 'Email'.`)
    if (typeof field.secret !== 'boolean')
      throw wrong(
        `The field '${field.name}' has to say whether it is \`secret\`: true for a password, false for a name.`,
      )
  }
  const names = (fields as readonly CredentialField[]).map(({ name }) => name)
  // Attempts are counted by what isn't secret: without it, a PIN could be guessed by changing Users.
  if ((fields as readonly CredentialField[]).every(({ secret }) => secret))
    throw wrong(
      "`signIn.mediated.fields` needs a field that isn't secret, such as an email or an account number: attempts are limited by it.",
    )
  if (new Set(names).size !== names.length) throw wrong('`signIn.mediated.fields` has two fields of one name.')
}
