import { lookup as lookUp } from 'node:dns'
import { BlockList, isIP, type LookupFunction } from 'node:net'
import { Agent, buildConnector, fetch as undiciFetch } from 'undici'
import type { Fetch } from './exchange.ts'

/**
 * `fetch` for addresses on the public internet alone. A domain comes from a person, a model or a document, so it may
 * name a machine inside the network where this agent runs; what is dialled is checked, not what was asked.
 */

/** The code of the error for an address that isn't public. */
export const privateAddressCode = 'EPRIVATEADDRESS'

const closed = new BlockList()
for (const range of [
  // RFC 6890 and its successors: this network, private, shared, loopback, link-local, protocol, documentation,
  // benchmarking, multicast, reserved
  ...['0.0.0.0/8', '10.0.0.0/8', '100.64.0.0/10', '127.0.0.0/8', '169.254.0.0/16', '172.16.0.0/12', '192.0.0.0/24'],
  ...['192.0.2.0/24', '192.88.99.0/24', '192.168.0.0/16', '198.18.0.0/15', '198.51.100.0/24', '203.0.113.0/24'],
  ...['224.0.0.0/4', '240.0.0.0/4'],
]) {
  const [network = '', prefix = ''] = range.split('/')
  closed.addSubnet(network, Number(prefix), 'ipv4')
}
// Within the global unicast addresses: Teredo and other protocol assignments, documentation, 6to4
closed.addSubnet('2001::', 23, 'ipv6')
closed.addSubnet('2001:db8::', 32, 'ipv6')
closed.addSubnet('2002::', 16, 'ipv6')
closed.addSubnet('3fff::', 20, 'ipv6')

const globalUnicast = new BlockList()
globalUnicast.addSubnet('2000::', 3, 'ipv6')
const translated = new BlockList()
translated.addSubnet('64:ff9b::', 96, 'ipv6')
const loopback = new BlockList()
loopback.addSubnet('127.0.0.0', 8, 'ipv4')
loopback.addAddress('::1', 'ipv6')

/** Whether an IP address is on the public internet, or on this machine where that is allowed. */
export function mayDial(address: string, allowLoopback: boolean): boolean {
  const plain = address.replace(/^\[|\]$/g, '').replace(/%.*$/, '')
  const embedded = embeddedIPv4(plain)
  const ip = embedded ?? plain
  const version = isIP(ip)
  if (version === 0) return false
  const family = version === 4 ? 'ipv4' : 'ipv6'
  if (loopback.check(ip, family)) return allowLoopback
  if (family === 'ipv6' && !globalUnicast.check(ip, family)) return false
  return !closed.check(ip, family)
}

/** The IPv4 address inside a mapped or translated IPv6 address: it is the one that is reached. */
function embeddedIPv4(address: string): string | undefined {
  if (isIP(address) !== 6) return undefined
  // The URL parser writes every IPv6 address in one way, the last 32 bits as two groups.
  const written = new URL(`http://[${address}]`).hostname.slice(1, -1)
  if (!written.startsWith('::ffff:') && !translated.check(address, 'ipv6')) return undefined
  const [high = '0', low = '0'] = written.replace('::', ':').split(':').slice(-2)
  const bits = (Number.parseInt(high || '0', 16) << 16) | Number.parseInt(low || '0', 16)
  return [24, 16, 8, 0].map((shift) => (bits >>> shift) & 255).join('.')
}

/** Makes the guarded `fetch`. @param allowLoopback development only: this machine's own addresses */
export function createPublicFetch(allowLoopback: boolean): Fetch {
  const lookup: LookupFunction = (hostname, options, callback) => {
    lookUp(hostname, { ...options, all: true }, (error, addresses) => {
      const allowed = error ? [] : addresses.filter(({ address }) => mayDial(address, allowLoopback))
      const [first] = allowed
      if (error || !first) callback(error ?? privateAddress(), '')
      else if (options.all) callback(null, allowed)
      else callback(null, first.address, first.family)
    })
  }
  const dial = buildConnector({ timeout: 10_000, lookup })
  const connect: buildConnector.connector = (options, callback) => {
    // A literal address is never looked up.
    const literal = options.hostname.replace(/^\[|\]$/g, '')
    if (isIP(literal) !== 0 && !mayDial(literal, allowLoopback)) {
      callback(privateAddress(), null)
      return
    }
    dial(options, (...result) => {
      const [error, socket] = result
      if (!error && !mayDial(socket.remoteAddress ?? '', allowLoopback)) {
        socket.destroy()
        callback(privateAddress(), null)
      } else {
        callback(...result)
      }
    })
  }
  // Streams of MCP stay open while nothing is said.
  const dispatcher = new Agent({ connect, bodyTimeout: 0, headersTimeout: 120_000 })
  return async (url, init) =>
    // undici's own types and Node's describe the same objects.
    (await undiciFetch(url, { ...(init as object), dispatcher })) as unknown as Response
}

function privateAddress(): Error {
  return Object.assign(new Error('The address is not on the public internet.'), { code: privateAddressCode })
}
