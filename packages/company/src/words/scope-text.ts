import { lookUp } from './negotiate.ts'
import type { CheckedLanguages } from './settings.ts'

/** What a scope means for a person, in the company's words (4.4). */

/** A scope in the company's words, and in which language those are, where it said so. */
export interface ScopeSentence {
  readonly text: string
  readonly language: string | undefined
}

/**
 * In the person's language; else in the company's own, in English, in the first that it gave. A text that is given once is
 * for everybody.
 */
export function scopeSentence(
  scopes: CheckedLanguages['scopes'],
  scope: string,
  locale: string,
  standard: string,
): ScopeSentence {
  const given = Object.hasOwn(scopes, scope) ? scopes[scope] : undefined
  if (given === undefined) return { text: scope, language: undefined }
  if (typeof given === 'string') return { text: given, language: undefined }
  const available = Object.keys(given)
  const language = lookUp(available, locale) ?? lookUp(available, standard) ?? lookUp(available, 'en') ?? available[0]
  return { text: given[language as string] ?? scope, language }
}

/** What each scope means in the company's own language, for documents: those are the same for everybody. */
export function plainScopes({ scopes, standard }: CheckedLanguages): Readonly<Record<string, string>> {
  return Object.freeze(
    Object.fromEntries(
      Object.keys(scopes).map((scope) => [scope, scopeSentence(scopes, scope, standard, standard).text]),
    ),
  )
}
