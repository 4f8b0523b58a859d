import { isPlain, refuseUnknown } from '../config-shapes.ts'
import { ConfigurationError, wrong } from '../configuration-error.ts'
import type { ConversationRetentionSettings } from '../conversations/retention.ts'
import type { Addresses } from '../discovery/addresses.ts'
import type { CheckedExtensions } from '../discovery/extensions.ts'
import type { Operation } from './definition.ts'
import { checkHooks, type OperationHooks } from './hooks.ts'
import { isOperation } from './operation.ts'
import { extensionName } from './operation-tool.ts'
import { type Retention, standardRetention } from './retention.ts'

/** The settings for operations. */
export interface OperationsConfig {
  /** What an agent can propose and, once it is confirmed, have done: each made by `operation()`. */
  readonly operations?: readonly Operation[]
  /** The company's own records of operations: told of each, at least once. */
  readonly onOperation?: OperationHooks
  /**
   * How long operations are kept after their end, in days: `operations`, those that were confirmed, 730 when left out;
   * `proposals`, those that nobody confirmed, 30 when left out. And conversations: `conversations`, in days after they were
   * closed, 365 when left out; `events`, in days after they were written: as long as their conversation when left out; `audit`,
   * the record of what staff did, in days after it was written, 365 when left out.
   */
  readonly retention?: ConversationRetentionSettings & { readonly operations?: number; readonly proposals?: number }
  /** Makes the operations endpoint a service with tokens of its own (4.3): an absolute URI. */
  readonly operationsResource?: string
}

/** {@link OperationsConfig}, once it is known to be right. */
export interface CheckedOperations {
  readonly list: readonly Operation[]
  readonly resource: string | undefined
  /** What `poppy.json` lists of them (3.3). */
  readonly extensions: CheckedExtensions
  readonly hooks: OperationHooks
  readonly retention: Retention
  /** Whether there is a page on which a person can confirm. */
  readonly hasPage: boolean
}

/** @throws ConfigurationError with a sentence that says what to write */
export function checkOperations(
  config: OperationsConfig & { readonly account?: unknown; readonly signInPage?: unknown },
  { addresses, domains }: { readonly addresses: Addresses; readonly domains: readonly string[] },
): CheckedOperations {
  const { operations: list = [], operationsResource: resource } = config
  if (!Array.isArray(list))
    throw wrong('`operations` is a list: operations: [operation({ name, description, propose, perform })].')
  for (const [index, one] of list.entries()) {
    if (!isOperation(one))
      throw new ConfigurationError(
        `operations[${index}] is not an operation. Write operation({ name, description, propose, perform }).`,
      )
  }
  const operations: readonly Operation[] = list
  const hooks = checkHooks(config.onOperation)
  const retention = checkRetention(config.retention)
  if (operations.length === 0) {
    if (resource !== undefined) throw wrong('`operationsResource` is for operations, and there are none. Leave it out.')
    return { list: [], resource: undefined, extensions: {}, hooks, retention, hasPage: false }
  }
  const hasPage = config.account !== undefined && config.signInPage !== undefined
  const onPage = operations.find(({ approval }) => approval === 'page')
  if (onPage !== undefined && !hasPage)
    throw wrong(
      `Operation ${onPage.name} is confirmed on your own page, which takes \`account\` and \`signInPage\`: who is signed in to your site, and where they do so.`,
    )
  return {
    list: operations,
    resource,
    hooks,
    retention,
    hasPage,
    extensions: {
      [extensionName]: Object.freeze({
        version: '1',
        endpoint: addresses.operations,
        ...(resource === undefined ? {} : { resource }),
      }),
      // Any proposal may ask for approval there, whatever its operation does by itself.
      ...(hasPage ? { [`${domains[0]}/confirmation`]: Object.freeze({ version: '1' }) } : {}),
    },
  }
}

const day = 86_400_000

function checkRetention(retention: OperationsConfig['retention']): Retention {
  if (retention === undefined) return standardRetention
  if (!isPlain(retention)) throw wrong('Write retention: { operations: 730, proposals: 30 }, each in days.')
  refuseUnknown('retention', retention, ['operations', 'proposals', 'conversations', 'events', 'audit'])
  const days = (name: 'operations' | 'proposals', standard: number): number => {
    const value = retention[name]
    if (value === undefined) return standard
    if (!Number.isInteger(value) || (value as number) < 1 || (value as number) > 36_600)
      throw wrong(`\`retention.${name}\` is a whole number of days, at least 1, such as ${standard / day}.`)
    return (value as number) * day
  }
  return {
    confirmed: days('operations', standardRetention.confirmed),
    unconfirmed: days('proposals', standardRetention.unconfirmed),
  }
}
