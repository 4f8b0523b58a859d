import fc from 'fast-check'
import { behaviours, type Step } from './modelled-conversations.ts'

/** Random lives of conversations, for fast-check. */

const instance = fc.constantFrom(0 as const, 1 as const)
/** Counted from the newest. */
const on = fc.nat(2)
const staff = fc.constantFrom('rita' as const, 'omar' as const)
const who = fc.constantFrom('out' as const, 'out' as const, 'in' as const)
const behaviour = fc.constantFrom(...behaviours)

const start = fc.record({ do: fc.constant('start' as const), instance, who, behaviour })
const message = fc.record({ do: fc.constant('message' as const), instance, on, who, behaviour })
const byAgent = fc.record({
  do: fc.constantFrom('context' as const, 'handoff' as const, 'close' as const, 'beside' as const, 'beside' as const),
  instance,
  on,
  who,
})
const retry = fc.record({ do: fc.constant('retry' as const), instance, which: fc.nat(4), isChanged: fc.boolean() })
const take = fc.record({ do: fc.constant('take' as const), instance, on, staff })
const byStaff = fc.record({
  do: fc.constantFrom(
    'release' as const,
    'reply' as const,
    'reply' as const,
    'hand back' as const,
    'note' as const,
    'ask for user' as const,
    'open account' as const,
    'staff close' as const,
  ),
  instance,
  on,
  staff,
})
const presence = fc.record({
  do: fc.constantFrom('present' as const, 'withdraw' as const, 'take next' as const),
  instance,
  staff,
})
const sweep = fc.record({ do: fc.constant('sweep' as const), instance })
const clock = fc.record({ do: fc.constant('clock' as const), seconds: fc.constantFrom(1, 31, 61, 130, 610, 86_401) })
const release = fc.constant({ do: 'open the gate' as const })
const sign = fc.record({ do: fc.constantFrom('sign out' as const, 'sign in' as const) })
const kill = fc.record({ do: fc.constant('kill' as const), instance })
const arm = fc.record({
  do: fc.constant('arm' as const),
  instance,
  point: fc.constantFrom('accepting', 'accepted', 'turn-claimed', 'turn-said', 'tool-ran', 'turn-ending', 'turn-ended'),
})
const one = fc.oneof(message, byAgent, take, byStaff, presence, sweep, retry)
/** What is tried at the same moment; on one conversation most of all. */
const atOnce = fc.oneof(
  fc
    .tuple(fc.array(fc.oneof(message, byAgent, take, take, byStaff), { minLength: 2, maxLength: 4 }), on)
    .map(([steps, same]) => steps.map((step) => ({ ...step, on: same }))),
  fc.array(fc.oneof(one, release), { minLength: 2, maxLength: 4 }),
)

const step: fc.Arbitrary<Step> = fc.oneof(
  { arbitrary: start, weight: 2 },
  { arbitrary: message, weight: 5 },
  { arbitrary: byAgent, weight: 5 },
  { arbitrary: take, weight: 4 },
  { arbitrary: byStaff, weight: 6 },
  { arbitrary: presence, weight: 2 },
  { arbitrary: atOnce.map((steps) => ({ do: 'at once' as const, steps })), weight: 5 },
  { arbitrary: retry, weight: 2 },
  { arbitrary: sweep, weight: 3 },
  { arbitrary: clock, weight: 3 },
  { arbitrary: release, weight: 1 },
  { arbitrary: sign, weight: 1 },
  { arbitrary: arm, weight: 2 },
  { arbitrary: kill, weight: 1 },
)

/** Steps that begin with a conversation, mostly while somebody of the company is there. */
export const lives: fc.Arbitrary<Step[]> = fc
  .tuple(start, presence, fc.array(step, { minLength: 4, maxLength: 28, size: 'max' }))
  .map(([first, second, more]) => [second, first, ...more])

const rita = { instance: 0, staff: 'rita' } as const
const asked = { instance: 0, who: 'out' } as const

/** Lives that chance seldom finds. */
export const seldom: [Step[]][] = [
  // A turn waits while a person takes over and hands back: what it says then is nobody's.
  [
    [
      { do: 'present', ...rita },
      { do: 'start', ...asked, behaviour: 'slow' },
      { do: 'take', ...rita, instance: 1, on: 0 },
      // Where the turn runs nobody is told of this.
      { do: 'message', ...asked, instance: 1, on: 0, behaviour: 'reply' },
      { do: 'hand back', ...rita, instance: 1, on: 0 },
      { do: 'open the gate' },
      { do: 'sweep', instance: 0 },
    ],
  ],
  // A turn waits until its lease is over, and another instance goes on with it.
  [
    [
      { do: 'start', ...asked, behaviour: 'slow' },
      { do: 'clock', seconds: 31 },
      { do: 'sweep', instance: 1 },
      { do: 'message', ...asked, on: 0, behaviour: 'reply' },
      { do: 'open the gate' },
    ],
  ],
  // An instance dies after its turn looked for more messages, and before one comes.
  [
    [
      { do: 'start', ...asked, behaviour: 'reply' },
      { do: 'arm', instance: 0, point: 'turn-said' },
      { do: 'message', ...asked, on: 0, behaviour: 'more' },
      { do: 'clock', seconds: 1 },
      { do: 'message', ...asked, on: 0, behaviour: 'reply' },
      { do: 'message', ...asked, on: 0, behaviour: 'reply' },
    ],
  ],
  // Whoever has a parent is gone while a Direct Conversation is open beside it; then its end closes the parent's wait.
  [
    [
      { do: 'present', ...rita },
      { do: 'start', ...asked, behaviour: 'reply' },
      { do: 'take', ...rita, on: 0 },
      { do: 'beside', ...asked, on: 0 },
      { do: 'clock', seconds: 130 },
      { do: 'sweep', instance: 1 },
      { do: 'close', ...asked, on: 0 },
    ],
  ],
  // The Company Agent hands a parent off while a Direct Conversation is open beside it: that is no failed turn.
  [
    [
      { do: 'present', ...rita },
      { do: 'start', ...asked, behaviour: 'reply' },
      { do: 'take', ...rita, on: 0 },
      { do: 'message', ...asked, on: 0, behaviour: 'handoff' },
      { do: 'beside', ...asked, on: 0 },
      { do: 'hand back', ...rita, on: 1 },
    ],
  ],
]
