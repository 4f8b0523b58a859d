import { describe, expect, it } from 'vitest'
import { ConfigurationError } from '../configuration-error.ts'
import { checkHours, hoursInWords, isOpen, type OpeningHours } from './opening-hours.ts'

const weekday = '09:00-13:00, 15:00-18:00'
const desk: OpeningHours = {
  timeZone: 'Europe/Madrid',
  mon: weekday,
  tue: weekday,
  wed: weekday,
  thu: weekday,
  fri: '09:00-13:00',
  sun: '22:00-24:00',
  except: { '2026-12-24': '09:00-10:00', '2026-12-25': 'closed', '2026-12-26': '10:00-12:00' },
}
const at = (time: string) => isOpen(checkHours(desk), Date.parse(time))

describe('opening hours', () => {
  it('are in the company’s own time, whatever the clock of the machine says', () => {
    expect(at('2026-11-30T08:00:00Z')).toBe(true)
    expect(at('2026-11-30T07:59:59Z')).toBe(false)
    expect(at('2026-11-30T11:59:00Z')).toBe(true)
    expect(at('2026-11-30T12:00:00Z')).toBe(false)
    expect(at('2026-11-30T14:00:00Z')).toBe(true)
    // In summer Madrid is an hour further on.
    expect(at('2026-07-06T07:00:00Z')).toBe(true)
    expect(at('2026-12-04T14:30:00Z')).toBe(false)
    expect(at('2026-12-05T10:00:00Z')).toBe(false)
    expect(at('2026-12-06T22:59:00Z')).toBe(true)
    expect(at('2026-12-06T23:00:00Z')).toBe(false)
  })

  it('are others on the days that are named', () => {
    expect(at('2026-12-24T08:30:00Z')).toBe(true)
    expect(at('2026-12-24T09:30:00Z')).toBe(false)
    expect(at('2026-12-25T09:30:00Z')).toBe(false)
    expect(at('2026-12-26T10:30:00Z')).toBe(true)
  })

  it('are told in each language, days with the same hours together', () => {
    const hours = checkHours(desk)
    expect(hoursInWords(hours, 'en-GB')).toBe(
      'Monday–Thursday 09:00–13:00, 15:00–18:00; Friday 09:00–13:00; Sunday 22:00–00:00 (Europe/Madrid)',
    )
    expect(hoursInWords(hours, 'de')).toContain('Montag–Donnerstag 09:00–13:00')
    expect(hoursInWords(hours, 'en-US')).toMatch(/Friday 09:00\sAM–01:00\sPM/)
  })

  it.each([
    [{}, 'time zone'],
    [{ timeZone: 'Madrid', mon: '09:00-18:00' }, 'time zone'],
    [{ timeZone: 'Europe/Madrid' }, 'no hours'],
    [{ timeZone: 'Europe/Madrid', mon: 'closed' }, 'no hours'],
    [{ timeZone: 'Europe/Madrid', monday: '09:00-18:00' }, 'monday'],
    [{ timeZone: 'Europe/Madrid', mon: '9-18' }, 'mon is such as'],
    [{ timeZone: 'Europe/Madrid', mon: '18:00-09:00' }, 'mon is such as'],
    [{ timeZone: 'Europe/Madrid', mon: '09:00-24:30' }, 'mon is such as'],
    [{ timeZone: 'Europe/Madrid', mon: '15:00-18:00, 09:00-12:00' }, 'in order'],
    [{ timeZone: 'Europe/Madrid', mon: 9 }, 'mon is such as'],
    [{ timeZone: 'Europe/Madrid', mon: '09:00-18:00', except: { Christmas: 'closed' } }, 'Christmas'],
    [{ timeZone: 'Europe/Madrid', mon: '09:00-18:00', except: { '2026-02-30': 'closed' } }, '2026-02-30'],
    ['always', 'openingHours'],
  ])('that are wrong are refused in a sentence: %j', (hours, what) => {
    expect(() => checkHours(hours as OpeningHours)).toThrow(ConfigurationError)
    expect(() => checkHours(hours as OpeningHours)).toThrow(what)
  })
})
