/** Personal Agents by `client_id`, compared as strings, or a function that says whether one is in it. */
export type AgentList = readonly string[] | ((clientId: string) => boolean | Promise<boolean>)

/**
 * 4.1: which Personal Agents may come, by the lists of the configuration. Asked again on each request, so a block bites at
 * once. What is blocked in the store is read together with a Session, and by the directory where there is none.
 */
export interface Admission {
  /** Whether this `client_id` may come in: not on the block list, and on the allow list where there is one. */
  readonly admits: (clientId: string) => boolean | Promise<boolean>
}

/** Block wins over allow; without an allow list everybody may come. */
export function createAdmission(lists: {
  readonly allow?: AgentList | undefined
  readonly block?: AgentList | undefined
}): Admission {
  const isAllowed = lists.allow === undefined ? null : readList(lists.allow)
  const isBlocked = lists.block === undefined ? null : readList(lists.block)
  if (isAllowed === null && isBlocked === null) return { admits: () => true }
  return {
    async admits(clientId) {
      if (isBlocked !== null && (await isBlocked(clientId))) return false
      return isAllowed === null || (await isAllowed(clientId))
    },
  }
}

/** Makes a question of a list. */
export function readList(list: AgentList): (clientId: string) => boolean | Promise<boolean> {
  if (typeof list === 'function') return list
  const members = new Set(list)
  return (clientId) => members.has(clientId)
}
