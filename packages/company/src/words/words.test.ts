import { describe, expect, it } from 'vitest'
import { de } from './de.ts'
import { en } from './en.ts'
import { inboxDe } from './inbox-de.ts'
import { inboxEn } from './inbox-en.ts'
import type { InboxWords } from './inbox-words.ts'
import { type AnyWord, fill, placesOf, type Words } from './words.ts'

const english = { ...en, ...inboxEn }
const german = { ...de, ...inboxDe }
const words = Object.keys(english) as AnyWord[]

describe('the words of each language', () => {
  it('are whole, and have the same places', () => {
    expect(Object.keys(de)).toEqual(Object.keys(en))
    expect(Object.keys(inboxDe)).toEqual(Object.keys(inboxEn))
    for (const word of words)
      expect({ word, places: placesOf(german[word]) }).toEqual({ word, places: placesOf(english[word]) })
  })

  it('have the inbox apart, so that no name is used twice', () => {
    expect(words).toHaveLength(Object.keys(en).length + Object.keys(inboxEn).length)
    for (const word of Object.keys(inboxEn)) expect(word).toMatch(/^inbox\./)
  })

  it('say something, without stray spaces, exclamation marks or typewriter quotes', () => {
    for (const language of [english, german])
      for (const text of Object.values<string>(language)) {
        expect(text).toBe(text.trim())
        expect(text).toMatch(/\p{L}/u)
        expect(text).not.toMatch(/[!'"]| {2}/)
      }
  })

  it('in German are German: nothing was left as it was but what is the same in both', () => {
    expect(words.filter((word) => german[word] === english[word])).toEqual([
      'code.label',
      'inbox.fields.name',
      'inbox.details',
      'inbox.agent.claimedName',
      'inbox.key.escape',
    ])
  })

  it('are a type error where one is missing', () => {
    const { 'consent.approve': _, ...rest } = de
    // @ts-expect-error a word is missing
    const incomplete: Words = rest
    expect(Object.keys(incomplete)).toHaveLength(Object.keys(en).length - 1)
    const { 'inbox.reply': _reply, ...others } = inboxDe
    // @ts-expect-error a word is missing
    const incompleteInbox: InboxWords = others
    expect(Object.keys(incompleteInbox)).toHaveLength(Object.keys(inboxEn).length - 1)
  })
})

describe('the places of a text', () => {
  it('are filled, each time that they occur, and what is put in is never looked into', () => {
    expect(fill('{a} and {b}, {a}', { a: '{b}', b: '2' }).join('')).toBe('{b} and 2, {b}')
    const strong = { element: 'strong' }
    expect(fill('from {host}.', { host: strong })).toEqual(['from ', strong, '.'])
  })

  it('are told once each', () => {
    expect(placesOf('{b} {a} {b}')).toEqual(['a', 'b'])
    expect(placesOf('none, { a }, {}')).toEqual([])
  })
})
