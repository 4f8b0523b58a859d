import type { Route } from '../http/router.ts'
import type { Logos } from './logo.ts'
import type { Picture } from './picture.ts'

/** Section 4.5: pictures of agents, on our own origin. */

/** What keeps a stranger's bytes a picture: whatever they say, they are shown as one, here, and run nothing. */
const asPicture = {
  'x-content-type-options': 'nosniff',
  'content-security-policy': "default-src 'none'; sandbox",
  'cross-origin-resource-policy': 'same-origin',
  // Opened by itself it is put away, not shown under our name.
  'content-disposition': 'attachment; filename="logo"',
  'referrer-policy': 'no-referrer',
}

/** One clear pixel. A browser draws it where the logo would be, and draws a broken picture where there is nothing. */
const empty: Picture = {
  type: 'image/png',
  bytes: Buffer.from(
    'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAAC0lEQVR42mNgAAIAAAUAAen63NgAAAAASUVORK5CYII=',
    'base64',
  ),
}

/** The route of logos. Whatever is wrong with one, there is none. */
export function logoRoute(logos: Logos, fail: Route['fail']): Route {
  return {
    methods: {
      async GET(request, part) {
        const picture = await logos.find(part)
        const { type, bytes } = picture ?? empty
        return new Response(request.method === 'HEAD' ? null : new Uint8Array(bytes), {
          status: picture === null ? 404 : 200,
          headers: {
            ...asPicture,
            'content-type': type,
            'cache-control': picture === null ? 'no-store' : 'private, max-age=3600',
          },
        })
      },
    },
    crossOrigin: false,
    fail,
  }
}
