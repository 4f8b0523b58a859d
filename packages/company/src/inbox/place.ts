import { isId } from '@poppyseed/protocol'
import { type InboxList, inboxLists } from './view.ts'

/** Where in the inbox somebody is: what an address says, and the addresses of other places. */

/** What is open beside the list. */
export type Opened =
  | {
      readonly kind: 'conversation'
      readonly id: string
      readonly before: number | null
      /** An entry of the history that is to be in sight: the id of an event, or `note-3`. */
      readonly at: string | null
    }
  | { readonly kind: 'operation'; readonly id: string }

/** What an address names; null for the list alone. */
export type AskedFor = Pick<Opened, 'kind' | 'id'> | null

/** See above. */
export interface Place {
  readonly list: InboxList
  /** What is searched for instead; null for the list. */
  readonly query: string | null
  /** Where a search goes on. */
  readonly since: string | null
  /** Where a page of the list goes on. */
  readonly after: string | null
  readonly opened: Opened | null
}

/** Characters of a search: an address has no more of it, and the JSON API takes no more. */
export const longestQuery = 300

/** Reads the query of an address; what is none, or stands there twice, isn't there. */
export function readPlace(query: URLSearchParams, opened: AskedFor): Place {
  const one = (name: string) => {
    const values = query.getAll(name)
    return values.length === 1 ? values[0] : undefined
  }
  const list = one('list')
  const asked = one('q')?.trim().slice(0, longestQuery).toWellFormed().replaceAll('\0', '') ?? ''
  return {
    list: readList(list) ?? (opened?.kind === 'operation' ? 'settle' : 'waiting'),
    query: asked === '' ? null : asked,
    since: readCursor(one('since')),
    after: readCursor(one('after')),
    opened:
      opened === null || opened.kind === 'operation'
        ? (opened as Opened | null)
        : { kind: 'conversation', id: opened.id, before: readNumber(one('before')), at: readEntry(one('at')) },
  }
}

/** A list by its name, as an address or a form has it. */
function readList(name: string | undefined): InboxList | null {
  return inboxLists.find((one) => one === name) ?? null
}

function readCursor(text: string | undefined): string | null {
  return text !== undefined && /^[A-Za-z0-9_.~-]{1,400}$/.test(text) ? text : null
}

function readNumber(text: string | undefined): number | null {
  return text !== undefined && /^[1-9][0-9]{0,15}$/.test(text) && Number.isSafeInteger(Number(text))
    ? Number(text)
    : null
}

function readEntry(text: string | undefined): string | null {
  return text !== undefined && /^(?:evt_[A-Za-z0-9_-]{1,30}|note-[1-9][0-9]{0,8})$/.test(text) ? text : null
}

/** Whether something can be the id of what is opened: anything else is not looked for. */
export const isOpenable = (id: string): boolean => isId(id)

/** The address of a place, below the inbox's own path. */
export function addressOf(
  path: string,
  { list, query, since, after, opened }: Place,
  more: Readonly<Record<string, string>> = {},
): string {
  const parameters = new URLSearchParams()
  if (query !== null) parameters.set('q', query)
  else if (list !== (opened?.kind === 'operation' ? 'settle' : 'waiting')) parameters.set('list', list)
  if (since !== null) parameters.set('since', since)
  if (after !== null) parameters.set('after', after)
  if (opened?.kind === 'conversation' && opened.before !== null) parameters.set('before', String(opened.before))
  if (opened?.kind === 'conversation' && opened.at !== null) parameters.set('at', opened.at)
  for (const [name, value] of Object.entries(more)) parameters.set(name, value)
  const at = opened === null ? path : `${path}/${opened.kind}s/${opened.id}`
  return parameters.size === 0 ? at : `${at}?${parameters}`
}
