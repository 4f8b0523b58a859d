import type { CompanyAgent } from '../../packages/company/src/company-agent/turn.ts'
import { accepted } from '../../packages/company/src/conversations/conversation.ts'
import { withConversation } from '../../packages/company/src/conversations/ledger.ts'
import type { DueTurn } from '../../packages/company/src/conversations/parts.ts'
import type { ConversationRow } from '../../packages/company/src/conversations/row.ts'
import { eventsAfter, findConversation } from '../../packages/company/src/conversations/store.ts'
import {
  createTurnEngine,
  type TurnEngine,
  type TurnEngineParts,
} from '../../packages/company/src/conversations/turns.ts'
import { systemRandom } from '../../packages/company/src/crypto/random.ts'
import { insertSession } from '../../packages/company/src/sessions/store.ts'
import type { Logger, Scope } from '../../packages/company/src/store/database.ts'
import { createToolRegistry } from '../../packages/company/src/tools/registry.ts'
import type { Tool } from '../../packages/company/src/tools/tool.ts'
import { createWordings } from '../../packages/company/src/words/wording.ts'
import { caller, conversationParts, message } from './conversation-parts.ts'
import { now, sessionRow } from './rows.ts'
import type { FreshStore } from './stores.ts'

/** Engines that take turns on one database, as instances of a Company do, with one clock. */

export const company = 'https://miramar.example'

/** What a conversation says, in few words: `user: …`, `agent: …`, `working`, `idle/human`. */
export async function told(scope: Scope, id: string): Promise<readonly string[]> {
  const row = (await findConversation(scope, id)) as ConversationRow
  const events = await eventsAfter(scope, row, { after: 0, limit: 1000 })
  return events.map(({ body }) => {
    const event = JSON.parse(body) as Readonly<Record<string, unknown>>
    if (event.type === 'state') return `${event.status}/${event.responder}`
    if (event.type === 'authorization') return `${event.error} ${event.scope ?? ''}`.trim()
    if (event.type !== 'message') return String(event.type)
    const { role, sender, text, data, operation } = event.message as Readonly<Record<string, unknown>>
    const what = text ?? (data === undefined ? '' : JSON.stringify(data))
    return `${role === 'user' ? 'user' : sender}: ${what}${operation === undefined ? '' : ' (operation)'}`
  })
}

/** An instance. */
export interface EngineHere {
  readonly scope: Scope
  readonly parts: TurnEngineParts
  readonly engine: TurnEngine
  /** Waits until nothing runs here. */
  readonly idle: () => Promise<void>
}

/** See {@link engines}. */
export interface Engines {
  readonly clock: { now: number }
  readonly here: readonly EngineHere[]
  readonly pieces: { readonly from: number; readonly text: string; readonly messageId: string }[]
  readonly errors: string[]
}

/** A turn of the User that conversations begin with here. */
export const dueTurn = (id: string): DueTurn => ({ id, client_id: caller().principal.clientId, user_id: 'user' })

/** Makes engines, one for each agent. Their begun turns are begun by the test: `engine.begin`. */
export async function engines(
  { open }: FreshStore,
  agents: readonly CompanyAgent[],
  {
    tools = [],
    turnTimeout = 20_000,
    whoComes = async () => ({ comes: true }),
    watch,
  }: {
    readonly tools?: readonly Tool[]
    readonly turnTimeout?: number
    readonly whoComes?: TurnEngineParts['people']['whoComes']
    readonly watch?: NonNullable<TurnEngineParts['watch']>
  } = {},
): Promise<Engines> {
  const clock = { now }
  const pieces: Engines['pieces'] = []
  const errors: string[] = []
  const ignore = () => {}
  const log: Logger = { debug: ignore, info: ignore, warn: ignore, error: (_, text) => void errors.push(text) }
  const registry = createToolRegistry(tools, {
    declaredScopes: ['poppy:read', 'poppy:write'],
    log,
    now: () => clock.now,
    random: systemRandom,
  })
  const here: EngineHere[] = []
  for (const agent of agents) {
    const scope: Scope = { db: await open(), company }
    const tracked = new Set<Promise<unknown>>()
    const base = conversationParts(scope, { now: () => clock.now, log }).parts
    const parts: TurnEngineParts = {
      ...base,
      agent,
      registry,
      ...(watch === undefined ? {} : { watch }),
      supports: async () => true,
      changes: { ...base.changes, piece: (_, piece) => void pieces.push(piece) },
      people: { ...base.people, whoComes },
      settings: { ...base.settings, turnTimeout },
      wordings: createWordings({ standard: 'en-GB', words: {}, scopes: { 'poppy:read': 'See your bookings' } }),
      standardLocale: 'en-GB',
      grantableScopes: ['poppy:read', 'poppy:write'],
      track(work) {
        tracked.add(work)
        void work.catch(ignore).finally(() => tracked.delete(work))
        return work
      },
      begin: (due) => engine.begin(due),
    }
    const engine = createTurnEngine(parts)
    const idle = async () => {
      while (tracked.size > 0) await Promise.allSettled(tracked)
    }
    here.push({ scope, parts, engine, idle })
  }
  await insertSession((here[0] as EngineHere).scope, sessionRow())
  return { clock, here, pieces, errors }
}

/** Has a further message accepted, by an instance. */
export async function send({ parts }: EngineHere, id: string, text: string, by = caller()): Promise<void> {
  const asked = message({ id: `msg_${text.replaceAll(/\W/g, '')}`, text })
  await withConversation(parts, id, (row) => accepted(row, { message: asked, caller: by, now: parts.now() }))
}
