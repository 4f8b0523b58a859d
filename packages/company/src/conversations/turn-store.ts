import type { ToolOutcome } from '../company-agent/turn.ts'
import type { Scope } from '../store/database.ts'
import { statement } from '../store/statement.ts'
import type { DueTurn } from './parts.ts'
import { type ConversationRow, conversationColumns } from './row.ts'

/** Turns in the store: who has one, until when, and what its tools answered. */

const columns = conversationColumns.map((column) => `poppy_conversations.${column}`).join(', ')

const claimText = `update poppy_conversations set
    turn = case when attempts = 0 then turn + 1 else turn end,
    turn_asked = case when attempts = 0 then asked else turn_asked end,
    runner = runner + 1, attempts = attempts + 1, turn_due_at = cast(:until as bigint), version = version + 1
  where company = :company and id = :id and turn_due_at <= cast(:now as bigint) and responder = 'agent'
    and status <> 'closed' returning ${columns}`
const claim = statement<{ readonly id: string; readonly now: number; readonly until: number }, ConversationRow>({
  sqlite: claimText,
  postgres: claimText,
})

/**
 * Takes a turn that is due, until `until`, the lease: of several that take it at once, one has it, and whoever had it before
 * can write nothing more. A turn that was begun before keeps its number, and answers what it was to answer then.
 */
export async function claimTurn(
  scope: Scope,
  asked: { readonly id: string; readonly now: number; readonly until: number },
): Promise<ConversationRow | null> {
  return (await claim(scope, asked))[0] ?? null
}

const renewText = `update poppy_conversations set turn_due_at = cast(:until as bigint)
  where company = :company and id = :id and runner = cast(:runner as bigint) and turn_due_at is not null
    and attempts > 0 and responder = 'agent' and status <> 'closed' returning id`
const renew = statement<
  { readonly id: string; readonly runner: number; readonly until: number },
  { readonly id: string }
>({ sqlite: renewText, postgres: renewText })

/** Has a turn for longer. False when it is another's, nobody's, or has ended, by now. Not a change: nothing is told of it. */
export async function renewTurn(
  scope: Scope,
  turn: { readonly id: string; readonly runner: number; readonly until: number },
): Promise<boolean> {
  return (await renew(scope, turn)).length > 0
}

// From one Personal Agent to the next along the index, whatever each has due; the last row, without one, says that there are no
// more.
const clientsText = `with recursive clients(client_id, number) as (
    select (select min(client_id) from poppy_conversations
      where company = :company and turn_due_at is not null and client_id > :after), 1
    union all
    select (select min(client_id) from poppy_conversations
      where company = :company and turn_due_at is not null and client_id > clients.client_id), number + 1
    from clients where client_id is not null and number < :clients)`
const dueOf = (others: string) => `from poppy_conversations c
    where c.company = :company and c.client_id = clients.client_id and c.turn_due_at <= :now and ${others}
    order by c.turn_due_at limit :each`
const due = statement<
  {
    readonly now: number
    readonly after: string
    readonly clients: number
    readonly each: number
    readonly full: string
  },
  {
    readonly client_id: string | null
    readonly id: string | null
    readonly user_id: string | null
  }
>({
  sqlite: `${clientsText} select clients.client_id, due.id, due.user_id from clients
    left join poppy_conversations due on due.company = :company and due.id in (select c.id
      ${dueOf("c.client_id || ' ' || c.user_id not in (select value from json_each(:full))")})
    order by clients.number, due.turn_due_at`,
  postgres: `${clientsText} select clients.client_id, due.id, due.user_id from clients
    left join lateral (select c.id, c.user_id, c.turn_due_at ${dueOf(
      "c.client_id || ' ' || c.user_id <> all (array(select json_array_elements_text(cast(:full as json))))",
    )}) due on true order by clients.number, due.turn_due_at`,
})

/** What is looked for: some of each Personal Agent's, so that nobody's many hide what others have due. */
export interface DueAsked {
  /** Milliseconds since 1970. */
  readonly now: number
  /** The Personal Agent after which the look begins; '' for the first. */
  readonly after: string
  /** Personal Agents that are looked at, and turns of each. */
  readonly clients: number
  readonly each: number
  /** Users whose turns are passed over, as `userKey` has them. */
  readonly fullUsers: readonly string[]
}

/** Conversations whose turn is due, the longest due first of each Personal Agent's; and where the next look goes on. */
export async function dueTurns(
  scope: Scope,
  { fullUsers, ...asked }: DueAsked,
): Promise<{ readonly turns: readonly DueTurn[]; readonly after: string }> {
  const rows = await due(scope, { ...asked, full: JSON.stringify(fullUsers) })
  const turns = rows.flatMap(({ id, client_id, user_id }) =>
    id === null || client_id === null || user_id === null ? [] : [{ id, client_id, user_id }],
  )
  return { turns, after: rows.at(-1)?.client_id ?? '' }
}

/** How many turns are due and not begun, or left by whoever had them, and since when the longest is. */
export async function dueTurnCount(
  { db, company }: Scope,
  { now }: { readonly now: number },
): Promise<{ readonly waiting: number; readonly dueSince: number | null }> {
  const row = await db.query
    .selectFrom('poppy_conversations')
    .select((eb) => [eb.fn.countAll<number>().as('waiting'), eb.fn.min<number | null>('turn_due_at').as('dueSince')])
    .where('company', '=', company)
    .where('turn_due_at', '<=', now)
    .executeTakeFirstOrThrow()
  return { waiting: Number(row.waiting), dueSince: row.dueSince === null ? null : Number(row.dueSince) }
}

/** What a turn has done already, when it is begun again. */
export interface DoneBefore {
  /** How many things it has said. */
  readonly said: number
  /** What its tools answered, by their digests, each time in its order. */
  readonly steps: ReadonlyMap<string, readonly Recorded[]>
  /** The number of the next step. */
  readonly nextStep: number
}

/** What is recorded of a step: what a tool answered, or up to where messages were taken. */
export type Recorded = { readonly outcome: ToolOutcome } | { readonly upTo: number }

/** The key of the n-th thing that a turn says: nothing is written twice for it. */
export const saidKey = (turn: number, n: number, part = 0): string =>
  part === 0 ? `turn:${turn}:${n}` : `turn:${turn}:${n}.${part}`

const saidText = `select written_for from poppy_events
  where company = :company and conversation_id = :id and number > :after and written_for is not null`
const saidBy = statement<{ readonly id: string; readonly after: number }, { readonly written_for: string }>({
  sqlite: saidText,
  postgres: saidText,
})

/** What a turn that is begun again had done. */
export async function doneBefore(
  scope: Scope,
  { id, turn, turn_asked: after }: Pick<ConversationRow, 'id' | 'turn' | 'turn_asked'>,
): Promise<DoneBefore> {
  const keys = await saidBy(scope, { id, after })
  const said = keys
    .map(({ written_for: key }) => /^turn:(\d+):(\d+)/.exec(key))
    .filter((key) => Number(key?.[1]) === turn)
  const rows = await scope.db.query
    .selectFrom('poppy_steps')
    .select(['step', 'digest', 'outcome'])
    .where('company', '=', scope.company)
    .where('conversation_id', '=', id)
    .where('turn', '=', turn)
    .orderBy('step')
    .execute()
  const steps = new Map<string, Recorded[]>()
  for (const { digest, outcome } of rows)
    steps.set(digest, [...(steps.get(digest) ?? []), JSON.parse(outcome) as Recorded])
  return {
    said: Math.max(0, ...said.map((key) => Number(key?.[2]))),
    steps,
    nextStep: Number(rows.at(-1)?.step ?? 0) + 1,
  }
}

const stepText = `insert into poppy_steps (company, conversation_id, turn, step, digest, outcome, created_at)
  select cast(:company as text), c.id, cast(:turn as bigint), cast(:step as bigint), cast(:digest as text),
    cast(:recorded as text), cast(:now as bigint)
  from poppy_conversations c
  where c.company = cast(:company as text) and c.id = :id and c.runner = cast(:runner as bigint)
    and c.responder = 'agent' and c.status <> 'closed'`
const step = statement<
  {
    readonly id: string
    readonly turn: number
    readonly runner: number
    readonly step: number
    readonly digest: string
    readonly recorded: string
    readonly now: number
  },
  { readonly step: number }
  // Held: an erasure at the same moment finds the step, or has it find no conversation.
>({ sqlite: `${stepText} returning step`, postgres: `${stepText} for key share of c returning step` })

/** Records a step of a turn, once. False when the turn is another's by now. */
export async function recordStep(
  scope: Scope,
  { recorded, ...rest }: Omit<Parameters<typeof step>[1], 'recorded'> & { readonly recorded: Recorded },
): Promise<boolean> {
  return (await step(scope, { ...rest, recorded: JSON.stringify(recorded) })).length > 0
}

/** Forgets what the tools of a turn, and of those before it, answered. */
export async function forgetSteps(
  { db, company }: Scope,
  { id, turn }: { readonly id: string; readonly turn: number },
): Promise<void> {
  await db.query
    .deleteFrom('poppy_steps')
    .where('company', '=', company)
    .where('conversation_id', '=', id)
    .where('turn', '<=', turn)
    .execute()
}
