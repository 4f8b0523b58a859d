import type { en } from './en.ts'
import type { inboxEn } from './inbox-en.ts'
import type { InboxWord } from './inbox-words.ts'

/** What a set of words is: one that lacks a word is a type error. */

/** The name of a word or sentence on the library's pages, such as `consent.approve`. */
export type Word = keyof typeof en

/** All words of one language. */
export type Words = Readonly<Record<Word, string>>

/** The places of a text: `host` of `'from {host}'`. */
type PlacesOf<Text extends string> = Text extends `${string}{${infer Place}}${infer Rest}`
  ? Place | PlacesOf<Rest>
  : never

/** A word of the pages, or of the staff inbox. */
export type AnyWord = Word | InboxWord

/** The text of a word, in English. */
type TextOf<W extends AnyWord> = (typeof en & typeof inboxEn)[W]

/** What is put into the places of a word; nothing where it has none. */
export type Filling<W extends AnyWord, Value> = [PlacesOf<TextOf<W>>] extends [never]
  ? readonly []
  : readonly [values: Readonly<Record<PlacesOf<TextOf<W>>, Value>>]

/** What went wrong, as far as there is a title and a reason to tell of it. */
export type Problem = Word extends infer Name ? (Name extends `${infer Problem}.why` ? Problem : never) : never

const place = /\{([A-Za-z]+)\}/

/** The places that a text has, each once, in alphabetical order. */
export function placesOf(text: string): readonly string[] {
  return [...new Set(text.split(place).filter((_, index) => index % 2 === 1))].sort()
}

/** A text with its places filled, in pieces: `['from ', host]`. What is put in is never looked into. */
export function fill<Value>(text: string, values: Readonly<Record<string, Value>>): readonly (string | Value)[] {
  return text
    .split(place)
    .map((piece, index) => (index % 2 === 1 && Object.hasOwn(values, piece) ? (values[piece] as Value) : piece))
}
