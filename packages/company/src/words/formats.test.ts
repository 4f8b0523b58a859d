import { describe, expect, it } from 'vitest'
import { dateFormat, languageNames, numberFormat } from './formats.ts'

describe('Formats', () => {
  it('are made once for a language and a manner', () => {
    expect(dateFormat('de', { dateStyle: 'full' })).toBe(dateFormat('de', { dateStyle: 'full' }))
    expect(dateFormat('de', { dateStyle: 'full' })).not.toBe(dateFormat('de', { dateStyle: 'short' }))
    expect(dateFormat('de', { dateStyle: 'full' })).not.toBe(dateFormat('en', { dateStyle: 'full' }))
    expect(numberFormat('de').format(1234.5)).toBe('1.234,5')
    expect(languageNames('de').of('en')).toBe('Englisch')
  })

  it('are kept for some languages and not for as many as a browser can name', () => {
    const first = numberFormat('en-x-first')
    for (let count = 0; count < 1000; count++) numberFormat(`en-x-${count.toString(36).padStart(3, '0')}`)
    expect(numberFormat('en-x-first')).not.toBe(first)
  })
})
