import { de } from './de.ts'
import { en } from './en.ts'
import { lookUp, negotiate } from './negotiate.ts'
import { type ScopeSentence, scopeSentence } from './scope-text.ts'
import type { CheckedLanguages } from './settings.ts'
import { type Filling, fill, type Word, type Words } from './words.ts'

/** What one person reads: the words of their language, and times as they write them. */

/** The words of one person's language. */
export interface Wording {
  /** The language of the words, such as `de`: what `<html lang>` and `Content-Language` say. */
  readonly language: string
  /** How the person writes dates and numbers, such as `de-AT`. */
  readonly locale: string
  /** A word or a sentence, with texts in its places. */
  readonly say: <W extends Word>(word: W, ...filling: Filling<W, string>) => string
  /** The same in pieces, for places that are more than text: a link, a name that stands out. */
  readonly parts: <W extends Word, Value>(word: W, ...filling: Filling<W, Value>) => readonly (string | Value)[]
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

const ownLanguages: Readonly<Record<string, Words>> = { en, de }

const minute = 60_000
const day = 86_400_000
const units = [
  { unit: 'day', milliseconds: day },
  { unit: 'hour', milliseconds: 3_600_000 },
  { unit: 'minute', milliseconds: minute },
] as const

/** Makes the words of a Company: the library's, with what the company set over them. */
export function createWordings({ standard, words: set, scopes }: CheckedLanguages): Wordings {
  const languages = new Map<string, Words>(Object.entries(ownLanguages))
  // `de` before `de-AT`, which is that with a few words of its own.
  for (const language of Object.keys(set).sort()) {
    const base = lookUp([...languages.keys()], language)
    languages.set(language, { ...(base === undefined ? en : languages.get(base)), ...set[language] } as Words)
  }
  const available = [...languages.keys()]
  const ofScopes = Object.values(scopes).flatMap((given) => (typeof given === 'string' ? [] : Object.keys(given)))
  const known = [...new Set([...available, ...ofScopes])]
  const wordingIn = (accepted: string | null | undefined) => {
    const { language, locale } = negotiate(accepted, { available, standard })
    return makeWording({ language, locale, words: languages.get(language) ?? en, scopes, standard })
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
  readonly words: Words
  readonly scopes: CheckedLanguages['scopes']
  readonly standard: string
}): Wording {
  const { language, locale, words, scopes, standard } = options
  const say: Wording['say'] = (word, ...[values]) => fill(words[word], values ?? {}).join('')
  const count = (amount: number, unit: string) =>
    new Intl.NumberFormat(locale, { style: 'unit', unit, unitDisplay: 'long' }).format(amount)
  return {
    language,
    locale,
    say,
    parts: (word, ...[values]) => fill(words[word], (values ?? {}) as never),
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
            date: new Intl.DateTimeFormat(locale, { dateStyle: 'long', timeZone: 'UTC' }).format(time),
          }),
  }
}
