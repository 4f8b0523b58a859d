import { describe, expect, it } from 'vitest'
import { processorTime } from '../../../../test/setup/processor-time.ts'
import { earFor, excerptOf, piecesOf, shownOfExcerpt } from './found-words.ts'

/** Where words stand in a text: wherever the search hears them, and never in the middle of a character. */

/** The pieces as a line, the words in brackets. */
const lineOf = (pieces: ReturnType<typeof piecesOf> | null) =>
  pieces?.map(({ text, isFound }) => (isFound ? `[${text}]` : text)).join('') ?? null

describe('the words that were searched for', () => {
  it('are marked in any case, over lines, however an accent is written, and each time that they stand there', () => {
    for (const [text, sought, line] of [
      ['Is BREAKFAST\n  included? breakfast!', 'breakfast', 'Is [BREAKFAST]\n  included? [breakfast]!'],
      ['Is BREAKFAST\n  included?', 'breakfast included', 'Is [BREAKFAST\n  included]?'],
      ['Un cafe\u0301, bitte', 'CAFÉ', 'Un [café], bitte'],
      ['Un café, bitte', 'cafe\u0301', 'Un [café], bitte'],
      ['aaa', 'aa', '[aa]a'],
      // Lower case of one character may be two, and another one at the end of a word.
      ['İİ İstanbul', 'i\u0307stanbul', 'İİ [İstanbul]'],
      ['ΟΔΟΣ ΟΔΟΣ', 'οδος', '[ΟΔΟΣ] [ΟΔΟΣ]'],
      ['İ', 'i', '[İ]'],
      // A mark that has no character with its letter stays with it.
      ['x\u0302y', 'x', '[x\u0302]y'],
      ['👩‍🍳 and 🍳', '🍳', '👩‍[🍳] and [🍳]'],
      ['a.*b', '.*', 'a[.*]b'],
      ['nothing', 'else', 'nothing'],
      ['nothing', '', 'nothing'],
    ] as const) {
      expect(lineOf(piecesOf(text, sought)), text).toBe(line)
      if (sought !== '') expect([text, earFor(sought)(text)]).toEqual([text, line.includes('[')])
    }
  })

  it('stand in an excerpt on one line, with what is around them, and the first of them near its beginning', () => {
    expect(lineOf(excerptOf('Is  BREAKFAST\n\n included? ', 'breakfast'))).toBe('Is [BREAKFAST] included?')
    expect(excerptOf('Is breakfast included?', 'lunch')).toBeNull()
    const before = 'word '.repeat(100)
    const after = ' more'.repeat(100)
    const pieces = excerptOf(`${before}needle${after} needle`, 'needle') ?? []
    const line = lineOf(pieces) ?? ''
    expect(line).toMatch(/^…(?:word ){1,8}\[needle\](?: more)+ ?m?o?r?e?…$/)
    expect(line.length).toBeLessThan(shownOfExcerpt + 10)
    // What is longer than an excerpt is shown as far as it is what was searched for.
    const long = 'ab '.repeat(160).trim()
    expect(lineOf(excerptOf(`x ${long} y`, long))).toBe(`x [${long}]…`)
    for (let at = 0; at < 6; at += 1) {
      const emoji = excerptOf(`${'🍳'.repeat(60)}${'x'.repeat(at)}needle${'🍳'.repeat(200)}`, 'needle') ?? []
      for (const { text } of emoji) expect(text.isWellFormed()).toBe(true)
    }
  })

  it('are the same however many marks stand on a letter', () => {
    for (const count of [1, 15, 16, 40]) {
      const [one, other] = ['\u0316\u0301', '\u0301\u0316'].map((marks) => `e${marks.repeat(count)}x`) as [
        string,
        string,
      ]
      expect([count, earFor(one)(one)]).toEqual([count, true])
      if (count <= 15) expect([count, earFor(one)(other)]).toEqual([count, true])
    }
    expect(lineOf(piecesOf(`cafe\u0301 ${'\u0301'.repeat(99)} cafe\u0301`, 'CAFÉ'))).toMatch(/^\[café\] .* \[café\]$/)
  })

  it('are found soon, whatever somebody wrote around them', () => {
    // Of marks on one letter that are out of order, their number squared would be compared.
    const marks = `a${'\u0316\u0301'.repeat(15_990)}`
    const texts = ['a b '.repeat(7990), ' '.repeat(31_980), '\n a'.repeat(10_000), marks].map(
      (text) => `${text} late checkout`,
    )
    for (const text of texts) expect(lineOf(excerptOf(text, 'late checkout'))).toMatch(/\[late checkout\]$/)
    const hears = earFor('late checkout')
    const before = processorTime()
    for (let hit = 0; hit < 20; hit++)
      for (const text of texts) expect([hears(text), excerptOf(text, 'late checkout')?.length]).toEqual([true, 2])
    expect(processorTime() - before).toBeLessThan(2500)
  })
})
