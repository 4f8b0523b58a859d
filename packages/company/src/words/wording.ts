import { de } from './de.ts'
import { en } from './en.ts'
import { dateFormat, numberFormat } from './formats.ts'
import { inboxDe } from './inbox-de.ts'
import { inboxEn } from './inbox-en.ts'
import { type InboxWords, inboxWordsOf, isInboxWord } from './inbox-words.ts'
import { lookUp, negotiate } from './negotiate.ts'
import { type ScopeSentence, scopeSentence } from './scope-text.ts'
import type { CheckedLanguages } from './settings.ts'
import { type AnyWord, type Filling, fill, type Words } from './words.ts'

/** What one person reads: the words of their language, and times as they write them. */

/** The words of one person's language. */
export interface Wording {
  /** The language of the words, such as `de`: what `<html lang>` and `Content-Language` say. */
  readonly language: string
  /** How the person writes dates and numbers, such as `de-AT`. */
  readonly locale: string
  /** A word or a sentence, with texts in its places. */
  readonly say: <W extends AnyWord>(word: W, ...filling: Filling<W, string>) => string
  /** The same in pieces, for places that are more than text: a link, a name that stands out. */
  readonly parts: <W extends AnyWord, Value>(word: W, ...filling: Filling<W, Value>) => readonly (string | Value)[]
  /**
   * The words of the staff inbox, by their names without `inbox.`, and their language: English where the company brought a
   * language of its own without them.
   */
  readonly inbox: () => { readonly language: string; readonly words: Readonly<Record<string, string>> }
  /** What a scope means, in the company's words; the scope itself where it has none. */
  readonly scope: (scope: string) => ScopeSentence
  /** A length of time in the largest unit of which there is at least one: `90 days`. Milliseconds. */
  readonly duration: (milliseconds: number) => string
  /** How long to wait, never too short: `45 seconds`, `2 minutes`. Seconds. */
  readonly wait: (seconds: number) => string
  /** `5 minutes ago`. Milliseconds. */
  readonly ago: (milliseconds: number) => string
  /** `on 3 March 2026`; nearer than a day, in words. Milliseconds since 1970. */
  readonly day: (time: number, now: number) => string
}

/** All languages of a Company. */
export interface Wordings {
  /** For whoever made this request. */
  readonly of: (request: Request) => Wording
  /** For a language tag, or nothing that is known. */
  readonly in: (locale: string | undefined) => Wording
  /**
   * What scopes mean, for a language tag, a whole `Accept-Language` header, or nothing: also in languages in which the
   * library has no words.
   */
  readonly scopes: (accepted: string | null | undefined) => (scope: string) => ScopeSentence
}

/** Words of the pages and of the inbox, and in which language the latter are. */
interface Language {
  readonly words: Words & InboxWords
  readonly inbox: string
}

const ownLanguages: Readonly<Record<string, Language>> = {
  en: { words: { ...en, ...inboxEn }, inbox: 'en' },
  de: { words: { ...de, ...inboxDe }, inbox: 'de' },
}

const minute = 60_000
const day = 86_400_000
const units = [
  { unit: 'day', milliseconds: day },
  { unit: 'hour', milliseconds: 3_600_000 },
  { unit: 'minute', milliseconds: minute },
] as const

/** Makes the words of a Company: the library's, with what the company set over them. */
export function createWordings({ standard, words: set, scopes }: CheckedLanguages): Wordings {
  const languages = new Map<string, Language>(Object.entries(ownLanguages))
  const english = ownLanguages.en as Language
  // `de` before `de-AT`, which is that with a few words of its own.
  for (const language of Object.keys(set).sort()) {
    const base = lookUp([...languages.keys()], language)
    const under = (base === undefined ? undefined : languages.get(base)) ?? english
    const own = set[language] ?? {}
    languages.set(language, {
      words: { ...under.words, ...own },
      inbox: base !== undefined || !Object.keys(own).some(isInboxWord) ? under.inbox : language,
    })
  }
  const available = [...languages.keys()]
  const ofScopes = Object.values(scopes).flatMap((given) => (typeof given === 'string' ? [] : Object.keys(given)))
  const known = [...new Set([...available, ...ofScopes])]
  const wordingIn = (accepted: string | null | undefined) => {
    const { language, locale } = negotiate(accepted, { available, standard })
    return makeWording({ language, locale, ...(languages.get(language) ?? english), scopes, standard })
  }
  return {
    of: (request) => wordingIn(request.headers.get('accept-language')),
    in: wordingIn,
    scopes(accepted) {
      const { locale } = negotiate(accepted, { available: known, standard })
      return (scope) => scopeSentence(scopes, scope, locale, standard)
    },
  }
}

function makeWording(options: {
  readonly language: string
  readonly locale: string
  readonly words: Language['words']
  readonly inbox: string
  readonly scopes: CheckedLanguages['scopes']
  readonly standard: string
}): Wording {
  const { language, locale, words, scopes, standard } = options
  const say: Wording['say'] = (word, ...[values]) => fill(words[word], values ?? {}).join('')
  const count = (amount: number, unit: string) =>
    numberFormat(locale, { style: 'unit', unit, unitDisplay: 'long' }).format(amount)
  return {
    language,
    locale,
    say,
    parts: (word, ...[values]) => fill(words[word], (values ?? {}) as never),
    inbox: () => ({ language: options.inbox, words: inboxWordsOf(words) }),
    scope: (scope) => scopeSentence(scopes, scope, locale, standard),
    duration(milliseconds) {
      const { unit, milliseconds: one } = units.find((unit) => milliseconds >= unit.milliseconds) ?? units[2]
      return count(Math.max(1, Math.round(milliseconds / one)), unit)
    },
    wait: (seconds) =>
      seconds < 90 ? count(Math.max(1, Math.ceil(seconds)), 'second') : count(Math.ceil(seconds / 60), 'minute'),
    ago: (milliseconds) =>
      milliseconds < minute
        ? say('time.lessThanAMinuteAgo')
        : new Intl.RelativeTimeFormat(locale).format(-Math.floor(milliseconds / minute), 'minute'),
    day: (time, now) =>
      now - time < day
        ? say('time.lastDay')
        : say('time.onDay', {
            date: dateFormat(locale, { dateStyle: 'long', timeZone: 'UTC' }).format(time),
          }),
  }
}
