import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { isLanguageTag, lookUp, negotiate, readTag } from './negotiate.ts'

const ours = { available: ['en', 'de'], standard: 'en-GB' }
const usual = { language: 'en', locale: 'en-GB' }
const german = { language: 'de', locale: 'de' }

describe('the language of a person', () => {
  it.each([
    ['de', german],
    ['de-AT', { language: 'de', locale: 'de-AT' }],
    ['de-at', { language: 'de', locale: 'de-AT' }],
    ['DE-CH,de;q=0.9', { language: 'de', locale: 'de-CH' }],
    ['de-Latn-DE', { language: 'de', locale: 'de-Latn-DE' }],
    ['de-DE-1996', { language: 'de', locale: 'de-DE' }],
    ['de-AT-u-ca-buddhist', { language: 'de', locale: 'de-AT' }],
    ['en-US,en;q=0.5', { language: 'en', locale: 'en-US' }],
    // How dates are written in English as such is the company's to say.
    ['en', usual],
  ])('is the one that their browser asks for: %s', (header, chosen) => {
    expect(negotiate(header, ours)).toEqual(chosen)
  })

  it.each([
    ['en;q=0.3, de;q=0.7', german],
    ['de;q=0.3,en;q=0.3', german],
    ['fr, nl;q=0.9, de;q=0.1', german],
    ['fr-CH, *;q=0.5', usual],
    ['de;q=0', usual],
    ['en;q=0, *', german],
    ['*, de;q=0.1', usual],
    ['de ; q=0.5 , en;q=0.4', german],
    ['de;Q=0.5', german],
    ['de;q=1.000', german],
  ])('follows the weights: %s', (header, chosen) => {
    expect(negotiate(header, ours)).toEqual(chosen)
  })

  it.each([
    null,
    undefined,
    '',
    ',,,',
    '*',
    'fr',
    'fr, it;q=0.8',
    'i-klingon',
    'x-de',
    'deutsch',
    'd',
    'en;q=0',
    'en;q=0, de;q=0, *;q=0',
    'de;q=2',
    'de;q=0.12345',
    'de;q=-1',
    'de;q=NaN',
    'de;q=',
    'de;level=1',
    'de;q=0.5;q=0.9',
    '__proto__',
    'constructor',
    '<script>',
    'de\u0000',
    '../../de',
    ';q=1',
  ])('is the usual one where nothing else can be read: %j', (header) => {
    expect(negotiate(header, ours)).toEqual(usual)
  })

  it('goes on past what can’t be read', () => {
    expect(negotiate('!!, de;q=oops, ä, de-AT;q=0.1', ours)).toEqual({ language: 'de', locale: 'de-AT' })
  })

  it('looks at the beginning of a huge header, and never at half a tag', () => {
    const filler = 'fr,'.repeat(20)
    expect(negotiate(`${filler}de`, ours)).toEqual(german)
    expect(negotiate(`${'fr,'.repeat(30)}de`, ours)).toEqual(usual)
    expect(negotiate(`${'f'.repeat(2000)},de`, ours)).toEqual(usual)
    expect(negotiate(`fr,${' '.repeat(995)}de-AT,`, ours)).toEqual(usual)
  })

  it('gives what there is, whatever comes, and a locale that dates can be written in', () => {
    const piece = fc.oneof(
      fc.string({ maxLength: 12 }),
      fc.constantFrom('de', 'en', '*', 'de-AT', 'en-US', 'zh-Hant-TW', 'und', 'de-1996', 'q=0'),
    )
    const header = fc
      .array(fc.tuple(piece, fc.constantFrom('', ';q=0', ';q=0.5', ';q=1', ';q=9')))
      .map((pieces) => pieces.map(([name, weight]) => name + weight).join(','))
    fc.assert(
      fc.property(header, (accepted) => {
        const { language, locale } = negotiate(accepted, ours)
        expect(['en', 'de']).toContain(language)
        expect(locale.slice(0, 2)).toBe(language)
        expect(new Intl.DateTimeFormat(locale).format(0)).not.toBe('')
      }),
    )
  })

  it('may be one that the company added, also by region', () => {
    const more = { available: ['en', 'de', 'pt-BR', 'de-AT'], standard: 'de' }
    expect(negotiate('pt', more)).toEqual({ language: 'pt-BR', locale: 'pt' })
    expect(negotiate('pt-PT', more)).toEqual({ language: 'pt-BR', locale: 'pt-PT' })
    expect(negotiate('de-AT', more)).toEqual({ language: 'de-AT', locale: 'de-AT' })
    expect(negotiate('de-CH', more)).toEqual({ language: 'de', locale: 'de-CH' })
    expect(negotiate('fr', more)).toEqual({ language: 'de', locale: 'de' })
  })
})

describe('a language tag', () => {
  it('is language, script and region, written as browsers write them', () => {
    for (const tag of ['de', 'de-AT', 'zh-Hant', 'sr-Latn-RS', 'es-419', 'fil']) {
      expect(isLanguageTag(tag)).toBe(true)
      expect(readTag(tag.toUpperCase())).toBe(tag)
    }
    for (const tag of ['', 'DE', 'de-at', 'de_AT', 'german', 'de-AT-1996', 'de-u-ca-buddhist', 'de ', '*'])
      expect(isLanguageTag(tag)).toBe(false)
  })

  it('is found with less and less of it', () => {
    expect(lookUp(['zh', 'zh-Hant'], 'zh-Hant-TW')).toBe('zh-Hant')
    expect(lookUp(['zh', 'zh-Hant'], 'zh-Hans-CN')).toBe('zh')
    expect(lookUp(['de'], 'den')).toBeUndefined()
    expect(lookUp([], 'de')).toBeUndefined()
  })
})
