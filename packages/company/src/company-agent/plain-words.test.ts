import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { processorTime } from '../../../../test/setup/processor-time.ts'
import { inPlainWords, plainWords } from './plain-words.ts'

/** A text in pieces that end where the cuts are. */
function inPieces(text: string, cuts: readonly number[]): string {
  const words = plainWords()
  let said = ''
  let from = 0
  for (const cut of [...cuts].sort((one, other) => one - other)) {
    const to = Math.min(cut, text.length)
    said += words.push(text.slice(from, to))
    from = to
  }
  return (said + words.push(text.slice(from)) + words.end()).trim()
}

describe('a model’s text in plain words [7.4.no-markup]', () => {
  it.each([
    ['plain words, 5 * 3 = 15, a_b_c and 2 < 3', 'plain words, 5 * 3 = 15, a_b_c and 2 < 3'],
    [
      '# Rooms\n\nWe have **two** and *one* more, `faro` and ~~none~~.',
      'Rooms\n\nWe have two and one more, faro and none.',
    ],
    ['Title\n=====\n> quoted\n---\n* first\n+ second\n- third', 'Title\nquoted\n- first\n- second\n- third'],
    [
      'Look [here](https://hotel.example/a_b_c) or [mail us](mailto:desk@hotel.example).',
      'Look here (https://hotel.example/a_b_c) or mail us (mailto:desk@hotel.example).',
    ],
    [
      '[Click](javascript:alert(1)) ![picture](https://evil.example/x.png?q=1)',
      '[Click] (javascript:alert(1)) picture (https://evil.example/x.png?q=1)',
    ],
    ['| Room | Price |\n|------|------:|\n| Faro | €145 |\n| Sol | €90 |', 'Room, Price\nFaro, €145\nSol, €90'],
    ['Here:\n```json\n{"room": "Faro", "nights": 2}\n```\nDone.', 'Here:\nroom: Faro, nights: 2\nDone.'],
    ['It is {"a": {"b": [1, 2]}, "c": null} now, {really}.', 'It is a: b: 1, 2, c: none now, {really}.'],
    ['[{"room":"Faro"},{"room":"Sol"}]', 'room: Faro; room: Sol'],
    [
      'A <b>bold</b> word<br>and <script>alert(1)</script> <https://hotel.example/>',
      'A bold word\nand alert(1) https://hotel.example/',
    ],
    ['<scr<b>ipt>x</scr</b>ipt>', '< script>x< /script>'],
    ['see [1] and [the note] (page 2)', 'see [1] and [the note] (page 2)'],
    ['[a]**(https://x.example)**', '[a] (https://x.example)'],
    ['\u001b[31mred\u202e\u200b and \u{e0041}tag\u0000', '[31mred and tag'],
    ['__init__ and snake_case and _so_', 'init and snake_case and so'],
    ['1. first\n2. second', '1. first\n2. second'],
    ['a\n\n\n\n\nb', 'a\n\nb'],
    ['unfinished {"a": "b', 'unfinished "a": "b'],
    ['unfinished [link](http', 'unfinished [link] (http'],
    ['unfinished ```', 'unfinished'],
    ['Ü😀 *😀*', 'Ü😀 😀'],
  ])('%j', (written, said) => {
    expect(inPlainWords(written)).toBe(said)
    for (let size = 1; size < 5; size++) {
      const cuts = Array.from({ length: Math.ceil(written.length / size) }, (_, at) => (at + 1) * size)
      expect(inPieces(written, cuts)).toBe(said)
    }
  })

  it('says the same whatever pieces it comes in, and no mark comes out of it', () => {
    const marks = [
      '*',
      '**',
      '_',
      '`',
      '```',
      '\n',
      ' ',
      '#',
      '|',
      '-',
      '[',
      ']',
      '(',
      ')',
      '{',
      '}',
      '"',
      ':',
      ',',
      '<',
      '>',
    ]
    const some = [
      'a',
      'B',
      '1',
      '!',
      '\\',
      '/',
      '=',
      '~',
      '+',
      '😀',
      '\u202e',
      '\t',
      'http://x',
      '<b>',
      '](',
      '{"a":',
      '|--',
    ]
    const text = fc.array(fc.constantFrom(...marks, ...some), { maxLength: 60 }).map((parts) => parts.join(''))
    fc.assert(
      fc.property(text, fc.array(fc.nat(120), { maxLength: 12 }), (written, cuts) => {
        const said = inPlainWords(written)
        expect(inPieces(written, cuts)).toBe(said)
        expect(said).not.toMatch(/```|\*\*|\]\(|<[A-Za-z/!?]|^\|/m)
      }),
      { numRuns: 3000 },
    )
  })

  it('gives what is plain at once, and holds back no more than what may be a mark', () => {
    const words = plainWords()
    expect(words.push('We have two rooms')).toBe('We have two rooms')
    expect(words.push(' and **')).toBe(' and ')
    expect(words.push('one')).toBe('one')
    expect(words.push(' {"a"')).toBe(' ')
    expect(words.push(`:"${'x'.repeat(5000)}`)).not.toBe('')
    expect(words.end()).toBe('')
  })

  it('takes what is made to be slow in little time', () => {
    const started = processorTime()
    for (const bad of ['{"', '[{', '[a](', '<a ', '*_', '| ', '`~', '[[[[', '\n', ' '])
      expect(inPlainWords(bad.repeat(10_000)).length).toBeGreaterThan(-1)
    expect(processorTime() - started).toBeLessThan(5_000)
  })
})
