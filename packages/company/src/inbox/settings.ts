import { isPlain, refuseUnknown } from '../config-shapes.ts'
import { wrong } from '../configuration-error.ts'
import type { Staff } from '../conversations/held.ts'
import type { SignedInPrincipal } from '../tools/tool.ts'

/** What a company sets about the staff inbox. */

/** A member of staff, as the company's own login knows them. */
export interface SignedInStaff extends Staff {
  /** A language tag, such as `'de'`; left out, the browser's `Accept-Language` chooses. */
  readonly locale?: string
}

/** What staff may see of a customer's account: text alone, nothing of it is markup. */
export interface CustomerCard {
  /** Such as the customer's name. */
  readonly title?: string
  /** Named values. */
  readonly facts?: Readonly<Record<string, string | number | boolean>>
  readonly tables?: readonly {
    readonly title: string
    readonly columns: readonly string[]
    readonly rows: readonly (readonly (string | number | boolean | null)[])[]
  }[]
  /** `href` is `https:`, or a path of the site. */
  readonly links?: readonly { readonly text: string; readonly href: string }[]
}

/** A reply that is written often. */
export interface SavedReply {
  readonly title: string
  readonly text: string
}

/** The settings of the inbox. */
export interface InboxConfig {
  /**
   * Who is signed in as staff on this request, from the company's own login, or null: then the inbox is at `/poppy/inbox`.
   * Needs conversations or operations.
   */
  readonly staff?: (request: Request) => SignedInStaff | null | Promise<SignedInStaff | null>
  /** Where staff sign in, given the path to come back to (a path on `origin`); left out, a page says that it is for staff. */
  readonly staffSignInPage?: (returnTo: string) => string
  /**
   * Where staff sign out: a path of the site, or a function that gives one and is given the path of the inbox. It is a link, so
   * the page that it leads to asks, or takes its own form; left out, the inbox shows no way out.
   */
  readonly staffSignOutPage?: string | ((returnTo: string) => string)
  /**
   * What staff see of a customer's account, once a member of staff has opened it on purpose, and only with the rights that
   * the conversation has at that moment.
   */
  readonly customer?: (principal: SignedInPrincipal) => CustomerCard | null | Promise<CustomerCard | null>
  /** Replies to choose from. */
  readonly savedReplies?: readonly SavedReply[]
}

/** {@link InboxConfig}, once it is known to be right. */
export interface CheckedInbox {
  readonly staff: NonNullable<InboxConfig['staff']>
  readonly signInPage: ((returnTo: string) => string) | null
  readonly signOutPage: ((returnTo: string) => string) | null
  readonly customer: NonNullable<InboxConfig['customer']> | null
  readonly savedReplies: readonly SavedReply[]
}

const mostReplies = 200

/**
 * Null where there is no inbox.
 * @throws ConfigurationError with a sentence that says what to write
 */
export function checkInbox(
  { staff, staffSignInPage, staffSignOutPage, customer, savedReplies }: InboxConfig,
  has: { readonly conversations: boolean; readonly operations: boolean },
): CheckedInbox | null {
  if (staff === undefined) {
    for (const [name, value] of Object.entries({ staffSignInPage, staffSignOutPage, customer, savedReplies })) {
      if (value !== undefined) throw wrong(`\`${name}\` is for the staff inbox. Write \`staff\` too, or leave it out.`)
    }
    return null
  }
  if (typeof staff !== 'function')
    throw wrong('`staff` is a function: (request) => who of your staff is signed in, as { id, name }, or null.')
  if (!has.conversations && !has.operations)
    throw wrong('`staff` is for the staff inbox, which needs `conversations`, `agent` or `operations`.')
  if (staffSignInPage !== undefined && typeof staffSignInPage !== 'function')
    throw wrong(
      "`staffSignInPage` is a function that gives the address: (returnTo) => '/staff/login?next=' + encodeURIComponent(returnTo).",
    )
  if (staffSignOutPage !== undefined && typeof staffSignOutPage !== 'function' && !isPath(staffSignOutPage))
    throw wrong("`staffSignOutPage` is a path of your site, such as '/staff/sign-out', or a function that gives it.")
  if (customer !== undefined && typeof customer !== 'function')
    throw wrong(
      '`customer` is a function: (principal) => what staff may see, as { title, facts, tables, links }, or null.',
    )
  return {
    staff,
    signInPage: staffSignInPage ?? null,
    signOutPage: typeof staffSignOutPage === 'string' ? () => staffSignOutPage : (staffSignOutPage ?? null),
    customer: customer ?? null,
    savedReplies: checkReplies(savedReplies ?? []),
  }
}

/** A path on the site, that no browser takes for the address of another one. */
function isPath(value: unknown): boolean {
  return typeof value === 'string' && /^\/(?![/\\])[^\s\\]*$/.test(value)
}

function checkReplies(replies: readonly SavedReply[]): readonly SavedReply[] {
  if (!Array.isArray(replies) || replies.length > mostReplies)
    throw wrong(`\`savedReplies\` is a list of at most ${mostReplies}: [{ title: 'Opening hours', text: '…' }].`)
  return Object.freeze(
    replies.map((reply: unknown, index) => {
      if (!isPlain(reply)) throw wrong(`\`savedReplies[${index}]\` is { title: '…', text: '…' }.`)
      refuseUnknown(`savedReplies[${index}]`, reply, ['title', 'text'])
      const { title, text } = reply
      const isText = (value: unknown, most: number): value is string =>
        typeof value === 'string' && value.trim() !== '' && value.length <= most
      if (!isText(title, 200) || !isText(text, 32_000))
        throw wrong(
          `\`savedReplies[${index}]\` is { title: '…', text: '…' }: a title of at most 200 characters, a text of at most 32000.`,
        )
      return Object.freeze({ title, text })
    }),
  )
}
