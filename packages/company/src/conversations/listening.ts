import type { Changes } from '../changes/changes.ts'
import { listeningTo } from '../changes/wide-ears.ts'
import type { Lifecycle } from '../lifecycle.ts'
import type { Logger, Scope } from '../store/database.ts'
import { type LastSeen, lastSeenOf, noteListening, renewListening, stopListening } from './listening-store.ts'
import type { ConversationRow } from './row.ts'

/**
 * Whether a Personal Agent listens to a conversation in which people of the company are wanted or at work: by a stream or a
 * wait, at whatever instance. It is noted for those conversations alone, so that all others cost nothing.
 */

/** See {@link createListening}. */
export interface Listening {
  /** Somebody listens, and has just read how the conversation stands. */
  readonly note: (ear: object, row: Pick<ConversationRow, 'id' | 'status' | 'responder'>) => void
  /** They listen no longer. */
  readonly leave: (ear: object) => void
}

/** Where nobody wants to know. */
export const nobodyAsks: Listening = { note() {}, leave() {} }

/** What {@link createListening} needs. */
export interface ListeningOptions {
  readonly scope: () => Promise<Scope>
  /** Milliseconds since 1970. */
  readonly now: () => number
  readonly log: Logger
  readonly changes: Pick<Changes, 'changed' | 'listen' | 'leave'>
  /** Has the end of the Company wait for what asks the store. */
  readonly track: Lifecycle['track']
  /** Aborts when the Company begins to close: whoever listened goes to another instance. */
  readonly ending: AbortSignal
}

/** Milliseconds. */
const times = {
  tick: 1_000,
  /** How long a note holds, for the case that nobody takes it back, and after which time it is renewed. */
  holds: 90_000,
  renewed: 60_000,
  /** Between two waits, and until a stream that ended is opened again. */
  between: 5_000,
} as const

interface Noted {
  readonly id: string
  readonly ears: Set<object>
  readonly told: { readonly told: () => void }
  /** What this instance wrote last, and when; 0 for nothing. */
  endsAt: number
  writtenAt: number
  /** Since when nobody listens; 0: somebody does. */
  leftAt: number
  /** What it does to the store, one after the other. */
  work: Promise<unknown>
}

/** Whether people are wanted, or at work. */
const wantsPeople = ({ status, responder }: Pick<ConversationRow, 'status' | 'responder'>): boolean =>
  status === 'queued' || (responder === 'human' && status !== 'closed')

/** Notes who listens at this instance. While nobody listens where people are wanted, no timer runs. */
export function createListening({ scope, now, log, changes, track, ending }: ListeningOptions): Listening {
  const all = new Map<string, Noted>()
  const ofEar = new Map<object, Noted>()
  let timer: NodeJS.Timeout | undefined
  let isTelling = false

  function failed(error: unknown): void {
    log.warn({ error: error instanceof Error ? error.name : typeof error }, 'it could not be noted who listens')
  }

  function next(noted: Noted, work: () => Promise<void>): void {
    noted.work = track(noted.work.then(work).catch(failed))
  }

  /** Says so where it wasn't known. */
  async function write(noted: Noted): Promise<void> {
    if (all.get(noted.id) !== noted) return
    const time = now()
    const endsAt = time + times.holds
    noted.writtenAt = time
    const isNew = await noteListening(await scope(), { id: noted.id, now: time, endsAt })
    noted.endsAt = endsAt
    if (isNew) tell(noted.id)
  }

  async function remove({ id, endsAt }: Noted): Promise<void> {
    if (await stopListening(await scope(), { id, endsAt })) tell(id)
  }

  function tell(id: string): void {
    isTelling = true
    changes.changed(listeningTo(id))
    isTelling = false
  }

  function begin(id: string): Noted {
    const noted: Noted = {
      ...{ id, ears: new Set<object>(), endsAt: 0, writtenAt: now(), leftAt: 0, work: Promise.resolve() },
      // Another instance says that nobody listens any more, and doesn't know of those here.
      told: { told: () => void (isTelling || noted.leftAt > 0 || next(noted, () => write(noted))) },
    }
    all.set(id, noted)
    changes.listen(listeningTo(id), noted.told)
    timer ??= setInterval(tick, times.tick).unref()
    next(noted, () => write(noted))
    return noted
  }

  function end(noted: Noted): void {
    all.delete(noted.id)
    changes.leave(listeningTo(noted.id), noted.told)
    if (all.size > 0) return
    clearInterval(timer)
    timer = undefined
  }

  function tick(): void {
    const time = now()
    const due: Noted[] = []
    for (const noted of all.values()) {
      if (noted.leftAt > 0 && time - noted.leftAt >= times.between) {
        end(noted)
        next(noted, () => remove(noted))
      } else if (noted.leftAt === 0 && time - noted.writtenAt >= times.renewed) due.push(noted)
    }
    if (due.length > 0) track(renew(due, time)).catch(failed)
  }

  async function renew(due: readonly Noted[], time: number): Promise<void> {
    const endsAt = time + times.holds
    for (const noted of due) noted.writtenAt = time
    await renewListening(await scope(), { ids: due.map(({ id }) => id), endsAt })
    for (const noted of due) noted.endsAt = endsAt
  }

  function leave(ear: object): void {
    const noted = ofEar.get(ear)
    if (noted === undefined) return
    ofEar.delete(ear)
    noted.ears.delete(ear)
    if (noted.ears.size === 0) noted.leftAt = now()
  }

  ending.addEventListener(
    'abort',
    () => {
      // What is noted runs out by itself, unless whoever listened is at another instance by then.
      for (const noted of all.values()) end(noted)
      ofEar.clear()
    },
    { once: true },
  )

  return {
    leave,
    note(ear, row) {
      if (!wantsPeople(row) || ending.aborted) {
        if (ofEar.size > 0) leave(ear)
        return
      }
      if (ofEar.has(ear)) return
      const noted = all.get(row.id) ?? begin(row.id)
      noted.ears.add(ear)
      noted.leftAt = 0
      ofEar.set(ear, noted)
    },
  }
}

/** Whether a Personal Agent listens, and when it was last seen: for the conversations of a list, by their ids. */
export async function listeningNow(
  scope: Scope,
  asked: { readonly ids: readonly string[]; readonly now: number },
): Promise<ReadonlyMap<string, LastSeen>> {
  return asked.ids.length === 0 ? new Map() : lastSeenOf(scope, asked)
}
