import type { Scope } from '../store/database.ts'
import {
  type AgentRange,
  type Candidate,
  conversationsOfAccount,
  conversationsOfAgents,
  type Named,
} from './search-store.ts'

/** What goes by a name: the conversations of an account, or of a Personal Agent. */

/** See above. */
export interface Exactly {
  /** Newest first; none of them unless they are all. */
  readonly found: readonly Named[]
  /** Whether these are all. Where there are very many, or a database orders texts in another way, one is known when it is seen. */
  readonly isAll: boolean
  /** Whether one that is seen goes by that name. */
  readonly isOne: (candidate: Pick<Candidate, 'account' | 'clientId'>) => boolean
}

/** So many are put in order; of more, the newest are found sooner by looking for them. */
const most = 1000

/** Finds them, by their indexes. */
export async function findExactly(scope: Scope, sought: string): Promise<Exactly> {
  const host = hostOf(sought)
  const isOfAgent = (clientId: string) => clientId === sought || (host !== null && isAt(clientId, host))
  const isOne: Exactly['isOne'] = ({ account, clientId }) => account === sought || isOfAgent(clientId)
  const limit = most + 1
  const found = new Map<string, Named>()
  const add = (rows: readonly Named[]) => {
    for (const row of rows) found.set(row.id, row)
  }
  add(await conversationsOfAccount(scope, { account: sought, limit }))
  for (const range of rangesOf(sought, host)) {
    if (found.size > most) break
    add((await conversationsOfAgents(scope, { range, limit })).filter((row) => isOfAgent(row.client_id)))
  }
  if (found.size > most) return { found: [], isAll: false, isOne }
  const inOrder = [...found.values()].toSorted(
    (one, other) => other.created_at - one.created_at || (one.id < other.id ? 1 : -1),
  )
  return { found: inOrder, isAll: true, isOne }
}

/** Where the ids of agents at a host are: all that begins with its origin, with a port or without. Or the one id that it is. */
function rangesOf(sought: string, host: string | null): readonly AgentRange[] {
  const one = /^https?:\/\//.test(sought) ? [{ clientId: sought }] : []
  if (host === null) return one
  const at = ['https', 'http'].flatMap((scheme) => [
    { from: `${scheme}://${host}/`, to: `${scheme}://${host}0` },
    ...(host.includes(':') ? [] : [{ from: `${scheme}://${host}:`, to: `${scheme}://${host};` }]),
  ])
  return [...one, ...at]
}

/** The host that is meant, as an address has it; null for what is none, and for an address of more than a host. */
function hostOf(sought: string): string | null {
  const rest = sought.replace(/^https?:\/\//i, '').replace(/\/$/, '')
  if (rest === '' || rest.length > 255 || /[\s/?#@\\]/.test(rest)) return null
  const url = URL.parse(`https://${rest}`)
  return url === null || url.host === '' ? null : url.host
}

function isAt(clientId: string, host: string): boolean {
  const url = URL.parse(clientId)
  return url !== null && (url.host === host || url.hostname === host)
}
