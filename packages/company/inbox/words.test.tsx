import { renderToString } from 'preact-render-to-string'
import { describe, expect, it } from 'vitest'
import type { InboxView } from '../src/inbox/view.ts'
import { inboxEn } from '../src/words/inbox-en.ts'
import { inboxWordsOf } from '../src/words/inbox-words.ts'
import { App } from './app.tsx'
import { fixtures } from './fixtures.ts'
import { NowProvider } from './times.tsx'
import type { Live } from './ui.ts'

/** In place of each word stands one that no view has. */
const words = Object.fromEntries(Object.keys(inboxWordsOf(inboxEn)).map((name) => [name, `⟦${name}⟧`]))
const views = fixtures({ language: 'en', locale: 'en-GB', words })

const live: Live = {
  connection: 'live',
  isFollowing: true,
  sending: null,
  loading: null,
  problem: null,
  isHushed: false,
  news: '',
  notifications: 'off',
  hasKeys: true,
  insert() {},
  askToNotify() {},
  toggleKeys() {},
  dismiss() {},
}
const lives: readonly (Live | null)[] = [
  null,
  live,
  { ...live, connection: 'offline', notifications: 'blocked' },
  { ...live, connection: 'signed-out', notifications: 'on' },
  { ...live, problem: 'not-sent' },
  { ...live, problem: 'not-loaded' },
]

const entities: Readonly<Record<string, string>> = { amp: '&', lt: '<', gt: '>', quot: '"', '#39': "'" }
const decoded = (text: string) => text.replaceAll(/&([a-z#0-9]+);/g, (whole, name: string) => entities[name] ?? whole)

/** What somebody reads or hears: what stands between tags, and in the attributes that are read out. */
function readIn(html: string): readonly string[] {
  // Moments and names of languages are written by the browser, in the reader's language.
  const own = html.replaceAll(/<time.*?<\/time>/gs, '').replaceAll(/<span class="fact fact-language">.*?<\/span>/gs, '')
  const attributes = [...own.matchAll(/ (?:aria-label|placeholder|title|alt)="([^"]*)"/g)].map(([, text = '']) => text)
  return [...own.split(/<[^>]*>/), ...attributes].map((text) => decoded(text).trim())
}

/** All texts of a view. */
function textsOf(value: unknown): readonly string[] {
  if (typeof value === 'string') return [value]
  return typeof value === 'object' && value !== null ? Object.values(value).flatMap(textsOf) : []
}

const draw = (view: InboxView, how: Live | null) =>
  renderToString(
    <NowProvider value={view.now}>
      <App view={view} words={words} live={how} />
    </NowProvider>,
  )

describe('the words of the inbox', () => {
  it('stand in one place: nothing else that is read is written into a page', () => {
    const strays = new Set<string>()
    for (const view of Object.values(views)) {
      const data = textsOf(view)
      for (const how of lives)
        for (const text of readIn(draw(view, how))) {
          const isData = (part: string) => !/\p{L}{2,}/u.test(part) || data.some((one) => one.includes(part.trim()))
          const left = text.replaceAll(/⟦[^⟧]*⟧/g, '')
          if (!isData(left) && !left.split(/(?:^|\s)·\s|:\s/).every(isData)) strays.add(text)
        }
    }
    expect([...strays]).toEqual([])
  })
})
