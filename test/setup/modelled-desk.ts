import { z } from 'zod'
import { createChanges } from '../../packages/company/src/changes/changes.ts'
import type { CompanyAgent } from '../../packages/company/src/company-agent/turn.ts'
import { careForConversations } from '../../packages/company/src/conversations/caring.ts'
import { createConversationQueue } from '../../packages/company/src/conversations/ledger.ts'
import { nobodyAsks } from '../../packages/company/src/conversations/listening.ts'
import { createPeople } from '../../packages/company/src/conversations/presence.ts'
import { type CheckedConversations, checkConversations } from '../../packages/company/src/conversations/settings.ts'
import {
  type CompanyConversations,
  createCompanyConversations,
} from '../../packages/company/src/conversations/staff.ts'
import { callTool } from '../../packages/company/src/conversations/turn-tools.ts'
import { createTurnEngine, type TurnEngineParts } from '../../packages/company/src/conversations/turns.ts'
import { systemRandom } from '../../packages/company/src/crypto/random.ts'
import type { FaultPoint } from '../../packages/company/src/faults/faults.ts'
import type { Database } from '../../packages/company/src/store/database.ts'
import { createToolRegistry } from '../../packages/company/src/tools/registry.ts'
import { tool } from '../../packages/company/src/tools/tool.ts'
import { createWordings } from '../../packages/company/src/words/wording.ts'
import { askedHash } from './asked-hash.ts'
import { noTools } from './conversation-parts.ts'
import { Died } from './modelled-instance.ts'
import { days } from './rows.ts'
import { silent } from './stores.ts'

/** One instance of a Company with conversations, in a model's world: it can die at any point, and nothing of it goes on then. */
export interface Desk {
  readonly parts: TurnEngineParts
  readonly staff: CompanyConversations
  readonly isDead: () => boolean
  readonly kill: () => void
  /** Dies when it comes to this point the next time. */
  readonly arm: (point: FaultPoint) => void
  /** Begins turns that are due, and looks after what has to be. */
  readonly sweep: () => Promise<void>
  /** Resolves once nothing of it goes on but what waits at a gate. */
  readonly idle: () => Promise<void>
  /** Waits there; it counts as being idle. */
  readonly atGate: (gate: Promise<void>) => Promise<void>
  readonly end: () => void
}

const scopes = ['poppy:read', 'poppy:write']
const wordings = createWordings({ standard: 'en-GB', words: {}, scopes: {} })

/** Starts one. */
export function startDesk(options: {
  readonly db: Database
  readonly company: string
  readonly now: () => number
  readonly agent: CompanyAgent
}): Desk {
  const { db, company, now, agent } = options
  const running = new Set<Promise<unknown>>()
  const armed = new Set<FaultPoint>()
  const givenUp = new AbortController()
  let isDead = false
  let atGates = 0
  let queries = 0

  const alive = () => {
    if (isDead) throw new Died()
  }
  async function counted<T>(query: () => Promise<T>): Promise<T> {
    alive()
    queries += 1
    try {
      return await query()
    } finally {
      queries -= 1
    }
  }
  const guarded: Database = {
    ...db,
    get query() {
      alive()
      return db.query
    },
    transaction: (run) => counted(() => db.transaction(run)),
    run: (sql, parameters) => counted(() => db.run(sql, parameters)),
  }
  const scope = async () => {
    alive()
    return { db: guarded, company }
  }
  const settings = checkConversations({ agent, conversations: { turn: { timeout: 600 } } }) as CheckedConversations
  const registry = createToolRegistry(
    [
      tool({
        name: 'my_account',
        description: 'Who it is.',
        input: z.object({}),
        scope: 'poppy:read',
        run: () => ({ ok: true }),
      }),
    ],
    { declaredScopes: scopes, log: silent, now, random: systemRandom },
  )
  const changes = createChanges()
  const people = createPeople({
    ...{ scope, now, ...settings, changes, wordings, organization: 'Hotel Miramar' },
    hasAgent: true,
  })
  const parts: TurnEngineParts = {
    scope,
    now,
    random: systemRandom,
    log: silent,
    settings,
    sessionLimits: { idle: days(900) },
    agent,
    people,
    changes,
    listening: nobodyAsks,
    queue: createConversationQueue(),
    askedHash,
    begin: (due) => engine.begin(due),
    at(point) {
      if (!isDead && !armed.has(point)) return
      isDead = true
      throw new Died()
    },
    registry,
    supports: async () => true,
    wordings,
    standardLocale: 'en-GB',
    grantableScopes: scopes,
    track(work) {
      running.add(work)
      const over = () => running.delete(work)
      work.then(over, over)
      return work
    },
  }
  const engine = createTurnEngine(parts)
  const staff = createCompanyConversations({
    ...parts,
    ...noTools,
    givenUp: givenUp.signal,
    callTool: (row, call) => callTool(parts, row, call),
  })
  return {
    parts,
    staff,
    isDead: () => isDead,
    kill() {
      isDead = true
    },
    arm: (point) => void armed.add(point),
    async sweep() {
      await engine.sweep()
      await careForConversations(parts)
    },
    async idle() {
      // What was told a moment ago is looked at in the next one.
      for (let quiet = 0; quiet < 3 && !isDead; ) {
        await new Promise(setImmediate)
        quiet = running.size > atGates || queries > 0 ? 0 : quiet + 1
      }
    },
    async atGate(gate) {
      atGates += 1
      await gate
      atGates -= 1
    },
    end() {
      isDead = true
      givenUp.abort()
      engine.stop()
    },
  }
}
