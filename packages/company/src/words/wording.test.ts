import { describe, expect, it } from 'vitest'
import { de } from './de.ts'
import { checkLanguages, type LanguageConfig, type ScopeText } from './settings.ts'
import { createWordings, type Wording } from './wording.ts'

const day = 86_400_000

function wordingFor(header: string, config: LanguageConfig = {}, scopes: Record<string, ScopeText> = {}): Wording {
  const request = new Request('https://miramar.example', { headers: { 'accept-language': header } })
  return createWordings(checkLanguages(config, scopes)).of(request)
}

describe('what a person reads', () => {
  it('is in their language', () => {
    expect(wordingFor('de-AT').say('consent.heading', { agent: 'Agent' })).toBe('Agent bittet um Zugriff auf Ihr Konto')
    expect(wordingFor('fr').say('consent.heading', { agent: 'Agent' })).toBe('Agent asks for access to your account')
    expect(wordingFor('de-AT')).toMatchObject({ language: 'de', locale: 'de-AT' })
  })

  it('has what isn’t text in its places', () => {
    const link = { href: '/poppy/agents' }
    expect(wordingFor('de').parts('consent.lastsUntilEnded', { page: link })).toEqual([
      'Das gilt, bis Sie es unter ',
      link,
      ' beenden.',
    ])
  })

  it('has the company’s own words over the library’s, and theirs of a region over those', () => {
    const words = {
      de: { 'consent.approve': 'Erlauben', 'consent.decline': 'Nein' },
      'de-AT': { 'consent.decline': 'Na' },
    }
    const all = (header: string) => {
      const { say } = wordingFor(header, { words })
      return [say('consent.approve'), say('consent.decline'), say('code.continue')]
    }
    expect(all('de')).toEqual(['Erlauben', 'Nein', 'Weiter'])
    expect(all('de-AT')).toEqual(['Erlauben', 'Na', 'Weiter'])
    expect(all('en')).toEqual(['Approve', 'Decline', 'Continue'])
  })

  it('in the inbox is in their language too, and in English where the company brought a language without its words', () => {
    const inbox = (header: string, config: LanguageConfig = {}) => {
      const { language, words } = wordingFor(header, config).inbox()
      return [language, words.reply, words['consent.approve']]
    }
    expect(inbox('de-AT')).toEqual(['de', 'Antwort', undefined])
    expect(inbox('de', { words: { de: { 'inbox.reply': 'Schreiben' } } })).toEqual(['de', 'Schreiben', undefined])
    expect(inbox('nl', { words: { nl: de } })).toEqual(['en', 'Reply', undefined])
    expect(inbox('nl', { words: { nl: { ...de, 'inbox.reply': 'Antwoord' } } })).toEqual(['nl', 'Antwoord', undefined])
    expect(wordingFor('de').say('inbox.heldByOther', { name: 'Rita' })).toBe('Rita hat dieses Gespräch.')
  })

  it('is in the company’s language for everybody else', () => {
    expect(wordingFor('fr', { language: 'de-CH' })).toMatchObject({ language: 'de', locale: 'de-CH' })
  })

  it('counts in the person’s language', () => {
    const en = wordingFor('en')
    const de = wordingFor('de')
    expect([en.duration(90 * day), de.duration(90 * day)]).toEqual(['90 days', '90 Tage'])
    expect([en.duration(day), de.duration(day)]).toEqual(['1 day', '1 Tag'])
    expect([en.duration(7_200_000), de.duration(3_600_000)]).toEqual(['2 hours', '1 Stunde'])
    expect([en.duration(10), de.duration(600_000)]).toEqual(['1 minute', '10 Minuten'])
    expect([en.wait(1), de.wait(89), en.wait(90), de.wait(3600)]).toEqual([
      '1 second',
      '89 Sekunden',
      '2 minutes',
      '60 Minuten',
    ])
    expect([en.ago(59_999), de.ago(59_999)]).toEqual(['less than a minute ago', 'vor weniger als einer Minute'])
    expect([en.ago(60_000), de.ago(299_999)]).toEqual(['1 minute ago', 'vor 4 Minuten'])
  })

  it('writes days as the person does', () => {
    const now = Date.UTC(2026, 2, 3, 12)
    const days = (header: string) => wordingFor(header).day(now - 2 * day, now)
    expect([days('en'), days('en-US'), days('de'), days('de-AT')]).toEqual([
      'on 1 March 2026',
      'on March 1, 2026',
      'am 1. März 2026',
      'am 1. März 2026',
    ])
    expect(wordingFor('de').day(now - day + 1, now)).toBe('in den letzten 24 Stunden')
  })

  it('knows scopes on its pages in the page’s language, and for a site’s own pages in any', () => {
    const scopes = { loyalty: { en: 'See your points', de: 'Ihre Punkte sehen', fr: 'Voir vos points' } }
    expect(wordingFor('de', {}, scopes).scope('loyalty')).toEqual({ text: 'Ihre Punkte sehen', language: 'de' })
    expect(wordingFor('fr', {}, scopes).scope('loyalty')).toEqual({ text: 'See your points', language: 'en' })
    const wordings = createWordings(checkLanguages({}, scopes))
    const texts = ['fr-CH', 'nl, de;q=0.2', null, undefined].map((one) => wordings.scopes(one)('loyalty').text)
    expect(texts).toEqual(['Voir vos points', 'Ihre Punkte sehen', 'See your points', 'See your points'])
  })
})
