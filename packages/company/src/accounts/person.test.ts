import { describe, expect, it } from 'vitest'
import { codeRow, grantRow, now, sessionRow } from '../../../../test/setup/rows.ts'
import { stores } from '../../../../test/setup/stores.ts'
import { claimIds, insertSession } from '../sessions/store.ts'
import { insertCode } from '../sign-in/store.ts'
import type { Database, Scope } from '../store/database.ts'
import type { Tables } from '../store/tables.ts'
import { erasePerson, exportPerson } from './person.ts'
import type { Person } from './person-store.ts'
import { findGrantByToken, insertGrant } from './store.ts'

/** Export and erasure cover every table there is: a new one, or a new column, has to say here what it is to a person. */

/**
 * What a column is: whose the row is (`account`, `agent` and `user` together), what a person is shown (`shown`; `sign-in`,
 * `session`, `operation` and `conversation` point to one), what nobody is (`secret`), or nothing of a person's (`none`).
 */
type Kind =
  | 'account'
  | 'agent'
  | 'user'
  | 'shown'
  | 'sign-in'
  | 'session'
  | 'operation'
  | 'conversation'
  | 'secret'
  | 'none'

const columns = {
  poppy_sessions: {
    company: 'none',
    id: 'session',
    client_id: 'agent',
    user_id: 'user',
    account: 'account',
    grant_id: 'sign-in',
    epoch: 'none',
    created_at: 'shown',
    last_used_at: 'shown',
    expires_at: 'shown',
    ended_at: 'shown',
  },
  poppy_grants: {
    company: 'none',
    id: 'sign-in',
    client_id: 'agent',
    user_id: 'user',
    account: 'account',
    scopes: 'shown',
    sign_in: 'shown',
    token_hash: 'secret',
    created_at: 'shown',
    last_used_at: 'shown',
    expires_at: 'shown',
    revoked_at: 'shown',
  },
  poppy_codes: {
    company: 'none',
    code_hash: 'secret',
    client_id: 'agent',
    redirect_uri: 'shown',
    code_challenge: 'secret',
    account: 'account',
    scopes: 'shown',
    resource: 'shown',
    created_at: 'shown',
    expires_at: 'shown',
    used_at: 'shown',
    grant_id: 'sign-in',
  },
  // A row of the kind `form` is the account's; the other kinds name agents, or an account by its hash.
  poppy_used_ids: { company: 'none', kind: 'none', owner: 'account', id_hash: 'secret', expires_at: 'shown' },
  poppy_browsers: {
    company: 'none',
    cookie_hash: 'secret',
    session_id: 'session',
    created_at: 'shown',
    expires_at: 'shown',
  },
  poppy_device_codes: {
    company: 'none',
    code_hash: 'secret',
    user_code_hash: 'secret',
    client_id: 'agent',
    scopes: 'shown',
    status: 'shown',
    account: 'account',
    approved_scopes: 'shown',
    created_at: 'shown',
    expires_at: 'shown',
    polled_at: 'shown',
    interval_seconds: 'none',
  },
  poppy_mediated: {
    company: 'none',
    id: 'shown',
    session_id: 'session',
    client_id: 'agent',
    account: 'account',
    scopes: 'shown',
    code_hash: 'secret',
    sent_to: 'shown',
    status: 'shown',
    tries: 'none',
    created_at: 'shown',
    expires_at: 'shown',
  },
  poppy_retired_tokens: {
    company: 'none',
    token_hash: 'secret',
    grant_id: 'sign-in',
    successor_hash: 'secret',
    retired_at: 'none',
  },
  // A count of an hour's wrong codes, under a hash; it goes by itself.
  poppy_attempts: {
    company: 'none',
    kind: 'none',
    owner_hash: 'none',
    started_at: 'none',
    count: 'none',
    expires_at: 'none',
  },
  poppy_proofs: { company: 'none', mark: 'none', expires_at: 'none' },
  // Who the agents are that came here, and nothing of whom they came for.
  poppy_agents: {
    company: 'none',
    client_id: 'none',
    host: 'none',
    site: 'none',
    name: 'none',
    first_seen_at: 'none',
    last_seen_at: 'none',
    registered_at: 'none',
  },
  // Which agents the company keeps out: nobody's, and a block would be no block if a person could delete it.
  poppy_blocked_agents: { company: 'none', client_id: 'none', reason: 'none', blocked_at: 'none' },
  poppy_operations: {
    company: 'none',
    id: 'operation',
    name: 'shown',
    client_id: 'agent',
    user_id: 'user',
    account: 'account',
    session_id: 'session',
    identity: 'secret',
    state: 'shown',
    revision: 'shown',
    expires_at: 'shown',
    confirmed_revision: 'shown',
    approved_by: 'shown',
    confirmed_at: 'shown',
    confirmed_scopes: 'shown',
    turn: 'none',
    started_at: 'shown',
    unknown_since: 'shown',
    cancel_asked_at: 'shown',
    to_erase: 'none',
    conversation_id: 'conversation',
    trail: 'none',
    result: 'shown',
    created_at: 'shown',
    updated_at: 'shown',
    finished_at: 'shown',
  },
  poppy_revisions: {
    company: 'none',
    operation_id: 'operation',
    revision: 'shown',
    summary: 'shown',
    terms: 'shown',
    input: 'shown',
    data: 'shown',
    approval: 'shown',
    expires_at: 'shown',
    digest: 'secret',
    created_at: 'shown',
  },
  poppy_trail: {
    company: 'none',
    operation_id: 'operation',
    number: 'none',
    event: 'shown',
    at: 'shown',
    revision: 'shown',
    channel: 'shown',
    who: 'shown',
    detail: 'shown',
  },
  // Work of the company's, which goes with the operation.
  poppy_outbox: {
    company: 'none',
    id: 'none',
    kind: 'none',
    operation_id: 'operation',
    payload: 'none',
    due_at: 'none',
    attempts: 'none',
    created_at: 'none',
  },
  poppy_conversations: {
    company: 'none',
    id: 'conversation',
    client_id: 'agent',
    user_id: 'user',
    account: 'account',
    parent_id: 'conversation',
    direct_id: 'conversation',
    status: 'shown',
    responder: 'shown',
    version: 'none',
    last_event: 'none',
    first_event: 'none',
    oldest_at: 'none',
    context: 'shown',
    session_id: 'session',
    caller_user_id: 'user',
    caller_account: 'account',
    grant_id: 'sign-in',
    scopes: 'shown',
    epoch: 'none',
    sender: 'shown',
    asked: 'none',
    answered: 'none',
    turn: 'none',
    turn_asked: 'none',
    runner: 'none',
    attempts: 'none',
    turn_due_at: 'none',
    // Who of the staff had it is their own data.
    held_by: 'none',
    held_name: 'none',
    queued_at: 'shown',
    queue_reason: 'shown',
    care_due_at: 'none',
    notes: 'none',
    created_at: 'shown',
    updated_at: 'shown',
    closed_at: 'shown',
  },
  poppy_events: {
    company: 'none',
    conversation_id: 'conversation',
    number: 'none',
    type: 'none',
    body: 'shown',
    written_for: 'none',
    created_at: 'none',
  },
  poppy_receipts: {
    company: 'none',
    client_id: 'agent',
    user_id: 'user',
    message_id: 'shown',
    conversation_id: 'conversation',
    digest: 'secret',
    code: 'none',
    status: 'none',
    responder: 'none',
    event: 'none',
  },
  poppy_steps: {
    company: 'none',
    conversation_id: 'conversation',
    turn: 'none',
    step: 'none',
    digest: 'secret',
    outcome: 'shown',
    created_at: 'shown',
  },
  poppy_notes: {
    company: 'none',
    conversation_id: 'conversation',
    number: 'none',
    kind: 'none',
    who: 'none',
    text: 'shown',
    data: 'shown',
    created_at: 'shown',
  },
  // The company's own people, as its queue knows them: nobody's who writes to it.
  poppy_staff: {
    company: 'none',
    staff_id: 'none',
    name: 'none',
    seen_at: 'none',
  },
  // What the company's own people did. It tells nothing of what was said or shown, and stays when a person goes.
  poppy_audit: {
    company: 'none',
    id: 'none',
    at: 'none',
    staff_id: 'none',
    staff_name: 'none',
    act: 'none',
    conversation_id: 'none',
    operation_id: 'none',
    detail: 'none',
  },
  // On its way to the company's own systems; what it tells stands in the conversation.
  poppy_deliveries: {
    company: 'none',
    id: 'none',
    endpoint: 'none',
    event: 'none',
    body: 'none',
    conversation_id: 'conversation',
    operation_id: 'operation',
    due_at: 'none',
    attempts: 'none',
    last_try: 'none',
    created_at: 'none',
    given_up_at: 'none',
  },
  poppy_listeners: { company: 'none', conversation_id: 'conversation', ends_at: 'none' },
  poppy_schema: { version: 'none' },
} satisfies { [Table in keyof Tables]: Record<keyof Tables[Table], Kind> }

const company = 'https://miramar.example'
const account = 'acc-of-the-canary'
const user = { clientId: 'https://canary.example/agent.json', userId: 'usr-of-the-canary' }
const links: Readonly<Record<string, string>> = {
  'sign-in': 'grt-of-the-canary',
  session: 'ses-of-the-canary',
  operation: 'opn-of-the-canary',
  conversation: 'cnv-of-the-canary',
}
const numbers =
  /(?:_at|_since|revision)$|^(?:epoch|interval_seconds|tries|turn|to_erase|trail|number|at|attempts|version|last_event|first_event|asked|answered|turn_asked|runner|notes|event|code|step)$/
const jsonColumns = ['terms', 'input', 'data', 'result', 'who', 'detail', 'context', 'body', 'outcome']

/** Every table of ours in the database as it is, also one that the types don't know of. */
async function schemaOf(db: Database): Promise<Record<string, string[]>> {
  const rows = (await db.run(
    db.name === 'sqlite'
      ? `select m.name as t, c.name as c from main.sqlite_master m join pragma_table_info(m.name) c where m.type = 'table'
         union all select m.name, c.name from replay.sqlite_master m join pragma_table_info(m.name, 'replay') c
         where m.type = 'table'`
      : 'select table_name as t, column_name as c from information_schema.columns where table_schema = current_schema()',
    [],
  )) as readonly { readonly t: string; readonly c: string }[]
  const tables: Record<string, string[]> = {}
  for (const { t, c } of rows) {
    tables[t] ??= []
    tables[t].push(c)
  }
  return tables
}

/** A row whose every text and number is its own, so that each can be looked for. */
function canaryRow(table: keyof typeof columns, of: string): Record<string, string | number> {
  const row: Record<string, string | number> = {}
  for (const [index, [column, kind]] of Object.entries<Kind>(columns[table]).entries()) {
    const isNumber = numbers.test(column)
    if (column === 'company') row[column] = of
    else if (column === 'kind') row[column] = 'form'
    else if (kind === 'account') row[column] = account
    else if (kind === 'agent') row[column] = user.clientId
    else if (kind === 'user') row[column] = user.userId
    else if (links[kind] !== undefined) row[column] = links[kind]
    else if (jsonColumns.includes(column)) row[column] = JSON.stringify({ said: `${table}.${column}` })
    else
      row[column] = isNumber
        ? now + index * 1_000_003 + Object.keys(columns).indexOf(table) * 50_000_017
        : `${table}.${column}`
  }
  return row
}

const personal = (Object.keys(columns) as (keyof typeof columns)[]).filter((table) =>
  Object.values<Kind>(columns[table]).some((kind) => kind !== 'none'),
)

async function fill({ db, company: of }: Scope): Promise<void> {
  for (const table of personal) {
    await db.query
      .insertInto(table)
      .values(canaryRow(table, of) as never)
      .execute()
  }
}

/** All rows of all tables, as text. */
async function everything(db: Database): Promise<string> {
  const texts: string[] = []
  for (const table of Object.keys(await schemaOf(db)))
    if (table.startsWith('poppy_'))
      texts.push(
        JSON.stringify(
          await db.query
            .selectFrom(table as never)
            .selectAll()
            .execute(),
        ),
      )
  return texts.join('\n')
}

const every = (kind: Kind, tables: readonly (keyof typeof columns)[]) =>
  tables.flatMap((table) =>
    Object.entries<Kind>(columns[table])
      .filter((entry) => entry[1] === kind)
      // What is JSON stands in an export as itself, and in a row as a text: its inside is in both.
      .map(([column]) =>
        jsonColumns.includes(column) ? `${table}.${column}` : JSON.stringify(canaryRow(table, company)[column]),
      ),
  )

describe.each(stores)('What is kept of a person in $name', ({ missing, fresh }) => {
  const test = it.skipIf(missing !== null)
  async function start(): Promise<Scope> {
    const { open } = await fresh()
    return { db: await open(), company }
  }

  test('is known for every column of every table', async () => {
    const { db } = await start()
    const found = await schemaOf(db)
    // What the replay file notes of the machine names nobody.
    delete found.poppy_opened
    const sorted = (tables: Record<string, readonly string[]>) =>
      Object.fromEntries(Object.entries(tables).map(([table, of]) => [table, [...of].sort()]))
    const known = Object.entries(columns).map(([table, of]) => [table, Object.keys(of)] as const)
    expect(sorted(found)).toEqual(sorted(Object.fromEntries(known)))
  })

  test.each<{ name: string; person: Person; tables: readonly (keyof typeof columns)[] }>([
    { name: 'an account', person: account, tables: personal },
    {
      name: 'a User',
      person: user,
      tables: personal.filter((table) => !['poppy_used_ids', 'poppy_device_codes'].includes(table)),
    },
  ])('is exported and erased whole, for $name', async ({ person, tables }) => {
    const scope = await start()
    await fill(scope)
    const data = JSON.stringify(await exportPerson(scope, person, { now: () => now }))
    for (const shown of [
      'account',
      'agent',
      'user',
      'shown',
      'sign-in',
      'session',
      'operation',
      'conversation',
    ] as const)
      for (const value of every(shown, tables)) expect(data).toContain(value)
    for (const value of every('secret', personal)) expect(data).not.toContain(value.slice(1, -1))

    // Another Company has the very same ids in the same store.
    await fill({ db: scope.db, company: 'https://other.example' })
    const erased = await erasePerson(scope, person, { now: () => now })
    expect(erased).toEqual({
      sessions: 1,
      signIns: 1,
      codes: 1,
      browsers: 1,
      deviceSignIns: tables === personal ? 1 : 0,
      mediatedSignIns: 1,
      operations: 1,
      conversations: 1,
      answeredPages: tables === personal ? 1 : 0,
    })
    const rows = (await everything(scope.db))
      .split('\n')
      .flatMap((table) => JSON.parse(table) as { company?: string }[])
    const ours = rows.map((row) => (row.company === 'https://other.example' ? '' : JSON.stringify(row))).join('\n')
    // What was answered with an account is that account's: a User who never signed in has no part in it.
    const gone = tables === personal ? (['account'] as const) : []
    for (const kind of [...gone, 'user', 'secret', 'shown', 'session', 'operation', 'conversation'] as const)
      for (const value of every(kind, tables)) expect(ours).not.toContain(value)
    const other = { db: scope.db, company: 'https://other.example' }
    expect(await exportPerson(other, person, { now: () => now })).toEqual({
      ...(JSON.parse(data) as object),
      company: other.company,
    })
    const nothing = {
      sessions: [],
      signIns: [],
      codes: [],
      browsers: [],
      deviceSignIns: [],
      mediatedSignIns: [],
      operations: [],
      conversations: [],
      answeredPages: [],
    }
    expect(await exportPerson(scope, person, { now: () => now })).toEqual({ company, exportedAt: now, ...nothing })
    expect(await erasePerson(scope, person, { now: () => now })).toMatchObject({ sessions: 0, signIns: 0 })
  })

  test('leaves everybody else as they were', async () => {
    const scope = await start()
    await fill(scope)
    await insertGrant(scope, grantRow({ id: 'of bob', account: 'bob' }))
    await insertSession(scope, sessionRow({ id: 'of bob', account: 'bob', grant_id: 'of bob' }))
    // The same agent, another User; and the same User ID at another agent.
    await insertSession(scope, sessionRow({ id: 'another user', client_id: user.clientId }))
    await insertSession(scope, sessionRow({ id: 'another agent', user_id: user.userId }))
    await insertCode(scope, codeRow({ account: 'bob' }))
    await claimIds(scope, [
      { kind: 'form', owner: 'bob', id: 'f', expiresAt: now },
      { kind: 'client_assertion', owner: user.clientId, id: 'a', expiresAt: now },
    ])
    await erasePerson(scope, account, { now: () => now })
    await erasePerson(scope, user, { now: () => now })
    const left = await everything(scope.db)
    expect(left.match(/"bob"/g)).toHaveLength(4)
    for (const id of ['of bob', 'another user', 'another agent']) expect(left).toContain(`"id":"${id}"`)
    // What an agent used once stays used.
    expect(await claimIds(scope, [{ kind: 'client_assertion', owner: user.clientId, id: 'a', expiresAt: now }])).toBe(
      false,
    )
  })

  test('waits for whoever uses an Account Token at that moment, and deletes what they got', async () => {
    const { open } = await fresh()
    const [scope, other]: Scope[] = [
      { db: await open(), company },
      { db: await open(), company },
    ] as const
    if (!scope || !other) throw new Error('two instances are needed')
    await insertGrant(scope, grantRow({ token_hash: 'hash' }))
    const held = Promise.withResolvers<void>()
    // Begun out here: whatever begins inside would be part of the transaction.
    const erasing = held.promise.then(() => erasePerson(other, 'ada', { now: () => now }))
    await scope.db.transaction(async () => {
      await findGrantByToken(scope, 'hash', { isHeld: true })
      held.resolve()
      // Long enough for an erasure that doesn't wait to be over.
      for (let turn = 0; turn < 50; turn++) await exportPerson(scope, 'bob', { now: () => now })
      await insertSession(scope, sessionRow({ account: 'ada', grant_id: 'g' }))
    })
    expect(await erasing).toMatchObject({ sessions: 1, signIns: 1 })
    expect(await everything(scope.db)).not.toContain('"ada"')
  })

  test('is asked for by a name, never by none', async () => {
    const scope = await start()
    await fill(scope)
    const before = await everything(scope.db)
    for (const nobody of [undefined, null, '', {}, { clientId: user.clientId }, { clientId: '', userId: 'u' }, 7]) {
      await expect(exportPerson(scope, nobody as never, { now: () => now })).rejects.toThrow(TypeError)
      await expect(erasePerson(scope, nobody as never, { now: () => now })).rejects.toThrow(TypeError)
    }
    expect(await everything(scope.db)).toBe(before)
  })
})
