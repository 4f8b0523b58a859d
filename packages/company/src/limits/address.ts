import ipaddr from 'ipaddr.js'
import { goneAddress, peerAddressOf } from '../http/peer-address.ts'
import { isOwnNetworkAddress } from '../net/addresses.ts'
import type { Logger } from '../store/database.ts'

/** From where a request comes, as limits count it (4.3). */

/** What limits count by where no address could be read: one key for all of them, so that none goes uncounted. */
export const unknownAddress = 'unknown'

/** Milliseconds between two warnings of the same kind. */
const warnInterval = 60_000

/** What {@link createAddressReader} needs. */
export interface AddressParts {
  /** The company's own word for it; without one, what the listener's adapter noted. */
  readonly hook: ((request: Request) => string) | undefined
  /** Whether the site itself is on this machine (development): then so are its callers. */
  readonly isLocal: boolean
  /** Milliseconds since 1970. */
  readonly now: () => number
  readonly log: Logger
}

/**
 * Makes a reader of addresses. It gives the key that limits count by, or null where nobody tells the address: then limits
 * by address are off, and the log says so once. A hook that fails, or gives what is no address, is told in the log, and
 * all such requests count as one.
 */
export function createAddressReader({ hook, isLocal, now, log }: AddressParts): (request: Request) => string | null {
  let hasSaidOff = false
  let warnedAt = Number.NEGATIVE_INFINITY

  function warn(fields: object, message: string): void {
    const time = now()
    if (time >= warnedAt && time < warnedAt + warnInterval) return
    warnedAt = time
    log.warn(fields, message)
  }

  function ask(request: Request, given: (request: Request) => unknown): string {
    let text: unknown
    try {
      text = given(request)
    } catch (error) {
      warn({ error: error instanceof Error ? error.name : typeof error }, '`address` failed')
      return unknownAddress
    }
    // An async hook can't be waited for here, and what becomes of its promise must end no process.
    if (text instanceof Promise) text.catch(() => {})
    // What it gave is not told: it may be anybody's, and any size.
    const key = typeof text === 'string' ? addressKey(text) : null
    if (key === null) warn({ type: typeof text }, '`address` gave something that is no IP address')
    return key ?? unknownAddress
  }

  return (request) => {
    if (hook !== undefined) return ask(request, hook)
    const peer = peerAddressOf(request)
    if (peer === goneAddress) return unknownAddress
    const isProxy = peer !== undefined && isBehindProxy(request, peer, isLocal)
    if (peer !== undefined && !isProxy) return addressKey(peer) ?? unknownAddress
    if (!hasSaidOff) log.warn({ isProxy }, 'limits by address are off: set `address`, so that they know who is calling')
    hasSaidOff = true
    return null
  }
}

/**
 * Whether this is a proxy, a balancer or a bridge of the company's own network, which speaks for everybody: counting all of
 * them as one would let a single stranger shut everybody out. Many add no header that says so. Who reaches us from the
 * internet can't look like it, whatever they send.
 */
function isBehindProxy({ headers }: Request, peer: string, isLocal: boolean): boolean {
  return isOwnNetworkAddress(peer) && (!isLocal || headers.has('x-forwarded-for') || headers.has('forwarded'))
}

const fourNumbers = /^(?:\d{1,3}\.){3}\d{1,3}$/
/** An IPv4 address with a port, or an IPv6 one in brackets, with or without: as some proxies write them. */
const withPort = /^(?:((?:\d{1,3}\.){3}\d{1,3}):\d{1,5}|\[([0-9a-f:.]{2,45})\](?::\d{1,5})?)$/i

/** 64:ff9b::/96, RFC 6052: all of IPv4 behind one /64. */
const nat64 = ipaddr.IPv6.parseCIDR('64:ff9b::/96')

/**
 * The key of an address: an IPv4 address as it is, an IPv6 one by its /64, which is what one household or machine gets. An
 * IPv4 address inside an IPv6 one counts as itself. Null for what is no address.
 */
export function addressKey(text: string): string | null {
  // The longest spelling of an IPv6 address, with a zone and some room; longer texts are not even looked at.
  if (text.length > 100) return null
  const [, four, six] = withPort.exec(text) ?? []
  const address = four ?? six ?? text.replace(/%.*$/s, '')
  if (fourNumbers.test(address)) return ipaddr.IPv4.isValidFourPartDecimal(address) ? address : null
  if (!ipaddr.IPv6.isValid(address)) return null
  const parsed = ipaddr.IPv6.parse(address)
  if (parsed.isIPv4MappedAddress()) return parsed.toIPv4Address().toString()
  if (parsed.match(nat64)) return new ipaddr.IPv4(parsed.toByteArray().slice(12)).toString()
  return `${parsed.parts
    .slice(0, 4)
    .map((part) => part.toString(16))
    .join(':')}::/64`
}
