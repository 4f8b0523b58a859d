import type { ModelMessage } from 'ai'
import { unseen } from './plain-words.ts'
import type { HeardMessage, ToolOutcome, Turn } from './turn.ts'

/**
 * A conversation as a model reads it, within a budget. What has no room is left out from the oldest on, and always whole: a
 * question with its answer, a call with its result.
 */

/** What happened in the turn so far: a step of the model with the results of its calls, or messages that came meanwhile. */
export type Unit =
  | { readonly kind: 'step'; readonly messages: readonly ModelMessage[]; readonly tokens: number }
  | { readonly kind: 'heard'; readonly parts: readonly Part[] }

/**
 * Parts of the budget: what the steps of the turn may take, the messages that are answered, those of them that came meanwhile,
 * and the results of one step, which is read however much else there is.
 */
const share = { steps: 0.6, asked: 0.7, heard: 0.2, results: 0.3 }

/** The newest of the messages to answer that are read; who sends more at once is answered for these. */
const mostAsked = 40
/** Tokens that each of them has at least. */
const leastWords = 40

/** About how many tokens a text has, rather more than less: three bytes each. */
export function tokensIn(text: string): number {
  return Math.ceil(Buffer.byteLength(text) / 3)
}

/** @param budget tokens */
export function promptOf(turn: Turn, units: readonly Unit[], budget: number): ModelMessage[] {
  const cut = cutHeard(units, Math.floor(budget * share.heard))
  const came = cut.reduce((total, unit) => total + (unit.kind === 'heard' ? sum(unit.parts) : 0), 0)
  const asked = askedMessages(turn, Math.max(0, Math.floor(budget * share.asked) - came))
  const steps = Math.min(Math.floor(budget * share.steps), budget - sum(asked) - came)
  const kept = newestUnits(cut, steps)
  const rest = budget - sum(asked) - kept.reduce((total, unit) => total + tokensOf(unit), 0)
  const before = turn.history.slice(0, turn.history.length - turn.asked.length)
  const exchanges = newestExchanges(before.map(readHeard), rest)
  const isCut = exchanges.length < before.length
  const first = isCut || exchanges[0]?.role === 'assistant' ? [note(isCut)] : []
  return [...first, ...exchanges.map(toMessage), ...asked.map(toMessage), ...kept.flatMap(messagesOf)]
}

/** Messages that came while the turn was running. */
export function heardUnit(messages: readonly HeardMessage[]): Unit {
  return { kind: 'heard', parts: messages.slice(-mostAsked).map(readHeard) }
}

const longestResult = 4000

/**
 * What a call came to, for the model.
 * @param budget tokens
 * @param calls how many were made at once: together they take no more than their part
 */
export function outcomeText(outcome: ToolOutcome, budget: number, calls: number): string {
  const most = Math.min(longestResult, Math.floor(budget / 4), Math.floor((budget * share.results) / calls))
  return cut(clean(JSON.stringify(outcomeForModel(outcome)) ?? 'null'), most)
}

const tokensOf = (unit: Unit): number => (unit.kind === 'step' ? unit.tokens : sum(unit.parts))
const messagesOf = (unit: Unit): readonly ModelMessage[] =>
  unit.kind === 'step' ? unit.messages : unit.parts.map(toMessage)

/** A message as the model reads it. */
export interface Part {
  readonly role: 'user' | 'assistant'
  readonly text: string
  readonly tokens: number
}

const part = (role: Part['role'], text: string): Part => ({ role, text, tokens: tokensIn(text) + 4 })
const toMessage = ({ role, text }: Part): ModelMessage => ({ role, content: text })
const sum = (parts: readonly { readonly tokens: number }[]): number =>
  parts.reduce((total, { tokens }) => total + tokens, 0)

function note(isCut: boolean): ModelMessage {
  const content = isCut ? '(Earlier messages of this conversation are left out.)' : '(The conversation goes on.)'
  return { role: 'user', content }
}

function askedMessages({ asked, context, notes }: Turn, budget: number): readonly Part[] {
  const shared = Object.keys(context).length === 0 ? [] : [situation(context)]
  const noted = notes.length === 0 ? [] : [part('user', clean(`${forYouAlone}\n${notes.join('\n')}`))]
  return cutEach([...noted, ...shared, ...asked.slice(-mostIn(budget)).map(readHeard)], budget)
}

const forYouAlone =
  'Notes of the company’s people, which the customer’s side does not see. Use them, and do not quote them:'

function situation(context: Turn['context']): Part {
  return part('user', clean(`What was shared of the customer’s situation: ${JSON.stringify(context)}`))
}

/** A message of either side, and who wrote it. What a person of the company wrote isn't the model's own. */
function readHeard({ from, sender, text, data, operation, in: where }: HeardMessage): Part {
  const place =
    where === undefined ? '' : where === 'parent' ? ' in the conversation before this one' : ' in person, elsewhere'
  const writer =
    from === 'user'
      ? sender === 'human'
        ? `The customer wrote${place}:`
        : `The customer’s AI wrote${place}:`
      : sender === 'human'
        ? `A person of the company wrote${place}:`
        : place === ''
          ? ''
          : `You wrote${place}:`
  const lines = [
    writer,
    text ?? '',
    data === undefined ? '' : `Details: ${JSON.stringify(data)}`,
    operation === undefined ? '' : `Operation: ${JSON.stringify(operationForModel(operation))}`,
  ]
  return part(from === 'user' ? 'user' : 'assistant', clean(lines.filter((line) => line !== '').join('\n')) || '…')
}

/** From the newest on as many whole exchanges as there is room for. One begins with a question. */
function newestExchanges(parts: readonly Part[], budget: number): readonly Part[] {
  let from = parts.length
  let left = budget
  for (let at = parts.length - 1; at >= 0; at--) {
    left -= parts[at]?.tokens ?? 0
    if (left < 0) break
    const isStart = at === 0 || (parts[at]?.role === 'user' && parts[at - 1]?.role === 'assistant')
    if (isStart) from = at
  }
  return parts.slice(from)
}

/** The newest of all that came meanwhile, cut to what there is for them: whoever sends much at once pays for no more words. */
function cutHeard(units: readonly Unit[], budget: number): readonly Unit[] {
  const all = units.flatMap((unit) => (unit.kind === 'heard' ? unit.parts : []))
  const left = cutEach(all.slice(-mostIn(budget)), budget)
  let at = left.length - all.length
  return units.map((unit) => {
    if (unit.kind === 'step') return unit
    const from = at
    at += unit.parts.length
    return { kind: 'heard', parts: left.slice(Math.max(0, from), Math.max(0, at)) }
  })
}

/** A step without its results, or the other way round, no provider takes. */
function newestUnits(units: readonly Unit[], budget: number): readonly Unit[] {
  const newest = units.findLastIndex(({ kind }) => kind === 'step')
  let left = budget
  let isFull = false
  const kept: Unit[] = []
  for (let at = units.length - 1; at >= 0; at--) {
    const unit = units[at] as Unit
    if (unit.kind === 'step') {
      left -= unit.tokens
      isFull ||= left < 0 && at !== newest
      if (isFull) continue
    }
    kept.unshift(unit)
  }
  return kept
}

/** How many messages are read: of no fewer words each than make sense. */
const mostIn = (budget: number) => Math.max(1, Math.min(mostAsked, Math.floor(budget / leastWords)))

/** All of them, each cut to its part of the budget where there are too many words. */
function cutEach(parts: readonly Part[], budget: number): readonly Part[] {
  if (sum(parts) <= budget) return parts
  const each = Math.max(leastWords, Math.floor(budget / Math.max(1, parts.length)))
  return parts.map(({ role, text }) => part(role, cut(text, each)))
}

/** The beginning and the end of a text that is too long. */
function cut(text: string, tokens: number): string {
  const size = tokensIn(text)
  if (size <= tokens) return text
  for (let characters = Math.floor((text.length * tokens) / size); ; ) {
    const most = Math.max(20, characters)
    const end = Math.floor(most / 4)
    const short = `${text.slice(0, most - end)} (… cut here …) ${text.slice(-end)}`.toWellFormed()
    const left = tokensIn(short)
    if (left <= tokens || most === 20) return short
    // What is kept may have more bytes to a character than what is not.
    characters = Math.min(most - 1, Math.floor((most * tokens) / left))
  }
}

/** Characters that nobody sees are a way to tell a model what nobody reads. */
function clean(text: string): string {
  return text.replace(unseen, '')
}

function outcomeForModel(outcome: ToolOutcome): object {
  if (!outcome.ok) {
    const { error, description, scope, issues } = outcome
    return { ok: false, error, description, ...(scope === undefined ? {} : { scope }), ...(issues ? { issues } : {}) }
  }
  if (!('operation' in outcome)) return { ok: true, result: outcome.value }
  return {
    ok: true,
    proposed: operationForModel(outcome.operation),
    note: 'Nothing is done yet. The customer’s side is shown this proposal and alone can confirm it; you cannot.',
  }
}

/** No address that it could send somebody to, and nothing of who confirmed it. */
function operationForModel(operation: NonNullable<HeardMessage['operation']>): object {
  const { operation_id, revision, state, summary, terms, expires_at, result } = operation
  return { operation_id, revision, state, summary, terms, expires_at, result }
}
