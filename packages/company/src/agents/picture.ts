import { DocumentError } from '@poppyseed/protocol'

/**
 * 4.5: what may be shown as an agent's logo. Known by its bytes alone, whatever its server calls it: a still PNG, JPEG, GIF
 * or WebP of a size that no decoder has trouble with. No SVG: it is a document that can hold script, styles and links,
 * and making one harmless means understanding all of it.
 */

/** A picture and what it is. */
export interface Picture {
  readonly type: 'image/png' | 'image/jpeg' | 'image/gif' | 'image/webp'
  readonly bytes: Uint8Array
}

/** Pixels of a side. A few kilobytes can claim to be gigapixels, and a browser would make room for them. */
const longestSide = 2048

/**
 * Looks at a picture's first bytes.
 * @throws DocumentError for anything that isn't a small, still picture of a known type
 */
export function readPicture(bytes: Uint8Array): Picture {
  const view = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength)
  const kind = kinds.find(({ begins }) => begins(view))
  if (!kind) throw invalid('no picture of a known type')
  let size: Size | null = null
  try {
    size = kind.sizeOf(view)
  } catch (error) {
    // Cut off before the size was told; nothing else throws there.
    if (!(error instanceof RangeError)) throw error
  }
  if (size === null) throw invalid('a picture that says no size, or that moves')
  const { width, height } = size
  if (width < 1 || height < 1 || width > longestSide || height > longestSide) throw invalid('a picture of odd size')
  return { type: kind.type, bytes }
}

interface Size {
  readonly width: number
  readonly height: number
}

interface Kind {
  readonly type: Picture['type']
  readonly begins: (view: Buffer) => boolean
  /** Null where none is told or it moves; a RangeError where the bytes end too early. */
  readonly sizeOf: (view: Buffer) => Size | null
}

const hasText = (view: Buffer, at: number, text: string) => view.toString('latin1', at, at + text.length) === text

const kinds: readonly Kind[] = [
  { type: 'image/png', begins: (view) => hasText(view, 0, '\x89PNG\r\n\x1a\n'), sizeOf: sizeOfPng },
  { type: 'image/jpeg', begins: (view) => hasText(view, 0, '\xff\xd8\xff'), sizeOf: sizeOfJpeg },
  { type: 'image/gif', begins: (view) => /^GIF8[79]a$/.test(view.toString('latin1', 0, 6)), sizeOf: sizeOfGif },
  { type: 'image/webp', begins: (view) => hasText(view, 0, 'RIFF') && hasText(view, 8, 'WEBP'), sizeOf: sizeOfWebp },
]

function sizeOfPng(view: Buffer): Size | null {
  if (!hasText(view, 12, 'IHDR')) return null
  // Chunks follow one another; an animation says so before the first pixel.
  for (let at = 8; ; at += 12 + view.readUInt32BE(at)) {
    if (hasText(view, at + 4, 'acTL')) return null
    if (hasText(view, at + 4, 'IDAT')) return { width: view.readUInt32BE(16), height: view.readUInt32BE(20) }
  }
}

function sizeOfJpeg(view: Buffer): Size | null {
  for (let at = 2; ; ) {
    if (view.readUInt8(at) !== 0xff) return null
    const marker = view.readUInt8(at + 1)
    if (marker === 0xff) {
      at += 1
      continue
    }
    // SOF0 to SOF15, without DHT, JPG and DAC, which lie between them
    if (marker >= 0xc0 && marker <= 0xcf && ![0xc4, 0xc8, 0xcc].includes(marker)) {
      return { height: view.readUInt16BE(at + 5), width: view.readUInt16BE(at + 7) }
    }
    // The pixels, or the end, before any size was told
    if (marker === 0xda || marker === 0xd9) return null
    at += 2 + view.readUInt16BE(at + 2)
  }
}

function sizeOfGif(view: Buffer): Size | null {
  const table = (flags: number) => (flags & 0x80 ? 3 * 2 ** ((flags & 7) + 1) : 0)
  const afterBlocks = (from: number) => {
    let at = from
    for (let length = view.readUInt8(at); length > 0; length = view.readUInt8(at)) at += 1 + length
    return at + 1
  }
  let size: Size | null = null
  for (let at = 13 + table(view.readUInt8(10)); ; ) {
    const block = view.readUInt8(at)
    if (block === 0x3b) return size
    if (block === 0x21) at = afterBlocks(at + 2)
    else if (block === 0x2c) {
      // A second picture: it moves.
      if (size !== null) return null
      // The frame may be larger than the screen that it was said to be on.
      const [left, top, width, height] = [1, 3, 5, 7].map((offset) => view.readUInt16LE(at + offset)) as [
        number,
        number,
        number,
        number,
      ]
      size = {
        width: Math.max(view.readUInt16LE(6), left + width),
        height: Math.max(view.readUInt16LE(8), top + height),
      }
      at = afterBlocks(at + 11 + table(view.readUInt8(at + 9)))
    } else return null
  }
}

function sizeOfWebp(view: Buffer): Size | null {
  if (hasText(view, 12, 'VP8 ')) {
    return hasText(view, 23, '\x9d\x01\x2a')
      ? { width: view.readUInt16LE(26) & 0x3fff, height: view.readUInt16LE(28) & 0x3fff }
      : null
  }
  if (hasText(view, 12, 'VP8L')) {
    const bits = view.readUInt32LE(21)
    return view.readUInt8(20) === 0x2f ? { width: (bits & 0x3fff) + 1, height: ((bits >>> 14) & 0x3fff) + 1 } : null
  }
  // The second bit: it moves.
  if (!hasText(view, 12, 'VP8X') || view.readUInt8(20) & 2) return null
  return { width: view.readUIntLE(24, 3) + 1, height: view.readUIntLE(27, 3) + 1 }
}

function invalid(message: string): DocumentError {
  return new DocumentError('invalid', `logo: ${message}`)
}
