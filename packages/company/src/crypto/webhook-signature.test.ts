import { describe, expect, it } from 'vitest'
import { verifyWebhook } from '../webhooks/verify.ts'
import { isSignedBy, signatureOf, signingKey } from './webhook-signature.ts'

const secret = 'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw'
const other = 'a-secret-of-more-than-thirty-two-characters'
const keyOf = (text: string) => signingKey(text) as Uint8Array
const signed = { id: 'msg_p5jXN8AQM9LWM0D4loKWxJek', at: 1614265330, body: '{"test": 2432232314}' }
const published = 'v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE='

describe('a signature', () => {
  it('is the one that Standard Webhooks publishes as its example', () => {
    expect(signatureOf([keyOf(secret)], signed)).toBe(published)
    expect(isSignedBy([keyOf(secret)], published, signed)).toBe(true)
  })

  it('is by each key while a secret is changed, and is taken by any of them', () => {
    const both = signatureOf([keyOf(other), keyOf(secret)], signed)
    expect(both.split(' ')).toHaveLength(2)
    expect(isSignedBy([keyOf(secret)], both, signed)).toBe(true)
    expect(isSignedBy([keyOf(other), keyOf(secret)], published, signed)).toBe(true)
  })

  it.each([
    ['another version', `v2,${published.slice(3)}`],
    ['nothing', ''],
    ['a cut one', published.slice(0, -8)],
    ['a longer one', `${published.slice(0, -1)}AAAA`],
    ['another one', `v1,${'A'.repeat(43)}=`],
    ['a heap of them', `${`v1,${'A'.repeat(43)}= `.repeat(20)}${published}`],
  ])('isn’t %s', (_, header) => {
    expect(isSignedBy([keyOf(secret)], header, signed)).toBe(false)
  })

  it.each([
    ['short', 'whsec_c2hvcnQ='],
    ['no base64', `whsec_${'!'.repeat(40)}`],
    ['the same byte again and again', `whsec_${Buffer.alloc(32).toString('base64')}`],
    ['longer than a key may be', `whsec_${Buffer.from(Array.from({ length: 65 }, (_, n) => n)).toString('base64')}`],
    ['a text that is too short', 'thirty-one-characters-0123456-9'],
    ['one letter', 'a'.repeat(40)],
  ])('takes no secret that is %s', (_, text) => {
    expect(signingKey(text)).toBeNull()
  })
})

describe('verifyWebhook', () => {
  const body =
    '{"type":"conversation.closed","timestamp":"2026-11-30T12:00:00.000Z","data":{"conversation_id":"cnv_1"}}'
  const now = 1_796_040_000_000
  const headersOf = (more: Partial<{ id: string; at: number; body: string }> = {}) => {
    const own = { id: 'dlv_1', at: now / 1000, body, ...more }
    return {
      'webhook-id': own.id,
      'webhook-timestamp': String(own.at),
      'webhook-signature': signatureOf([keyOf(secret)], own),
    }
  }
  const ask = (headers: Readonly<Record<string, string>>, text = body, by: string | readonly string[] = secret) =>
    verifyWebhook(new Request('https://desk.example/poppy', { method: 'POST', body: text, headers }), by, {
      now: () => now,
    })

  it('gives what is genuine, with its id', async () => {
    expect(await ask(headersOf())).toEqual({ ...(JSON.parse(body) as object), id: 'dlv_1' })
    expect(await ask(headersOf(), body, [other, secret])).toMatchObject({ id: 'dlv_1' })
    expect(await ask(headersOf({ at: now / 1000 - 299 }))).not.toBeNull()
  })

  it('gives null for what is old or early, changed, unsigned, or signed by another', async () => {
    expect(await ask(headersOf({ at: now / 1000 - 301 }))).toBeNull()
    expect(await ask(headersOf({ at: now / 1000 + 301 }))).toBeNull()
    expect(await ask(headersOf(), `${body} `)).toBeNull()
    expect(await ask(headersOf(), body, other)).toBeNull()
    expect(await ask({ ...headersOf(), 'webhook-id': 'dlv_2' })).toBeNull()
    expect(await ask({ ...headersOf(), 'webhook-timestamp': String(now / 1000 + 1) })).toBeNull()
    expect(await ask({ ...headersOf({ id: 'a.b' }) })).toBeNull()
    for (const name of ['webhook-id', 'webhook-timestamp', 'webhook-signature'])
      expect(await ask({ ...headersOf(), [name]: '' })).toBeNull()
    expect(await ask({})).toBeNull()
  })

  it('gives null for what is signed and no event, and reads no more than a body may have', async () => {
    for (const text of ['[]', '{}', 'null', 'no json', '{"type":"x"}'])
      expect(await ask(headersOf({ body: text }), text)).toBeNull()
    const long = JSON.stringify({ type: 'x', data: { text: 'a'.repeat(1_100_000) } })
    expect(await ask(headersOf({ body: long }), long)).toBeNull()
  })

  it('throws for a secret that is none, without repeating it', async () => {
    for (const wrong of ['short', [], undefined, [secret, 'short']]) {
      const asked = verifyWebhook(new Request('https://desk.example/'), wrong)
      await expect(asked).rejects.toThrow('verifyWebhook takes the secret')
      await expect(asked).rejects.not.toThrow('short')
    }
  })
})
