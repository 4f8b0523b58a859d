import { type ConversationAct, conversationActs } from './paths.ts'

/** Where the JSON API of the inbox is, below `/poppy/inbox/api`. Known without what answers there. `*` stands for an id. */

/** What the document says of it all. */
export const apiDocument = '/openapi.json'

const reads = [
  'GET /me',
  'GET /counts',
  'GET /colleagues',
  'GET /conversations',
  'GET /conversations/*',
  'GET /conversations/*/account',
  'GET /conversations/*/tools',
  'GET /search',
  'GET /audit',
  'GET /operations',
  'GET /operations/*',
  'GET /deliveries',
] as const

const acts = [
  'POST /present',
  'POST /leave',
  'POST /take-next',
  'POST /operations/*/settle',
  'POST /deliveries/*/send-again',
  'POST /deliveries/send-all-again',
] as const

/** All that can be asked: method and path. */
export type ApiEndpoint = (typeof reads)[number] | (typeof acts)[number] | `POST /conversations/*/${ConversationAct}`

/** See {@link ApiEndpoint}. */
export const apiEndpoints: readonly ApiEndpoint[] = [
  ...reads,
  ...acts,
  ...conversationActs.map((act) => `POST /conversations/*/${act}` as const),
]

/** The path of the API below that of the inbox. */
export const apiPath = (inbox: string): string => `${inbox}/api`

/** All paths of the API as the router has them. */
export const apiPathsOf = (inbox: string): readonly string[] => [
  apiPath(inbox) + apiDocument,
  ...endpointsByPath(inbox).keys(),
]

/** The paths of the API as the router has them, each with what can be asked there. */
export function endpointsByPath(inbox: string): ReadonlyMap<string, readonly ApiEndpoint[]> {
  const byPath = new Map<string, ApiEndpoint[]>()
  for (const endpoint of apiEndpoints) {
    const at = apiPath(inbox) + (endpoint.split(' ')[1] ?? '')
    byPath.set(at, [...(byPath.get(at) ?? []), endpoint])
  }
  return byPath
}
