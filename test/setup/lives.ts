import fc from 'fast-check'
import { answers, performs, type Script, type Step } from './modelled-operations.ts'
import { kinds } from './operations-model.ts'

/** Random lives of operations, for fast-check. */

const instance = fc.constantFrom(0 as const, 1 as const)
const which = fc.nat(2)
const approval = fc.constantFrom('user' as const, 'standing_permission' as const)
const seconds = fc.constantFrom(60, 900)
const script: fc.Arbitrary<Script> = fc.record({
  perform: fc.array(fc.constantFrom(...performs), { minLength: 1, maxLength: 3 }),
  reconcile: fc.array(fc.constantFrom(...answers), { maxLength: 3 }),
  cancel: fc.array(fc.constantFrom(...answers), { maxLength: 2 }),
})
const off = (...values: (-1 | 0 | 1)[]) => fc.constantFrom(0 as const, 0 as const, 0 as const, ...values)

const propose = fc.record({
  do: fc.constant('propose' as const),
  instance,
  kind: fc.constantFrom(...kinds),
  thing: fc.constantFrom('this', 'that', null),
  approval,
  seconds,
  script,
})
const confirm = fc.record({ do: fc.constant('confirm' as const), instance, which, off: off(-1, 1), by: approval })
const revise = fc.record({
  do: fc.constant('revise' as const),
  instance,
  which,
  off: off(-1) as fc.Arbitrary<-1 | 0>,
  approval,
  seconds,
})
const cancel = fc.record({
  do: fc.constant('cancel' as const),
  instance,
  which,
  by: fc.constantFrom('agent' as const, 'staff' as const),
})
const settle = fc.record({ do: fc.constant('settle' as const), instance, which })
const sweep = fc.record({ do: fc.constant('sweep' as const), instance })
const release = fc.constant({ do: 'release' as const })
const clock = fc.record({ do: fc.constant('clock' as const), seconds: fc.constantFrom(1, 10, 61, 130, 1000, 4000) })
const arm = fc.record({
  do: fc.constant('arm' as const),
  instance,
  point: fc.constantFrom('confirming', 'confirmed', 'started', 'performed', 'finished', 'reconciled', 'told'),
})
const kill = fc.record({ do: fc.constant('kill' as const), instance })
const breakHooks = fc.record({ do: fc.constant('break hooks' as const), times: fc.integer({ min: 1, max: 4 }) })
/** What is tried at the same moment; confirmations of one operation most of all. */
const atOnce = fc.oneof(
  fc
    .tuple(confirm, fc.integer({ min: 2, max: 6 }))
    .map(([one, copies]) => Array.from({ length: copies }, (_, index) => ({ ...one, instance: (index % 2) as 0 | 1 }))),
  fc.tuple(revise, confirm, which).map(([first, one, on]) => [
    { ...first, which: on },
    { ...one, which: on, by: 'user' as const },
  ]),
  fc
    .tuple(fc.array(fc.oneof(confirm, confirm, cancel, revise, settle), { minLength: 2, maxLength: 4 }), which)
    .map(([steps, on]) => steps.map((one) => ({ ...one, which: on }))),
  fc.array(fc.oneof(confirm, cancel, revise, settle, sweep, release, propose), { minLength: 2, maxLength: 4 }),
)
const step: fc.Arbitrary<Step> = fc.oneof(
  { arbitrary: propose, weight: 4 },
  { arbitrary: confirm, weight: 5 },
  { arbitrary: atOnce.map((steps) => ({ do: 'at once' as const, steps })), weight: 4 },
  { arbitrary: sweep, weight: 4 },
  { arbitrary: clock, weight: 4 },
  { arbitrary: revise, weight: 2 },
  { arbitrary: cancel, weight: 2 },
  { arbitrary: settle, weight: 1 },
  { arbitrary: release, weight: 1 },
  { arbitrary: arm, weight: 2 },
  { arbitrary: kill, weight: 1 },
  { arbitrary: breakHooks, weight: 1 },
)
/** Steps that begin with a proposal. */
export const lives: fc.Arbitrary<Step[]> = fc
  .tuple(propose, fc.array(step, { minLength: 3, maxLength: 24, size: 'max' }))
  .map(([first, more]) => [first, ...more])

/** Lives that chance seldom finds: a process is frozen until somebody else has written what came of its work. */
export const seldom: [Step[]][] = (['waits before', 'waits after'] as const).map((how) => [
  [
    {
      do: 'propose',
      instance: 0,
      kind: 'slow',
      thing: 'this',
      approval: 'user',
      seconds: 900,
      script: { perform: [how], reconcile: [], cancel: [] },
    },
    { do: 'confirm', instance: 0, which: 0, off: 0, by: 'user' },
    { do: 'clock', seconds: 130 },
    { do: 'sweep', instance: 1 },
    { do: 'release' },
  ],
])
