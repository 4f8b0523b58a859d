import { describe, expect, it } from 'vitest'
import { de } from './de.ts'
import { en } from './en.ts'
import { fill, placesOf, type Word, type Words } from './words.ts'

const words = Object.keys(en) as Word[]

describe('the words of each language', () => {
  it('are whole, and have the same places', () => {
    expect(Object.keys(de)).toEqual(words)
    for (const word of words) expect({ word, places: placesOf(de[word]) }).toEqual({ word, places: placesOf(en[word]) })
  })

  it('say something, without stray spaces, exclamation marks or typewriter quotes', () => {
    for (const language of [en, de])
      for (const text of Object.values<string>(language)) {
        expect(text).toBe(text.trim())
        expect(text).toMatch(/\p{L}/u)
        expect(text).not.toMatch(/[!'"]| {2}/)
      }
  })

  it('in German are German: nothing was left as it was but what is the same in both', () => {
    expect(words.filter((word) => de[word] === en[word])).toEqual(['code.label'])
  })

  it('are a type error where one is missing', () => {
    const { 'consent.approve': _, ...rest } = de
    // @ts-expect-error a word is missing
    const incomplete: Words = rest
    expect(Object.keys(incomplete)).toHaveLength(words.length - 1)
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
