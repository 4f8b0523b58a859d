import type { ConversationRead } from '../conversations/staff-view.ts'
import type { InboxWord } from '../words/inbox-words.ts'
import type { InboxParts, Reader } from './parts.ts'
import type { Allowed } from './view.ts'

/**
 * What staff may do with a conversation at this moment, and why not. It only says so: each act is checked again, by what does
 * it, on the conversation as it is then.
 */

/** Why something can't be done, by its word. */
type Why = Extract<InboxWord, `inbox.why.${string}`> | null

/** Works it out. */
export function allowedOf(
  { hasAgent, grantableScopes }: Pick<InboxParts, 'hasAgent' | 'grantableScopes'>,
  { me, wording }: Pick<Reader, 'me' | 'wording'>,
  { conversation, rights }: Pick<ConversationRead, 'conversation' | 'rights'>,
  colleagues: number,
): Allowed {
  const closed: Why = conversation.status === 'closed' ? 'inbox.why.closed' : null
  const held: Why = conversation.heldBy !== null && conversation.heldBy.id !== me.id ? 'inbox.why.held_by_other' : null
  const mine: Why = closed ?? held ?? (conversation.heldBy === null ? 'inbox.why.not_held' : null)
  const blocked: Why = rights.session === 'blocked' ? 'inbox.why.blocked' : null
  const direct: Why =
    conversation.parent !== null ? 'inbox.why.is_direct' : conversation.direct !== null ? 'inbox.why.direct_open' : null
  const isAllAllowed = rights.isSignedIn && grantableScopes.every((scope) => rights.scopes.includes(scope))
  const signIn: Why =
    grantableScopes.length === 0 ? 'inbox.why.no_sign_in' : isAllAllowed ? 'inbox.why.already_allowed' : null
  const signedOut: Why = rights.isSignedIn ? null : 'inbox.why.signed_out'
  const say = (why: Why) => (why === null ? null : wording.say(why))
  return {
    take: say(closed ?? held),
    release: say(mine),
    give: say(mine ?? (colleagues === 0 ? 'inbox.why.nobody_here' : null)),
    reply: say(mine),
    handBack: say(mine ?? (hasAgent ? null : 'inbox.why.no_agent')),
    askForUser: say(mine ?? direct),
    askForSignIn: say(mine ?? blocked ?? signIn),
    openAccount: say(mine ?? blocked ?? signedOut),
    callTools: say(mine ?? blocked),
    close: say(closed ?? held),
  }
}
