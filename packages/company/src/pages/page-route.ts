import { errorResponse } from '../http/respond.ts'
import type { Route } from '../http/router.ts'
import type { Logger } from '../store/database.ts'
import type { Wording, Wordings } from '../words/wording.ts'
import type { Told } from './failure.ts'

/** What a page tells errors with. */
export interface PageParts {
  readonly log: Logger
  readonly random: (length: number) => Uint8Array
  readonly wordings: Wordings
}

/**
 * Makes the route of a page: people read it, so that errors are told in words there, by the same boundary as everywhere.
 * @param told what an error means for the person; `status` is what an API would have said
 */
export function pageRoute(
  methods: Route['methods'],
  { log, random, wordings }: PageParts,
  told: (wording: Wording, error: unknown, status: number) => Told & { readonly status?: number },
): Route {
  return {
    methods,
    crossOrigin: false,
    async fail(error, request) {
      // Loaded with the first page that somebody sees.
      const { failurePage } = await import('./failure.ts')
      const answer = errorResponse(error, { scheme: 'DPoP' }, log, random)
      const wording = wordings.of(request)
      return failurePage(answer, wording, told(wording, error, answer.status))
    },
  }
}
