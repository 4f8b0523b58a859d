import { crc32, deflateSync } from 'node:zlib'

/** Pictures of every kind that agents have, made on the spot, and what only looks like one. */

function chunk(type: string, data: Uint8Array): Buffer {
  const body = Buffer.concat([Buffer.from(type, 'latin1'), data])
  const framed = Buffer.alloc(body.length + 8)
  framed.writeUInt32BE(data.length, 0)
  body.copy(framed, 4)
  framed.writeUInt32BE(crc32(body), body.length + 4)
  return framed
}

/** A PNG of one colour, with a lighter square in it. `claims`: the size that its header tells, where that is a lie. */
export function png(
  width: number,
  height: number,
  { colour = [196, 52, 40] as readonly number[], claims = [width, height] as readonly number[], moves = false } = {},
): Buffer {
  const header = Buffer.alloc(13)
  header.writeUInt32BE(claims[0] ?? 0, 0)
  header.writeUInt32BE(claims[1] ?? 0, 4)
  header.set([8, 2, 0, 0, 0], 8)
  const rows = Array.from({ length: height }, (_, y) => [
    0,
    ...Array.from({ length: width }, (_, x) => {
      const isInside = Math.abs(x - width / 2) < width / 4 && Math.abs(y - height / 2) < height / 4
      return isInside ? [255, 255, 255] : colour
    }).flat(),
  ])
  return Buffer.concat([
    Buffer.from('\x89PNG\r\n\x1a\n', 'latin1'),
    chunk('IHDR', header),
    ...(moves ? [chunk('acTL', Buffer.from([0, 0, 0, 2, 0, 0, 0, 0]))] : []),
    chunk('IDAT', deflateSync(Uint8Array.from(rows.flat()))),
    chunk('IEND', Buffer.alloc(0)),
  ])
}

/** The smallest GIF there is; with two frames it moves. */
export function gif({ frames = 1, width = 1, height = 1 } = {}): Buffer {
  const size = Buffer.alloc(4)
  size.writeUInt16LE(width, 0)
  size.writeUInt16LE(height, 2)
  const frame = Buffer.from([0x2c, 0, 0, 0, 0, 1, 0, 1, 0, 0, 2, 2, 0x44, 1, 0])
  return Buffer.concat([
    Buffer.from('GIF89a', 'latin1'),
    size,
    Buffer.from([0x80, 0, 0, 0, 0, 0, 255, 255, 255]),
    // A graphic control, as most have
    Buffer.from([0x21, 0xf9, 4, 1, 0, 0, 0, 0]),
    ...Array.from({ length: frames }, () => frame),
    Buffer.from([0x3b]),
  ])
}

/** What stands in a JPEG before its pixels. */
export function jpegHead(width: number, height: number): Buffer {
  const frame = Buffer.from([0xff, 0xc2, 0, 11, 8, 0, 0, 0, 0, 1, 1, 0x11, 0])
  frame.writeUInt16BE(height, 5)
  frame.writeUInt16BE(width, 7)
  const app = Buffer.from([0xff, 0xe0, 0, 4, 1, 2, 0xff, 0xff, 0xfe, 0, 3, 0])
  const tables = Buffer.from([0xff, 0xc4, 0, 3, 0, 0xff, 0xdb, 0, 3, 0])
  return Buffer.concat([Buffer.from([0xff, 0xd8]), app, tables, frame, Buffer.from([0xff, 0xda])])
}

/** The smallest WebP there is: lossy, and lossless. */
export const webp = {
  lossy: Buffer.from('UklGRiIAAABXRUJQVlA4IBYAAAAwAQCdASoBAAEADsD+JaQAA3AAAAAA', 'base64'),
  lossless: Buffer.from('UklGRhoAAABXRUJQVlA4TA0AAAAvAAAAEAcQERGIiP4HAA==', 'base64'),
}

/** What stands in a WebP of the extended kind before its pixels. */
export function webpHead(width: number, height: number, moves = false): Buffer {
  const head = Buffer.alloc(30)
  head.write('RIFF', 0, 'latin1')
  head.write('WEBPVP8X', 8, 'latin1')
  head[20] = moves ? 2 : 0
  head.writeUIntLE(width - 1, 24, 3)
  head.writeUIntLE(height - 1, 27, 3)
  return head
}

/** An SVG that would run a script, were it ever opened as a document. */
export const evilSvg = `<svg xmlns="http://www.w3.org/2000/svg" onload="alert(1)"><script>alert(1)</script></svg>`
