import { isLoopbackHost } from '@poppyseed/protocol'
import type { Company } from './company.ts'
import { type CompanyConfig, checkConfig } from './config.ts'
import { systemRandom } from './crypto/random.ts'
import { consoleLog } from './log.ts'
import { createOwns } from './own-paths.ts'
import type { ApiNeed } from './sessions/own-api.ts'
import { grantableScopes } from './sign-in/sign-in-settings.ts'
import { createToolRegistry } from './tools/registry.ts'
import type { ScopeNeed } from './tools/tool.ts'

/**
 * What a site meets first: the configuration is checked at once, and the rest, two thirds of the library, is loaded by
 * `start()` or with the first request. A file that only writes tools or configures a Company never waits for it.
 */

/**
 * Makes a Company of its configuration.
 * @throws ConfigurationError with a sentence that says what to write
 */
export function createCompany(config: CompanyConfig): Company {
  const checked = checkConfig(config)
  const { log = consoleLog, now = Date.now, random = systemRandom } = config
  // Made for what it refuses; the Company makes its own.
  createToolRegistry(config.tools ?? [], {
    operations: checked.operations.list,
    extensions: Object.keys(checked.extensions),
    declaredScopes: Object.keys(checked.scopes),
    grantableScopes: grantableScopes(checked.signIn),
    log,
    now,
    random,
  })
  const { origin } = config
  if (config.development === true && isLoopbackHost(new URL(origin).hostname)) {
    log.warn(
      { origin },
      'DEVELOPMENT MODE: http and loopback addresses are accepted, for this site and for agents. Never on a public machine.',
    )
  }

  let loading: Promise<Company> | undefined
  let company: Company | undefined
  function load(): Promise<Company> {
    loading ??= import('./company.ts').then((module) => {
      company = module.createCompany(config)
      return company
    })
    return loading
  }

  return Object.freeze<Company>({
    fetch: async (request) => (company ?? (await load())).fetch(request),
    owns: createOwns(config, checked),
    // The type says more than an implementation can: what comes back depends on the scopes that are named.
    authenticate: (async (request: Request, need?: ApiNeed<ScopeNeed | undefined>) =>
      (company ?? (await load())).authenticate(request, need)) as Company['authenticate'],
    supports: async (principal, extension) => (await load()).supports(principal, extension),
    browserPrincipal: async (request) => (company ?? (await load())).browserPrincipal(request),
    accounts: Object.freeze<Company['accounts']>({
      connectedAgents: async (account, options) => (await load()).accounts.connectedAgents(account, options),
      disconnect: async (account, clientId) => (await load()).accounts.disconnect(account, clientId),
      takeAway: async (account, clientId, scope) => (await load()).accounts.takeAway(account, clientId, scope),
      revokeAll: async (account) => (await load()).accounts.revokeAll(account),
      exportPerson: async (person) => (await load()).accounts.exportPerson(person),
      erasePerson: async (person) => (await load()).accounts.erasePerson(person),
    }),
    agents: Object.freeze<Company['agents']>({
      block: async (clientId, options) => (await load()).agents.block(clientId, options),
      unblock: async (clientId) => (await load()).agents.unblock(clientId),
      blocked: async () => (await load()).agents.blocked(),
    }),
    operations: Object.freeze<Company['operations']>({
      get: async (id) => (await load()).operations.get(id),
      list: async (asked) => (await load()).operations.list(asked),
      trail: async (id) => (await load()).operations.trail(id),
      revise: async (...asked) => (await load()).operations.revise(...asked),
      cancel: async (...asked) => (await load()).operations.cancel(...asked),
      unsettled: async () => (await load()).operations.unsettled(),
      settle: async (...asked) => (await load()).operations.settle(...asked),
    }),
    conversations: Object.freeze<Company['conversations']>({
      queue: async (...asked) => (await load()).conversations.queue(...asked),
      heldBy: async (...asked) => (await load()).conversations.heldBy(...asked),
      list: async (...asked) => (await load()).conversations.list(...asked),
      counts: async (...asked) => (await load()).conversations.counts(...asked),
      lastMessages: async (...asked) => (await load()).conversations.lastMessages(...asked),
      colleagues: async (...asked) => (await load()).conversations.colleagues(...asked),
      search: async (...asked) => (await load()).conversations.search(...asked),
      audit: async (...asked) => (await load()).conversations.audit(...asked),
      read: async (...asked) => (await load()).conversations.read(...asked),
      present: async (...asked) => (await load()).conversations.present(...asked),
      withdraw: async (...asked) => (await load()).conversations.withdraw(...asked),
      take: async (...asked) => (await load()).conversations.take(...asked),
      takeNext: async (...asked) => (await load()).conversations.takeNext(...asked),
      release: async (...asked) => (await load()).conversations.release(...asked),
      give: async (...asked) => (await load()).conversations.give(...asked),
      reply: async (...asked) => (await load()).conversations.reply(...asked),
      note: async (...asked) => (await load()).conversations.note(...asked),
      noteRead: async (...asked) => (await load()).conversations.noteRead(...asked),
      handBack: async (...asked) => (await load()).conversations.handBack(...asked),
      askForUser: async (...asked) => (await load()).conversations.askForUser(...asked),
      askForSignIn: async (...asked) => (await load()).conversations.askForSignIn(...asked),
      openAccount: async (...asked) => (await load()).conversations.openAccount(...asked),
      closeAccount: async (...asked) => (await load()).conversations.closeAccount(...asked),
      account: async (...asked) => (await load()).conversations.account(...asked),
      callTool: async (...asked) => (await load()).conversations.callTool(...asked),
      reviseOperation: async (...asked) => (await load()).conversations.reviseOperation(...asked),
      offered: async (...asked) => (await load()).conversations.offered(...asked),
      close: async (...asked) => (await load()).conversations.close(...asked),
    }),
    webhooks: Object.freeze<Company['webhooks']>({
      givenUp: async (...asked) => (await load()).webhooks.givenUp(...asked),
      sendAgain: async (...asked) => (await load()).webhooks.sendAgain(...asked),
    }),
    start: async () => (await load()).start(),
    close: async (options) => (await load()).close(options),
    work: async () => (await load()).work(),
    health: async () => (await load()).health(),
  })
}
