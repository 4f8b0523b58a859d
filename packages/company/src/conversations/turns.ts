import { forLog } from '../tools/run.ts'
import { withConversation } from './ledger.ts'
import { changeWithNote } from './notes.ts'
import type { ConversationRow } from './row.ts'
import { findConversation } from './store.ts'
import { runTurn, type TurnParts } from './turn-run.ts'
import { claimTurn, dueTurns, renewTurn } from './turn-store.ts'
import { isHeld } from './turn-writing.ts'

/**
 * The turn engine: turns that are due are claimed, run, and left so that another instance can go on with them. A turn is durable
 * the moment that its message is accepted, and is nobody's but its runner's; a runner that dies is followed when its lease is
 * over, one that closes at once.
 */

/** What the engine is made with. */
export interface TurnEngineParts extends TurnParts {
  /** Has the end of the Company wait for something. */
  readonly track: <T>(work: Promise<T>) => Promise<T>
}

/** See {@link createTurnEngine}. */
export interface TurnEngine {
  /** Begins a turn that became due a moment ago, without making anybody wait for it. */
  readonly begin: (id: string) => void
  /** Looks for turns that are due. `toTheEnd`: waits until they have ended, where nothing lives between requests. */
  readonly sweep: (how?: {
    readonly toTheEnd?: boolean
  }) => Promise<{ readonly done: number; readonly isDone: boolean }>
  /** Begins nothing more, and hands back what runs: another instance goes on with it at once. */
  readonly stop: () => void
}

/** Milliseconds that a claim holds without a sign of life, and after which it is renewed. */
const lease = 30_000
const renewal = 10_000
/** How many turns one process runs at a time, and how many wait here; further ones are found by the sweep. */
const mostAtOnce = 100
const mostWaiting = 1000
/** How many are looked for at a time. */
const atATime = 50

/** Why a turn is to be left. */
type Left = 'lost' | 'closing'

/** A conversation whose turns run here. */
interface Running {
  readonly done: Promise<void>
  /** Whether a turn became due since the last look. */
  again: boolean
  leave: (why: Left) => void
}

/** Makes the engine. Nothing runs until it is begun or swept. */
export function createTurnEngine(parts: TurnEngineParts): TurnEngine {
  const { now, log } = parts
  const running = new Map<string, Running>()
  const waiting = new Set<string>()
  const closing = new AbortController()
  const isStopped = () => closing.signal.aborted

  function begin(id: string): void {
    const here = running.get(id)
    if (here !== undefined) here.again = true
    if (isStopped() || here !== undefined) return
    if (running.size < mostAtOnce) void attend(id)
    else if (waiting.size < mostWaiting) waiting.add(id)
  }

  /** Runs the turns of a conversation for as long as one is due. */
  function attend(id: string): Promise<void> {
    const { promise: done, resolve } = Promise.withResolvers<void>()
    const here: Running = { done, again: true, leave: () => {} }
    running.set(id, here)
    void runAll(id, here).finally(resolve)
    return parts.track(done)
  }

  async function runAll(id: string, here: Running): Promise<void> {
    try {
      while (here.again && !isStopped()) {
        here.again = false
        await runDue(id, here)
      }
    } catch (error) {
      // It is due again when its lease is over.
      log.error({ conversation: id, error: forLog(error) }, 'a turn could not be run')
    } finally {
      running.delete(id)
      const [next] = waiting
      if (next !== undefined && !isStopped()) {
        waiting.delete(next)
        begin(next)
      }
    }
  }

  async function runDue(id: string, here: Running): Promise<void> {
    const scope = await parts.scope()
    const row = await claimTurn(scope, { id, now: now(), until: now() + lease })
    if (row === null) return
    const stop = new AbortController()
    let why: Left | null = null
    here.leave = (reason) => {
      why ??= reason
      stop.abort()
    }
    if (isStopped()) here.leave('closing')
    const unwatch = watchOver(row, () => here.leave('lost'))
    const end = await runTurn(parts, row, stop.signal).finally(unwatch)
    if (end.how === 'ended') return
    if (end.how === 'stopped' && reasonOf() === 'closing') return handBack(row)
    // Whoever has the conversation now doesn't wait for what this one still says.
    void parts.track(keepDraft(id, end.late))

    function reasonOf(): Left | null {
      return why
    }
  }

  /** Keeps a turn for as long as it runs, and finds out when it is another's, or nobody's. */
  function watchOver({ id, runner }: ConversationRow, lost: () => void): () => void {
    let isOver = false
    let soon: NodeJS.Immediate | undefined
    const failed = (error: unknown) =>
      log.error({ conversation: id, error: forLog(error) }, 'a turn that runs could not be looked after')
    const look = async () => {
      soon = undefined
      const row = await findConversation(await parts.scope(), id)
      if (!isOver && (row === null || !isHeld(row, runner))) lost()
    }
    const renew = async () => {
      if (!(await renewTurn(await parts.scope(), { id, runner, until: now() + lease })) && !isOver) lost()
    }
    // Not at once: the turn's own last change is one of those that are told.
    const ear = {
      told() {
        soon ??= setImmediate(() => void look().catch(failed))
      },
    }
    parts.changes.listen(id, ear)
    const timer = setInterval(() => void renew().catch(failed), renewal)
    return () => {
      isOver = true
      clearInterval(timer)
      clearImmediate(soon)
      parts.changes.leave(id, ear)
    }
  }

  /** Leaves the turn to another instance, as it is: that this one closes is no failed attempt. */
  async function handBack({ id, runner }: ConversationRow): Promise<void> {
    await withConversation(parts, id, (row) =>
      isHeld(row, runner)
        ? {
            set: { runner: runner + 1, turn_due_at: now(), attempts: Math.max(1, row.attempts - 1) },
            events: [],
          }
        : null,
    )
  }

  /** 7.9: what came after a person took over is for the staff alone. */
  async function keepDraft(id: string, late: Promise<string>): Promise<void> {
    try {
      const text = await within(late)
      const row = text === '' ? null : await findConversation(await parts.scope(), id)
      if (row?.responder !== 'human') return
      await changeWithNote(parts, id, () => ({
        decision: { set: {}, events: [] },
        note: { kind: 'draft', staff: null, text },
      }))
    } catch (error) {
      log.error({ conversation: id, error: forLog(error) }, 'a late reply could not be kept')
    }
  }

  /** What comes in the time that a turn has, and before the Company closes; '' for nothing. */
  async function within(late: Promise<string>): Promise<string> {
    const { promise: nothing, resolve } = Promise.withResolvers<string>()
    const give = () => resolve('')
    const timer = setTimeout(give, parts.settings.turnTimeout)
    closing.signal.addEventListener('abort', give, { once: true })
    if (isStopped()) give()
    try {
      return await Promise.race([late, nothing])
    } finally {
      clearTimeout(timer)
      closing.signal.removeEventListener('abort', give)
    }
  }

  return {
    begin,
    async sweep({ toTheEnd = false } = {}) {
      if (isStopped()) return { done: 0, isDone: true }
      const ids = await dueTurns(await parts.scope(), { now: now(), limit: atATime })
      if (toTheEnd) await Promise.all(ids.map((id) => running.get(id)?.done ?? attend(id)))
      else for (const id of ids) begin(id)
      return { done: ids.length, isDone: ids.length < atATime }
    },
    stop() {
      closing.abort()
      waiting.clear()
      for (const { leave } of running.values()) leave('closing')
    },
  }
}
