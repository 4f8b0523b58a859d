import { wrong } from '../configuration-error.ts'
import type { Lifecycle } from '../lifecycle.ts'
import type { Logger } from '../store/database.ts'
import { type ConnectedAgent, describeSignIn, type SentenceOf } from './connected-agent.ts'

/** 4.9: telling the company of each new sign-in of an agent, so that it can tell the person. */

/** A sign-in that has just happened, as `onConnection` is told of it. */
export interface NewConnection extends Omit<ConnectedAgent, 'lastUsedAt'> {
  /** The company's own id of the account that the agent was let in to. */
  readonly account: string
  /**
   * Whether the agent had no access to this account before, by whatever User of it. Where neither this nor `replaces` is
   * true, it is a second User of an agent that the person knows: somebody else, perhaps.
   */
  readonly isNewAgent: boolean
  /**
   * Whether the same User of the agent had access to this account by an earlier sign-in, which this one replaces (4.4): for
   * more rights, or because the earlier one runs out. The earlier one ends when the agent revokes it, or by itself.
   */
  readonly replaces: boolean
}

/**
 * What a company does with a new sign-in, such as sending a mail. It is told once of each, after it was stored, and
 * never of what an Account Token is used for later.
 *
 * It is told **at most once**: a process that dies at this very moment tells nobody, and nobody tells it again. What has
 * to be done for certain belongs into a queue of the company's own. What it throws ends up in the log and changes nothing:
 * the agent is signed in. The agent's answer waits for it for two seconds, so that it is done where nothing lives between
 * requests; after ten seconds the signal aborts, and that is logged.
 */
export type OnConnection = (
  connection: NewConnection,
  context: { readonly signal: AbortSignal },
) => void | Promise<void>

/** A sign-in as its transaction knows it. */
export interface BegunConnection {
  readonly grantId: string
  readonly account: string
  readonly clientId: string
  readonly signIn: 'direct' | 'device' | 'mediated' | 'mcp'
  readonly scopes: readonly string[]
  /** Milliseconds since 1970. */
  readonly connectedAt: number
  readonly expiresAt: number | null
  readonly isNewAgent: boolean
  readonly replaces: boolean
}

/** Tells the company of sign-ins. */
export interface ConnectionHook {
  /** Call it once the sign-in is committed. Never throws, and never takes long. */
  readonly tell: (begun: BegunConnection) => Promise<void>
}

/** Milliseconds: how long an answer waits, and how long the company's function has. */
const usualLimits = { answer: 2000, hook: 10_000 }

/** Makes it of the company's function. */
export function createConnectionHook(options: {
  readonly onConnection: OnConnection
  /** What the agent calls itself, where it is on record. */
  readonly nameOf: (clientId: string) => Promise<string | undefined>
  /** The company's words for its scopes. */
  readonly sentenceOf: SentenceOf
  readonly track: Lifecycle['track']
  readonly log: Logger
  readonly limits?: typeof usualLimits
}): ConnectionHook {
  const { onConnection, log, limits = usualLimits } = options

  async function run(begun: BegunConnection, signal: AbortSignal): Promise<void> {
    const { account, connectedAt, isNewAgent, replaces } = begun
    const agent = describeSignIn(begun, await options.nameOf(begun.clientId), options.sentenceOf)
    await onConnection(Object.freeze({ account, ...agent, connectedAt, isNewAgent, replaces }), { signal })
  }

  /** Within its time; what goes wrong is told to the log, with the sign-in's id and without anybody's name. */
  async function told(begun: BegunConnection): Promise<void> {
    const { grantId, clientId, signIn } = begun
    const stop = new AbortController()
    const { promise: late, resolve } = Promise.withResolvers<'late'>()
    const timer = setTimeout(() => resolve('late'), limits.hook)
    try {
      if ((await Promise.race([run(begun, stop.signal), late])) !== 'late') return
      stop.abort(new DOMException('It took too long.', 'TimeoutError'))
      log.error({ grantId, clientId, signIn }, 'onConnection took too long; whether the person was told is not known')
    } catch (error) {
      // Without the message: it may hold the person's address.
      const where = error instanceof Error ? (error.stack?.match(/^\s+at .*$/gm) ?? []).slice(0, 5) : []
      const name = error instanceof Error ? error.name : typeof error
      log.error(
        { grantId, clientId, signIn, error: name, where: where.map((line) => line.trim()) },
        'onConnection failed; the agent is signed in, and the person may not know',
      )
    } finally {
      clearTimeout(timer)
    }
  }

  return {
    async tell(begun) {
      const { promise: enough, resolve } = Promise.withResolvers<void>()
      const timer = setTimeout(resolve, limits.answer)
      // Where the Company closes meanwhile, it waits for it too.
      await Promise.race([options.track(told(begun)), enough])
      clearTimeout(timer)
    },
  }
}

/** @throws ConfigurationError with a sentence that says what to write */
export function checkOnConnection(onConnection: unknown): void {
  if (onConnection !== undefined && typeof onConnection !== 'function')
    throw wrong(
      '`onConnection` is a function that is told of each new sign-in: async ({ account, name, host, rights }) => mail.send(…).',
    )
}
