import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { createLimiter, type Limit } from './limiter.ts'

const random = (length: number) => new Uint8Array(length).fill(7)

function make(limit: Limit, parts: { readonly maxKeys?: number; readonly onCrowded?: () => void } = {}) {
  const clock = { now: Date.parse('2026-11-30T12:00:00Z') }
  return { clock, limiter: createLimiter(limit, { now: () => clock.now, random, ...parts }) }
}

describe('a limiter', () => {
  it('lets so many pass at once and not one more, whatever the numbers', () => {
    for (const limit of [
      { requests: 1, seconds: 1 },
      { requests: 7, seconds: 60 },
      { requests: 12_000, seconds: 60 },
      { requests: 100_000, seconds: 86_400 },
    ]) {
      const { limiter } = make(limit)
      let passed = 0
      for (let n = 0; n < limit.requests + 50; n++) if (limiter.take('a') === 0) passed += 1
      expect(passed).toBe(limit.requests)
    }
  })

  it('says how long to wait, and then lets exactly one pass', () => {
    const { clock, limiter } = make({ requests: 7, seconds: 60 })
    for (let n = 0; n < 7; n++) expect(limiter.take('a')).toBe(0)
    const wait = limiter.take('a')
    expect(wait).toBeCloseTo(60_000 / 7, 3)
    clock.now += Math.floor(wait)
    expect(limiter.take('a')).toBeGreaterThan(0)
    clock.now += 1
    expect(limiter.take('a')).toBe(0)
    expect(limiter.take('a')).toBeGreaterThan(0)
  })

  it('does not count what it refused, nor what was only looked at', () => {
    const { clock, limiter } = make({ requests: 2, seconds: 10 })
    for (let n = 0; n < 50; n++) expect(limiter.peek('a')).toBe(0)
    for (let n = 0; n < 50; n++) limiter.take('a')
    expect(limiter.peek('a')).toBe(5000)
    clock.now += 5000
    expect(limiter.take('a')).toBe(0)
  })

  it('takes one back', () => {
    const { limiter } = make({ requests: 2, seconds: 10 })
    limiter.take('a')
    limiter.take('a')
    limiter.giveBack('a')
    limiter.giveBack('nobody')
    expect(limiter.take('a')).toBe(0)
    expect(limiter.take('a')).toBeGreaterThan(0)
  })

  it('counts each key by itself', () => {
    const { limiter } = make({ requests: 3, seconds: 60 })
    for (let n = 0; n < 100; n++) limiter.take('loud')
    expect([limiter.take('quiet'), limiter.take('quiet'), limiter.take('quiet')]).toEqual([0, 0, 0])
    expect(limiter.take('loud')).toBeGreaterThan(0)
  })

  it('goes on when the clock is set back, without a wait longer than its seconds', () => {
    const { clock, limiter } = make({ requests: 2, seconds: 10 })
    limiter.take('a')
    limiter.take('a')
    clock.now -= 3_600_000
    const wait = limiter.take('a')
    expect(wait).toBeGreaterThan(0)
    expect(wait).toBeLessThanOrEqual(5000)
    clock.now += 5000
    expect(limiter.take('a')).toBe(0)
    clock.now += 10_000
    expect([limiter.take('a'), limiter.take('a')]).toEqual([0, 0])
  })

  it('forgets what has nothing left in it, and nothing before', () => {
    const { clock, limiter } = make({ requests: 100, seconds: 10 })
    for (let n = 0; n < 1000; n++) limiter.take(`key ${n}`)
    for (let n = 0; n < 99; n++) limiter.take('busy')
    clock.now += 10_000 - 1
    expect(limiter.take('busy')).toBe(0)
    expect(limiter.size()).toBe(1001)
    clock.now += 1
    limiter.take('busy')
    expect(limiter.size()).toBe(1001)
    clock.now += 10_000
    limiter.take('busy')
    expect(limiter.size()).toBe(1)
  })
})

describe('a key', () => {
  it('that was never used is known not to be, except where there are too many to tell', () => {
    const { clock, limiter } = make({ requests: 2, seconds: 10 }, { maxKeys: 2 })
    expect(limiter.mayHave('a')).toBe(false)
    limiter.take('a')
    expect([limiter.mayHave('a'), limiter.mayHave('b')]).toEqual([true, false])
    limiter.take('b')
    limiter.take('c')
    expect([limiter.mayHave('c'), limiter.mayHave('d')]).toEqual([true, true])
    clock.now += 20_000
    expect([limiter.mayHave('a'), limiter.mayHave('c')]).toEqual([false, false])
  })
})

describe('a flood of keys', () => {
  it('fills a bounded number of places, and pushes nobody out', () => {
    let told = 0
    const { limiter } = make({ requests: 5, seconds: 60 }, { maxKeys: 1000, onCrowded: () => (told += 1) })
    for (let n = 0; n < 5; n++) limiter.take('known')
    for (let n = 0; n < 100_000; n++) limiter.take(`made up ${n}`)
    expect(limiter.size()).toBeLessThanOrEqual(1000 + 4096)
    expect(told).toBe(1)
    // Who had used up theirs has not been forgotten, and who was there before has theirs to themselves.
    expect(limiter.take('known')).toBeGreaterThan(0)
    expect([1, 2, 3, 4, 5].map(() => limiter.take('made up 0'))).toEqual([0, 0, 0, 0, expect.any(Number)])
  })

  it('leaves most newcomers their requests, and lets everybody in again when it is over', () => {
    const { clock, limiter } = make({ requests: 600, seconds: 60 }, { maxKeys: 1000 })
    for (let n = 0; n < 100_000; n++) limiter.take(`made up ${n}`)
    for (let n = 0; n < 500; n++) expect(limiter.take(`newcomer ${n}`)).toBe(0)
    clock.now += 120_000
    for (let n = 0; n < 900; n++) expect(limiter.take(`later ${n}`)).toBe(0)
    expect(limiter.size()).toBeLessThanOrEqual(1000 + 4096)
  })

  it('of huge keys takes no more room than one of short ones', () => {
    const { limiter } = make({ requests: 2, seconds: 60 })
    const long = 'x'.repeat(1_000_000)
    limiter.take(`${long}a`)
    limiter.take(`${long}a`)
    expect(limiter.take(`${long}a`)).toBeGreaterThan(0)
    expect(limiter.take(`${long}b`)).toBe(0)
  })
})

describe('the arithmetic', () => {
  const limits = fc.record({ requests: fc.integer({ min: 1, max: 50 }), seconds: fc.integer({ min: 1, max: 120 }) })
  const steps = fc.array(
    fc.record({
      /** Milliseconds since the step before. */
      after: fc.oneof(fc.constant(0), fc.integer({ min: 0, max: 500 }), fc.integer({ min: 0, max: 300_000 })),
      key: fc.constantFrom('a', 'b', 'c'),
      do: fc.constantFrom('take', 'take', 'take', 'peek', 'giveBack'),
    }),
    { maxLength: 120 },
  )

  it('agrees with counting by hand: so many at once, and as many again in each window', () => {
    fc.assert(
      fc.property(limits, steps, (limit, story) => {
        const { clock, limiter } = make(limit)
        // By hand: what is in each bucket in parts of a request, so that all of it is whole numbers.
        const whole = limit.seconds * 1000
        const buckets = new Map<string, { parts: number; at: number }>()
        for (const step of story) {
          clock.now += step.after
          const bucket = buckets.get(step.key) ?? { parts: 0, at: clock.now }
          buckets.set(step.key, bucket)
          bucket.parts = Math.max(0, bucket.parts - (clock.now - bucket.at) * limit.requests)
          bucket.at = clock.now
          const missing = Math.max(0, bucket.parts + whole - limit.requests * whole) / limit.requests
          if (step.do === 'giveBack') {
            limiter.giveBack(step.key)
            bucket.parts = Math.max(0, bucket.parts - whole)
          } else {
            expect(step.do === 'take' ? limiter.take(step.key) : limiter.peek(step.key)).toBeCloseTo(missing, 1)
            if (step.do === 'take' && missing === 0) bucket.parts += whole
          }
        }
      }),
    )
  })

  it('never lets more pass in any window than twice the number, nor refuses who keeps to the pace', () => {
    fc.assert(
      fc.property(limits, fc.array(fc.integer({ min: 0, max: 20_000 }), { maxLength: 300 }), (limit, pauses) => {
        const { clock, limiter } = make(limit)
        const passed: number[] = []
        for (const pause of pauses) {
          clock.now += pause
          if (limiter.take('a') === 0) passed.push(clock.now)
        }
        for (const begin of passed) {
          const within = passed.filter((time) => time >= begin && time < begin + limit.seconds * 1000)
          expect(within.length).toBeLessThanOrEqual(2 * limit.requests)
        }
        const pace = Math.ceil((limit.seconds * 1000) / limit.requests)
        for (let n = 0; n < 200; n++) {
          clock.now += pace
          expect(limiter.take('b')).toBe(0)
        }
      }),
    )
  })

  it('makes every wait long enough, also rounded up to whole seconds', () => {
    fc.assert(
      fc.property(limits, fc.array(fc.integer({ min: 0, max: 3000 }), { maxLength: 200 }), (limit, pauses) => {
        const { clock, limiter } = make(limit)
        for (const pause of pauses) {
          clock.now += pause
          const wait = limiter.take('a')
          if (wait === 0) continue
          clock.now += Math.max(1, Math.ceil(wait / 1000)) * 1000
          expect(limiter.take('a')).toBe(0)
        }
      }),
    )
  })
})
