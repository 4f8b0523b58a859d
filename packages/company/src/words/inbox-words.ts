import type { inboxEn } from './inbox-en.ts'

/** What a set of the inbox's words is: one that lacks a word is a type error. */

/** The name of a word or sentence of the staff inbox, such as `inbox.reply`. */
export type InboxWord = keyof typeof inboxEn

/** All words of the inbox in one language. */
export type InboxWords = Readonly<Record<InboxWord, string>>

/** The same name as the inbox itself has it: `reply`. */
export type InboxViewWord = InboxWord extends infer Name ? (Name extends `inbox.${infer Rest}` ? Rest : never) : never

const prefix = 'inbox.'

/** Whether a word is one of the inbox's. */
export const isInboxWord = (word: string): boolean => word.startsWith(prefix)

/** The words as the inbox has them, without what their names begin with. */
export function inboxWordsOf(words: Readonly<Record<string, string>>): Readonly<Record<string, string>> {
  return Object.fromEntries(
    Object.entries(words).flatMap(([word, text]) => (isInboxWord(word) ? [[word.slice(prefix.length), text]] : [])),
  )
}
