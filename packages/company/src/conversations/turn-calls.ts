import type { WireOperation } from '@poppyseed/protocol'
import type { HeardMessage, ToolOutcome } from '../company-agent/turn.ts'
import { sha256 } from '../crypto/hash.ts'
import type { Scope } from '../store/database.ts'
import { forLog } from '../tools/run.ts'
import type { Wording } from '../words/wording.ts'
import type { ConversationRow, EventBody } from './row.ts'
import { findConversation } from './store.ts'
import type { Telling } from './telling.ts'
import { messagesBetween } from './turn-history.ts'
import { type DoneBefore, type Recorded, recordStep } from './turn-store.ts'
import { callTool, type ToolParts } from './turn-tools.ts'
import { TurnLost, type TurnWriting } from './turn-writing.ts'

/**
 * What a turn asks for while it runs: tools, and messages that came since. Each outcome is recorded before the agent has it, so
 * that a turn that is begun again gets the same and no tool runs twice; and what was refused is told to the User's side.
 */

/** What is lacking for something (7.11). */
export type Lack = { readonly error: 'sign_in_required' | 'insufficient_scope'; readonly scope?: string }

/** See {@link createTurnCalls}. */
export interface TurnCalls {
  /** Calls a tool. @throws TurnLost, and whatever the store throws */
  readonly call: (name: string, input: unknown, signal: AbortSignal) => Promise<ToolOutcome>
  /** Messages that came since the turn was begun, or since this was asked last: they are the turn's to answer. */
  readonly more: () => Promise<readonly HeardMessage[]>
  /** Asks for a sign-in or for scopes, by an event and in words. */
  readonly needs: (lack: Lack | null, text: string | undefined, wording: Wording) => Promise<void>
  /** What has to be said of what was refused, where the agent has said nothing since; '' for nothing. */
  readonly owed: (wording: Wording) => string
  /** The agent has said something. */
  readonly spoke: () => void
  /** Up to which event the turn answers. */
  readonly answered: () => number
  readonly hasSteps: () => boolean
}

/** Makes what a turn asks with. `before`: what it had done, when it is begun again. */
export function createTurnCalls(
  parts: ToolParts,
  {
    row,
    writing,
    before,
  }: { readonly row: ConversationRow; readonly writing: TurnWriting; readonly before: DoneBefore | null },
): TurnCalls {
  const { id, turn, runner } = row
  const counts = new Map<string, number>()
  let step = before?.nextStep ?? 1
  let upTo = row.turn_asked
  let last: Promise<unknown> = Promise.resolve()
  const asked: Lack[] = []
  let owes: Lack | 'extension' | null = null

  /** One after another: what a model asks for at once has an order all the same. */
  function inTurn<T>(work: () => Promise<T>): Promise<T> {
    const mine = last.then(work, work)
    last = mine.catch(() => {})
    return mine
  }

  /** What was recorded of the next step of this kind, or null. */
  function recorded(digest: string): { readonly found: Recorded | null; readonly count: number } {
    const count = counts.get(digest) ?? 0
    counts.set(digest, count + 1)
    return { found: before?.steps.get(digest)?.[count] ?? null, count }
  }

  async function record(digest: string, what: Recorded): Promise<void> {
    await keep(await parts.scope(), { digest, what })
    step += 1
  }

  async function keep(scope: Scope, { digest, what }: { readonly digest: string; readonly what: Recorded }) {
    const mine = { id, turn, runner, step, digest }
    if (!(await recordStep(scope, { ...mine, recorded: what, now: parts.now() }))) throw new TurnLost()
  }

  /** The conversation as it is now. @throws TurnLost */
  async function current(): Promise<ConversationRow> {
    const found = await findConversation(await parts.scope(), id)
    if (found === null || !writing.isOurs(found)) throw new TurnLost()
    return found
  }

  async function call(name: string, input: unknown, signal: AbortSignal): Promise<ToolOutcome> {
    const digest = digestOf(name, input)
    if (digest === null) return { ok: false, error: 'invalid_request', description: 'The input is not JSON.' }
    const { found, count } = recorded(digest)
    let outcome: ToolOutcome
    if (found !== null && 'outcome' in found) outcome = found.outcome
    else {
      const now = await current()
      const callId = `call_${sha256(`${id} ${turn} ${digest} ${count}`)}`
      const { telling, isTold } = tellingOf(digest)
      outcome = await callTool(parts, now, { name, input, callId, signal, telling })
      if (isTold()) {
        await parts.at('tool-ran', id)
        spoke()
        return outcome
      }
      // What was given up is no outcome: whoever goes on with the turn asks again.
      if (signal.aborted) return outcome
      await record(digest, { outcome })
      await parts.at('tool-ran', id)
    }
    if (!outcome.ok) await refused(outcome)
    else if ('operation' in outcome) {
      // Said before, with its proposal: it is the next thing all the same.
      await writing.say([proposalMessage(outcome.operation)])
      spoke()
    }
    return outcome
  }

  const proposalMessage = (operation: WireOperation) => writing.message({ text: operation.summary, operation })

  /** How a proposal is the next thing that is said, and the next step, with the proposal itself or not at all. */
  function tellingOf(digest: string): { readonly telling: Telling; readonly isTold: () => boolean } {
    let isTold = false
    const telling: Telling = {
      decide: (current, operation) => writing.saying(current, [proposalMessage(operation)]),
      also: (scope, operation) =>
        keep(scope, { digest, what: { outcome: { ok: true, operation, value: { operation } } } }),
      told(current) {
        isTold = true
        step += 1
        writing.wasSaid(current)
      },
    }
    return { telling, isTold: () => isTold }
  }

  /** Reading 22: who lacks a sign-in or scopes at the moment of the call is told so, whatever the agent says. */
  async function refused({ error, scope }: Extract<ToolOutcome, { readonly ok: false }>): Promise<void> {
    if (error === 'extension_required') owes = 'extension'
    if (error !== 'sign_in_required' && error !== 'insufficient_scope') return
    const lack = { error, ...(scope === undefined ? {} : { scope }) } as const
    const events = lackTold(lack)
    if (events.length > 0) await writing.say(events)
    owes = lack
  }

  /** The event that asks for what is lacking; none where it was asked for in this turn. */
  function lackTold(lack: Lack): readonly EventBody[] {
    const isAsked = asked.some(({ error, scope = '' }) => {
      const scopes = scope.split(' ')
      return error === lack.error && (lack.scope ?? '').split(' ').every((one) => one === '' || scopes.includes(one))
    })
    if (isAsked) return []
    asked.push(lack)
    return [{ type: 'authorization', ...lack }]
  }

  function spoke(): void {
    owes = null
  }

  const wordsFor = (lack: Lack, wording: Wording) =>
    lack.error === 'sign_in_required' || lack.scope === undefined
      ? wording.say('people.signIn')
      : wording.say('people.moreRights', {
          rights: lack.scope
            .split(' ')
            .map((scope) => wording.scope(scope).text)
            .join(', '),
        })

  return {
    call: (name, input, signal) => inTurn(() => call(name, input, signal)),
    more: () =>
      inTurn(async () => {
        const { found } = recorded('more')
        let until = upTo
        if (found !== null && 'upTo' in found) until = found.upTo
        else {
          until = Math.max(upTo, (await current()).asked)
          // That there was nothing is recorded too: begun again, the turn would answer what came later, and pass over the answer
          // as one that it had said.
          await record('more', { upTo: until })
        }
        if (until <= upTo) return []
        const came = await messagesBetween(await parts.scope(), { id, after: upTo, until })
        upTo = Math.max(upTo, until)
        return came
      }),
    async needs(lack, text, wording) {
      const words = text ?? (lack === null ? '' : wordsFor(lack, wording))
      const events = [
        ...(lack === null ? [] : lackTold(lack)),
        ...(words === '' ? [] : [writing.message({ text: words })]),
      ]
      if (events.length > 0) await writing.say(events)
      if (words !== '') spoke()
    },
    owed(wording) {
      if (owes === null) return ''
      return owes === 'extension' ? wording.say('turn.needsExtension') : wordsFor(owes, wording)
    },
    spoke,
    answered: () => upTo,
    hasSteps: () => step > 1,
  }
}

function digestOf(name: string, input: unknown): string | null {
  try {
    return sha256(JSON.stringify([name, input]))
  } catch {
    return null
  }
}

/** A call as the agent's own code makes it: it never throws, and what became of the turn is found out by whoever runs it. */
export function safely(parts: Pick<ToolParts, 'log'>, run: () => Promise<ToolOutcome>): Promise<ToolOutcome> {
  return run().catch((error: unknown) => {
    if (!(error instanceof TurnLost)) parts.log.error({ error: forLog(error) }, 'a tool of a turn could not be called')
    return {
      ok: false,
      error: 'temporarily_unavailable',
      description: 'The turn is over, or the store does not answer.',
    }
  })
}
