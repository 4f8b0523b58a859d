import { setImmediate as nextTick } from 'node:timers/promises'
import { plainWords } from './plain-words.ts'
import { cleanText, cutAt, mostText, readSaid, TooMuchSaid } from './said.ts'
import type { CompanyAgent, Said, ToolOutcome, Turn } from './turn.ts'

/**
 * Runs a Company Agent for one turn: takes what it yields, one after another, makes messages of its pieces of text, and
 * gives it the outcomes of its calls. Whatever it does, the run ends: in time, and with nothing left open.
 */

/** Something that an agent said, whole: all but pieces of text, which have become messages. */
export type Thing = Exclude<Said, { readonly type: 'text' }>

/** Who hears what an agent says. What is thrown here ends the run, and is thrown on. */
export interface Listener {
  /**
   * A piece of the message that is being said; `from` counts the characters of it that were told before. The message comes
   * whole afterwards, unless the run ends before.
   */
  readonly piece: (text: string, from: number) => void
  /** The agent waits until this is done. `over` ends the run; anything else is what `yield` gives. */
  readonly thing: (thing: Thing) => Promise<ToolOutcome | 'over' | undefined>
}

/** What could not be said any more: its words, '' for none, and its data. */
export interface Unsaid {
  readonly text: string
  readonly data?: Readonly<Record<string, unknown>> | undefined
}

/** How a run ended. */
export type AgentEnd =
  /** It had no more to say. `rest`: its last message, which no `thing` has had; '' for none. */
  | { readonly how: 'done'; readonly rest: string }
  /** A thing ended it. */
  | { readonly how: 'over' }
  /** It was to stop. `late`: what it was just saying, and what it still says to that; it may take as long as the time limit. */
  | { readonly how: 'stopped'; readonly late: Promise<Unsaid> }
  /** Its time was up, it threw, or it said what nobody can say. */
  | { readonly how: 'failed'; readonly because: 'time' | 'threw' | 'nonsense' | 'too much'; readonly error: unknown }

/** How an agent is run. */
export interface AgentRun {
  readonly agent: CompanyAgent
  /**
   * Makes the turn that it is given.
   * @param signal aborts when the run is over for another reason than that the agent has come to its end
   * @param flush has what was said so far written as a message: for what the agent does without yielding
   */
  readonly turn: (signal: AbortSignal, flush: () => Promise<void>) => Turn
  readonly listener: Listener
  /** Milliseconds that all of it may take. */
  readonly time: number
  /** Aborts when it is to stop. */
  readonly stop: AbortSignal
  /** Hears of what an agent did wrong after its run was over. */
  readonly afterwards: (error: unknown) => void
}

/** Pieces and things that an agent may say in one turn. */
const mostYields = 100_000
const mostThings = 200

type Pulled = { readonly done?: boolean; readonly value?: unknown }
type Puller = {
  readonly next: (outcome: ToolOutcome | undefined) => Promise<Pulled> | Pulled
  readonly return?: () => unknown
}

/** Runs an agent. @throws whatever the listener throws */
export async function runAgent(run: AgentRun): Promise<AgentEnd> {
  const { listener, stop } = run
  const over = new AbortController()
  const ends = performance.now() + run.time
  const { promise: ended, resolve } = Promise.withResolvers<'time' | 'stopped'>()
  let ending: 'time' | 'stopped' | null = null
  const end = (how: 'time' | 'stopped') => {
    ending ??= how
    resolve(ending)
    over.abort(new DOMException('The turn is over.', how === 'time' ? 'TimeoutError' : 'AbortError'))
  }
  const timer = setTimeout(() => end('time'), run.time)
  const stopped = () => end('stopped')
  stop.addEventListener('abort', stopped, { once: true })
  if (stop.aborted) stopped()
  // Looked at through a function: it changes while something is waited for.
  const endingNow = () => ending

  let puller: Puller | null = null
  let inFlight: Promise<Attempted> | null = null
  const message = createJoiner(listener.piece)
  let [yields, things, characters] = [0, 0, 0]

  /** Says a message that has come together, piece by piece. */
  const flush = async () => {
    const text = message.take().trim()
    return text === '' ? undefined : await hear({ type: 'message', text })
  }
  const hear = async (thing: Thing) => {
    if (++things > mostThings) throw new TooMuch('It said too many things.')
    return listener.thing(thing)
  }
  /** What went wrong with what the agent did without yielding: it may have caught that. */
  const broken: unknown[] = []
  const flushNow = async () => {
    try {
      await flush()
    } catch (error) {
      broken.push(error)
      throw error
    }
  }

  async function take(said: Said): Promise<ToolOutcome | 'over' | undefined> {
    if (said.type === 'text' || said.type === 'message') characters += said.text?.length ?? 0
    if (characters > mostText) throw new TooMuch('It said too much.')
    if (said.type !== 'text') {
      if ((await flush()) === 'over') return 'over'
      return hear(said)
    }
    for (const text of message.add(said.text)) if ((await hear({ type: 'message', text })) === 'over') return 'over'
    message.tell()
    return undefined
  }

  async function pull(outcome: ToolOutcome | undefined): Promise<Pulled> {
    // Whoever writes it as an async function that gives one is understood too.
    const given: unknown = puller ?? run.agent(run.turn(over.signal, flushNow))
    puller ??= pullerOf(await given)
    return puller.next(outcome)
  }

  try {
    let outcome: ToolOutcome | undefined
    for (;;) {
      // An agent that never waits for anything leaves no timer a chance to go off.
      if (++yields % 32 === 0) await nextTick()
      if (performance.now() >= ends) end('time')
      if (endingNow() === null) {
        inFlight = attempt(() => pull(outcome))
        await Promise.race([ended, inFlight])
      }
      if (endingNow() === 'stopped') return { how: 'stopped', late: lateWords(message, inFlight) }
      if (endingNow() === 'time') return { how: 'failed', because: 'time', error: new Error('The turn took too long.') }
      const first = await (inFlight as Promise<Attempted>)
      inFlight = null
      if (broken.length > 0) throw broken[0]
      if ('error' in first) return { how: 'failed', because: 'threw', error: first.error }
      if (first.value.done === true) {
        puller = null
        return { how: 'done', rest: message.take().trim() }
      }
      if (yields > mostYields) throw new TooMuch('It yielded too often.')
      const said = readOrThrow(first.value.value)
      const answer = await take(said)
      if (answer === 'over') return { how: 'over' }
      outcome = answer
    }
  } catch (error) {
    if (error instanceof TooMuch) return { how: 'failed', because: 'too much', error }
    if (error instanceof Nonsense) return { how: 'failed', because: 'nonsense', error: error.cause }
    throw error
  } finally {
    clearTimeout(timer)
    stop.removeEventListener('abort', stopped)
    if (puller !== null) over.abort(new DOMException('The turn is over.', 'AbortError'))
    void finish(() => puller, inFlight, run.afterwards)
  }
}

class TooMuch extends Error {}
class Nonsense extends Error {}

function readOrThrow(value: unknown): Said {
  try {
    return readSaid(value)
  } catch (error) {
    if (error instanceof TooMuchSaid) throw new TooMuch('It said too much.')
    throw new Nonsense('It said what nobody can say.', { cause: error })
  }
}

type Attempted = { readonly value: Pulled } | { readonly error: unknown }

/** What it throws is a result: it may come when nobody waits for it any more. */
async function attempt(pull: () => Promise<Pulled>): Promise<Attempted> {
  try {
    const value: unknown = await pull()
    if (typeof value !== 'object' || value === null) throw new TypeError('The agent’s iterator gave no object.')
    return { value }
  } catch (error) {
    return { error }
  }
}

/** An agent is an async generator; any other iterable will do, and an async function that gives one. */
function pullerOf(given: unknown): Puller {
  const iterable = Object(given) as { readonly [Symbol.asyncIterator]?: unknown; readonly [Symbol.iterator]?: unknown }
  const begin = iterable[Symbol.asyncIterator] ?? iterable[Symbol.iterator]
  if (typeof begin !== 'function' || typeof given === 'string')
    throw new TypeError('`agent` gives an async iterable: async function* (turn) { yield … }.')
  return begin.call(given) as Puller
}

/** Has what an agent holds open closed, whenever it comes to an end itself. */
async function finish(
  puller: () => Puller | null,
  inFlight: Promise<Attempted> | null,
  afterwards: (error: unknown) => void,
): Promise<void> {
  try {
    // A generator takes this when what it waits for is over; another iterator may be interrupted by it.
    const closing = puller()
    await closing?.return?.()
    const last = await inFlight
    if (last !== null && 'error' in last) throw last.error
    // It may have come only now.
    if (closing === null) await puller()?.return?.()
  } catch (error) {
    // That it heard of the signal is no mistake of its.
    if (!(error instanceof Error && /^(?:Abort|Timeout)Error$/.test(error.name))) afterwards(error)
  }
}

/** Pieces of text, on their way to be one message. */
interface Joiner {
  /** Adds a piece; gives the messages that are full by it. */
  readonly add: (piece: string) => readonly string[]
  /** Tells what has come of the message and wasn't told. */
  readonly tell: () => void
  /** The message as it is, not trimmed, and begins another. */
  readonly take: () => string
}

function createJoiner(teller: Listener['piece']): Joiner {
  let text = ''
  // 7.4: no JSON and no other markup in text, whoever the agent is
  let words = plainWords()
  /** How many characters of it were told. */
  let told = 0
  /** Half a character, or half a line break: the other half may be in the next piece. */
  let half = ''
  return {
    add(piece) {
      const raw = half + piece
      half = /[\r\uD800-\uDBFF]$/.exec(raw)?.[0] ?? ''
      text += words.push(cleanText(half === '' ? raw : raw.slice(0, -1)))
      const full: string[] = []
      for (let at = cutAt(text); at < text.length; at = cutAt(text)) {
        const whole = text.slice(0, at).trim()
        if (whole !== '') full.push(whole)
        text = text.slice(at)
        told = 0
      }
      return full
    },
    tell() {
      if (text.length > told) teller(text.slice(told), told)
      told = text.length
    },
    take() {
      const whole = text + words.push(cleanText(half)) + words.end()
      text = ''
      words = plainWords()
      told = 0
      half = ''
      return whole
    },
  }
}

/** What an agent was saying when it was to stop, with the one thing that it still says: it may not have heard of that yet. */
async function lateWords(message: Joiner, inFlight: Promise<Attempted> | null): Promise<Unsaid> {
  const last = await inFlight
  const said = last === null || 'error' in last || last.value.done === true ? null : readOrNothing(last.value.value)
  // Nobody is told pieces of it any more.
  const whole = said?.type === 'text' ? message.add(said.text.slice(0, mostText)) : []
  const words = [...whole, message.take(), said?.type === 'message' ? (said.text ?? '') : '']
  const text = words
    .map((one) => one.trim())
    .filter((one) => one !== '')
    .join('\n\n')
  return said?.type === 'message' && said.data !== undefined ? { text, data: said.data } : { text }
}

function readOrNothing(value: unknown): Said | null {
  try {
    return readSaid(value)
  } catch {
    return null
  }
}
