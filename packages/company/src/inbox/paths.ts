/** Where the parts of the inbox are, below its own path. Known from the configuration alone, without what answers there. */

/** What can be done to a conversation: `POST {inbox}/conversations/{id}/{act}`. */
export const conversationActs = [
  'take',
  'release',
  'give',
  'reply',
  'note',
  'hand-back',
  'ask-for-user',
  'ask-for-sign-in',
  'open-account',
  'close-account',
  'call-tool',
  'revise',
  'close',
] as const

/** See {@link conversationActs}. */
export type ConversationAct = (typeof conversationActs)[number]

/** What is done to no conversation: `POST {inbox}/{act}`. */
export const deskActs = ['take-next', 'leave'] as const

/** See {@link deskActs}. */
export type DeskAct = (typeof deskActs)[number]

/** All paths as the router has them: `exact`, and those that take one segment more. */
export function inboxPaths(path: string): { readonly exact: readonly string[]; readonly below: readonly string[] } {
  return {
    exact: [path, `${path}/live`, ...deskActs.map((act) => `${path}/${act}`)],
    below: [
      `${path}/assets/*`,
      `${path}/conversations/*`,
      ...conversationActs.map((act) => `${path}/conversations/*/${act}`),
      `${path}/operations/*`,
      `${path}/operations/*/settle`,
    ],
  }
}
