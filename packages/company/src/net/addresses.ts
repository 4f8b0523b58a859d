import ipaddr from 'ipaddr.js'

/**
 * Which addresses a stranger's document may be fetched from (4.1). A stranger chooses the host name, so the address
 * behind it must be one that anybody on the internet could have reached anyway.
 */

/** 64:ff9b::/96, RFC 6052: how an IPv6-only network reaches an IPv4 host; the address inside decides. */
const nat64 = ipaddr.IPv6.parseCIDR('64:ff9b::/96')

/** 2000::/3: all that is given out as global unicast. What lies outside (`::127.0.0.1`, `4000::1`) is nobody's. */
const globalUnicast = ipaddr.IPv6.parseCIDR('2000::/3')

/** Public by its number, but inside Azure it is the host's own control service. */
const platformServices: ReadonlySet<string> = new Set(['168.63.129.16'])

/**
 * Whether an address is public: unicast, of no special range. An IPv4 address inside an IPv6 one (mapped, NAT64) is
 * judged as itself; 6to4 and Teredo, which lead to IPv4 by a relay, are refused.
 * @param address an address as the resolver or the socket writes it; anything that isn't one is not public
 */
export function isPublicAddress(address: string): boolean {
  // The short and octal spellings of IPv4 ("127.1", "0177.0.0.1") are read differently by different readers.
  if (!ipaddr.IPv4.isValidFourPartDecimal(address) && !ipaddr.IPv6.isValid(address)) return false
  // IPv4-compatible, long deprecated; the parser would read it as IPv4-mapped, which it isn't.
  if (/^::\d+\.\d/.test(address)) return false
  const parsed = unwrap(ipaddr.parse(address))
  if (parsed.kind() === 'ipv4') return parsed.range() === 'unicast' && !platformServices.has(parsed.toString())
  return parsed.range() === 'unicast' && parsed.match(globalUnicast)
}

/** IPv4 ranges that mean something else in each network, and from which nobody comes over the internet. */
const ownRanges: ReadonlySet<string> = new Set(['private', 'loopback', 'linkLocal', 'carrierGradeNat', 'unspecified'])

/**
 * Whether an address can only be one of our own network, whose callers never come over the internet. Not the opposite of
 * {@link isPublicAddress}: nothing is fetched from 6to4, Teredo or an anycast relay, but a stranger may well come from there.
 */
export function isOwnNetworkAddress(address: string): boolean {
  if (!ipaddr.IPv4.isValidFourPartDecimal(address) && !ipaddr.IPv6.isValid(address)) return false
  const parsed = unwrap(ipaddr.parse(address))
  if (parsed.kind() === 'ipv4') return ownRanges.has(parsed.range()) || platformServices.has(parsed.toString())
  return !parsed.match(globalUnicast)
}

/** Whether an address is this machine's own, IPv4-mapped ones included. */
export function isLoopbackAddress(address: string): boolean {
  if (!ipaddr.IPv4.isValidFourPartDecimal(address) && !ipaddr.IPv6.isValid(address)) return false
  return unwrap(ipaddr.parse(address)).range() === 'loopback'
}

function unwrap(address: ipaddr.IPv4 | ipaddr.IPv6): ipaddr.IPv4 | ipaddr.IPv6 {
  if (!(address instanceof ipaddr.IPv6)) return address
  if (address.isIPv4MappedAddress()) return address.toIPv4Address()
  return address.match(nat64) ? new ipaddr.IPv4(address.toByteArray().slice(12)) : address
}
