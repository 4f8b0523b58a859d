import type { TrailEntry } from '../../packages/company/src/operations/agreement.ts'

/** What may become of an operation, written down plainly: no store, no turns, no outbox. */

export type State = 'proposed' | 'in_progress' | 'succeeded' | 'failed' | 'cancelled' | 'expired'

/** One operation as the model knows it. */
export interface Known {
  readonly id: string
  readonly kind: Kind
  /** Which thing it is about, where asking again gives the same one. */
  readonly thing: string | null
  state: State
  /** What each revision said. The last one is the latest. */
  readonly revisions: Revision[]
  /** The revision that was confirmed, once one was. */
  confirmation: string | null
  result: unknown
  wasCancelAsked: boolean
  isUnknown: boolean
}

export interface Revision {
  readonly terms: { readonly thing: string; readonly version: number }
  readonly approval: 'user' | 'standing_permission'
  readonly expiresAt: number
}

/**
 * `quick` has four milliseconds for its work, `slow` as long as it wants; `blind` can neither be asked what came of it nor
 * stopped; `repeatable` can be done again.
 */
export type Kind = 'quick' | 'slow' | 'blind' | 'repeatable'
export const kinds = ['quick', 'slow', 'blind', 'repeatable'] as const

/** Something that was tried on an operation, and what it came to. */
export interface Act {
  readonly act: 'confirm' | 'cancel' | 'revise' | 'settle'
  readonly revision?: number
  readonly by?: 'user' | 'standing_permission'
  /** A state that was answered, a code of an error, or that the process died over it. */
  readonly answer: string
  readonly confirmation?: string | null
}

/** What the row says. */
export interface Seen {
  readonly state: State
  readonly revision: number
  readonly confirmation: string | null
  readonly result: unknown
  readonly isStarted: boolean
  readonly isUnknown: boolean
  readonly isCancelAsked: boolean
}

const isOver = (state: State) => state !== 'proposed' && state !== 'in_progress'

/** The state at a moment: nobody confirms what is over its time. */
export function stateAt({ state, revisions }: Known, now: number): State {
  return state === 'proposed' && (revisions.at(-1)?.expiresAt ?? 0) <= now ? 'expired' : state
}

/** What one confirmation, alone, has to come to. */
function answerToConfirm(known: Known, { revision, by }: Act, now: number): string {
  const state = stateAt(known, now)
  if (state !== 'proposed') return 'as it is'
  if (revision !== known.revisions.length) return 'revision_conflict'
  return known.revisions.at(-1)?.approval === 'user' && by !== 'user' ? 'user_approval_required' : 'confirmed'
}

/** What is wrong with an operation's having become what it is, given what was tried and what really happened outside. */
export function objections(
  before: Known,
  seen: Seen,
  { acts, now, effects }: { readonly acts: readonly Act[]; readonly now: number; readonly effects: number },
): string[] {
  const wrong: string[] = []
  const say = (isWrong: boolean, what: string) => void (isWrong && wrong.push(what))
  const state = stateAt(before, now)
  const moved = `${before.state} → ${seen.state}`

  // Nothing outside is ever called otherwise than it is.
  say(effects > 1, 'it happened twice')
  say(seen.state === 'failed' && effects > 0, 'it is called failed and happened')
  say(seen.state === 'cancelled' && effects > 0, 'it is called cancelled and happened')
  say(seen.state === 'succeeded' && effects === 0, 'it is called succeeded and did not happen')
  say((seen.state === 'proposed' || seen.state === 'expired') && effects > 0, `it is ${seen.state} and happened`)
  say(seen.isUnknown && seen.state !== 'in_progress', 'its outcome is unknown and known')

  if (seen.state !== before.state) {
    say(isOver(before.state), `what was over changed: ${moved}`)
    say(seen.state === 'proposed', `it is proposed again: ${moved}`)
    say(seen.state === 'expired' && state !== 'expired', `it expired too early, or after it was confirmed: ${moved}`)
    say(
      seen.state === 'cancelled' && !before.wasCancelAsked && !acts.some(({ act }) => act === 'cancel'),
      'nobody cancelled it',
    )
  }
  say(isOver(before.state) && JSON.stringify(seen.result) !== JSON.stringify(before.result), 'its result changed')

  // A confirmation is one that was asked for, good for the latest revision, in time, and stays as it is.
  if (seen.confirmation !== null && before.confirmation === null) {
    const good = acts.some(
      (act) =>
        act.act === 'confirm' &&
        act.revision === seen.revision &&
        (act.by === 'user' || before.revisions[seen.revision - 1]?.approval === 'standing_permission'),
    )
    say(!good || state !== 'proposed', `nobody confirmed this revision while it could be: ${moved}`)
  } else say(seen.confirmation !== before.confirmation, 'its confirmation changed')
  for (const { confirmation } of acts)
    say(confirmation != null && confirmation !== seen.confirmation, 'two were told of different confirmations')
  say(before.state === 'proposed' && ['succeeded', 'failed'].includes(seen.state) && !seen.confirmation, moved)

  const revised = acts.filter(({ act, answer }) => act === 'revise' && answer === 'revised').length
  say(seen.revision !== before.revisions.length, 'it has a revision that nobody was told of')
  say(revised > 0 && state !== 'proposed', `it was revised when it was ${state}`)

  // What is tried alone has one right answer.
  const [only] = acts
  if (acts.length !== 1 || only === undefined || only.answer === 'died') return wrong
  const is = (right: string | readonly string[]) =>
    say(![right].flat().includes(only.answer), `${only.act} at ${state} came to ${only.answer}`)
  if (only.act === 'confirm') {
    const right = answerToConfirm(before, only, now)
    if (right === 'confirmed') {
      is(['in_progress', 'succeeded', 'failed'])
      say(seen.confirmation === null, 'what was confirmed has no confirmation')
    } else {
      is(right === 'as it is' ? [state, seen.state] : right)
      say(seen.confirmation !== before.confirmation, 'a refusal changed something')
    }
  }
  if (only.act === 'cancel') {
    is(state === 'proposed' ? 'cancelled' : [state, seen.state])
    say(state === 'in_progress' && !seen.isCancelAsked && !isOver(seen.state), 'nobody noted that it is to stop')
  }
  if (only.act === 'settle') is(before.isUnknown ? ['succeeded', 'failed'] : 'revision_conflict')
  return wrong
}

const next: Readonly<Record<string, readonly string[]>> = {
  '': ['proposed'],
  proposed: ['revised', 'asked_again', 'confirmed', 'cancelled', 'expired'],
  confirmed: ['asked_again', 'started', 'cancelled', 'failed'],
  started: [
    'asked_again',
    'unknown',
    'succeeded',
    'failed',
    'cancelled',
    'cancel_asked',
    'cancel_answered',
    'late_outcome',
  ],
  unknown: [
    'asked_again',
    'succeeded',
    'failed',
    'cancelled',
    'settled',
    'cancel_asked',
    'cancel_answered',
    'late_outcome',
  ],
  over: ['asked_again', 'late_outcome', 'cancel_answered'],
}
const stays = ['revised', 'asked_again', 'cancel_asked', 'cancel_answered', 'late_outcome']
const ends = ['succeeded', 'failed', 'cancelled', 'expired', 'settled']

/** What is wrong with a trail: it tells, in order and without a gap, how the operation came to be what it is. */
export function objectionsToTrail(trail: readonly TrailEntry[], known: Known): string[] {
  const wrong: string[] = []
  let stage = ''
  let last = 0
  let end = ''
  for (const { event, at, detail } of trail) {
    if (!next[stage]?.includes(event)) wrong.push(`${event} after ${stage}`)
    if (at < last) wrong.push(`${event} before what comes before it`)
    last = at
    if (ends.includes(event)) {
      stage = 'over'
      end = event === 'settled' ? String((detail as { readonly as: string }).as) : event
    } else if (!stays.includes(event)) stage = event
  }
  const state = { proposed: 'proposed', confirmed: 'in_progress', started: 'in_progress', unknown: 'in_progress' }
  const told = stage === 'over' ? end : state[stage as keyof typeof state]
  if (told !== known.state) wrong.push(`the trail says ${told}, the row ${known.state}`)
  const revised = trail.filter(({ event }) => event === 'revised').map(({ revision }) => revision)
  if (
    revised.join() !==
    known.revisions
      .slice(1)
      .map((_, index) => index + 2)
      .join()
  )
    wrong.push(`the trail has the revisions ${revised.join()}`)
  return wrong
}
