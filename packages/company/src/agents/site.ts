import { isLoopbackHost } from '@poppyseed/protocol'

/**
 * What countries call their second level, as in `co.uk` and `com.au`. Only names that nobody can have for themselves: with a
 * short name of one's own under a country, each name below it would be somebody else.
 */
const secondLevels: ReadonlySet<string> = new Set(
  'ac co com edu go gob gouv gov govt ltd mil ne net nom or org plc sch school'.split(' '),
)

/**
 * What a limit for "one host" counts together: whoever owns a domain has as many names below it as they like. The last
 * two labels of the name, or three where the country has domains such as `co.uk`. It is no list of all such domains:
 * where it is wrong, neighbours share a limit, and nothing else depends on it.
 * @param host a host as URLs write it, with its port where it has one
 */
export function siteOf(host: string): string {
  const name = host.replace(/:\d+$/, '').replace(/\.$/, '')
  // In development each port of this machine is somebody else.
  if (isLoopbackHost(name) || name.startsWith('[')) return host
  const labels = name.split('.')
  const [second = '', top = ''] = labels.slice(-2)
  return labels.slice(top.length === 2 && secondLevels.has(second) ? -3 : -2).join('.')
}
