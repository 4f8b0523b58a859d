import { expect, it } from 'vitest'
import { readFreshness } from './freshness.ts'

const bounds = { minFresh: 60_000, maxFresh: 86_400_000, defaultFresh: 300_000 }
const date = 'Mon, 30 Nov 2026 08:00:00 GMT'

it.each<[Record<string, string>, number]>([
  [{}, 300],
  [{ 'cache-control': 'public' }, 300],
  [{ 'cache-control': 'max-age=600' }, 600],
  [{ 'cache-control': 'Public, Max-Age="600"' }, 600],
  [{ 'cache-control': 'max-age=600', age: '100' }, 500],
  [{ 'cache-control': 'max-age=600', expires: date, date }, 600],
  [{ 'cache-control': 'max-age=1' }, 60],
  [{ 'cache-control': 'max-age=0' }, 60],
  [{ 'cache-control': 'no-store' }, 60],
  [{ 'cache-control': 'no-cache, max-age=600' }, 60],
  [{ 'cache-control': 'max-age=31536000' }, 86_400],
  [{ 'cache-control': 'max-age=99999999999999999999' }, 60],
  [{ 'cache-control': 'max-age=-5' }, 60],
  [{ 'cache-control': 'max-age=soon' }, 60],
  [{ expires: 'Mon, 30 Nov 2026 08:10:00 GMT', date }, 600],
  [{ expires: 'Mon, 30 Nov 2026 08:10:00 GMT', date, age: '60' }, 540],
  [{ expires: 'Mon, 30 Nov 2026 08:10:00 GMT' }, 60],
  [{ expires: '0', date }, 60],
])('%j keeps a document for %i seconds', (headers, seconds) => {
  expect(readFreshness(new Headers(headers), bounds)).toBe(seconds * 1000)
})
