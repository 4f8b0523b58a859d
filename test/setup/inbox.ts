import type { CompanyConfig, SignedInStaff } from 'poppyseed'
import type { InboxView, InboxWordTexts } from '../../packages/company/src/inbox/view.ts'
import { greta, omar, rita } from './front-desk.ts'
import type { World } from './world.ts'

/** Members of staff in their browsers, at the staff inbox: by pages and forms, and as the pages' own script asks. */

const people: Readonly<Record<string, SignedInStaff>> = {
  rita,
  omar,
  greta: { ...greta, locale: 'de-DE' },
}

/** The company's own login: a cookie that says who it is. */
export const staffLogin = {
  staff: (request: Request) => {
    const [, name = ''] = /(?:^|; )desk=([a-z]+)/.exec(request.headers.get('cookie') ?? '') ?? []
    return people[name] ?? null
  },
  staffSignInPage: (returnTo: string) => `/staff/login?next=${encodeURIComponent(returnTo)}`,
} satisfies Partial<CompanyConfig>

type Fields = Readonly<Record<string, string>> | readonly (readonly [string, string])[]

/** What came of a request, as a script has it. */
export interface Seen {
  readonly status: number
  readonly view: InboxView
}

/** A browser of a member of staff. */
export type Desk = ReturnType<typeof atDesk>

/**
 * Opens one.
 * @param name of {@link people}; another is nobody
 * @param base what the inbox's address begins with, as the browser has it
 */
export function atDesk(
  { send, origin }: Pick<World, 'send' | 'origin'>,
  name: string,
  { base = '/poppy/inbox', headers: own = {} as Readonly<Record<string, string>> } = {},
) {
  const headers = { cookie: `desk=${name}`, 'sec-fetch-site': 'same-origin', ...own }
  const get = (path = '', more: Readonly<Record<string, string>> = {}) =>
    send(new Request(`${origin}${base}${path}`, { headers: { accept: 'text/html', ...headers, ...more } }))
  const look = async (path = ''): Promise<Seen> => read(await get(path, { accept: 'application/json' }))
  const post = (path: string, fields: Fields, more: Readonly<Record<string, string>> = {}) =>
    send(
      new Request(`${origin}${base}${path}`, {
        method: 'POST',
        body: bodyOf(fields),
        headers: { accept: 'text/html', origin, ...headers, ...more },
      }),
    )
  /** Sends a form of the page as it is now, as its script does. */
  const act = async (path: string, fields: Fields = {}): Promise<Seen> => {
    const { token, once } = (await look()).view
    const sent = [['token', token], ['once', once], ...entriesOf(fields)] as const
    return read(await post(path, sent, { accept: 'application/json' }))
  }
  return {
    get,
    look,
    post,
    act,
    /** A page, as a browser without script has it. */
    page: async (path = '') => pageOf(await get(path)),
    /** The workspace of a conversation. */
    open: async (id: string) => {
      const { status, view } = await look(`/conversations/${id}`)
      if (view.conversation === null) throw new Error(`no conversation: ${status} ${view.notice?.text}`)
      return view.conversation
    },
    /** Does something to a conversation. */
    on: (id: string, what: string, fields: Fields = {}) => act(`/conversations/${id}/${what}`, fields),
  }
}

/** A page of the inbox, and what its script begins with. */
export async function pageOf(answer: Response) {
  const text = await answer.text()
  const [, state] = /<script type="application\/json" id="inbox-view">(.*?)<\/script>/s.exec(text) ?? []
  const [, words] = /<script type="application\/json" id="inbox-words">(.*?)<\/script>/s.exec(text) ?? []
  return {
    status: answer.status,
    text,
    view: state === undefined ? null : (JSON.parse(state) as InboxView),
    words: words === undefined ? null : (JSON.parse(words) as InboxWordTexts),
  }
}

const entriesOf = (fields: Fields): readonly (readonly [string, string])[] =>
  isList(fields) ? fields : Object.entries(fields)
const isList = (fields: Fields): fields is Exclude<Fields, Readonly<Record<string, string>>> => Array.isArray(fields)

function bodyOf(fields: Fields): URLSearchParams {
  const body = new URLSearchParams()
  for (const [name, value] of entriesOf(fields)) body.append(name, value)
  return body
}

async function read(answer: Response): Promise<Seen> {
  const body = (await answer.json()) as InboxView & { readonly error?: string }
  if (body.error !== undefined) throw new Error(`${answer.status} ${body.error}`)
  return { status: answer.status, view: body }
}
