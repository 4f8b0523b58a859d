import { expect, it } from 'vitest'
import { systemRandom } from './random.ts'

it('gives each byte once: no two answers share a place in the pool', () => {
  const answers = Array.from({ length: 2000 }, (_, n) => systemRandom((n % 48) + 16))
  expect(new Set(answers.map((bytes) => Buffer.from(bytes).toString('hex'))).size).toBe(2000)
  // A later answer changes nothing of an earlier one, and what is in nobody's hands is not in theirs.
  const kept = systemRandom(32)
  const copy = Uint8Array.from(kept)
  for (let n = 0; n < 500; n++) systemRandom(16)
  expect(kept).toEqual(copy)
  expect(kept.buffer.byteLength).toBe(32)
  expect(kept.every((byte) => byte === 0)).toBe(false)
  expect(systemRandom(4096)).toHaveLength(4096)
  expect(systemRandom(0)).toHaveLength(0)
})
