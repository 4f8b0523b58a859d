import type { BrowserFinder } from '../browser/people-only.ts'
import type { Handler, Route } from '../http/router.ts'
import { apiDocument, apiPath, endpointsByPath } from './api-paths.ts'
import type { InboxParts } from './parts.ts'

/** The routes of the JSON API of the inbox. What answers is loaded with the first request for it. */

const answers = () => import('./api-answer.ts')

/**
 * Makes them.
 * @param route of the inbox, such as `/poppy/inbox`
 */
export function apiRoutes(
  parts: InboxParts,
  { route, browser }: { readonly route: string; readonly browser: BrowserFinder | null },
): Record<string, Route> {
  const at = (methods: Readonly<Record<string, Handler>>): Route => ({
    methods,
    crossOrigin: false,
    fail: async (error) => (await answers()).failedApi(error, parts),
  })
  return {
    [apiPath(route) + apiDocument]: at({
      GET: async (request) => (await answers()).showApiDocument(request, { parts, browser }),
    }),
    ...Object.fromEntries(
      [...endpointsByPath(route)].map(([pattern, endpoints]) => [
        pattern,
        at(
          Object.fromEntries(
            endpoints.map((endpoint): [string, Handler] => [
              endpoint.split(' ')[0] ?? '',
              async (request, id) => (await answers()).answerApi(request, endpoint, id, { parts, browser }),
            ]),
          ),
        ),
      ]),
    ),
  }
}
