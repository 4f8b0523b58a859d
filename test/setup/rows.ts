import type {
  AgentsTable,
  CodesTable,
  GrantsTable,
  OperationsTable,
  RevisionsTable,
  SessionsTable,
} from '../../packages/company/src/store/tables.ts'

/** Rows for storage tests: complete, with only what a test is about written in it. */

/** The moment that storage tests happen at, milliseconds since 1970. */
export const now = 1_750_000_000_000

export const minutes = (count: number): number => count * 60_000
export const days = (count: number): number => minutes(count * 24 * 60)

type Row<Table> = Omit<Table, 'company'>

export function sessionRow(row: Partial<Row<SessionsTable>> = {}): Row<SessionsTable> {
  return {
    id: 's',
    client_id: 'https://agent.example/client',
    user_id: 'user',
    account: null,
    grant_id: null,
    epoch: 0,
    created_at: now,
    last_used_at: now,
    expires_at: now + days(90),
    ended_at: null,
    ...row,
  }
}

export function grantRow(row: Partial<Row<GrantsTable>> = {}): Row<GrantsTable> {
  return {
    id: 'g',
    client_id: 'https://agent.example/client',
    user_id: 'user',
    account: 'ada',
    scopes: 'poppy:read poppy:write',
    sign_in: 'direct',
    token_hash: `hash of ${row.id ?? 'g'}`,
    created_at: now,
    last_used_at: now,
    expires_at: now + days(30),
    revoked_at: null,
    ...row,
  }
}

export function codeRow(row: Partial<Row<CodesTable>> = {}): Row<CodesTable> {
  return {
    code_hash: 'code',
    client_id: 'https://agent.example/client',
    redirect_uri: 'https://agent.example/callback',
    code_challenge: 'challenge',
    account: 'ada',
    scopes: 'poppy:read',
    resource: null,
    created_at: now,
    expires_at: now + minutes(1),
    used_at: null,
    grant_id: null,
    ...row,
  }
}

export function agentRow(row: Partial<Row<AgentsTable>> = {}): Row<AgentsTable> {
  return {
    client_id: 'https://agent.example/client',
    host: 'agent.example',
    site: 'agent.example',
    name: 'Example Agent',
    first_seen_at: now,
    last_seen_at: now,
    registered_at: null,
    ...row,
  }
}

export function operationRow(
  row: Partial<Omit<Row<OperationsTable>, 'to_erase'>> = {},
): Omit<Row<OperationsTable>, 'to_erase'> {
  return {
    id: 'o',
    name: 'book_room',
    client_id: 'https://agent.example/client',
    user_id: 'user',
    account: 'ada',
    session_id: 's',
    identity: null,
    state: 'proposed',
    revision: 1,
    expires_at: now + minutes(15),
    confirmed_revision: null,
    approved_by: null,
    confirmed_at: null,
    confirmed_scopes: null,
    turn: 0,
    started_at: null,
    unknown_since: null,
    cancel_asked_at: null,
    trail: 1,
    result: null,
    created_at: now,
    updated_at: now,
    finished_at: null,
    conversation_id: null,
    ...row,
  }
}

export function revisionRow(row: Partial<Row<RevisionsTable>> = {}): Row<RevisionsTable> {
  return {
    operation_id: 'o',
    revision: 1,
    summary: 'Two nights in a sea view room.',
    terms: '{"nights":2}',
    input: '{}',
    data: null,
    approval: 'user',
    expires_at: now + minutes(15),
    digest: 'digest',
    created_at: now,
    ...row,
  }
}
