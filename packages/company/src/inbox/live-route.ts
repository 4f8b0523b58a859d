import { json } from '../http/respond.ts'
import type { Handler } from '../http/router.ts'
import { isFromOurPage } from '../sign-in/person.ts'
import { inboxHeaders } from './frame.ts'
import { createStaffStreams } from './live.ts'
import type { InboxParts } from './parts.ts'
import { staffOf } from './staff-member.ts'

/** `GET {inbox}/live`: the stream that makes a page of the inbox live. A script asks for it, so nothing here is a page. */

/** Makes the handler, with all streams that there are at this instance. */
export function liveHandler(parts: InboxParts): Handler {
  const streams = createStaffStreams({ ...parts, ...parts.live, who: (request) => staffOf(request, parts.settings) })
  return async (request) => {
    // An open stream is a sign of life, so no other site may open one in somebody's name.
    if (!isFromOurPage(request, parts.origin))
      return json({ error: 'access_denied', error_description: 'For pages of the inbox.' }, 403, inboxHeaders)
    const me = await staffOf(request, parts.settings)
    if (me === null)
      return json({ error: 'sign_in_required', error_description: 'Sign in as a member of staff.' }, 401, inboxHeaders)
    const response = streams.open({ id: me.id, name: me.name }, request)
    for (const name of ['x-content-type-options', 'cross-origin-resource-policy'])
      response.headers.set(name, inboxHeaders[name] as string)
    return response
  }
}
