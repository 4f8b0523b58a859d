import type { Scope } from '../store/database.ts'
import { statement } from '../store/statement.ts'
import type { AgentsTable, BlockedAgentsTable } from '../store/tables.ts'

/**
 * Personal Agents that authenticated here (4.1), written at first sight and then once a day, never by a call; and those
 * that the company has blocked.
 */

/** An agent as it is kept. */
export type AgentRow = AgentsTable

/** An agent that was here before, or null. */
export async function findAgent({ db, company }: Scope, clientId: string): Promise<AgentRow | null> {
  const row = await db.query
    .selectFrom('poppy_agents')
    .selectAll()
    .where('company', '=', company)
    .where('client_id', '=', clientId)
    .executeTakeFirst()
  return row ?? null
}

/** How many agents were new since a moment, in all and of one site, and when the first of them came. */
export interface NewAgentCount {
  readonly total: number
  readonly firstAt: number
  readonly ofSite: number
  readonly firstOfSiteAt: number
}

/** Counts who was new since then; `since` itself is left out. */
export async function countNewAgents(
  { db, company }: Scope,
  { site, since }: { readonly site: string; readonly since: number },
): Promise<NewAgentCount> {
  const rows = await db.query
    .selectFrom('poppy_agents')
    .select((eb) => ['site', eb.fn.countAll<number>().as('total'), eb.fn.min<number>('first_seen_at').as('firstAt')])
    .where('company', '=', company)
    .where('first_seen_at', '>', since)
    .groupBy('site')
    .execute()
  const own = rows.find((row) => row.site === site)
  return {
    total: rows.reduce((sum, row) => sum + Number(row.total), 0),
    firstAt: Math.min(...rows.map((row) => Number(row.firstAt))),
    ofSite: Number(own?.total ?? 0),
    firstOfSiteAt: Number(own?.firstAt ?? Number.POSITIVE_INFINITY),
  }
}

type Added = Omit<AgentsTable, 'company' | 'last_seen_at'> & {
  readonly since: number
  readonly most: number
  readonly mostOfSite: number
}

// Counted and added in one statement: of many that come at once, on SQLite none is too many, and on PostgreSQL at most
// those whose statements run at the very same moment.
const addText = `insert into poppy_agents (company, client_id, host, site, name, first_seen_at, last_seen_at, registered_at)
  select cast(:company as text), cast(:client_id as text), cast(:host as text), cast(:site as text), cast(:name as text),
    cast(:first_seen_at as bigint), cast(:first_seen_at as bigint), cast(:registered_at as bigint)
  where (select count(*) from poppy_agents where company = :company and first_seen_at > :since) < :most
    and (select count(*) from poppy_agents where company = :company and first_seen_at > :since and site = :site) < :mostOfSite
  on conflict do nothing returning client_id`
const add = statement<Added, { readonly client_id: string }>({ sqlite: addText, postgres: addText })

/**
 * Puts an agent on record, as long as fewer than `most` were new since then, and fewer than `mostOfSite` of its site.
 * False when there are too many, and when it is on record already.
 */
export async function addAgent(scope: Scope, agent: Added): Promise<boolean> {
  return (await add(scope, agent)).length > 0
}

/** Notes that an agent is here, under what name, and that the company registered it. */
export async function noteAgent(
  { db, company }: Scope,
  noted: {
    readonly clientId: string
    readonly name: string
    readonly now: number
    /** Left out: as it is. */
    readonly registeredAt?: number | undefined
  },
): Promise<void> {
  await db.query
    .updateTable('poppy_agents')
    .set({
      name: noted.name,
      last_seen_at: noted.now,
      ...(noted.registeredAt === undefined ? {} : { registered_at: noted.registeredAt }),
    })
    .where('company', '=', company)
    .where('client_id', '=', noted.clientId)
    .execute()
}

/** The names of agents, by `client_id`; of those that are on record. */
export async function agentNames(
  { db, company }: Scope,
  clientIds: readonly string[],
): Promise<ReadonlyMap<string, string>> {
  if (clientIds.length === 0) return new Map()
  const rows = await db.query
    .selectFrom('poppy_agents')
    .select(['client_id', 'name'])
    .where('company', '=', company)
    .where('client_id', 'in', [...new Set(clientIds)].slice(0, 500))
    .execute()
  return new Map(rows.map((row) => [row.client_id, row.name]))
}

const isBlockedText = `select client_id from poppy_blocked_agents where company = :company and client_id = :clientId`
const findBlock = statement<{ readonly clientId: string }, { readonly client_id: string }>({
  sqlite: isBlockedText,
  postgres: isBlockedText,
})

/**
 * Whether the company has blocked an agent (4.1). For requests that come without a Session: those with one find it there.
 */
export async function isAgentBlocked(scope: Scope, clientId: string): Promise<boolean> {
  return (await findBlock(scope, { clientId })).length > 0
}

/** Blocks an agent. False when it is blocked already: then it keeps its date, and a new reason takes the old one's place. */
export async function blockAgent(
  { db, company }: Scope,
  block: { readonly clientId: string; readonly reason: string | null; readonly now: number },
): Promise<boolean> {
  const { clientId, reason } = block
  return db.transaction(async () => {
    const added = await db.query
      .insertInto('poppy_blocked_agents')
      .values({ company, client_id: clientId, reason, blocked_at: block.now })
      .onConflict((conflict) => conflict.doNothing())
      .returning('client_id')
      .execute()
    if (added.length === 0 && reason !== null)
      await db.query
        .updateTable('poppy_blocked_agents')
        .set({ reason })
        .where('company', '=', company)
        .where('client_id', '=', clientId)
        .execute()
    return added.length > 0
  })
}

/** Takes a block back. False when there was none. */
export async function unblockAgent({ db, company }: Scope, clientId: string): Promise<boolean> {
  const removed = await db.query
    .deleteFrom('poppy_blocked_agents')
    .where('company', '=', company)
    .where('client_id', '=', clientId)
    .returning('client_id')
    .execute()
  return removed.length > 0
}

/** Who is blocked, the newest first. */
export async function blockedAgents({ db, company }: Scope): Promise<readonly BlockedAgentsTable[]> {
  return db.query
    .selectFrom('poppy_blocked_agents')
    .selectAll()
    .where('company', '=', company)
    .orderBy('blocked_at', 'desc')
    .orderBy('client_id')
    .execute()
}

/** An agent on record, and since when it is blocked. */
export interface AgentOnRecord {
  readonly clientId: string
  readonly host: string
  readonly name: string
  readonly firstSeenAt: number
  readonly lastSeenAt: number
  readonly blockedAt: number | null
}

/** Who was here, the latest first. `limit`: how many at most. */
export async function agentsOnRecord(
  { db, company }: Scope,
  { limit }: { readonly limit: number },
): Promise<readonly AgentOnRecord[]> {
  const rows = await db.query
    .selectFrom('poppy_agents')
    .leftJoin('poppy_blocked_agents', (join) =>
      join
        .on('poppy_blocked_agents.company', '=', company)
        .onRef('poppy_blocked_agents.client_id', '=', 'poppy_agents.client_id'),
    )
    .select(['poppy_agents.client_id', 'host', 'name', 'first_seen_at', 'last_seen_at', 'blocked_at'])
    .where('poppy_agents.company', '=', company)
    .orderBy('last_seen_at', 'desc')
    .orderBy('poppy_agents.client_id')
    .limit(limit)
    .execute()
  return rows.map((row) => ({
    clientId: row.client_id,
    host: row.host,
    name: row.name,
    firstSeenAt: row.first_seen_at,
    lastSeenAt: row.last_seen_at,
    blockedAt: row.blocked_at,
  }))
}
