import { createHash } from 'node:crypto'

/** Names that every model takes: letters, digits, `_` and `-`, at most 64. Each tells whose tool it is. */

const maxName = 64
const maxDomain = 24
const markLength = 8

/** What a name is made from. */
export interface NamedTool {
  readonly name: string
  readonly api: string
  readonly company: { readonly domain: string }
}

/**
 * The name of a tool: its Company's domain, then its own. Where that can't be written whole, a mark of what was left out
 * makes it its own: the same for the same tool each time, and another for any other.
 */
export function toolName({ name, api, company }: NamedTool): string {
  const domain = legal(company.domain)
  const own = legal(name)
  const whole = `${domain}__${own}`
  // A domain has no `_` and a name that is taken whole no `__`, so each such name can be read back in one way.
  const isOwn = own === name && /^[a-z0-9.-]+$/i.test(company.domain) && !name.includes('__') && !name.startsWith('_')
  if (isOwn && domain.length <= maxDomain && whole.length <= maxName) return whole
  const mark = createHash('sha256')
    .update(JSON.stringify([company.domain, api, name]))
    .digest('hex')
    .slice(0, markLength)
  const start = `${domain.slice(0, maxDomain)}__`
  return `${start}${own.slice(0, maxName - start.length - markLength - 1)}_${mark}`
}

function legal(text: string): string {
  return text.replace(/[^A-Za-z0-9_-]/g, '_')
}

/** Names of inputs that every provider takes, and the way back to the Company's own. */
export function inputNames(names: readonly string[]): ReadonlyMap<string, string> {
  const byAlias = new Map<string, string>()
  for (const name of names) {
    const short = name.replace(/[^A-Za-z0-9_.-]/g, '_').slice(0, 60)
    let alias = short
    for (let turn = 2; byAlias.has(alias) || (alias !== name && names.includes(alias)); turn++)
      alias = `${short}_${turn}`
    byAlias.set(alias, name)
  }
  return byAlias
}
