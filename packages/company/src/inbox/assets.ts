import { promisify } from 'node:util'
import { brotliCompress, gzip } from 'node:zlib'
import type { Asset } from './app.ts'

/** Script and stylesheet for browsers: their names say what is in them, so they may be kept for ever. */

const encodings = { br: promisify(brotliCompress), gzip: promisify(gzip) } as const

/** Each compressed once, by encoding and name. */
const compressed = new Map<string, Promise<Buffer>>()

/** A file, compressed as the browser takes it. */
export async function assetResponse(asset: Asset, accepted: string | null): Promise<Response> {
  const headers = {
    'content-type': asset.type,
    'cache-control': 'public, max-age=31536000, immutable',
    'x-content-type-options': 'nosniff',
    'cross-origin-resource-policy': 'same-origin',
    vary: 'Accept-Encoding',
  }
  const encoding = (['br', 'gzip'] as const).find((one) => takes(accepted ?? '', one))
  if (encoding === undefined) return new Response(asset.text, { headers })
  const key = `${encoding} ${asset.name}`
  let made = compressed.get(key)
  if (made === undefined) {
    made = encodings[encoding](asset.text)
    compressed.set(key, made)
  }
  return new Response(new Uint8Array(await made), { headers: { ...headers, 'content-encoding': encoding } })
}

/** Whether an `Accept-Encoding` names an encoding, and not to refuse it. */
function takes(accepted: string, encoding: string): boolean {
  return accepted.split(',').some((entry) => {
    const [name = '', weight = ''] = entry.split(';').map((part) => part.trim().toLowerCase())
    return name === encoding && !/^q=0(?:\.0*)?$/.test(weight)
  })
}
