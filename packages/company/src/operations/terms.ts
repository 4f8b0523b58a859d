import { dateFormat, numberFormat } from '../words/formats.ts'
/** Terms as a person reads them: each of them, in a line of its own, with nothing left out and nothing rounded. */

/** One line: what it is, and its value. */
export interface TermLine {
  readonly name: string
  readonly value: string
}

/**
 * Controls, marks that turn the direction of what follows, and what takes no room. Tab and line breaks stay, and so do the
 * joiners and direction marks that scripts need.
 */
const unseen = /[\p{Cc}\u200b\u2028-\u202e\u2060-\u2064\u2066-\u206f\ufeff]/gu

/** A text in which nothing is hidden: what an agent asked for may stand in it, and this person's yes is about what they see. */
export function inPlainSight(text: string): string {
  return text.replace(unseen, (character) => (/[\t\n\r]/.test(character) ? character : '\ufffd'))
}

/** How {@link termLines} writes. */
export interface TermStyle {
  /** Such as `de-AT`. */
  readonly locale: string
  readonly yes: string
  readonly no: string
}

/** Makes lines of terms; what is nested stands under the name of what it is in: `price › amount`. */
export function termLines(terms: Readonly<Record<string, unknown>>, style: TermStyle): readonly TermLine[] {
  const lines: TermLine[] = []
  const add = (value: unknown, path: readonly string[]): void => {
    const text = inOneText(value, style)
    if (text !== null) lines.push({ name: inPlainSight(path.join(' › ')), value: inPlainSight(text) })
    else
      for (const [name, member] of Object.entries(value as object)) {
        // A list's items count from 1.
        add(member, [...path, Array.isArray(value) ? String(Number(name) + 1) : nameInWords(name)])
      }
  }
  for (const [name, value] of Object.entries(terms)) add(value, [nameInWords(name)])
  return lines
}

/** A value in one text; null for one that takes several lines. What is hidden in it is still there. */
export function inOneText(value: unknown, { locale, yes, no }: TermStyle): string | null {
  if (value === null || value === undefined) return '–'
  if (typeof value === 'boolean') return value ? yes : no
  // As it was written: a number that is grouped or rounded for looks could be a code.
  if (typeof value === 'number') return String(value)
  if (typeof value === 'string') return value === '' ? '–' : (asDay(value, locale) ?? value)
  if (Array.isArray(value)) {
    if (value.length === 0) return '–'
    return value.every((item) => typeof item === 'string' || typeof item === 'number')
      ? value.map((item) => inOneText(item, { locale, yes, no })).join(', ')
      : null
  }
  if (Object.keys(value).length === 0) return '–'
  return asMoney(value as Readonly<Record<string, unknown>>, locale)
}

/** `{ amount, currency }` and nothing more, as money: all of its digits. */
function asMoney(value: Readonly<Record<string, unknown>>, locale: string): string | null {
  const { amount, currency } = value
  const digits = typeof amount === 'number' ? String(amount) : amount
  if (typeof currency !== 'string' || typeof digits !== 'string' || Object.keys(value).length > 2) return null
  if (!/^[A-Z]{3}$/.test(currency) || !/^-?\d{1,15}(?:\.\d{1,10})?$/.test(digits)) return null
  const style = { style: 'currency', currency, maximumFractionDigits: 10 } as const
  const fewest = numberFormat(locale, { style: 'currency', currency }).resolvedOptions().minimumFractionDigits
  return numberFormat(locale, { ...style, minimumFractionDigits: fewest ?? 0 }).format(
    digits as Intl.StringNumericLiteral,
  )
}

/** A day, as the person writes days. */
function asDay(text: string, locale: string): string | null {
  if (!/^\d{4}-\d{2}-\d{2}$/.test(text)) return null
  const time = Date.parse(`${text}T00:00:00Z`)
  // The 31st of a month that has 30 days would become another day.
  if (Number.isNaN(time) || new Date(time).toISOString().slice(0, 10) !== text) return null
  return dateFormat(locale, { dateStyle: 'full', timeZone: 'UTC' }).format(time)
}

/** `new_date` and `newDate` as words. */
export function nameInWords(name: string): string {
  const words = name
    .replaceAll(/[_-]+/g, ' ')
    .replaceAll(/(?<=[a-z0-9])(?=[A-Z])/g, ' ')
    .trim()
  return words === '' ? name : words.charAt(0).toUpperCase() + words.slice(1)
}
