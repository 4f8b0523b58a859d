import {
  type JSONSchema7,
  jsonSchema,
  type LanguageModel,
  type ModelMessage,
  type StreamTextResult,
  streamText,
  type TelemetryOptions,
  type ToolSet,
} from 'ai'
import { ConfigurationError } from '../configuration-error.ts'
import type { JsonSchema } from '../tools/schema.ts'
import { instructionFor } from './ai-instruction.ts'
import { type Moves, movesOf } from './ai-moves.ts'
import { heardUnit, outcomeText, promptOf, tokensIn, type Unit } from './ai-prompt.ts'
import { plainWords } from './plain-words.ts'
import type { CompanyAgent, Said, ToolOutcome, Turn, TurnTool } from './turn.ts'

/**
 * A Company Agent (7) that any model of the AI SDK (`ai`, version 7) speaks for: an entry of its own, `poppyseed/ai`. The model
 * reads the conversation and calls tools; what it may do is decided where a tool runs, by rights that it never sees.
 */

/** What {@link companyAgent} takes. */
export interface CompanyAgentOptions {
  /** A model of the `ai` package, or the id of one at its gateway, such as `'openai/gpt-5-mini'`. */
  readonly model: LanguageModel
  /**
   * What the model should know of the company and of its work, beside the rules that it gets anyway: what it says it is, for
   * whom it writes, in which language, and what it may not claim.
   */
  readonly instructions?: string | ((turn: TurnSetting) => string | Promise<string>)
  /** Times that the model is asked in a turn, calls of tools between them; 8 when left out, at most 50. What it calls the last time isn't called. */
  readonly maxSteps?: number
  /** Tokens of conversation that the model reads, about; what is older is left out. 12,000 when left out. */
  readonly historyTokens?: number
  /** Tokens that it may write each time it is asked; 2,000 when left out. */
  readonly outputTokens?: number
  /** Which of the tools and operations it gets; left out, all. A tool that it doesn't get it can't call. */
  readonly only?: (tool: TurnTool) => boolean
  readonly temperature?: number
  /** For the model's provider, as `streamText` takes it. */
  readonly providerOptions?: NonNullable<Parameters<typeof streamText>[0]['providerOptions']>
  /** As `streamText` takes it. Left out, nothing is traced: traces of the `ai` package hold all that was said. */
  readonly telemetry?: TelemetryOptions
  /**
   * Told what went wrong with the model, for a log of your own. Such errors may hold all that was said; the Company's log gets
   * no more than the error's name and status.
   */
  readonly onError?: (error: unknown) => void
}

/** What `instructions` may depend on: nothing that the other side wrote. */
export type TurnSetting = Pick<Turn, 'writesFor' | 'isDirect' | 'signedIn'>

/** The model failed, or said nothing: the turn ends in an honest message of the Company's. */
export class ModelFailed extends Error {
  override readonly name = 'ModelFailed'
}

/** Calls of one step that are made; a model that wants more at once is told so. */
const mostCalls = 16
/** Characters that one token may stand for before it is no more a token. */
const charactersPerToken = 20

/**
 * Makes a Company Agent of a model.
 *
 * ```ts
 * import { companyAgent } from 'poppyseed/ai'
 *
 * createCompany({
 *   …,
 *   agent: companyAgent({ model: openai('gpt-5-mini'), instructions: 'You work at the front desk of Hotel Miramar.' }),
 * })
 * ```
 * @throws ConfigurationError at once for a setting that can't be
 */
export function companyAgent(options: CompanyAgentOptions): CompanyAgent {
  const settings = readSettings(options)
  return (turn) => play(turn, settings)
}

type Settings = CompanyAgentOptions & {
  readonly maxSteps: number
  readonly historyTokens: number
  readonly outputTokens: number
}

function readSettings(options: CompanyAgentOptions): Settings {
  const { model, instructions } = options
  if (!(typeof model === 'string' ? model.trim() !== '' : typeof model === 'object' && model !== null))
    throw new ConfigurationError('companyAgent needs a model: companyAgent({ model: openai("gpt-5-mini") }).')
  if (instructions !== undefined && typeof instructions !== 'string' && typeof instructions !== 'function')
    throw new ConfigurationError('companyAgent: instructions is a text, or a function that gives one.')
  return {
    ...options,
    maxSteps: count(options.maxSteps ?? 8, 'maxSteps', 1, 50),
    historyTokens: count(options.historyTokens ?? 12_000, 'historyTokens', 1000, 1_000_000),
    outputTokens: count(options.outputTokens ?? 2000, 'outputTokens', 50, 100_000),
  }
}

function count(value: number, name: string, least: number, most: number): number {
  if (Number.isInteger(value) && value >= least && value <= most) return value
  throw new ConfigurationError(`companyAgent: ${name} must be a whole number from ${least} to ${most}.`)
}

/** A call that the model wants made. */
interface Call {
  readonly id: string
  readonly name: string
  readonly input: unknown
  /** Why it isn't one; told by the `ai` package already. */
  readonly isInvalid: boolean
}

async function* play(turn: Turn, settings: Settings): AsyncGenerator<Said, void, ToolOutcome | undefined> {
  const { only = () => true, historyTokens, maxSteps } = settings
  const given: Turn = { ...turn, tools: turn.tools.filter(only), locked: turn.locked.filter(only) }
  const moves = movesOf(given)
  const { instructions = '' } = settings
  const setting = { writesFor: turn.writesFor, isDirect: turn.isDirect, signedIn: turn.signedIn }
  const own = typeof instructions === 'function' ? await instructions(setting) : instructions
  const instruction = instructionFor(given, own, moves.names)
  const units: Unit[] = []
  let hasSaid = false
  let details: Readonly<Record<string, unknown>> | undefined

  for (let step = 1; step <= maxSteps; step++) {
    const isLast = step === maxSteps
    const messages = promptOf(given, units, historyTokens)
    const answer = ask({ given, moves, instruction, messages, isLast }, settings)
    const words = plainWords()
    const calls: Call[] = []
    let text = ''
    try {
      for await (const written of readAnswer(answer, turn.signal, settings)) {
        if ('call' in written) {
          calls.push(written.call)
          continue
        }
        const piece = words.push(written.text)
        text += piece
        // Where details wait, the message comes whole, with them.
        if (details === undefined && piece !== '') yield { type: 'text', text: piece }
      }
    } catch (error) {
      throw failed(error, turn.signal, settings)
    }
    const rest = words.end()
    text = (text + rest).trim()
    if (details !== undefined && text !== '') {
      yield { type: 'message', text, data: details }
      details = undefined
    } else if (details === undefined && rest !== '') yield { type: 'text', text: rest }
    hasSaid ||= text !== ''
    if (calls.length === 0 || isLast) break

    const results: { readonly call: Call; readonly text: string }[] = []
    for (const [at, call] of calls.entries()) {
      turn.signal.throwIfAborted()
      const move = moves.byName.get(call.name)
      if (call.isInvalid) continue
      if (at >= mostCalls) {
        results.push({ call, text: 'Too many calls at once. This one was not made.' })
      } else if (move) {
        const moved = move.make(objectOf(call.input))
        if ('ends' in moved) {
          if (details !== undefined) yield { type: 'message', data: details }
          yield moved.ends
          return
        }
        if ('details' in moved) details = { ...details, ...moved.details }
        results.push({ call, text: 'told' in moved ? moved.told : 'They go out with your next message. Write it now.' })
      } else {
        const outcome = yield { type: 'call', name: call.name, input: call.input }
        hasSaid ||= outcome?.ok === true && 'operation' in outcome
        results.push({ call, text: outcomeText(outcome ?? notMade, historyTokens, Math.min(calls.length, mostCalls)) })
      }
    }
    const wrote = await answer.responseMessages
    units.push(stepUnit(wrote, results))
    const newer = await turn.more()
    if (newer.length > 0) units.push(heardUnit(newer))
  }
  if (details !== undefined) {
    yield { type: 'message', data: details }
    hasSaid = true
  }
  if (!hasSaid) throw new ModelFailed('The model said nothing.')
}

const notMade: ToolOutcome = { ok: false, error: 'tool_failed', description: 'It was not called.' }

/** In words: with `toolChoice: 'none'` some providers leave the tools out, and then refuse calls that were made before, or are silent. */
const answerNow = 'Answer now, in words, with what you know. No call is made any more.'

interface Question {
  readonly given: Turn
  readonly moves: Moves
  readonly instruction: string
  readonly messages: ModelMessage[]
  readonly isLast: boolean
}

function ask({ given, moves, instruction, messages, isLast }: Question, settings: Settings): Answer {
  const { model, outputTokens, temperature, providerOptions, telemetry = { isEnabled: false } } = settings
  return streamText({
    model,
    instructions: isLast ? `${instruction}\n\n${answerNow}` : instruction,
    messages,
    tools: toolsOf(given, moves),
    maxOutputTokens: outputTokens,
    abortSignal: given.signal,
    telemetry,
    // A file in an answer may name any address, also one inside the company's network.
    experimental_download: (wanted) =>
      wanted.length === 0 ? Promise.resolve([]) : Promise.reject(new ModelFailed('The model answered with a file.')),
    // The default prints what went wrong, and the prompt with it.
    onError: () => {},
    ...(temperature === undefined ? {} : { temperature }),
    ...(providerOptions === undefined ? {} : { providerOptions }),
  })
}

type Answer = Pick<StreamTextResult<ToolSet, Record<string, unknown>, never>, 'stream' | 'responseMessages'>

/** Tools without a way to run: calls are made one after another, in order, by the turn. */
function toolsOf({ tools }: Turn, moves: Moves): ToolSet {
  const own = tools.map(({ name, title, description, input, proposes }) => {
    const words = title === undefined ? description : `${title}. ${description}`
    const more = proposes ? ' It only proposes: the customer’s side confirms it, or not.' : ''
    return [name, toolOf(words + more, input)] as const
  })
  const moved = [...moves.byName].map(([name, { description, input }]) => [name, toolOf(description, input)] as const)
  return Object.fromEntries([...own, ...moved])
}

/** Input is not checked here: where the tool runs it is, and better. */
function toolOf(description: string, { $schema: _, ...schema }: JsonSchema): ToolSet[string] {
  return { description, inputSchema: jsonSchema({ type: 'object', ...schema } as JSONSchema7) }
}

/** What the model writes: its words, and its calls once they are whole. Its thoughts are nobody's. */
async function* readAnswer(
  answer: Answer,
  signal: AbortSignal,
  { outputTokens }: Settings,
): AsyncGenerator<{ readonly text: string } | { readonly call: Call }> {
  let left = outputTokens * charactersPerToken
  const spend = (characters: number) => {
    left -= characters
    if (left < 0) throw new ModelFailed('The model wrote more than it may.')
  }
  for await (const part of answer.stream) {
    if (part.type === 'text-delta' || part.type === 'reasoning-delta') spend(part.text.length)
    if (part.type === 'text-delta') yield { text: part.text }
    else if (part.type === 'tool-call') {
      spend((JSON.stringify(part.input) ?? '').length)
      // What a provider runs on its own side is its own affair.
      if (part.providerExecuted === true) continue
      const isInvalid = 'invalid' in part && part.invalid === true
      yield { call: { id: part.toolCallId, name: part.toolName, input: part.input, isInvalid } }
    } else if (part.type === 'error') throw part.error
    else if (part.type === 'abort') signal.throwIfAborted()
  }
  signal.throwIfAborted()
}

/** The step as the next one reads it: each call with its result. */
function stepUnit(
  wrote: readonly ModelMessage[],
  results: readonly { readonly call: Call; readonly text: string }[],
): Unit {
  const messages: ModelMessage[] = [...wrote]
  if (results.length > 0) {
    messages.push({
      role: 'tool',
      content: results.map(({ call, text }) => ({
        type: 'tool-result',
        toolCallId: call.id,
        toolName: call.name,
        output: { type: 'text', value: text },
      })),
    })
  }
  return { kind: 'step', messages, tokens: tokensIn(JSON.stringify(messages)) }
}

/** What is thrown on says nothing of what was said: such errors hold whole prompts. */
function failed(error: unknown, signal: AbortSignal, { onError }: Settings): unknown {
  if (signal.aborted) return signal.reason
  if (error instanceof ModelFailed) return error
  onError?.(error)
  const { name, statusCode } = Object(error) as { readonly name?: unknown; readonly statusCode?: unknown }
  const kind = typeof name === 'string' && /^[\w.]{1,60}$/.test(name) ? name : 'unknown'
  return new ModelFailed(`The model failed: ${kind}${typeof statusCode === 'number' ? ` ${statusCode}` : ''}.`)
}

function objectOf(input: unknown): Readonly<Record<string, unknown>> {
  return typeof input === 'object' && input !== null && !Array.isArray(input) ? { ...input } : {}
}
