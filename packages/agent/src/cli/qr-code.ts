import type { Terminal } from './terminal.ts'

/** A link as a QR code in the terminal, for a phone (4.6). */

/** Light modules around the code, which readers find it by (ISO/IEC 18004). */
const quietZone = 4
/** Columns before the code. */
const indent = 2
/** What a code of version 10 holds: larger ones are hard to read from a screen, and no link to a page is that long. */
const longest = 271
const maxVersion = 10

/** Black on white, whatever colours the terminal has: of the 256, these two are no theme's to change. */
const blackOnWhite = '\u001b[38;5;16;48;5;231m'
const reset = '\u001b[0m'

/**
 * Draws a link, two modules in one character.
 * @returns lines, or undefined where nobody could read it: no terminal, one that is too narrow or can't draw, or a link
 *   that is too long or not plain ASCII
 */
export async function drawQrCode(link: string, terminal: Terminal): Promise<readonly string[] | undefined> {
  const { isTerminal, columns, env } = terminal
  if (!isTerminal || columns === undefined || env.TERM === 'dumb') return undefined
  if (link.length > longest || !/^[\x21-\x7e]+$/.test(link)) return undefined
  // Loaded when one is drawn: nobody else needs it.
  const { encode } = await import('uqr')
  const { data, size } = encode(link, { border: quietZone, maxVersion })
  if (size + indent > columns) return undefined
  const isDark = (row: number, column: number) => data[row]?.[column] === true
  const isColoured = !env.NO_COLOR
  // Without colours the terminal's own have to do: light text on a dark ground, unless it says otherwise.
  const isInk = (row: number, column: number) => isDark(row, column) === (isColoured || hasLightGround(env.COLORFGBG))
  const lines: string[] = []
  for (let row = 0; row < size; row += 2) {
    let line = ''
    for (let column = 0; column < size; column++) {
      const upper = isInk(row, column)
      const lower = row + 1 < size && isInk(row + 1, column)
      line += upper ? (lower ? '█' : '▀') : lower ? '▄' : ' '
    }
    lines.push(' '.repeat(indent) + (isColoured ? blackOnWhite + line + reset : line))
  }
  return lines
}

/** https://github.com/rocky/shell-term-background: `COLORFGBG` is `text;ground`, of 16 colours: 7 and 15 are white. */
function hasLightGround(value: string | undefined): boolean {
  return /;(?:7|15)$/.test(value ?? '')
}
