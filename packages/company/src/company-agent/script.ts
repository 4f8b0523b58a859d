import { ConfigurationError } from '../configuration-error.ts'
import type { CompanyAgent, HeardMessage, Said, ToolOutcome, Turn } from './turn.ts'

/**
 * A Company Agent (7) without a model: rules in order, each with what it is for and what it does. It keeps nothing of its own:
 * all that it knows of a conversation stands in the history. For a front desk of a few questions, for tests, and for the time
 * in which no model can be reached.
 */

/** A message that is answered, as a rule sees it. */
export interface Heard {
  readonly message: HeardMessage
  /** Its text, without space at the ends and cut after 4,000 characters; '' where it has none. */
  readonly text: string
  /** What the rule's pattern found. */
  readonly match: RegExpMatchArray | null
  /** All messages up to this one and with it, oldest first. */
  readonly history: readonly HeardMessage[]
  readonly turn: Turn
}

/** What a rule says: what a {@link CompanyAgent} may say; a text alone is a message. */
export type Line = Said | string

/**
 * What a rule does: says a text, or a generator that says several things and calls tools, by `yield` or with `turn.call`.
 * A function that gives a text says that.
 */
export type Step =
  | string
  | ((
      heard: Heard,
    ) => string | Promise<string> | AsyncGenerator<Line, void, ToolOutcome | undefined> | AsyncIterable<Line>)

/** A rule: the first that fits a message answers it. */
export interface Rule {
  /** A pattern that is looked for in the message's text, or a function that looks at all of it. */
  readonly when: RegExp | ((heard: Heard) => boolean)
  readonly say: Step
}

/** What {@link scriptedAgent} takes. */
export interface Script {
  readonly rules: readonly Rule[]
  /** For a message that no rule fits. */
  readonly otherwise: Step
}

const longestText = 4000

/**
 * Makes a Company Agent of rules.
 *
 * ```ts
 * const desk = scriptedAgent({
 *   rules: [
 *     { when: /late|check.?in/i, say: 'Come as late as you like: the door opens with the code of your booking.' },
 *     { when: /person|human/i, say: async function* () { yield { type: 'handoff', reason: 'The guest asked for it.' } } },
 *   ],
 *   otherwise: 'I know about rooms and late arrival. Ask for a person if you need anything else.',
 * })
 * ```
 * @throws ConfigurationError at once for what is no rule
 */
export function scriptedAgent({ rules, otherwise }: Script): CompanyAgent {
  if (!Array.isArray(rules)) throw new ConfigurationError('scriptedAgent needs rules: [{ when: /…/i, say: … }].')
  for (const [at, { when, say }] of (rules as Script['rules']).entries()) {
    if ((when instanceof RegExp || typeof when === 'function') && isStep(say)) continue
    throw new ConfigurationError(`scriptedAgent: rule ${at + 1} is { when: a pattern or a function, say: … }.`)
  }
  if (!isStep(otherwise))
    throw new ConfigurationError('scriptedAgent needs `otherwise`: what it says when no rule fits.')
  return async function* answer(turn) {
    let history = turn.history.slice(0, turn.history.length - turn.asked.length)
    for (let asked = turn.asked; asked.length > 0; asked = await turn.more()) {
      for (const message of asked) {
        turn.signal.throwIfAborted()
        history = [...history, message]
        if (message.text === undefined && message.data === undefined) continue
        const ended = yield* follow({ rules, otherwise }, { message, history, turn })
        if (ended) return
      }
    }
  }
}

function isStep(step: unknown): step is Step {
  return (typeof step === 'string' && step.trim() !== '') || typeof step === 'function'
}

/** Answers one message. True once there is nothing more to say in this conversation for now. */
async function* follow(
  { rules, otherwise }: Script,
  at: Pick<Heard, 'message' | 'history' | 'turn'>,
): AsyncGenerator<Said, boolean, ToolOutcome | undefined> {
  const text = (at.message.text ?? '').slice(0, longestText).trim()
  let heard: Heard = { ...at, text, match: null }
  let step = otherwise
  for (const { when, say } of rules) {
    // A pattern with a place of its own (`g`, `y`) would begin where it last stopped.
    const match = when instanceof RegExp ? text.match(new RegExp(when.source, when.flags.replace(/[gy]/g, ''))) : null
    if (when instanceof RegExp ? match === null : !when(heard)) continue
    heard = { ...heard, match }
    step = say
    break
  }
  const done = typeof step === 'function' ? step(heard) : step
  if (typeof done === 'string' || !(Symbol.asyncIterator in done)) {
    const words = await done
    if (words.trim() !== '') yield { type: 'message', text: words }
    return false
  }
  const lines = done[Symbol.asyncIterator]() as AsyncIterator<Line, void, ToolOutcome | undefined>
  try {
    for (let outcome: ToolOutcome | undefined; ; ) {
      const { done: isOver, value } = await lines.next(outcome)
      if (isOver === true || value === undefined) return false
      const said: Said = typeof value === 'string' ? { type: 'message', text: value } : value
      outcome = yield said
      if (said.type === 'handoff' || said.type === 'close') return true
    }
  } finally {
    await lines.return?.()
  }
}
