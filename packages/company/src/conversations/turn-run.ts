import { coversScopes, formatScope } from '@poppyseed/protocol'
import { type AgentEnd, runAgent, type Thing, type Unsaid } from '../company-agent/run-agent.ts'
import { cutText } from '../company-agent/said.ts'
import type { CompanyAgent, Turn } from '../company-agent/turn.ts'
import type { TurnOutcome } from '../telemetry/work.ts'
import { forLog } from '../tools/run.ts'
import type { Wordings } from '../words/wording.ts'
import { closeConversation } from './closing.ts'
import { turnEnded } from './conversation.ts'
import { handedOff, type WhoComes } from './handoff.ts'
import { notesOf } from './notes.ts'
import { standingNow } from './rights-now.ts'
import type { ConversationRow, Decision } from './row.ts'
import { createTurnCalls, safely, type TurnCalls } from './turn-calls.ts'
import { historyOf } from './turn-history.ts'
import { doneBefore, forgetSteps } from './turn-store.ts'
import { offeredTools, type ToolParts } from './turn-tools.ts'
import { createWriting, TurnLost, type TurnWriting } from './turn-writing.ts'

/**
 * One turn of the Company Agent, from its claim to its end: what it says is written as it says it, each thing once, however
 * often the turn is begun; and nothing is written once the turn is another's.
 */

/** What turns are run with. */
export interface TurnParts extends ToolParts {
  readonly wordings: Pick<Wordings, 'in'>
  /** The language of whoever names none. */
  readonly standardLocale: string
  /** Every scope that some sign-in can grant: nothing else is asked for, whatever a model says. */
  readonly grantableScopes: readonly string[]
}

/** How a turn was left. `late`: what was still being said when it was, once that is known. */
export type TurnEnd = Ended | { readonly how: 'stopped' | 'lost'; readonly late: Promise<Unsaid> }

interface Ended {
  readonly how: 'ended'
  readonly outcome: Exclude<TurnOutcome, 'stopped' | 'lost'>
}

const ended = (outcome: Ended['outcome']): Ended => ({ how: 'ended', outcome })

/** Without an agent of the company's own, people answer alone (7.9). */
const handsOff: CompanyAgent = async function* () {
  yield { type: 'handoff' }
}

/** How many notes an agent is given. */
const mostNotes = 20

/** How often a turn is begun, before it is given up. */
const mostAttempts = 3

/**
 * Runs a turn that was claimed.
 * @param row as the claim left it
 * @param stop aborts when the turn is to be left: it is lost, or the Company closes
 * @throws whatever the store throws: the turn is due again when its lease is over
 */
export async function runTurn(parts: TurnParts, row: ConversationRow, stop: AbortSignal): Promise<TurnEnd> {
  const scope = await parts.scope()
  const before = row.attempts > 1 ? await doneBefore(scope, row) : null
  const writing = createWriting(parts, row, before?.said ?? 0)
  const calls = createTurnCalls(parts, { row, writing, before })
  try {
    await parts.at('turn-claimed', row.id)
    const left = await speak(parts, { row, writing, calls, stop })
    if (left.how === 'ended' && (before !== null || calls.hasSteps())) await forgetSteps(scope, row)
    return left
  } catch (error) {
    if (error instanceof TurnLost) return { how: 'lost', late: Promise.resolve(error.unsaid) }
    throw error
  }
}

interface Running {
  readonly row: ConversationRow
  readonly writing: TurnWriting
  readonly calls: TurnCalls
  readonly stop: AbortSignal
}

/** Has the agent speak, and ends the turn. */
async function speak(parts: TurnParts, { row, writing, calls, stop }: Running): Promise<TurnEnd> {
  const { locale, context } = contextOf(parts, row)
  const wording = parts.wordings.in(locale)
  if (row.attempts > mostAttempts) {
    parts.log.error({ conversation: row.id, turn: row.turn }, 'a turn was begun too often and is given up')
    await writing.end(row.turn_asked, [writing.message({ text: wording.say('turn.failed') })])
    return ended('given_up')
  }
  const [{ history, asked }, { principal, session }, notes] = await Promise.all([
    parts.scope().then((scope) => historyOf(scope, row)),
    standingNow(parts, row),
    notesFor(parts, row),
  ])
  const offered = session === 'blocked' ? { tools: [], locked: [] } : await offeredTools(parts, principal)
  const isDirect = row.parent_id !== null
  let over = stop
  let isOver = false
  /** How the agent itself ended the turn. */
  let ownEnd: Ended['outcome'] = 'answered'
  /** The message that is being said, as far as it was told: no longer than a message may be. */
  let told = ''
  const ending: AgentEnd = await runAgent({
    agent: parts.agent ?? handsOff,
    time: parts.settings.turnTimeout,
    stop,
    turn(signal, flush): Turn {
      over = signal
      return Object.freeze<Turn>({
        conversationId: row.id,
        history,
        asked,
        notes,
        context,
        locale,
        writesFor: isDirect || (asked.at(-1)?.sender ?? row.sender) === 'human' ? 'human' : 'agent',
        isDirect,
        signedIn: principal.account !== null,
        ...offered,
        call: (name, input) =>
          safely(parts, async () => {
            // An agent may keep what it was given, and nothing is done in a turn that has ended.
            if (isOver) throw new TurnLost()
            // What it said before it called stands before what comes of the call.
            await flush()
            return calls.call(name, input, signal)
          }),
        more: async () => (isOver ? [] : calls.more()),
        signal,
      })
    },
    listener: {
      piece(text, from) {
        const before = from === 0 ? '' : told
        told = before + text
        const messageId = writing.nextMessageId()
        if (messageId !== null) parts.changes.piece(row.id, { messageId, from, text, before })
      },
      async thing(thing) {
        if (thing.type === 'call') return calls.call(thing.name, thing.input, over)
        return (await said(thing)) ? 'over' : undefined
      },
    },
    afterwards: (error) =>
      parts.log.warn({ conversation: row.id, error: forLog(error) }, 'the company’s agent failed after its turn'),
  }).finally(() => {
    isOver = true
  })
  switch (ending.how) {
    case 'over':
      return ended(ownEnd)
    case 'stopped':
      return { how: 'stopped', late: ending.late }
    case 'done': {
      const text = ending.rest === '' ? calls.owed(wording) : ending.rest
      await withWords({ text }, () => writing.end(calls.answered(), text === '' ? [] : [writing.message({ text })]))
      return ended('answered')
    }
    case 'failed':
      parts.log.error(
        { conversation: row.id, because: ending.because, error: forLog(ending.error) },
        'a turn of the company’s agent failed',
      )
      await writing.end(calls.answered(), [
        writing.message({ text: wording.say(ending.because === 'time' ? 'turn.tooLong' : 'turn.failed') }),
      ])
      return ended(ending.because === 'time' ? 'too_long' : 'failed')
  }

  /** Says a thing. True when it ended the turn. */
  async function said(thing: Exclude<Thing, { readonly type: 'call' }>): Promise<boolean> {
    switch (thing.type) {
      case 'message':
        await sayMessage(thing)
        return false
      case 'needs-sign-in':
      case 'needs-scope':
        await calls.needs(await missing(thing.scope), thing.text, wording)
        return false
      case 'ask-for-user':
        // 7.10: in a Direct Conversation the User is there
        if (isDirect) return false
        await writing.say([{ type: 'user_requested', reason: thing.reason }], (current) => current.direct_id === null)
        return false
      case 'handoff':
        await handOff(thing.reason)
        ownEnd = 'handed_off'
        return true
      case 'close':
        await closeConversation(parts, row.id, (current) => {
          if (!writing.isOurs(current)) throw new TurnLost()
          return true
        })
        ownEnd = 'closed'
        return true
    }
  }

  async function sayMessage({ text, data }: Extract<Thing, { readonly type: 'message' }>): Promise<void> {
    const texts = cutText(text ?? '')
    const last = texts.at(-1)
    for (const [at, piece] of texts.slice(0, -1).entries()) {
      const left = { text: texts.slice(at).join('\n\n'), data }
      await withWords(left, () => writing.say([writing.message({ text: piece })]))
    }
    if (last === undefined && data === undefined) return
    const content = { ...(last === undefined ? {} : { text: last }), ...(data === undefined ? {} : { data }) }
    await withWords({ text: last ?? '', data }, () => writing.say([writing.message(content)]))
    calls.spoke()
  }

  /** 7.9: somebody takes over, or it is told that nobody is there; the turn is over either way. */
  async function handOff(reason: string | undefined): Promise<void> {
    const who = await parts.people.whoComes(writing.latest())
    await parts.at('turn-ending', row.id)
    await writing.write((current) => handOffDecision(current, who, reason))
    await parts.at('turn-ended', row.id)
  }

  function handOffDecision(current: ConversationRow, who: WhoComes, reason: string | undefined): Decision | null {
    const now = parts.now()
    const handed = handedOff(current, { now, who, reason, messageId: writing.messageId() })
    if (who.comes || handed === null) return handed
    // Nobody is there: what was asked gets no other answer, and no turn is begun for it again.
    return turnEnded(current, { answered: current.asked, now, events: handed.events })
  }

  /** What a sign-in lacks at this moment for these scopes; null where it lacks nothing. */
  async function missing(scope: string | undefined) {
    const scopes = (scope ?? '').split(' ').filter((one) => parts.grantableScopes.includes(one))
    const { principal: now } = await standingNow(parts, writing.latest())
    const named = scopes.length === 0 ? {} : { scope: formatScope(scopes) }
    if (now.account === null) return { error: 'sign_in_required', ...named } as const
    if (coversScopes(now.scopes, scopes)) return null
    return { error: 'insufficient_scope', ...named } as const
  }
}

/** Says something; where the turn is lost over it, its words and data aren't. */
async function withWords(unsaid: Unsaid, say: () => Promise<void>): Promise<void> {
  try {
    await say()
  } catch (error) {
    throw error instanceof TurnLost ? new TurnLost(unsaid) : error
  }
}

/** What people wrote for the agent when they handed the conversation back, oldest first. */
async function notesFor(parts: TurnParts, { id, notes }: ConversationRow): Promise<readonly string[]> {
  if (notes === 0) return []
  const all = await notesOf(await parts.scope(), id)
  return all
    .filter(({ kind }) => kind === 'handback')
    .slice(-mostNotes)
    .map(({ text }) => text)
}

/** 7.4: what was shared of the User's situation, and the language to write in. */
function contextOf(parts: TurnParts, row: ConversationRow): Pick<Turn, 'context' | 'locale'> {
  const context = Object.freeze(JSON.parse(row.context) as Record<string, unknown>)
  const { locale } = context
  return { context, locale: typeof locale === 'string' ? locale : parts.standardLocale }
}
