import type { CompanyConfig } from './config.ts'
import { wrong } from './configuration-error.ts'
import type { Logger } from './store/database.ts'

/** What each setting has to be, before what it says is looked at: for whoever writes JavaScript, or misspells a name. */

/** What each setting has to be where it is given: a wrong kind would fail at the first request, or do nothing quietly. */
export function checkShapes(config: CompanyConfig): void {
  const { store, log, development, scopes, tools } = config
  for (const name of ['account', 'signInPage', 'switchAccountPage', 'fetchDocument', 'now', 'random'] as const) {
    const value: unknown = config[name]
    if (value !== undefined && typeof value !== 'function')
      throw wrong(
        name.endsWith('Page')
          ? `\`${name}\` is a function that gives the address: (returnTo) => '/login?next=' + encodeURIComponent(returnTo).`
          : name === 'account'
            ? '`account` is a function: (request) => who is signed in to your site, as { id, name }, or null.'
            : `\`${name}\` is a function. Leave it out, and the usual one is taken.`,
      )
  }
  if (store !== undefined && (typeof store !== 'object' || store === null || typeof store.open !== 'function'))
    throw wrong("`store` is what sqlite('poppy.db') or postgres(url) gives, such as store: sqlite('poppy.db').")
  if (development !== undefined && typeof development !== 'boolean')
    throw wrong('`development` is true or false, such as development: true for http://localhost.')
  const levels = ['debug', 'info', 'warn', 'error'] as const
  if (log !== undefined && !levels.every((level) => typeof (log as Partial<Logger> | null)?.[level] === 'function'))
    throw wrong('`log` needs debug, info, warn and error, each called with (fields, message), as pino has them.')
  if (scopes !== undefined && !isPlain(scopes))
    throw wrong("`scopes` says for each scope what it means, such as scopes: { 'poppy:read': 'See your bookings' }.")
  if (tools !== undefined && !Array.isArray(tools))
    throw wrong('`tools` is a list: tools: [tool({ name, description, run })].')
  checkConnectedAgentsPage(config)
}

function checkConnectedAgentsPage({ connectedAgentsPage: page, origin }: CompanyConfig): void {
  if (page === undefined) return
  // A link that people follow from the consent page: on the site, never a script.
  if (typeof page !== 'string' || !/^(?:\/(?!\/)|https?:\/\/)/.test(page) || !URL.canParse(page, origin))
    throw wrong("`connectedAgentsPage` is a path or an address of your site, such as '/account/agents'.")
}

/** Whether a setting is written as `{ … }`. */
export function isPlain(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/** Refuses a misspelt member: it would do nothing, and nobody would be told. */
export function refuseUnknown(setting: string, value: object, known: readonly string[]): void {
  for (const name of Object.keys(value)) {
    if (!known.includes(name)) throw wrong(`There is no \`${setting}.${name}\`. It has: ${known.join(', ')}.`)
  }
}
