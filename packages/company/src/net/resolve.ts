import { Resolver } from 'node:dns/promises'

/** Resolves a host name to addresses, none when it has none. */
export type Lookup = (hostname: string, signal: AbortSignal) => Promise<readonly string[]>

/**
 * A lookup that asks DNS, for both families. Not `getaddrinfo`: that blocks one of Node's few worker threads for as long
 * as a stranger's name server likes, and reads the machine's own host file and search domains.
 * @param servers `address:port` of each server to ask; the system's when left out
 */
export function createDnsLookup(servers?: readonly string[]): Lookup {
  return async (hostname, signal) => {
    const resolver = new Resolver({ timeout: 1500, tries: 2 })
    if (servers) resolver.setServers(servers)
    const cancel = () => resolver.cancel()
    signal.addEventListener('abort', cancel, { once: true })
    try {
      // A host may well have one family only, or a server that fails for the other.
      const answers = await Promise.allSettled([resolver.resolve4(hostname), resolver.resolve6(hostname)])
      return answers.flatMap((answer) => (answer.status === 'fulfilled' ? answer.value : []))
    } finally {
      signal.removeEventListener('abort', cancel)
    }
  }
}
