import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { goneAddress, notePeerAddress } from '../http/peer-address.ts'
import { addressKey, createAddressReader, unknownAddress } from './address.ts'

function reader(hook?: (request: Request) => unknown, isLocal = false) {
  const log: string[] = []
  const clock = { now: 1_000_000 }
  const write = (fields: object, message: string) => void log.push(`${message} ${JSON.stringify(fields)}`)
  const logger = { debug: write, info: write, warn: write, error: write }
  const read = createAddressReader({
    hook: hook as ((request: Request) => string) | undefined,
    isLocal,
    now: () => clock.now,
    log: logger,
  })
  return { log, clock, read: () => read(new Request('https://miramar.example/')), of: read }
}

describe('the key of an address', () => {
  it.each([
    ['an IPv4 address', '203.0.113.7', '203.0.113.7'],
    ['one with a port', '203.0.113.7:4711', '203.0.113.7'],
    ['an IPv4-mapped one', '::ffff:203.0.113.7', '203.0.113.7'],
    ['an IPv4-mapped one in hexadecimal', '::FFFF:cb00:7107', '203.0.113.7'],
    ['an IPv4 address behind NAT64', '64:ff9b::203.0.113.7', '203.0.113.7'],
    ['an IPv6 address', '2001:db8:1:2:3:4:5:6', '2001:db8:1:2::/64'],
    ['the same network', '2001:DB8:1:2::9', '2001:db8:1:2::/64'],
    ['one in brackets', '[2001:db8:1:2::9]', '2001:db8:1:2::/64'],
    ['one in brackets with a port', '[2001:db8:1:2::9]:443', '2001:db8:1:2::/64'],
    ['one with a zone', 'fe80::1%eth0', 'fe80:0:0:0::/64'],
    ['this machine', '::1', '0:0:0:0::/64'],
  ])('is right for %s', (_, text, key) => {
    expect(addressKey(text)).toBe(key)
  })

  it.each([
    ['nothing', ''],
    ['a word', 'unknown'],
    ['a list, as X-Forwarded-For has it', '203.0.113.7, 10.0.0.1'],
    ['numbers that are too large', '203.0.113.700'],
    ['octal', '0203.0.113.7'],
    ['a short spelling', '127.1'],
    ['one number', '3405803783'],
    ['a host name', 'miramar.example'],
    ['a huge text', '1'.repeat(10_000_000)],
    ['a huge zone', `fe80::1%${'x'.repeat(1_000_000)}`],
    ['a line break', '203.0.113.7\n'],
  ])('is none for %s', (_, text) => {
    expect(addressKey(text)).toBeNull()
  })

  it('is a short one of its kind, or none, for any text', () => {
    fc.assert(
      fc.property(fc.oneof(fc.string({ unit: 'binary' }), fc.ipV4(), fc.ipV6(), fc.ipV4Extended()), (text) => {
        const key = addressKey(text)
        expect(key === null || /^(?:(?:\d{1,3}\.){3}\d{1,3}|(?:[0-9a-f]{1,4}:){4}:\/64)$/.test(key)).toBe(true)
      }),
    )
    fc.assert(
      fc.property(fc.ipV6(), (text) => {
        expect(addressKey(text)).not.toBeNull()
      }),
    )
  })
})

describe('the address of a caller', () => {
  it('is the company’s own word, whatever the listener saw', () => {
    const { of } = reader(() => '203.0.113.7')
    const request = new Request('https://miramar.example/')
    notePeerAddress(request, '10.0.0.1')
    expect(of(request)).toBe('203.0.113.7')
  })

  it('is what the listener saw where the company says nothing, and for this request alone', () => {
    const { of, log } = reader()
    const request = new Request('https://miramar.example/')
    notePeerAddress(request, '::ffff:8.8.8.8')
    expect(of(request)).toBe('8.8.8.8')
    expect(log).toEqual([])
    expect(of(new Request('https://miramar.example/'))).toBeNull()
  })

  it('is not a proxy’s of the company’s own network: then nobody tells it, and the log says so once', () => {
    const from = (peer: string, headers: Record<string, string>) => {
      const request = new Request('https://miramar.example/', { headers })
      notePeerAddress(request, peer)
      return request
    }
    const { of, log } = reader()
    const forwarded = { 'x-forwarded-for': '198.51.100.7' }
    for (const peer of ['127.0.0.1', '::1', '::ffff:10.0.0.1', '192.168.1.2', 'fd00::1'])
      expect([peer, of(from(peer, forwarded))]).toEqual([peer, null])
    expect(of(from('10.0.0.1', { forwarded: 'for=198.51.100.7' }))).toBeNull()
    expect(log).toEqual([expect.stringContaining('limits by address are off')])
    // Who comes from the internet stays who they are, whatever they send.
    expect(of(from('8.8.8.8', forwarded))).toBe('8.8.8.8')
  })

  it('is not that of a proxy which says nothing, either; on a site of this machine it is the caller’s', () => {
    const request = new Request('https://miramar.example/')
    const asked = (peer: string, isLocal: boolean) => {
      notePeerAddress(request, peer)
      return reader(undefined, isLocal).of(request)
    }
    for (const peer of ['127.0.0.1', '10.0.0.1', '172.17.0.1', 'fd00::1']) expect(asked(peer, false)).toBeNull()
    expect(asked('127.0.0.1', true)).toBe('127.0.0.1')
    expect(asked('8.8.8.8', false)).toBe('8.8.8.8')
  })

  it('is a stranger’s where no document would be fetched from it: 6to4, Teredo and relays are no network of the company’s', () => {
    for (const [peer, key] of [
      ['2002:808:808::1', '2002:808:808:0::/64'],
      ['2001:0:4136:e378:8000:63bf:3fff:fdd2', '2001:0:4136:e378::/64'],
      ['2620:4f:8000::1', '2620:4f:8000:0::/64'],
      ['192.88.99.1', '192.88.99.1'],
      ['192.175.48.1', '192.175.48.1'],
    ] as const) {
      const { of, log } = reader()
      const request = new Request('https://miramar.example/')
      notePeerAddress(request, peer)
      expect([of(request), log]).toEqual([key, []])
    }
  })

  it('counts as one who was gone before anybody had asked, whatever they sent', () => {
    const { of, log } = reader()
    const request = new Request('https://miramar.example/', { headers: { 'x-forwarded-for': '198.51.100.7' } })
    notePeerAddress(request, goneAddress)
    expect(of(request)).toBe(unknownAddress)
    expect(log).toEqual([])
  })

  it('is not known where nobody tells it, and the log says so once', () => {
    const { read, log } = reader()
    expect([read(), read(), read()]).toEqual([null, null, null])
    expect(log).toEqual([expect.stringContaining('limits by address are off')])
  })

  it.each([
    ['null', () => null],
    ['undefined', () => undefined],
    ['a number', () => 7],
    ['a promise', async () => '203.0.113.7'],
    ['a promise that fails', () => Promise.reject(new Error('canary-address'))],
    ['an empty text', () => ''],
    ['what came from afar', () => 'canary-address, 10.0.0.1'],
    ['a huge text', () => 'x'.repeat(1_000_000)],
    [
      'an error',
      () => {
        throw new Error('canary-address')
      },
    ],
  ])('counts as one for all where the hook gives %s, and the log tells it once a minute', (_, hook) => {
    const { read, log, clock } = reader(hook)
    expect([read(), read()]).toEqual([unknownAddress, unknownAddress])
    expect(log).toHaveLength(1)
    expect(log[0]).toMatch(/`address` (?:failed|gave something that is no IP address)/)
    expect(log[0]).not.toContain('canary-address')
    clock.now += 60_000
    read()
    expect(log).toHaveLength(2)
  })
})
