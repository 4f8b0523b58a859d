import { type ErrorCode, PoppyError } from '@poppyseed/protocol'
import type { WithProposal } from '../operations/operation-tool.ts'
import type { Logger } from '../store/database.ts'
import type { Tool, ToolContext } from './tool.ts'
import { ToolError } from './tool-error.ts'

/** What a tool may tell the caller by itself, beside a ToolError. Nothing here makes a client throw its token away. */
const mayPass: readonly ErrorCode[] = [
  'sign_in_required',
  'insufficient_scope',
  'extension_required',
  'rate_limited',
  'temporarily_unavailable',
  'tool_failed',
]

/**
 * Runs a tool until it ends, its time is up, the caller goes away, or the Company closes and waits no longer; in all but
 * the first case its signal aborts and the call ends at once, whether the tool listens or not.
 * @throws PoppyError `tool_failed`, `tool_timeout`, `temporarily_unavailable`; otherwise what the tool threw
 */
export async function runWithin(
  tool: Tool,
  input: unknown,
  context: ToolContext,
  { log, givenUp, also }: { readonly log: Logger; readonly givenUp?: AbortSignal; readonly also?: WithProposal },
): Promise<unknown> {
  const stop = new AbortController()
  const { promise: stopped, reject: give } = Promise.withResolvers<never>()
  // Both sides of the race may lose, and neither loser is an unhandled rejection.
  stopped.catch(() => {})
  const giveUp = (error: PoppyError) => {
    stop.abort(new DOMException(error.message, error.code === 'tool_timeout' ? 'TimeoutError' : 'AbortError'))
    give(error)
  }
  const goneAway = () =>
    giveUp(
      new PoppyError('temporarily_unavailable', { description: 'The call was given up.', reason: 'caller went away' }),
    )
  const closed = () =>
    giveUp(new PoppyError('temporarily_unavailable', { description: 'Closing down. Try again.', retryAfter: 1 }))
  const timer = setTimeout(
    () => giveUp(new PoppyError('tool_timeout', { description: 'The tool took too long and was given up.' })),
    tool.timeout,
  )
  if (context.signal.aborted) goneAway()
  if (givenUp?.aborted) closed()
  givenUp?.addEventListener('abort', closed, { once: true })
  context.signal.addEventListener('abort', goneAway, { once: true })
  try {
    if (stop.signal.aborted) return await stopped
    const running = start(tool, input, { ...context, signal: stop.signal }, also)
    void running.then(
      () => stop.signal.aborted && log.warn({ tool: tool.name }, 'a tool went on after it was given up'),
      (error: unknown) =>
        stop.signal.aborted &&
        error !== stop.signal.reason &&
        log.warn({ tool: tool.name, error: forLog(error) }, 'a tool failed after it was given up'),
    )
    return await Promise.race([running, stopped])
  } catch (error) {
    throw told(error)
  } finally {
    clearTimeout(timer)
    context.signal.removeEventListener('abort', goneAway)
    givenUp?.removeEventListener('abort', closed)
  }
}

async function start(tool: Tool, input: unknown, context: ToolContext, also?: WithProposal): Promise<unknown> {
  // The company's own code gets what its tools are told, and nothing else.
  return await (tool.proposes ? tool.run(input, Object.freeze(context), also) : tool.run(input, Object.freeze(context)))
}

function told(error: unknown): unknown {
  if (error instanceof ToolError)
    return new PoppyError('tool_failed', { description: error.message, cause: error.cause })
  if (error instanceof PoppyError && error.code !== 'tool_timeout' && !mayPass.includes(error.code)) {
    return new TypeError(`A tool may not answer ${error.code}.`, { cause: error })
  }
  return error
}

/** An error as the log gets it: its members could hold whatever the tool's own libraries put there. */
export function forLog(error: unknown): object {
  return error instanceof Error ? { name: error.name, stack: error.stack } : { name: typeof error }
}
