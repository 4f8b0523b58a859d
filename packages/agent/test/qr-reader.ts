/**
 * Reads a QR code (ISO/IEC 18004) of version 1 to 10 from its modules: undamaged, in byte mode. Written from the standard and
 * from nothing that draws one, so that what is drawn is read by somebody else.
 */
export function readQrCode(modules: readonly (readonly boolean[])[]): string {
  const size = modules.length
  const version = (size - 17) / 4
  if (!Number.isInteger(version) || version < 1 || version > 10) throw new Error(`no QR code: ${size} modules`)
  const at = (row: number, column: number) => modules[row]?.[column] === true
  for (const [top, left] of [
    [0, 0],
    [0, size - 7],
    [size - 7, 0],
  ] as const) {
    if (!isFinder((row, column) => at(top + row, left + column))) throw new Error('a finder pattern is missing')
  }
  const { level, mask } = readFormat(at)
  const bits = dataModules(size, version).map(([row, column]) => at(row, column) !== masks[mask]?.(row, column))
  const codewords = Array.from({ length: Math.floor(bits.length / 8) }, (_, index) =>
    number(bits.slice(index * 8, index * 8 + 8)),
  )
  const stream = dataCodewords(codewords, version, level).flatMap((byte) =>
    Array.from({ length: 8 }, (_, bit) => ((byte >> (7 - bit)) & 1) === 1),
  )
  const byteMode = 4
  if (number(stream.slice(0, 4)) !== byteMode) throw new Error('not in byte mode')
  const countBits = version < 10 ? 8 : 16
  const count = number(stream.slice(4, 4 + countBits))
  const bytes = Array.from({ length: count }, (_, index) => {
    const start = 4 + countBits + index * 8
    return number(stream.slice(start, start + 8))
  })
  return new TextDecoder('utf-8', { fatal: true }).decode(Uint8Array.from(bytes))
}

type Level = 'L' | 'M' | 'Q' | 'H'

/** The condition by which each mask turns a module over. */
const masks: readonly ((row: number, column: number) => boolean)[] = [
  (row, column) => (row + column) % 2 === 0,
  (row) => row % 2 === 0,
  (_, column) => column % 3 === 0,
  (row, column) => (row + column) % 3 === 0,
  (row, column) => (Math.floor(row / 2) + Math.floor(column / 3)) % 2 === 0,
  (row, column) => ((row * column) % 2) + ((row * column) % 3) === 0,
  (row, column) => (((row * column) % 2) + ((row * column) % 3)) % 2 === 0,
  (row, column) => (((row + column) % 2) + ((row * column) % 3)) % 2 === 0,
]

/** Error correction codewords of each block, and how many blocks there are, by version. */
const blocks: Readonly<Record<Level, readonly (readonly [number, number])[]>> = {
  L: [
    [7, 1],
    [10, 1],
    [15, 1],
    [20, 1],
    [26, 1],
    [18, 2],
    [20, 2],
    [24, 2],
    [30, 2],
    [18, 4],
  ],
  M: [
    [10, 1],
    [16, 1],
    [26, 1],
    [18, 2],
    [24, 2],
    [16, 4],
    [18, 4],
    [22, 4],
    [22, 5],
    [26, 5],
  ],
  Q: [
    [13, 1],
    [22, 1],
    [18, 2],
    [26, 2],
    [18, 4],
    [24, 4],
    [18, 6],
    [22, 6],
    [20, 8],
    [24, 8],
  ],
  H: [
    [17, 1],
    [28, 1],
    [22, 2],
    [16, 4],
    [22, 4],
    [28, 4],
    [26, 5],
    [26, 6],
    [24, 8],
    [28, 8],
  ],
}

/** Where the middles of alignment patterns are, by version. */
const alignments: readonly (readonly number[])[] = [
  [],
  [6, 18],
  [6, 22],
  [6, 26],
  [6, 30],
  [6, 34],
  [6, 22, 38],
  [6, 24, 42],
  [6, 26, 46],
  [6, 28, 50],
]

function number(bits: readonly boolean[]): number {
  return bits.reduce((value, bit) => value * 2 + (bit ? 1 : 0), 0)
}

function isFinder(at: (row: number, column: number) => boolean): boolean {
  for (let row = 0; row < 7; row++) {
    for (let column = 0; column < 7; column++) {
      const ring = Math.max(Math.abs(row - 3), Math.abs(column - 3))
      if (at(row, column) !== (ring !== 2)) return false
    }
  }
  return true
}

/** Level and mask, from the format information beside the first finder pattern. */
function readFormat(at: (row: number, column: number) => boolean): { readonly level: Level; readonly mask: number } {
  const places = [0, 1, 2, 3, 4, 5, 7].map((column) => at(8, column))
  const format = (number(places.slice(0, 5)) ^ 0b10101) & 0b11111
  const level = (['M', 'L', 'H', 'Q'] as const)[format >> 3]
  if (level === undefined) throw new Error('no level')
  return { level, mask: format & 0b111 }
}

/** The places of the data, in their order: two columns at a time from the right, up and down. */
function dataModules(size: number, version: number): readonly (readonly [number, number])[] {
  const middles = alignments[version - 1] ?? []
  const last = middles.at(-1) ?? 0
  const isAligned = (row: number, column: number) =>
    middles.some((y) =>
      middles.some(
        (x) =>
          !((y === 6 && x === 6) || (y === 6 && x === last) || (y === last && x === 6)) &&
          Math.abs(row - y) <= 2 &&
          Math.abs(column - x) <= 2,
      ),
    )
  const isFunction = (row: number, column: number) =>
    (row < 9 && column < 9) ||
    (row < 9 && column >= size - 8) ||
    (row >= size - 8 && column < 9) ||
    row === 6 ||
    column === 6 ||
    isAligned(row, column) ||
    (version >= 7 && ((row < 6 && column >= size - 11) || (column < 6 && row >= size - 11)))
  const places: (readonly [number, number])[] = []
  let isUpward = true
  for (let right = size - 1; right > 0; right -= 2) {
    if (right === 6) right = 5
    for (let step = 0; step < size; step++) {
      const row = isUpward ? size - 1 - step : step
      for (const column of [right, right - 1]) if (!isFunction(row, column)) places.push([row, column])
    }
    isUpward = !isUpward
  }
  return places
}

/** Data without what corrects errors, put back in the order in which it was before the blocks were woven together. */
function dataCodewords(codewords: readonly number[], version: number, level: Level): readonly number[] {
  const [correction, count] = blocks[level][version - 1] ?? [0, 1]
  const total = codewords.length - correction * count
  const short = Math.floor(total / count)
  const longOnes = total % count
  const parts = Array.from({ length: count }, (): number[] => [])
  let next = 0
  for (let index = 0; index <= short; index++) {
    for (const [block, part] of parts.entries()) {
      if (index === short && block < count - longOnes) continue
      part.push(codewords[next++] ?? 0)
    }
  }
  return parts.flat()
}
