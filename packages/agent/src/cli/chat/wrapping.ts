/** Lines of somebody else's words at a terminal: every one but the first is indented, also where the terminal is full. */

const narrowest = '  '
/** Columns of a terminal that says 0, as those of containers and serial lines do. */
const unknownWidth = 80

/**
 * Makes what breaks the words of one message, piece by piece. A line that a terminal breaks by itself would begin at its
 * margin, where only lines of ours begin.
 * @param columns how wide the terminal is; 0 is a terminal that doesn't know, and is taken as one of 80; undefined where there is
 *   none, and then only the message's own lines are indented
 * @param begun how much of the first line is taken
 * @param indent what each further line begins with
 */
export function createWrapping(
  columns: number | undefined,
  begun: number,
  indent: string = narrowest,
): (text: string) => string {
  const width = columns === undefined ? Number.POSITIVE_INFINITY : Math.max(10, (columns || unknownWidth) - 1)
  let at = begun
  /** A blank that is written with the word after it, where that stands on the same line. */
  let gap = ''
  const newLine = () => {
    at = indent.length
    gap = ''
    return `\n${indent}`
  }
  return (text) => {
    let out = ''
    for (const [part] of text.matchAll(/\n|[^\S\n]+|\S+/gu)) {
      if (part === '\n') {
        out += newLine()
        continue
      }
      if (/^\s/u.test(part)) {
        // A run of blanks can't push the next word to where it looks like a line of its own.
        gap = at > indent.length ? ' ' : ''
        continue
      }
      const length = gap.length + widthOf(part)
      if (at + length > width && length <= width - indent.length && at > indent.length) out += newLine()
      out += gap
      at += gap.length
      gap = ''
      for (const character of part) {
        const size = widthOf(character)
        if (at + size > width) out += newLine()
        out += character
        at += size
      }
    }
    return out
  }
}

/**
 * A row of a table whose last cell goes on below itself, or near the margin where the terminal is narrow.
 * @param label what stands before the cell, with the blanks between
 */
export function wrapRow(columns: number | undefined, label: string, cell: string): string {
  const isWide = columns === undefined || label.length <= (columns || unknownWidth) / 2
  const hanging = isWide ? ' '.repeat(label.length) : narrowest
  return `${label}${createWrapping(columns, label.length, hanging)(cell)}`
}

/** Columns that a text takes; rather too many than too few. */
function widthOf(text: string): number {
  let width = 0
  for (const character of text) width += (character.codePointAt(0) ?? 0) >= 0x1100 ? 2 : 1
  return width
}
