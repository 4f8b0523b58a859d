import { describe, expect, it } from 'vitest'
import { isLoopbackAddress, isOwnNetworkAddress, isPublicAddress } from './addresses.ts'

const publicAddresses = [
  '1.1.1.1',
  '8.8.8.8',
  '93.184.216.34',
  '172.15.255.255',
  '172.32.0.1',
  '100.63.255.255',
  '100.128.0.1',
  '169.253.1.1',
  '2606:4700:4700::1111',
  '2a00:1450:4001:82a::200e',
  '::ffff:8.8.8.8',
  '::ffff:808:808',
  '64:ff9b::8.8.8.8',
]

const refused: Readonly<Record<string, readonly string[]>> = {
  'this machine': ['127.0.0.1', '127.1.2.3', '0.0.0.0', '0.1.2.3', '::', '::1', '::ffff:127.0.0.1', '::ffff:7f00:1'],
  'a private network': ['10.0.0.1', '172.16.0.1', '172.31.255.255', '192.168.1.1', 'fd00::1', 'fc00::1', 'fdff::1'],
  'a link': ['169.254.169.254', '169.254.0.1', 'fe80::1', 'febf::1', 'fe80::1%eth0', 'fec0::1'],
  'a carrier': ['100.64.0.1', '100.100.100.200', '100.127.255.255'],
  'a cloud platform': ['168.63.129.16', '::ffff:168.63.129.16', 'fd00:ec2::254'],
  documentation: ['192.0.2.1', '198.51.100.1', '203.0.113.1', '2001:db8::1', '3fff::1'],
  'tests and protocols': ['198.18.0.1', '198.19.255.255', '192.0.0.1', '192.0.0.192', '2001:2::1', '192.88.99.1'],
  'multicast, broadcast and reserved': ['224.0.0.1', '239.255.255.250', '255.255.255.255', '240.0.0.1', 'ff02::1'],
  'IPv4 inside IPv6': [
    '::ffff:10.0.0.1',
    '::ffff:169.254.169.254',
    '::ffff:100.64.0.1',
    '64:ff9b::127.0.0.1',
    '64:ff9b::a9fe:a9fe',
    '64:ff9b:1::808:808',
    '::127.0.0.1',
    '::8.8.8.8',
    '::ffff:0:127.0.0.1',
    '2002:7f00:1::',
    '2002:808:808::1',
    '2001:0:4136:e378:8000:63bf:3fff:fdd2',
  ],
  nobody: ['4000::1', '5f00::1', '100::1', '8000::1'],
  'no canonical address': [
    '',
    'localhost',
    '127.1',
    '0177.0.0.1',
    '0x7f000001',
    '2130706433',
    '8.8.8',
    '8.8.8.8.',
    ' 8.8.8.8',
  ],
}

describe('which addresses are public', () => {
  it.each(publicAddresses)('%s is public', (address) => {
    expect(isPublicAddress(address)).toBe(true)
    expect(isLoopbackAddress(address)).toBe(false)
  })

  for (const [kind, addresses] of Object.entries(refused)) {
    it.each(addresses)(`refuses %s, of ${kind} [K17]`, (address) => {
      expect(isPublicAddress(address)).toBe(false)
    })
  }

  it('knows its own machine in every form', () => {
    for (const address of ['127.0.0.1', '127.9.9.9', '::1', '::ffff:127.0.0.1']) {
      expect(isLoopbackAddress(address)).toBe(true)
    }
    for (const address of ['0.0.0.0', '::', '10.0.0.1', 'localhost', '127.1']) {
      expect(isLoopbackAddress(address)).toBe(false)
    }
  })
})

describe('an address of one’s own network', () => {
  it.each([
    ...['127.0.0.1', '10.1.2.3', '172.16.0.1', '192.168.1.1', '169.254.1.1', '100.64.0.1', '0.0.0.0', '168.63.129.16'],
    ...['::', '::1', 'fe80::1', 'fe80::1%eth0', 'fd00::1', 'fec0::1', '::ffff:10.0.0.1', '64:ff9b::10.0.0.1'],
  ])('is %s', (address) => {
    expect([isOwnNetworkAddress(address), isPublicAddress(address)]).toEqual([true, false])
  })

  it.each([
    ...publicAddresses,
    ...['2002:808:808::1', '2002:a00:1::1', '2001:0:4136:e378::1', '2001:db8::1', '203.0.113.1', '192.88.99.1'],
    ...['192.52.193.1', '198.18.0.1', '', 'unknown', '10.1', '127.1', '10.0.0.1, 8.8.8.8'],
  ])('isn’t %s', (address) => {
    expect(isOwnNetworkAddress(address)).toBe(false)
  })
})
