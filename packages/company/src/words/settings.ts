import { isPlain } from '../config-shapes.ts'
import { wrong } from '../configuration-error.ts'
import { en } from './en.ts'
import { inboxEn } from './inbox-en.ts'
import type { InboxWords } from './inbox-words.ts'
import { isLanguageTag, lookUp } from './negotiate.ts'
import { type AnyWord, placesOf, type Words } from './words.ts'

/** What a company sets of the languages that people read. */

/** What a scope means for the person: one text for everybody, or one for each language, `{ en: '…', de: '…' }`. */
export type ScopeText = string | Readonly<Record<string, string>>

/** Languages of the library's pages. English and German are there; the browser's `Accept-Language` chooses. */
export interface LanguageConfig {
  /**
   * The language for people whose browser asks for none that there is, as a tag with a region where dates should follow
   * one, such as `'de'` or `'en-US'`; left out, `'en-GB'`. Documents with scope texts are in it too.
   */
  readonly language?: string
  /**
   * The company's own words, by language: single ones over the library's, or all of them for a language that the library
   * doesn't have. Those of the staff inbox (`inbox.…`) may be left out there: English stands in.
   *
   * ```ts
   * words: { de: { 'consent.approve': 'Erlauben' } }
   * ```
   */
  readonly words?: Readonly<Record<string, OwnWords>>
}

/** What a company may set of the words of one language. */
export type OwnWords = Partial<Words & InboxWords>

/** The languages once they are known to be right. */
export interface CheckedLanguages {
  /** The locale for whoever asks for none that there is. */
  readonly standard: string
  readonly words: Readonly<Record<string, OwnWords>>
  readonly scopes: Readonly<Record<string, ScopeText>>
}

/** Languages that the library has all words of. */
const ownLanguages = ['en', 'de']

const all: Readonly<Record<AnyWord, string>> = { ...en, ...inboxEn }

/** @throws ConfigurationError with a sentence that says what to write */
export function checkLanguages(config: LanguageConfig, scopes: Readonly<Record<string, ScopeText>>): CheckedLanguages {
  const { language = 'en-GB' } = config
  const words = checkWords(config.words ?? {})
  if (typeof language !== 'string' || !isLanguageTag(language))
    throw wrong("`language` is a language tag, such as 'de' or 'en-US'.")
  if (lookUp([...ownLanguages, ...Object.keys(words)], language) === undefined)
    throw wrong(
      `\`language\` is '${language}', and there are no words in it. Write them: words: { '${language}': { … } }, or choose from ${ownLanguages.join(', ')}.`,
    )
  return { standard: language, words, scopes }
}

function checkWords(words: Readonly<Record<string, Partial<Words>>>): CheckedLanguages['words'] {
  if (!isPlain(words))
    throw wrong("`words` has the words of each language: words: { de: { 'consent.approve': 'Erlauben' } }.")
  for (const [language, own] of Object.entries<unknown>(words)) {
    if (!isLanguageTag(language))
      throw wrong(`\`words\`: '${language}' is not a language tag. Write it as 'de', 'de-AT' or 'zh-Hant'.`)
    if (!isPlain(own)) throw wrong(`\`words.${language}\` is { 'consent.approve': '…' }.`)
    for (const [word, text] of Object.entries(own)) checkWord(language, word, text)
    // One sentence in another language among those of a page that grants something is no page to decide on. The inbox is
    // for people of the company, and has English instead.
    const missing = Object.keys(en).filter((word) => !Object.hasOwn(own, word))
    if (lookUp(ownLanguages, language) === undefined && missing.length > 0)
      throw wrong(
        `\`words.${language}\` is a language that the library doesn't have, so it needs all words. Missing: ${missing.join(', ')}.`,
      )
  }
  return Object.freeze({ ...words })
}

function checkWord(language: string, word: string, text: unknown): void {
  if (!Object.hasOwn(all, word))
    throw wrong(`\`words.${language}\`: there is no word '${word}'. The words are: ${Object.keys(all).join(', ')}.`)
  if (typeof text !== 'string' || text.trim() === '') throw wrong(`\`words.${language}['${word}']\` is a text.`)
  const places = placesOf(all[word as AnyWord])
  // A consent page whose words leave out who asks would still be approved.
  if (placesOf(text).join() !== places.join())
    throw wrong(
      places.length === 0
        ? `\`words.${language}['${word}']\` has a place in braces that nothing is put into.`
        : `\`words.${language}['${word}']\` has these places, each at least once, and no others: ${places.map((place) => `{${place}}`).join(' ')}.`,
    )
}

/** @throws ConfigurationError with a sentence that says what to write */
export function checkScopeText(scope: string, text: unknown): void {
  if (typeof text === 'string' && text.trim() !== '') return
  if (!isPlain(text) || Object.keys(text).length === 0)
    throw wrong(
      `\`scopes\`: say what '${scope}' means for the person, such as 'See your bookings', or { en: 'See your bookings', de: 'Ihre Buchungen sehen' }.`,
    )
  for (const [language, one] of Object.entries(text)) {
    if (!isLanguageTag(language))
      throw wrong(
        `\`scopes\`: '${scope}' has a text in '${language}', which is not a language tag such as 'de' or 'de-AT'.`,
      )
    if (typeof one !== 'string' || one.trim() === '')
      throw wrong(
        `\`scopes\`: say what '${scope}' means for the person in '${language}' too, or leave that language out.`,
      )
  }
}
