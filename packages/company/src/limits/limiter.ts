import { hash } from 'node:crypto'

/**
 * Counts requests by key (4.3). Each key has a bucket that `requests` requests fill at once, and that empties evenly over
 * `seconds`. Nothing runs by itself: no timer, no clock but the one handed in.
 */

/** How many requests at once, and in how many seconds as many again. */
export interface Limit {
  readonly requests: number
  readonly seconds: number
}

/** Counts by key. A wait is in milliseconds, 0 when there is none. */
export interface Limiter {
  /** How long the next request of this key would have to wait. Counts nothing. */
  readonly peek: (key: string) => number
  /** Counts a request. One that has to wait is not counted. */
  readonly take: (key: string) => number
  /** Takes back one that was counted. */
  readonly giveBack: (key: string) => void
  /** Whether this key may have something in its bucket. False is certain, and cheap to learn. */
  readonly mayHave: (key: string) => boolean
  /** Keys that are remembered. */
  readonly size: () => number
}

/** What a limiter needs beside its limit. */
export interface LimiterParts {
  /** Milliseconds since 1970. */
  readonly now: () => number
  readonly random: (length: number) => Uint8Array
  /** Keys that are kept apart at one time; all beyond share. */
  readonly maxKeys?: number
  /** Told when there are more keys than that, once in a while. */
  readonly onCrowded?: () => void
}

interface Bucket {
  /** Requests that it holds, as of `at`. Not whole: it empties all the time. */
  used: number
  at: number
}

/** Longer keys are hashed: who calls chooses their length, and memory has to stay bounded. */
const longestKey = 80
/** How many buckets those beyond `maxKeys` share. */
const sharedBuckets = 4096
/** Room for what adding fractions leaves over. */
const tolerance = 1e-6

/**
 * Makes one. A bucket that nobody used for `seconds` is empty, so a map of buckets can go as a whole when it has been set
 * aside for that long: forgetting costs nothing and gives nobody a request more.
 */
export function createLimiter({ requests, seconds }: Limit, parts: LimiterParts): Limiter {
  const { now, maxKeys = 100_000, onCrowded = () => {} } = parts
  const window = seconds * 1000
  const interval = window / requests
  // Unknown outside, so that nobody can choose with whom they share.
  const seed = Buffer.from(parts.random(16)).toString('base64url')
  let recent = new Map<string, Bucket>()
  let older = new Map<string, Bucket>()
  let since = now()
  let wasCrowded = false
  const shared = new Map<string, Bucket>()

  function turn(time: number): void {
    const passed = time - since
    if (passed >= 0 && passed < window) return
    // A clock that was set back starts the turn anew.
    since = time
    if (passed < 0) return
    older = passed < 2 * window ? recent : new Map()
    recent = new Map()
    wasCrowded = false
  }

  function find(key: string): Bucket | undefined {
    const bucket = recent.get(key)
    if (bucket) return bucket
    const old = older.get(key)
    if (!old) return recent.size + older.size >= maxKeys ? shared.get(shareOf(key)) : undefined
    older.delete(key)
    recent.set(key, old)
    return old
  }

  /** Never in the place of another: who could push others out could make them forget what they had counted. */
  function add(key: string, time: number): Bucket {
    const bucket = { used: 0, at: time }
    if (recent.size + older.size < maxKeys) {
      recent.set(key, bucket)
    } else {
      if (!wasCrowded) onCrowded()
      wasCrowded = true
      shared.set(shareOf(key), bucket)
    }
    return bucket
  }

  function shareOf(key: string): string {
    const bytes = hash('sha256', seed + key, 'buffer')
    return String(bytes.readUInt16BE(0) % sharedBuckets)
  }

  function empty(bucket: Bucket, time: number): void {
    if (time > bucket.at) bucket.used = Math.max(0, bucket.used - (time - bucket.at) / interval)
    bucket.at = time
  }

  function waitOf(bucket: Bucket): number {
    const over = bucket.used + 1 - requests
    return over <= tolerance ? 0 : over * interval
  }

  return {
    peek(key) {
      const time = now()
      turn(time)
      const bucket = find(short(key))
      if (!bucket) return 0
      empty(bucket, time)
      return waitOf(bucket)
    },
    take(key) {
      const time = now()
      turn(time)
      const name = short(key)
      const bucket = find(name) ?? add(name, time)
      empty(bucket, time)
      const wait = waitOf(bucket)
      if (wait === 0) bucket.used += 1
      return wait
    },
    giveBack(key) {
      turn(now())
      const bucket = find(short(key))
      if (bucket) bucket.used = Math.max(0, bucket.used - 1)
    },
    mayHave(key) {
      turn(now())
      if (recent.size + older.size >= maxKeys) return true
      const name = short(key)
      return recent.has(name) || older.has(name)
    },
    size: () => recent.size + older.size + shared.size,
  }
}

function short(key: string): string {
  return key.length > longestKey ? hash('sha256', key, 'base64url') : key
}
