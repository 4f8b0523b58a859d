import type { Unsaid } from '../company-agent/run-agent.ts'
import type { Cause, TurnOutcome } from '../telemetry/work.ts'
import { forLog } from '../tools/run.ts'
import { withConversation } from './ledger.ts'
import { changeWithNote } from './notes.ts'
import type { DueTurn } from './parts.ts'
import type { ConversationRow } from './row.ts'
import { findConversation } from './store.ts'
import { createTurnRoom, standardRoom } from './turn-room.ts'
import { runTurn, type TurnEnd, type TurnParts } from './turn-run.ts'
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
  readonly begin: (due: DueTurn) => void
  /** Looks for turns that are due. `toTheEnd`: waits until they have ended, where nothing lives between requests. */
  readonly sweep: (how?: {
    readonly toTheEnd?: boolean
  }) => Promise<{ readonly done: number; readonly isDone: boolean }>
  /** How many turns run here. */
  readonly size: () => number
  /** Begins nothing more, and hands back what runs: another instance goes on with it at once. */
  readonly stop: () => void
}

/** Milliseconds that a claim holds without a sign of life, and after which it is renewed. */
const lease = 30_000
const renewal = 10_000
/** Of how many Personal Agents a look finds turns, and how many of each; and how many are begun where they are waited for. */
const perLook = { clients: 25, each: 50 }
const atATime = 50

/** Why a turn is to be left. */
type Left = 'lost' | 'closing'

/** A conversation whose turns run here. */
interface Running {
  readonly done: Promise<void>
  /** Whether a turn became due since the last look. */
  again: boolean
  leave: (why: Left) => void
  /** The request that made a turn due, where it was one. */
  cause: Cause | undefined
}

/** Makes the engine. Nothing runs until it is begun or swept. */
export function createTurnEngine(parts: TurnEngineParts): TurnEngine {
  const { now, log, watch } = parts
  const running = new Map<string, Running>()
  const room = createTurnRoom(standardRoom)
  /** The Personal Agent after which the next look begins. */
  let lookedUntil = ''
  const closing = new AbortController()
  const isStopped = () => closing.signal.aborted

  function begin({ id, client_id, user_id }: DueTurn): void {
    const here = running.get(id)
    if (here !== undefined) {
      here.again = true
      here.cause = watch?.cause()
    }
    if (isStopped() || here !== undefined) return
    const due = { id, client_id, user_id }
    if (room.enter(due)) void attend(due, watch?.cause())
    else room.wait(due)
  }

  /** Runs the turns of a conversation for as long as one is due, in room that was taken for it. */
  function attend(due: DueTurn, cause?: Cause): Promise<void> {
    const { promise: done, resolve } = Promise.withResolvers<void>()
    const here: Running = { done, again: true, leave: () => {}, cause }
    running.set(due.id, here)
    void runAll(due, here).finally(resolve)
    return parts.track(done)
  }

  async function runAll(due: DueTurn, here: Running): Promise<void> {
    const { id } = due
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
      room.leave(due)
      attendWaiting()
    }
  }

  /** Runs one that is waited for, which is bounded by how many are. */
  function attendAnyway(due: DueTurn): Promise<void> {
    room.take(due)
    return attend(due)
  }

  /** What is free is for whoever waits. */
  function attendWaiting(): void {
    while (!isStopped()) {
      const next = room.next()
      if (next === null) return
      void attend(next)
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
    const run = () => runTurn(parts, row, stop.signal)
    const { cause } = here
    here.cause = undefined
    const about = { conversationId: id, clientId: row.client_id, attempt: row.attempts, cause }
    const end = await takeTurn().finally(unwatch)
    if (end.how === 'ended') return
    if (end.how === 'stopped' && reasonOf() === 'closing') return handBack(row)
    // Whoever has the conversation now doesn't wait for what this one still says.
    void parts.track(keepDraft(id, end.late))

    // Whatever watches it may fail before it begins: then nobody keeps it, and its lease runs out.
    async function takeTurn(): Promise<TurnEnd> {
      return watch?.turn(about, run, outcomeOf) ?? run()
    }

    function reasonOf(): Left | null {
      return why
    }

    function outcomeOf(left: TurnEnd): TurnOutcome {
      if (left.how === 'ended') return left.outcome
      return left.how === 'stopped' && reasonOf() === 'closing' ? 'stopped' : 'lost'
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

  /** 7.9: what came after a person was asked for, or took over, is for the staff alone. */
  async function keepDraft(id: string, late: Promise<Unsaid>): Promise<void> {
    try {
      const { text, data } = await within(late)
      const row = text === '' && data === undefined ? null : await findConversation(await parts.scope(), id)
      if (row === null || !(row.responder === 'human' || row.status === 'queued')) return
      await changeWithNote(parts, id, () => ({
        decision: { set: {}, events: [] },
        note: { kind: 'draft', staff: null, text, data },
      }))
    } catch (error) {
      log.error({ conversation: id, error: forLog(error) }, 'a late reply could not be kept')
    }
  }

  /** What comes in the time that a turn has, and before the Company closes. */
  async function within(late: Promise<Unsaid>): Promise<Unsaid> {
    const { promise: nothing, resolve } = Promise.withResolvers<Unsaid>()
    const give = () => resolve({ text: '' })
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
      const from = lookedUntil
      const asked = { ...perLook, now: now(), after: from, fullUsers: toTheEnd ? [] : room.fullUsers() }
      const { turns, after } = await dueTurns(await parts.scope(), asked)
      lookedUntil = after
      const isWhole = from === '' && after === ''
      if (!toTheEnd) {
        for (const due of turns) begin(due)
        return { done: turns.length, isDone: isWhole && turns.length < perLook.each }
      }
      const some = inTurns(turns).slice(0, atATime)
      await Promise.all(some.map((due) => running.get(due.id)?.done ?? attendAnyway(due)))
      return { done: some.length, isDone: isWhole && some.length < atATime }
    },
    size: () => running.size,
    stop() {
      closing.abort()
      room.clear()
      for (const { leave } of running.values()) leave('closing')
    },
  }
}

/** One of each Personal Agent's, then another one of each: what is cut off is nobody's whole. */
function inTurns(turns: readonly DueTurn[]): readonly DueTurn[] {
  const places = new Map<string, number>()
  const placed = turns.map((due) => {
    const place = places.get(due.client_id) ?? 0
    places.set(due.client_id, place + 1)
    return { due, place }
  })
  return placed.sort((one, other) => one.place - other.place).map(({ due }) => due)
}
