import { inboxCounts } from '../conversations/inbox-counts.ts'
import { isRightToLeft } from '../pages/direction.ts'
import { makeFormToken } from './form-token.ts'
import { type Called, conversationView } from './make-conversation.ts'
import { listView } from './make-list.ts'
import { openedOperation } from './make-operation.ts'
import type { InboxParts, Reader } from './parts.ts'
import type { Place } from './place.ts'
import type { InboxView, Notice } from './view.ts'

/** A whole page of the inbox, as data: for one member of staff, at one moment. */

/** What is to be told beside what there is. */
export interface Told {
  readonly notice?: Notice | null
  /** What was typed into a form that was refused. */
  readonly entered?: Readonly<Record<string, string>>
  /** What came of a call. */
  readonly called?: Called | null
}

/**
 * Makes it.
 * @throws PoppyError `conversation_not_found`, `operation_not_found` for what the place has open
 */
export async function makeView(parts: InboxParts, reader: Reader, place: Place, told: Told = {}): Promise<InboxView> {
  const { me, wording } = reader
  const { conversations, organization, path } = parts
  const [{ newestWaiting, ...counts }, here, list] = await Promise.all([
    parts.scope().then((scope) => inboxCounts(scope, me.id)),
    conversations?.colleagues() ?? [],
    listView(parts, reader, place),
  ])
  const colleagues = here.filter(({ id }) => id !== me.id)
  const { opened } = place
  const { language } = wording.inbox()
  return {
    organization,
    hasAgent: parts.hasAgent,
    me: { id: me.id, name: me.name },
    signOutPage: signOutAddress(parts),
    colleagues,
    language,
    locale: wording.locale,
    isRightToLeft: isRightToLeft(language),
    path,
    now: parts.now(),
    counts,
    newestWaiting,
    list,
    conversation:
      opened?.kind !== 'conversation' || conversations === null
        ? null
        : await conversationView(
            { ...parts, conversations },
            reader,
            { ...place, opened },
            {
              colleagues: colleagues.length,
              called: told.called ?? null,
            },
          ),
    operation: opened?.kind === 'operation' ? await openedOperation(parts, reader, opened.id) : null,
    notice: told.notice ?? null,
    entered: told.entered ?? {},
    token: makeFormToken(parts, { staffId: me.id, about: opened?.id ?? null }),
    once: Buffer.from(parts.random(16)).toString('base64url'),
  }
}

/** @throws TypeError where the company's own function gives no address */
function signOutAddress({ settings, origin, path }: Pick<InboxParts, 'settings' | 'origin' | 'path'>): string | null {
  if (settings.signOutPage === null) return null
  const url = URL.parse(settings.signOutPage(path), origin)
  if (url === null || !/^https?:$/.test(url.protocol))
    throw new TypeError(
      '`staffSignOutPage` gives the address of a page: a path of the site, or one that begins with https://.',
    )
  return url.href
}
