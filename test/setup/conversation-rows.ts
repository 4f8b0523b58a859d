import type { ConversationsTable } from '../../packages/company/src/store/tables.ts'
import { now } from './rows.ts'

/** A conversation as the table has it, for tests below HTTP. */
export function conversationRow(
  row: Partial<Omit<ConversationsTable, 'company'>> = {},
): Omit<ConversationsTable, 'company'> {
  return {
    id: 'cnv_1',
    client_id: 'https://agent.example/agent.json',
    user_id: 'user-1',
    account: null,
    parent_id: null,
    direct_id: null,
    status: 'idle',
    responder: 'agent',
    version: 1,
    last_event: 0,
    first_event: 1,
    oldest_at: now,
    context: '{}',
    session_id: 'ses_1',
    caller_user_id: 'user-1',
    caller_account: null,
    grant_id: null,
    scopes: '',
    epoch: 0,
    sender: 'agent',
    asked: 0,
    answered: 0,
    turn: 0,
    turn_asked: 0,
    runner: 0,
    attempts: 0,
    turn_due_at: null,
    held_by: null,
    held_name: null,
    queued_at: null,
    queue_reason: null,
    care_due_at: null,
    notes: 0,
    created_at: now,
    updated_at: now,
    closed_at: null,
    ...row,
  }
}
