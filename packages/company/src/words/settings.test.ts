import { describe, expect, it } from 'vitest'
import { ConfigurationError } from '../configuration-error.ts'
import { de } from './de.ts'
import { plainScopes, scopeSentence } from './scope-text.ts'
import { checkLanguages, checkScopeText, type LanguageConfig } from './settings.ts'

const check = (config: unknown) => () => checkLanguages(config as LanguageConfig, {})

describe('languages in a configuration', () => {
  it('may be left out, set, and given words of the company’s own', () => {
    expect(checkLanguages({}, {})).toMatchObject({ standard: 'en-GB' })
    expect(checkLanguages({ language: 'de-AT', words: { de: { 'consent.approve': 'Erlauben' } } }, {})).toEqual({
      standard: 'de-AT',
      words: { de: { 'consent.approve': 'Erlauben' } },
      scopes: {},
    })
    expect(check({ language: 'nl', words: { nl: de } })).not.toThrow()
    expect(check({ words: { 'de-AT': { 'consent.approve': 'Erlauben' } } })).not.toThrow()
    expect(check({ words: { de: { 'inbox.reply': 'Antworten' } } })).not.toThrow()
  })

  it.each([
    [{ language: 7 }, "`language` is a language tag, such as 'de' or 'en-US'."],
    [{ language: 'German' }, '`language` is a language tag'],
    [{ language: 'de_AT' }, '`language` is a language tag'],
    [{ language: 'fr' }, "`language` is 'fr', and there are no words in it"],
    [{ words: [] }, '`words` has the words of each language'],
    [{ words: { German: {} } }, "`words`: 'German' is not a language tag"],
    [{ words: { de: 'x' } }, '`words.de` is {'],
    [{ words: { de: { 'consent.aprove': 'x' } } }, "there is no word 'consent.aprove'. The words are: account.yours"],
    [{ words: { de: { toString: 'x' } } }, "there is no word 'toString'"],
    [{ words: { de: { 'inbox.repli': 'x' } } }, "there is no word 'inbox.repli'"],
    [
      { words: { de: { 'inbox.heldByOther': 'Jemand' } } },
      'has these places, each at least once, and no others: {name}',
    ],
    [{ words: { de: { 'consent.approve': '' } } }, "`words.de['consent.approve']` is a text."],
    [{ words: { de: { 'consent.approve': undefined } } }, "`words.de['consent.approve']` is a text."],
    [{ words: { de: { 'consent.approve': () => 'x' } } }, "`words.de['consent.approve']` is a text."],
    // A page that leaves out who asks.
    [
      { words: { de: { 'agent.from': 'von irgendwo' } } },
      'has these places, each at least once, and no others: {host}',
    ],
    [{ words: { de: { 'agent.from': 'von {host} {agent}' } } }, 'and no others: {host}'],
    [{ words: { de: { 'consent.approve': 'Ja {agent}' } } }, 'has a place in braces that nothing is put into'],
    [{ words: { fr: { 'consent.approve': 'Autoriser' } } }, 'so it needs all words. Missing: account.yours'],
  ])('are refused in a sentence: %j', (config, sentence) => {
    expect(check(config)).toThrow(ConfigurationError)
    expect(check(config)).toThrow(sentence)
  })
})

describe('what a scope means', () => {
  const scopes = {
    'poppy:read': { de: 'Ihre Buchungen sehen', en: 'See your bookings', 'de-CH': 'Ihre Buchungen anschauen' },
    'poppy:write': { fr: 'Modifier vos réservations', de: 'Ihre Buchungen ändern' },
    loyalty: { it: 'Vedere i suoi punti', fr: 'Voir vos points' },
    plain: 'See the menu',
  }
  const told = (scope: string, locale: string, standard = 'en-GB') =>
    scopeSentence(scopes, scope, locale, standard).text

  it('is told in the person’s language, else the company’s, else English, else the first', () => {
    expect(told('poppy:read', 'de-AT')).toBe('Ihre Buchungen sehen')
    expect(told('poppy:read', 'de-CH')).toBe('Ihre Buchungen anschauen')
    expect(told('poppy:read', 'fr')).toBe('See your bookings')
    expect(told('poppy:read', 'fr', 'de')).toBe('Ihre Buchungen sehen')
    expect(told('poppy:write', 'en-GB', 'de')).toBe('Ihre Buchungen ändern')
    expect(told('poppy:write', 'en-GB')).toBe('Modifier vos réservations')
    expect(told('loyalty', 'de', 'de')).toBe('Vedere i suoi punti')
    expect(told('plain', 'de')).toBe('See the menu')
    expect(told('gone', 'de')).toBe('gone')
    expect(told('constructor', 'de')).toBe('constructor')
  })

  it('says in which language it is, where the company said so', () => {
    expect(scopeSentence(scopes, 'poppy:write', 'en', 'en').language).toBe('fr')
    expect(scopeSentence(scopes, 'plain', 'en', 'en').language).toBeUndefined()
  })

  it('is one plain text in documents, in the company’s language', () => {
    expect(plainScopes({ scopes, standard: 'de-AT', words: {} })).toEqual({
      'poppy:read': 'Ihre Buchungen sehen',
      'poppy:write': 'Ihre Buchungen ändern',
      loyalty: 'Vedere i suoi punti',
      plain: 'See the menu',
    })
  })

  it.each([
    ['', "say what 'loyalty' means for the person, such as 'See your bookings', or { en:"],
    [{}, "say what 'loyalty' means for the person"],
    [null, "say what 'loyalty' means for the person"],
    [['en', 'x'], "say what 'loyalty' means for the person"],
    [{ german: 'x' }, "'loyalty' has a text in 'german', which is not a language tag"],
    [
      { en: 'See your points', de: ' ' },
      "say what 'loyalty' means for the person in 'de' too, or leave that language out",
    ],
    [{ en: 7 }, "say what 'loyalty' means for the person in 'en' too"],
  ])('is refused in a sentence: %j', (text, sentence) => {
    expect(() => checkScopeText('loyalty', text)).toThrow(sentence)
  })
})
