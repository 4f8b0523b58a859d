import { isIP, type LookupFunction } from 'node:net'
import { isLoopbackHost } from '@poppyseed/protocol'
import type { buildConnector } from 'undici'
import { isLoopbackAddress } from './addresses.ts'
import { FetchRefused } from './fetch-refused.ts'
import type { Lookup } from './resolve.ts'

/** Dials strangers' hosts: what is checked is what is dialled, so no later DNS answer can lead elsewhere. */

interface ConnectorOptions {
  /** undici's own, handed in because it is loaded late. */
  readonly buildConnector: typeof buildConnector
  readonly allowLoopback: boolean
  readonly ca: string | readonly string[] | undefined
  readonly lookup: Lookup
  readonly isAllowedAddress: (address: string) => boolean
  /** Milliseconds. */
  readonly timeout: number
  readonly signal: AbortSignal
}

/** Addresses of a host that are tried, of each family. */
const mostAddresses = 4

/** Makes a connector for undici that dials checked addresses only. */
export function guardedConnector(options: ConnectorOptions): buildConnector.connector {
  const { allowLoopback, ca, timeout, signal } = options
  const isOwnHost = (hostname: string) => allowLoopback && isLoopbackHost(hostname)
  const mayDial = (hostname: string, address: string) =>
    isOwnHost(hostname) ? isLoopbackAddress(address) : options.isAllowedAddress(address)

  async function resolve(hostname: string): Promise<readonly string[]> {
    // RFC 6761: these names are this machine, whatever a resolver says.
    const addresses = isOwnHost(hostname) ? ['127.0.0.1', '::1'] : await options.lookup(hostname, signal)
    // Too late: nothing is dialled any more.
    signal.throwIfAborted()
    if (addresses.length === 0) throw new FetchRefused('name_not_found')
    // One bad address spoils the answer: an honest host has no private address beside its public one.
    if (!addresses.every((address) => isIP(address) !== 0 && mayDial(hostname, address))) {
      throw new FetchRefused('forbidden_address')
    }
    // A name server's answer has room for thousands of addresses, of whomever it likes: for one request we knock at few.
    return [4, 6].flatMap((family) => addresses.filter((address) => isIP(address) === family).slice(0, mostAddresses))
  }

  // Node dials what this gives it and nothing else; SNI, the certificate and Host keep the name.
  const lookup: LookupFunction = (hostname, { all }, callback) => {
    resolve(hostname).then(
      (addresses) => {
        const found = addresses.map((address) => ({ address, family: isIP(address) }))
        const [first] = found
        if (all === true || first === undefined) callback(null, found)
        else callback(null, first.address, first.family)
      },
      (error: unknown) => {
        callback(error instanceof FetchRefused ? error : new FetchRefused('name_not_found'), [])
      },
    )
  }

  const dial = options.buildConnector({
    lookup,
    timeout,
    // Node gives each address but the last a quarter of a second. A host that is far away, or a moment in which this
    // process is busy, then ends at its IPv6 address, which many machines have no way to.
    autoSelectFamilyAttemptTimeout: Math.max(10, Math.floor(timeout / 2)),
    allowH2: false,
    maxCachedSessions: 0,
    // Said here, so that no environment variable can unsay it.
    rejectUnauthorized: true,
    ...(ca === undefined ? {} : { ca: typeof ca === 'string' ? ca : [...ca] }),
  })

  return (target, callback) => {
    const hostname = target.hostname.replace(/^\[(.*)\]$/, '$1')
    // Node asks no lookup about a literal address, and URL parsing has made one of every odd spelling ("0x7f.1").
    if (isIP(hostname) !== 0 && !isOwnHost(isIP(hostname) === 6 ? `[${hostname}]` : hostname)) {
      callback(new FetchRefused('literal_address'), null)
      return
    }
    dial(target, (...[error, socket]) => {
      if (error !== null) {
        callback(error, null)
        return
      }
      const name = isIP(hostname) === 6 ? `[${hostname}]` : hostname
      if (!mayDial(name, socket.remoteAddress ?? '')) {
        socket.destroy()
        callback(new FetchRefused('forbidden_address'), null)
        return
      }
      callback(null, socket)
    })
  }
}
