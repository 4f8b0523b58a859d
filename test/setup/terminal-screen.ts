/**
 * What a person sees at a terminal after all this was written to it: a small reader of the sequences that Node's line editor and
 * `poppy` write. What it doesn't know is an error, so that no test reads a screen that looks otherwise.
 * @returns the rows, without what is blank at the end
 */
export function terminalScreen(written: string, columns: number): readonly string[] {
  const rows: string[][] = [[]]
  let [row, column] = [0, 0]
  const line = () => {
    while (rows.length <= row) rows.push([])
    return rows[row] ?? []
  }
  // biome-ignore lint/suspicious/noControlCharactersInRegex: they are what a terminal obeys
  for (const [part, count, command] of written.matchAll(/\u001b\[(\d*)([A-Za-z])|[\s\S]/gu)) {
    if (command === undefined) {
      if (part === '\r') column = 0
      else if (part === '\n') row++
      else if (part === '\b') column = Math.max(0, column - 1)
      else if (part >= ' ') {
        if (column >= columns) [row, column] = [row + 1, 0]
        const cells = line()
        while (cells.length < column) cells.push(' ')
        cells[column] = part
        column++
      } else throw new Error(`A terminal was sent ${JSON.stringify(part)}.`)
      continue
    }
    const by = Number(count || 1)
    if (command === 'A') row = Math.max(0, row - by)
    else if (command === 'B') row += by
    else if (command === 'C') column += by
    else if (command === 'D') column = Math.max(0, column - by)
    else if (command === 'G') column = by - 1
    else if (command === 'K') line().splice(column)
    else if (command === 'J') {
      line().splice(column)
      rows.splice(row + 1)
    } else if (command !== 'm') throw new Error(`A terminal was sent ${JSON.stringify(part)}.`)
  }
  const seen = rows.map((cells) => cells.join('').trimEnd())
  while (seen.at(-1) === '') seen.pop()
  return seen
}
