import { type BrowserFinder, forPeople } from '../browser/people-only.ts'
import type { Handler, Route } from '../http/router.ts'
import type { Wordings } from '../words/wording.ts'
import { apiRoutes } from './api.ts'
import { ownReads } from './own-reads.ts'
import type { InboxParts } from './parts.ts'
import { conversationActs, deskActs } from './paths.ts'
import type { AskedFor } from './place.ts'

/** The routes of the staff inbox. What answers is loaded with the first request for it. */

const pages = () => import('./pages.ts')

/**
 * Makes them.
 * @param parts null where there is no inbox
 */
export function inboxRoutes(
  parts: InboxParts | null,
  {
    route: path,
    ...guard
  }: { readonly route: string; readonly browser: BrowserFinder | null; readonly wordings: Wordings },
): Record<string, Route> {
  if (parts === null) return {}
  let live: Promise<Handler> | null = null
  // Staff pages are for people: an agent's browser may hold a cookie of the company's own login (5).
  const at = (methods: Readonly<Record<string, Handler>>): Route =>
    forPeople(
      {
        methods: ownReads(methods),
        crossOrigin: false,
        fail: async (error, request) => (await pages()).inboxFailed(error, request, parts),
      },
      guard,
    )
  // The answer to a form may be a page: whoever loads its address again sees what it was about, and does nothing twice.
  const back =
    (openedBy: (id: string) => AskedFor): Handler =>
    async (request, id) =>
      (await pages()).comeBack(request, openedBy(id), parts)
  return {
    [path]: at({ GET: async (request) => (await pages()).showInbox(request, null, parts) }),
    [`${path}/live`]: at({
      async GET(request, rest) {
        live ??= import('./live-route.ts').then(({ liveHandler }) => liveHandler(parts))
        return (await live)(request, rest)
      },
    }),
    [`${path}/conversations/*`]: at({
      GET: async (request, id) => (await pages()).showInbox(request, { kind: 'conversation', id }, parts),
    }),
    [`${path}/operations/*`]: at({
      GET: async (request, id) => (await pages()).showInbox(request, { kind: 'operation', id }, parts),
    }),
    ...Object.fromEntries(
      deskActs.map((act) => [
        `${path}/${act}`,
        at({
          GET: back(() => null),
          POST: async (request) => (await pages()).actAtDesk(request, act, parts),
        }),
      ]),
    ),
    ...Object.fromEntries(
      conversationActs.map((act) => [
        `${path}/conversations/*/${act}`,
        at({
          GET: back((id) => ({ kind: 'conversation', id })),
          POST: async (request, id) => (await pages()).actInInbox(request, { act, id }, parts),
        }),
      ]),
    ),
    ...apiRoutes(parts, { route: path, browser: guard.browser }),
    [`${path}/operations/*/settle`]: at({
      GET: back((id) => ({ kind: 'operation', id })),
      POST: async (request, id) => (await pages()).settleInInbox(request, id, parts),
    }),
    // The same for everybody, and nothing in them is anybody's.
    [`${path}/assets/*`]: {
      ...at({}),
      methods: { GET: async (request, name) => (await pages()).showAsset(request, name) },
    },
  }
}
