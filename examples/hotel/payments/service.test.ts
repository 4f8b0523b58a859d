import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, describe, expect, it } from 'vitest'
import { type Payments, startPayments } from './server.ts'

/** The payment service that operations are tried against: it loses answers, and never money. */

const cleanUps: (() => Promise<void> | void)[] = []
afterEach(async () => {
  for (const cleanUp of cleanUps.splice(0).reverse()) await cleanUp()
})

async function start(): Promise<Payments> {
  const directory = mkdtempSync(join(tmpdir(), 'payments-'))
  cleanUps.push(() => rmSync(directory, { recursive: true, force: true }))
  const payments = await startPayments({ port: 0, directory, key: 'shop' })
  cleanUps.push(() => payments.close())
  return payments
}

function shopAt({ address }: Payments) {
  const ask = (method: string, path: string, body?: object, headers: Record<string, string> = {}, patience = 20_000) =>
    fetch(`${address}${path}`, {
      method,
      headers: { authorization: 'Bearer shop', ...headers },
      signal: AbortSignal.timeout(patience),
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    })
  return {
    ask,
    charge: (key?: string, patience?: number) =>
      ask(
        'POST',
        '/charges',
        { amount: 5000, currency: 'EUR', reference: 'B1' },
        key ? { 'idempotency-key': key } : {},
        patience,
      ),
    behave: (behaviour: object) => ask('PUT', '/behaviour', behaviour),
    taken: async () =>
      ((await (await ask('GET', '/charges?reference=B1')).json()) as { charges: object[] }).charges.length,
  }
}

describe('the payment service', () => {
  it('takes money once for a key, and twice where it was told not to look at keys', async () => {
    const shop = shopAt(await start())
    const [first, second] = [await shop.charge('k'), await shop.charge('k')]
    expect(await first.json()).toEqual(await second.json())
    expect(await shop.taken()).toBe(1)
    await shop.behave({ mode: 'normal', deduplicates: false })
    await shop.charge('k')
    expect(await shop.taken()).toBe(2)
  })

  it('takes the money when it answers 500, and when it hangs', async () => {
    const shop = shopAt(await start())
    await shop.behave({ mode: 'error', times: 1 })
    expect((await shop.charge()).status).toBe(500)
    await shop.behave({ mode: 'hang', times: 1 })
    await expect(shop.charge(undefined, 300)).rejects.toThrow(/abort|timeout/i)
    expect(await shop.taken()).toBe(2)
    expect((await shop.charge()).status).toBe(201)
  })

  it('takes nothing when it refuses or is dead, and from nobody without the key', async () => {
    const payments = await start()
    const shop = shopAt(payments)
    await shop.behave({ mode: 'refuse' })
    expect((await shop.charge()).status).toBe(402)
    await shop.behave({ mode: 'dead' })
    await expect(shop.charge(undefined, 300)).rejects.toThrow(/abort|timeout/i)
    expect(await shop.taken()).toBe(0)
    expect((await fetch(`${payments.address}/charges`, { method: 'POST' })).status).toBe(401)
  })

  it('gives money back once, and refuses another charge under a known key', async () => {
    const shop = shopAt(await start())
    const { id } = (await (await shop.charge('k')).json()) as { id: string }
    const refunded = (await (await shop.ask('POST', `/charges/${id}/refund`)).json()) as { refundedAt: number }
    expect(refunded.refundedAt).toBeGreaterThan(0)
    expect(await (await shop.ask('POST', `/charges/${id}/refund`)).json()).toEqual(refunded)
    const other = await shop.ask(
      'POST',
      '/charges',
      { amount: 1, currency: 'EUR', reference: 'B1' },
      { 'idempotency-key': 'k' },
    )
    expect(other.status).toBe(409)
  })
})
