import { isLoopbackHost } from '@poppyseed/protocol'

/**
 * What a limit for "one host" counts together: whoever owns a domain has as many names below it as they like. The last
 * two labels of the name, or three where the country has domains such as `co.uk`. There is no list of such domains in
 * it: where it is wrong, neighbours share a limit, and nothing else depends on it.
 * @param host a host as URLs write it, with its port where it has one
 */
export function siteOf(host: string): string {
  const name = host.replace(/:\d+$/, '').replace(/\.$/, '')
  // In development each port of this machine is somebody else.
  if (isLoopbackHost(name) || name.startsWith('[')) return host
  const labels = name.split('.')
  const [second = '', top = ''] = labels.slice(-2)
  return labels.slice(top.length === 2 && second.length <= 3 ? -3 : -2).join('.')
}
