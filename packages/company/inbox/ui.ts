import { createContext } from 'preact'
import { useContext } from 'preact/hooks'
import type { InboxView, InboxWordTexts } from '../src/inbox/view.ts'
import type { InboxViewWord, InboxWord } from '../src/words/inbox-words.ts'
import type { Filling } from '../src/words/words.ts'

/** What every part of the page knows: the view, its words, and what there is only once the script runs. */

/** Says a word of the inbox, with texts in its places. */
export type Say = <W extends InboxViewWord>(word: W, ...filling: Filling<`inbox.${W}` & InboxWord, string>) => string

/** What the script adds to the page: nothing of it is there without. */
export interface Live {
  readonly connection: 'live' | 'offline' | 'signed-out'
  /** Whether the server tells by itself what changes; else it is asked now and then. */
  readonly isFollowing: boolean
  /** The address of the form that is being sent. */
  readonly sending: string | null
  /** The address that is being loaded. */
  readonly loading: string | null
  /** What could not be sent or loaded. */
  readonly problem: 'not-sent' | 'not-loaded' | null
  /** Whether they know by now that they are offline. */
  readonly isHushed: boolean
  /** What is read to whoever doesn't see it. */
  readonly news: string
  readonly notifications: 'off' | 'on' | 'blocked' | 'unknown'
  readonly hasKeys: boolean
  /** Puts a text into the box for the reply; with a draft, has its data sent too. */
  readonly insert: (text: string, draft?: string) => void
  readonly askToNotify: () => void
  readonly toggleKeys: () => void
  readonly dismiss: () => void
}

/** See above. */
export interface Ui {
  readonly view: InboxView
  readonly words: InboxWordTexts
  readonly say: Say
  /** Null on the server, and where there is no script. */
  readonly live: Live | null
}

/** Makes what says the words of a page. A word that nobody brought is its name, so that it can be found. */
export function makeSay(words: InboxWordTexts): Say {
  return (word, ...[values]) =>
    (words[word] ?? word).replaceAll(
      /\{([A-Za-z]+)\}/g,
      (whole, place: string) => (values as Readonly<Record<string, string>> | undefined)?.[place] ?? whole,
    )
}

const context = createContext<Ui | null>(null)

/** Hands it to all below. */
export const UiProvider = context.Provider

/** What every part of the page knows. */
export function useUi(): Ui {
  const ui = useContext(context)
  if (ui === null) throw new Error('A part of the inbox was drawn outside of it.')
  return ui
}

/** A word whose name is known only when it runs, such as that of an act in the record; itself where there is none. */
export function sayNamed(words: InboxWordTexts, group: string, name: string): string {
  const word = `${group}.${name}`
  return Object.hasOwn(words, word) ? (words[word] ?? name) : name
}

/** What an entry of the history is called in an address. */
export const entryId = (entry: string) => `entry-${entry}`

/** The query that keeps the list that one came from: `?list=mine`. */
export function listQuery({ list }: Pick<InboxView, 'list'>): string {
  return list.name === 'search' ? `?${new URLSearchParams({ q: list.query })}` : `?list=${list.name}`
}
