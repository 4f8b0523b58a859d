/** A name server that misbehaves, as a function to hand to whatever fetches. */

/** What the name server answers. */
export type DnsAnswers =
  | 'right'
  | 'public_then_private'
  | 'private'
  | 'both_at_once'
  | 'odd_spellings'
  | 'nothing'
  | 'failure'
  | 'silence'

/** Addresses that nobody outside may reach, in ways that a resolver can put them (K17). */
export const privateAddresses: readonly string[] = [
  '127.0.0.1',
  '127.1.2.3',
  '10.0.0.1',
  '172.16.0.1',
  '192.168.0.1',
  '169.254.169.254',
  '100.64.0.1',
  '0.0.0.0',
  '224.0.0.1',
  '255.255.255.255',
  '198.18.0.1',
  '192.0.2.1',
  '::1',
  '::',
  'fc00::1',
  'fd00::1',
  'fe80::1',
  'ff02::1',
  '::ffff:127.0.0.1',
  '::ffff:7f00:1',
  '64:ff9b::7f00:1',
  '64:ff9b::a9fe:a9fe',
  '2002:7f00:1::',
]

/** Texts that are no addresses at all, though some parser reads them as one. */
export const oddSpellings: readonly string[] = [
  '2130706433',
  '0x7f000001',
  '0x7f.1',
  '0177.0.0.1',
  '127.1',
  '127.0.0.1.',
  '[::1]',
  '::1%lo',
  ' 127.0.0.1',
  'localhost',
  '',
]

/** URLs whose host is a private address in one spelling or another: none may be dialled (K17). */
export const privateUrls: readonly string[] = [
  'https://2130706433/agent.json',
  'https://0x7f000001/agent.json',
  'https://0x7f.1/agent.json',
  'https://0177.0.0.1/agent.json',
  'https://127.1/agent.json',
  'https://127.0.0.1/agent.json',
  'https://[::1]/agent.json',
  'https://[::ffff:127.0.0.1]/agent.json',
  'https://100.64.0.1/agent.json',
  'https://[fd00::1]/agent.json',
  'https://169.254.169.254/agent.json',
  'https://0/agent.json',
  'https://①②⑦.0.0.1/agent.json',
]

/** A name server. */
export interface HostileDns {
  /** Resolves a name to addresses; none when it has none. */
  readonly lookup: (hostname: string, signal: AbortSignal) => Promise<readonly string[]>
  answers: DnsAnswers
  /** Every name that was asked for. */
  readonly asked: readonly string[]
}

/**
 * Makes a name server that knows one address for every name.
 * @param address what it answers where it does right: for the side under test a public address
 * @param inside a private address where something listens, for answers that lead there
 */
export function createHostileDns(address: string, inside = '127.0.0.2'): HostileDns {
  const asked: string[] = []
  const perName = new Map<string, number>()
  const insides = privateAddresses.filter((one) => one !== address)
  const dns: HostileDns = {
    answers: 'right',
    asked,
    async lookup(hostname, signal) {
      asked.push(hostname)
      const time = perName.get(hostname) ?? 0
      perName.set(hostname, time + 1)
      switch (dns.answers) {
        case 'right':
          return [address]
        case 'public_then_private':
          return [time % 2 === 0 ? address : inside]
        case 'private':
          return [insides[time % insides.length] ?? inside]
        case 'both_at_once':
          return [address, inside]
        case 'odd_spellings':
          return [oddSpellings[time % oddSpellings.length] ?? '']
        case 'nothing':
          return []
        case 'failure':
          throw new Error('SERVFAIL')
        case 'silence':
          return new Promise((_, reject) => {
            signal.addEventListener('abort', () => reject(signal.reason), { once: true })
          })
      }
    },
  }
  return dns
}
