import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { createWrapping } from './wrapping.ts'

describe('the words of a Company at a terminal', () => {
  it('are broken between words, and indented', () => {
    const wrap = createWrapping(30, 12)
    expect(wrap('Good morning, which room do you mean?\nThe one by the sea?')).toBe(
      'Good morning,\n  which room do you mean?\n  The one by the sea?',
    )
  })

  it('have no line that begins at the margin, however they are cut into pieces and whatever they are', () => {
    fc.assert(
      fc.property(
        fc.array(fc.string({ unit: fc.constantFrom('a', ' ', '\n', 'You: yes', '\t', '漢', '   ', '😀') }), {
          maxLength: 30,
        }),
        fc.integer({ min: 20, max: 60 }),
        (pieces, columns) => {
          const wrap = createWrapping(columns, 10)
          const lines = pieces.map(wrap).join('').split('\n')
          const wide = (line: string) =>
            [...line].reduce((sum, one) => sum + ((one.codePointAt(0) ?? 0) >= 0x1100 ? 2 : 1), 0)
          for (const [index, line] of lines.entries()) {
            if (index > 0) expect(line.startsWith('  ')).toBe(true)
            expect(wide(line) + (index === 0 ? 10 : 0)).toBeLessThan(columns)
          }
          const words = (text: string) => text.replaceAll(/\s+/g, '')
          expect(words(lines.join(''))).toBe(words(pieces.join('')))
        },
      ),
    )
  })

  it('are as wide as 80 columns at a terminal that says it has none', () => {
    const text = 'word '.repeat(40)
    expect(createWrapping(0, 10)(text)).toBe(createWrapping(80, 10)(text))
    expect(createWrapping(0, 10)(text).split('\n')).toHaveLength(3)
  })

  it('keep their own lines where there is no terminal', () => {
    expect(createWrapping(undefined, 10)(`${'word '.repeat(200)}end\nnext`)).toBe(`${'word '.repeat(200)}end\n  next`)
  })
})
