import { type ColumnDataType, type Kysely, sql } from 'kysely'
import type { Tables } from './tables.ts'

/**
 * The schema's history: numbered, forward only. A migration that has been released never changes; the next one mends
 * it. DDL is portable (text and bigint), and all that is missing runs in one transaction, under the dialect's lock.
 *
 * Not Kysely's Migrator: it takes no lock on SQLite, where three processes that started together failed each time.
 */
export interface Migration {
  readonly title: string
  readonly run: (schema: Schema) => Promise<void>
}

/** What a migration may do. */
export interface Schema {
  readonly dialect: 'sqlite' | 'postgres'
  readonly query: Kysely<Tables>
  /** A table whose columns are all text or bigint, by name; a `?` at the end of the type allows null. */
  readonly createTable: (name: keyof Tables, key: readonly string[], columns: Columns) => Promise<void>
  /** Adds a column that allows null, so that the rows that are there need nothing. */
  readonly addColumn: (table: keyof Tables, column: string, kind: 'text?' | 'time?') => Promise<void>
  /** `where set` leaves out the rows in which the last column is null, which are most: then they cost nothing. */
  readonly createIndex: (
    table: keyof Tables,
    columns: readonly string[],
    kind?: 'unique' | 'where set' | 'unique where set',
  ) => Promise<void>
}

type Columns = Readonly<Record<string, 'text' | 'text?' | 'time' | 'time?' | 'count' | 'count?'>>

const types: Readonly<Record<Columns[string], ColumnDataType>> = {
  text: 'text',
  'text?': 'text',
  time: 'bigint',
  'time?': 'bigint',
  count: 'bigint',
  'count?': 'bigint',
}

const migrations: readonly Migration[] = [
  {
    title: 'Sessions, grants, codes and what was used once',
    async run({ dialect, createTable, createIndex }) {
      await createTable('poppy_sessions', ['company', 'id'], {
        company: 'text',
        id: 'text',
        client_id: 'text',
        user_id: 'text',
        account: 'text?',
        grant_id: 'text?',
        epoch: 'count',
        created_at: 'time',
        last_used_at: 'time',
        expires_at: 'time',
        ended_at: 'time?',
      })
      await createIndex('poppy_sessions', ['company', 'grant_id'], 'where set')
      await createIndex('poppy_sessions', ['company', 'expires_at'])
      await createIndex('poppy_sessions', ['company', 'ended_at'], 'where set')
      await createTable('poppy_grants', ['company', 'id'], {
        company: 'text',
        id: 'text',
        client_id: 'text',
        user_id: 'text',
        account: 'text',
        scopes: 'text',
        sign_in: 'text',
        token_hash: 'text',
        created_at: 'time',
        last_used_at: 'time',
        expires_at: 'time?',
        revoked_at: 'time?',
      })
      await createIndex('poppy_grants', ['company', 'token_hash'], 'unique')
      await createIndex('poppy_grants', ['company', 'account'])
      await createIndex('poppy_grants', ['company', 'expires_at'])
      await createIndex('poppy_grants', ['company', 'revoked_at'], 'where set')
      await createTable('poppy_codes', ['company', 'code_hash'], {
        company: 'text',
        code_hash: 'text',
        client_id: 'text',
        redirect_uri: 'text',
        code_challenge: 'text',
        account: 'text',
        scopes: 'text',
        created_at: 'time',
        expires_at: 'time',
        used_at: 'time?',
        grant_id: 'text?',
      })
      await createIndex('poppy_codes', ['company', 'account'])
      await createIndex('poppy_codes', ['company', 'expires_at'])
      await createTable('poppy_used_ids', ['company', 'kind', 'owner', 'id_hash'], {
        company: 'text',
        kind: 'text',
        owner: 'text',
        id_hash: 'text',
        expires_at: 'time',
      })
      await createIndex('poppy_used_ids', ['company', 'expires_at'])
      // On SQLite they live in a file of their own, which sqlite.ts makes: it can be lost and made anew.
      if (dialect === 'sqlite') return
      await createTable('poppy_proofs', ['company', 'mark'], {
        company: 'text',
        mark: 'text',
        expires_at: 'time',
      })
      await createIndex('poppy_proofs', ['company', 'expires_at'])
    },
  },
  {
    title: 'Browsers that joined a Session',
    async run({ createTable, createIndex }) {
      await createTable('poppy_browsers', ['company', 'cookie_hash'], {
        company: 'text',
        cookie_hash: 'text',
        session_id: 'text',
        created_at: 'time',
        expires_at: 'time',
      })
      await createIndex('poppy_browsers', ['company', 'expires_at'])
    },
  },
  {
    title: 'A person’s rows are found without reading everybody’s',
    async run({ createIndex }) {
      await createIndex('poppy_sessions', ['company', 'account'], 'where set')
      await createIndex('poppy_sessions', ['company', 'client_id', 'user_id'])
      await createIndex('poppy_grants', ['company', 'client_id', 'user_id'])
    },
  },
  {
    title: 'Personal Agents that were here',
    async run({ createTable, createIndex }) {
      await createTable('poppy_agents', ['company', 'client_id'], {
        company: 'text',
        client_id: 'text',
        host: 'text',
        site: 'text',
        name: 'text',
        first_seen_at: 'time',
        last_seen_at: 'time',
        registered_at: 'time?',
      })
      await createIndex('poppy_agents', ['company', 'first_seen_at'])
      await createIndex('poppy_agents', ['company', 'last_seen_at'])
    },
  },
  {
    title: 'Device Sign-In, and attempts that are limited',
    async run({ createTable, createIndex }) {
      await createTable('poppy_device_codes', ['company', 'code_hash'], {
        company: 'text',
        code_hash: 'text',
        user_code_hash: 'text',
        client_id: 'text',
        scopes: 'text',
        status: 'text',
        account: 'text?',
        approved_scopes: 'text?',
        created_at: 'time',
        expires_at: 'time',
        polled_at: 'time?',
        interval_seconds: 'count',
      })
      await createIndex('poppy_device_codes', ['company', 'user_code_hash'], 'unique')
      await createIndex('poppy_device_codes', ['company', 'account'], 'where set')
      await createIndex('poppy_device_codes', ['company', 'expires_at'])
      await createTable('poppy_attempts', ['company', 'kind', 'owner_hash'], {
        company: 'text',
        kind: 'text',
        owner_hash: 'text',
        started_at: 'time',
        count: 'count',
        expires_at: 'time',
      })
      await createIndex('poppy_attempts', ['company', 'expires_at'])
    },
  },
  {
    title: 'Codes that are for an MCP server',
    run: ({ addColumn }) => addColumn('poppy_codes', 'resource', 'text?'),
  },
  {
    title: 'Mediated Sign-In',
    async run({ createTable, createIndex }) {
      await createTable('poppy_mediated', ['company', 'id'], {
        company: 'text',
        id: 'text',
        session_id: 'text',
        client_id: 'text',
        account: 'text',
        scopes: 'text',
        code_hash: 'text',
        sent_to: 'text',
        status: 'text',
        tries: 'count',
        created_at: 'time',
        expires_at: 'time',
      })
      await createIndex('poppy_mediated', ['company', 'account'])
      await createIndex('poppy_mediated', ['company', 'expires_at'])
    },
  },
  {
    title: 'Account Tokens that were replaced',
    async run({ createTable, createIndex }) {
      await createTable('poppy_retired_tokens', ['company', 'token_hash'], {
        company: 'text',
        token_hash: 'text',
        grant_id: 'text',
        successor_hash: 'text',
        retired_at: 'time',
      })
      await createIndex('poppy_retired_tokens', ['company', 'grant_id'])
    },
  },
  {
    title: 'Personal Agents that are blocked',
    run: ({ createTable }) =>
      createTable('poppy_blocked_agents', ['company', 'client_id'], {
        company: 'text',
        client_id: 'text',
        reason: 'text?',
        blocked_at: 'time',
      }),
  },
  {
    title: 'Operations, and the work that they cause',
    async run({ createTable, createIndex }) {
      await createTable('poppy_operations', ['company', 'id'], {
        company: 'text',
        id: 'text',
        name: 'text',
        client_id: 'text',
        user_id: 'text',
        account: 'text?',
        session_id: 'text',
        identity: 'text?',
        state: 'text',
        revision: 'count',
        expires_at: 'time?',
        confirmed_revision: 'count?',
        approved_by: 'text?',
        confirmed_at: 'time?',
        confirmed_scopes: 'text?',
        turn: 'count',
        started_at: 'time?',
        unknown_since: 'time?',
        cancel_asked_at: 'time?',
        to_erase: 'count?',
        trail: 'count',
        result: 'text?',
        created_at: 'time',
        updated_at: 'time',
        finished_at: 'time?',
      })
      await createIndex('poppy_operations', ['company', 'identity'], 'unique where set')
      await createIndex('poppy_operations', ['company', 'account', 'created_at'])
      await createIndex('poppy_operations', ['company', 'created_at'])
      await createIndex('poppy_operations', ['company', 'expires_at'], 'where set')
      await createIndex('poppy_operations', ['company', 'unknown_since'], 'where set')
      await createIndex('poppy_operations', ['company', 'state', 'finished_at'], 'where set')
      await createIndex('poppy_operations', ['company', 'client_id', 'user_id'])
      await createIndex('poppy_operations', ['company', 'to_erase'], 'where set')
      await createTable('poppy_revisions', ['company', 'operation_id', 'revision'], {
        company: 'text',
        operation_id: 'text',
        revision: 'count',
        summary: 'text',
        terms: 'text?',
        input: 'text',
        data: 'text?',
        approval: 'text',
        expires_at: 'time?',
        digest: 'text',
        created_at: 'time',
      })
      await createTable('poppy_trail', ['company', 'operation_id', 'number'], {
        company: 'text',
        operation_id: 'text',
        number: 'count',
        event: 'text',
        at: 'time',
        revision: 'count?',
        channel: 'text',
        who: 'text',
        detail: 'text?',
      })
      await createTable('poppy_outbox', ['company', 'id'], {
        company: 'text',
        id: 'text',
        kind: 'text',
        operation_id: 'text',
        payload: 'text?',
        due_at: 'time',
        attempts: 'count',
        created_at: 'time',
      })
      await createIndex('poppy_outbox', ['company', 'due_at'])
      await createIndex('poppy_outbox', ['company', 'operation_id'])
    },
  },
  {
    title: 'Conversations',
    async run({ createTable, createIndex, addColumn }) {
      await createTable('poppy_conversations', ['company', 'id'], {
        company: 'text',
        id: 'text',
        client_id: 'text',
        user_id: 'text',
        account: 'text?',
        parent_id: 'text?',
        direct_id: 'text?',
        status: 'text',
        responder: 'text',
        version: 'count',
        last_event: 'count',
        first_event: 'count',
        oldest_at: 'time',
        context: 'text',
        session_id: 'text',
        caller_user_id: 'text',
        caller_account: 'text?',
        grant_id: 'text?',
        scopes: 'text',
        epoch: 'count',
        sender: 'text',
        asked: 'count',
        answered: 'count',
        turn: 'count',
        turn_asked: 'count',
        runner: 'count',
        attempts: 'count',
        turn_due_at: 'time?',
        held_by: 'text?',
        held_name: 'text?',
        queued_at: 'time?',
        queue_reason: 'text?',
        care_due_at: 'time?',
        notes: 'count',
        created_at: 'time',
        updated_at: 'time',
        closed_at: 'time?',
      })
      await createIndex('poppy_conversations', ['company', 'client_id', 'user_id'])
      await createIndex('poppy_conversations', ['company', 'account'], 'where set')
      await createIndex('poppy_conversations', ['company', 'parent_id'], 'where set')
      await createIndex('poppy_conversations', ['company', 'turn_due_at'], 'where set')
      await createIndex('poppy_conversations', ['company', 'care_due_at'], 'where set')
      await createIndex('poppy_conversations', ['company', 'queued_at'], 'where set')
      await createIndex('poppy_conversations', ['company', 'held_by'], 'where set')
      await createIndex('poppy_conversations', ['company', 'oldest_at'])
      await createIndex('poppy_conversations', ['company', 'closed_at'], 'where set')
      await createTable('poppy_events', ['company', 'conversation_id', 'number'], {
        company: 'text',
        conversation_id: 'text',
        number: 'count',
        type: 'text',
        body: 'text',
        written_for: 'text?',
        created_at: 'time',
      })
      await createIndex('poppy_events', ['company', 'conversation_id', 'written_for'], 'unique where set')
      await createTable('poppy_receipts', ['company', 'client_id', 'user_id', 'message_id'], {
        company: 'text',
        client_id: 'text',
        user_id: 'text',
        message_id: 'text',
        conversation_id: 'text',
        digest: 'text',
        code: 'count',
        status: 'text',
        responder: 'text',
        event: 'count',
      })
      await createIndex('poppy_receipts', ['company', 'conversation_id'])
      await createTable('poppy_steps', ['company', 'conversation_id', 'turn', 'step'], {
        company: 'text',
        conversation_id: 'text',
        turn: 'count',
        step: 'count',
        digest: 'text',
        outcome: 'text',
        created_at: 'time',
      })
      await createTable('poppy_notes', ['company', 'conversation_id', 'number'], {
        company: 'text',
        conversation_id: 'text',
        number: 'count',
        kind: 'text',
        who: 'text',
        text: 'text',
        data: 'text?',
        created_at: 'time',
      })
      await createTable('poppy_staff', ['company', 'staff_id'], {
        company: 'text',
        staff_id: 'text',
        name: 'text',
        seen_at: 'time',
      })
      await addColumn('poppy_operations', 'conversation_id', 'text?')
    },
  },
  {
    title: 'The staff inbox',
    async run({ query, createTable, createIndex }) {
      await createTable('poppy_audit', ['company', 'id'], {
        company: 'text',
        id: 'text',
        at: 'time',
        staff_id: 'text',
        staff_name: 'text',
        act: 'text',
        conversation_id: 'text?',
        operation_id: 'text?',
        detail: 'text?',
      })
      await createIndex('poppy_audit', ['company', 'at'])
      await createIndex('poppy_audit', ['company', 'staff_id', 'at'])
      await createIndex('poppy_audit', ['company', 'conversation_id', 'at'])
      await createIndex('poppy_audit', ['company', 'operation_id', 'at'])
      await createTable('poppy_deliveries', ['company', 'id'], {
        company: 'text',
        id: 'text',
        endpoint: 'text',
        event: 'text',
        body: 'text',
        conversation_id: 'text?',
        operation_id: 'text?',
        due_at: 'time?',
        attempts: 'count',
        created_at: 'time',
        given_up_at: 'time?',
      })
      await createIndex('poppy_deliveries', ['company', 'due_at'], 'where set')
      await createIndex('poppy_deliveries', ['company', 'given_up_at'], 'where set')
      await createIndex('poppy_deliveries', ['company', 'conversation_id'], 'where set')
      await createIndex('poppy_deliveries', ['company', 'operation_id'], 'where set')
      await createTable('poppy_listeners', ['company', 'conversation_id'], {
        company: 'text',
        conversation_id: 'text',
        ends_at: 'time',
      })
      await createIndex('poppy_listeners', ['company', 'ends_at'])
      // The lists of the inbox, each in its order: what is in none of them costs nothing. Three take the place of an earlier index.
      for (const replaced of ['queued_at', 'held_by', 'closed_at'])
        await query.schema.dropIndex(`poppy_conversations_by_${replaced}`).execute()
      for (const [name, columns, where] of [
        ['waiting', ['company', 'queued_at', 'id'], sql<boolean>`status = 'queued' and queued_at is not null`],
        ['held', ['company', 'held_by', 'created_at', 'id'], sql<boolean>`held_by is not null`],
        ['open', ['company', 'created_at', 'id'], sql<boolean>`closed_at is null`],
        ['closed', ['company', 'closed_at', 'id'], sql<boolean>`closed_at is not null`],
      ] as const)
        await query.schema
          .createIndex(`poppy_conversations_${name}`)
          .on('poppy_conversations')
          .columns([...columns])
          .where(where)
          .execute()
    },
  },
  {
    title: 'Turns that are due, of each Personal Agent',
    async run({ query }) {
      // In place of the one by time alone: one Personal Agent's many would stand before all others' there.
      await query.schema.dropIndex('poppy_conversations_by_turn_due_at').execute()
      await query.schema
        .createIndex('poppy_conversations_due')
        .on('poppy_conversations')
        .columns(['company', 'client_id', 'turn_due_at', 'user_id', 'id'])
        .where(sql<boolean>`turn_due_at is not null`)
        .execute()
    },
  },
  {
    title: 'Why deliveries were not taken',
    run: ({ addColumn }) => addColumn('poppy_deliveries', 'last_try', 'text?'),
  },
]

/** The schema that this release of the library works with. */
export const latestSchema: number = migrations.length

/** The number of the last migration that ran. */
export async function schemaVersion(query: Kysely<Tables>): Promise<number> {
  const row = await query.selectFrom('poppy_schema').select('version').executeTakeFirst()
  return Number(row?.version ?? 0)
}

/**
 * Brings the schema up to date. The caller holds the lock and the transaction, and says whether `poppy_schema` is there.
 * @throws Error when the database was written by a newer release
 */
export async function migrate(query: Kysely<Tables>, dialect: Schema['dialect'], isNew: boolean): Promise<void> {
  if (isNew) {
    await query.schema
      .createTable('poppy_schema')
      .addColumn('version', 'bigint', (c) => c.notNull())
      .execute()
    await query.insertInto('poppy_schema').values({ version: 0 }).execute()
  }
  const version = await schemaVersion(query)
  refuseNewer(version)
  const schema = schemaOf(query, dialect)
  for (const migration of migrations.slice(version)) await migration.run(schema)
  if (version < latestSchema) await query.updateTable('poppy_schema').set({ version: latestSchema }).execute()
}

/**
 * Whether a database is just as this release has it, for whoever may not change it: a command of a newer release that
 * migrated it would keep the Company of an older one from starting again.
 * @throws Error with a sentence that says what to do
 */
export async function requireCurrent(query: Kysely<Tables>, isNew: boolean): Promise<void> {
  if (isNew) throw new Error('The database has no tables of poppyseed. A Company makes them when it starts.')
  const version = await schemaVersion(query)
  refuseNewer(version)
  if (version < latestSchema)
    throw new Error(
      `The database has schema ${version}, and this release of poppyseed has schema ${latestSchema}. ` +
        'Use the release that the Company runs, or start the Company with this one first. Nothing was changed.',
    )
}

/** @throws Error when the database was written by a newer release: its rows may mean what we can't know */
export function refuseNewer(version: number): void {
  if (version <= latestSchema) return
  throw new Error(
    `The database has schema ${version}, and this release of poppyseed knows schemas up to ${latestSchema}. ` +
      'Install the release that wrote it, or a later one. Nothing was changed.',
  )
}

function schemaOf(query: Kysely<Tables>, dialect: Schema['dialect']): Schema {
  return {
    dialect,
    query,
    async createTable(name, key, columns) {
      let table = query.schema.createTable(name)
      for (const [column, kind] of Object.entries(columns)) {
        table = table.addColumn(column, types[kind], (c) => (kind.endsWith('?') ? c : c.notNull()))
      }
      // Keys are long texts: without rowid, SQLite keeps them once and not twice.
      if (dialect === 'sqlite') table = table.modifyEnd(sql`without rowid`)
      await table.addPrimaryKeyConstraint(`${name}_key`, [...key] as never[]).execute()
    },
    async addColumn(table, column, kind) {
      await query.schema.alterTable(table).addColumn(column, types[kind]).execute()
    },
    async createIndex(table, columns, kind) {
      const name = `${table}_by_${columns.filter((column) => column !== 'company').join('_')}`
      const index = query.schema
        .createIndex(name)
        .on(table)
        .columns([...columns])
      const last = columns.at(-1) ?? ''
      const made = kind?.startsWith('unique') ? index.unique() : index
      await (kind?.endsWith('where set') ? made.where(sql.ref(last), 'is not', null) : made).execute()
    },
  }
}
