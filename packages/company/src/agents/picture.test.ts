import { DocumentError } from '@poppyseed/protocol'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { evilSvg, gif, jpegHead, png, webp, webpHead } from '../../../../test/setup/pictures.ts'
import { processorTime } from '../../../../test/setup/processor-time.ts'
import { readPicture } from './picture.ts'

const typeOf = (bytes: Uint8Array | string) => {
  try {
    return readPicture(Buffer.from(bytes)).type
  } catch (error) {
    if (!(error instanceof DocumentError)) throw error
    return error.message
  }
}

const good: readonly (readonly [string, Buffer, string])[] = [
  ['a PNG', png(48, 48), 'image/png'],
  ['the largest PNG', png(1, 1, { claims: [2048, 2048] }), 'image/png'],
  ['a GIF', gif(), 'image/gif'],
  ['a JPEG', jpegHead(48, 96), 'image/jpeg'],
  ['a lossy WebP', webp.lossy, 'image/webp'],
  ['a lossless WebP', webp.lossless, 'image/webp'],
  ['an extended WebP', webpHead(640, 480), 'image/webp'],
]

describe('a logo', () => {
  it.each(good)('may be %s', (_, bytes, type) => {
    expect(typeOf(bytes)).toBe(type)
    expect(readPicture(bytes).bytes).toBe(bytes)
  })

  it.each([
    ['an SVG', evilSvg],
    ['an SVG behind a declaration', `<?xml version="1.0"?>${evilSvg}`],
    ['HTML', '<!doctype html><script>alert(1)</script>'],
    ['an icon', Buffer.from([0, 0, 1, 0, 1, 0])],
    ['a PDF', '%PDF-1.7'],
    ['nothing', ''],
    ['space before a PNG', Buffer.concat([Buffer.from(' '), png(1, 1)])],
    ['half a signature', png(1, 1).subarray(0, 6)],
  ])('is not %s [K34]', (_, bytes) => {
    expect(typeOf(bytes)).toBe('logo: no picture of a known type')
  })

  it.each([
    ['a PNG that moves', png(8, 8, { moves: true })],
    ['a GIF that moves', gif({ frames: 2 })],
    ['a WebP that moves', webpHead(8, 8, true)],
    ['a PNG without pixels', png(8, 8).subarray(0, 33)],
    ['a PNG whose first part is another', Buffer.from(png(8, 8).toString('latin1').replace('IHDR', 'gAMA'), 'latin1')],
    ['a GIF without an end', gif().subarray(0, -1)],
    ['a GIF that is only a screen', gif({ frames: 0 })],
    ['a JPEG that has pixels before a size', Buffer.from([0xff, 0xd8, 0xff, 0xda, 0, 2])],
    ['a JPEG that is cut off', jpegHead(8, 8).subarray(0, 16)],
    ['a WebP of a kind to come', Buffer.from('RIFF\0\0\0\0WEBPVP9 ', 'latin1')],
  ])('is not %s', (_, bytes) => {
    expect(typeOf(bytes)).toBe('logo: a picture that says no size, or that moves')
  })

  it.each([
    ['a PNG of four gigapixels', png(1, 1, { claims: [65_535, 65_535] })],
    ['a PNG one pixel too wide', png(1, 1, { claims: [2049, 1] })],
    ['a PNG without height', png(1, 1, { claims: [1, 0] })],
    ['a JPEG too high', jpegHead(1, 65_535)],
    ['a JPEG without a width', jpegHead(0, 10)],
    ['a GIF on a huge screen', gif({ width: 65_535, height: 65_535 })],
    ['a WebP of sixteen million pixels a side', webpHead(0xffffff, 0xffffff)],
  ])('is not %s [K34]', (_, bytes) => {
    expect(typeOf(bytes)).toBe('logo: a picture of odd size')
  })

  it('is judged at once, whatever the bytes are', () => {
    const bytes = fc.oneof(
      fc.uint8Array({ maxLength: 400 }),
      fc
        .record({
          start: fc.constantFrom(...good.map(([, one]) => one)),
          at: fc.nat(),
          byte: fc.nat(255),
          rest: fc.uint8Array(),
        })
        .map(({ start, at, byte, rest }) => {
          const bent = Buffer.concat([start.subarray(0, 60 + (at % 40)), rest])
          bent[at % Math.max(1, bent.length)] = byte
          return bent
        }),
    )
    fc.assert(
      fc.property(bytes, (one) => {
        expect(typeof typeOf(one)).toBe('string')
      }),
      { numRuns: process.env.LONG ? 100_000 : 2000 },
    )
    // Nothing in it but block after block.
    const blocks = Buffer.concat([gif().subarray(0, 19), Buffer.alloc(131_000, Buffer.from([0x21, 0xf9, 1, 0, 0]))])
    const started = processorTime()
    for (let times = 0; times < 10; times++) typeOf(blocks)
    expect(processorTime() - started).toBeLessThan(1000)
  })
})
