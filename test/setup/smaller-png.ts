import { crc32, deflateSync, inflateSync } from 'node:zlib'

/** A screenshot as a browser makes it, packed better: the same pixels, without those that can be seen through. */
export function smallerPng(png: Buffer): Buffer {
  const chunks = [...chunksOf(png)]
  const header = chunks.find(({ type }) => type === 'IHDR')?.data
  if (header === undefined || header[8] !== 8 || (header[9] !== 2 && header[9] !== 6)) return png
  const [width, height] = [header.readUInt32BE(0), header.readUInt32BE(4)]
  const size = header[9] === 6 ? 4 : 3
  const packed = Buffer.concat(chunks.filter(({ type }) => type === 'IDAT').map(({ data }) => data))
  const pixels = unfiltered(inflateSync(packed), { width, height, size })
  const colours = new Map<number, number>()
  const seen = Buffer.alloc(width * height * 3)
  const indexed = Buffer.alloc(width * height)
  for (let at = 0; at < width * height; at++) {
    const rgb = pixels.readUIntBE(at * size, 3)
    if (!colours.has(rgb)) colours.set(rgb, colours.size)
    indexed[at] = (colours.get(rgb) as number) & 255
    seen.writeUIntBE(rgb, at * 3, 3)
  }
  const isIndexed = colours.size <= 256
  const rows = isIndexed ? rowsOf(indexed, width) : rowsOf(seen, width * 3)
  const head = Buffer.from(header)
  head[9] = isIndexed ? 3 : 2
  const palette = Buffer.alloc(colours.size * 3)
  for (const [rgb, index] of colours) palette.writeUIntBE(rgb, index * 3, 3)
  const made = Buffer.concat([
    png.subarray(0, 8),
    chunk('IHDR', head),
    ...(isIndexed ? [chunk('PLTE', palette)] : []),
    chunk('IDAT', deflateSync(rows, { level: 9, memLevel: 9 })),
    chunk('IEND', Buffer.alloc(0)),
  ])
  return made.length < png.length ? made : png
}

/** Each row begins with how it is filtered: not at all, which suits flat pictures. */
function rowsOf(pixels: Buffer, length: number): Buffer {
  const rows = Array.from({ length: pixels.length / length }, (_, row) => [
    Buffer.from([0]),
    pixels.subarray(row * length, (row + 1) * length),
  ])
  return Buffer.concat(rows.flat())
}

function* chunksOf(png: Buffer) {
  for (let at = 8; at < png.length; ) {
    const length = png.readUInt32BE(at)
    yield { type: png.toString('latin1', at + 4, at + 8), data: png.subarray(at + 8, at + 8 + length) }
    at += length + 12
  }
}

function chunk(type: string, data: Buffer): Buffer {
  const body = Buffer.concat([Buffer.from(type, 'latin1'), data])
  const framed = Buffer.alloc(body.length + 8)
  framed.writeUInt32BE(data.length, 0)
  body.copy(framed, 4)
  framed.writeUInt32BE(crc32(body), body.length + 4)
  return framed
}

/** PNG, 9: each byte is told by its neighbours to the left and above. */
function unfiltered(
  filtered: Buffer,
  { width, height, size }: { readonly width: number; readonly height: number; readonly size: number },
): Buffer {
  const length = width * size
  const pixels = Buffer.alloc(length * height)
  let above = Buffer.alloc(length)
  for (let row = 0; row < height; row++) {
    const start = row * (length + 1)
    const filter = filtered[start]
    const told = filtered.subarray(start + 1, start + 1 + length)
    const own = pixels.subarray(row * length, (row + 1) * length)
    for (let column = 0; column < length; column++) {
      const left = column < size ? 0 : (own[column - size] as number)
      const up = above[column] as number
      let neighbours = 0
      if (filter === 1) neighbours = left
      else if (filter === 2) neighbours = up
      else if (filter === 3) neighbours = (left + up) >> 1
      else if (filter === 4) neighbours = paeth(left, up, column < size ? 0 : (above[column - size] as number))
      own[column] = (told[column] as number) + neighbours
    }
    above = own
  }
  return pixels
}

function paeth(left: number, above: number, corner: number): number {
  const guess = left + above - corner
  const [byLeft, byAbove, byCorner] = [Math.abs(guess - left), Math.abs(guess - above), Math.abs(guess - corner)]
  if (byLeft <= byAbove && byLeft <= byCorner) return left
  return byAbove <= byCorner ? above : corner
}
