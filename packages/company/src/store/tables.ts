/**
 * The tables. Times are integer milliseconds since 1970, secrets are SHA-256 in base64url, scopes are space-separated.
 * The names begin with `poppy_`, because a company may give us a database that has a table `sessions` of its own.
 */
export interface Tables {
  poppy_sessions: SessionsTable
  poppy_grants: GrantsTable
  poppy_codes: CodesTable
  poppy_used_ids: UsedIdsTable
  poppy_proofs: ProofsTable
  poppy_browsers: BrowsersTable
  poppy_agents: AgentsTable
  poppy_device_codes: DeviceCodesTable
  poppy_attempts: AttemptsTable
  poppy_mediated: MediatedTable
  poppy_retired_tokens: RetiredTokensTable
  poppy_blocked_agents: BlockedAgentsTable
  poppy_operations: OperationsTable
  poppy_revisions: RevisionsTable
  poppy_trail: TrailTable
  poppy_outbox: OutboxTable
  poppy_conversations: ConversationsTable
  poppy_events: EventsTable
  poppy_receipts: ReceiptsTable
  poppy_steps: StepsTable
  poppy_notes: NotesTable
  poppy_staff: StaffTable
  poppy_audit: AuditTable
  poppy_deliveries: DeliveriesTable
  poppy_listeners: ListenersTable
  poppy_schema: SchemaTable
}

/** One row: the number of the last migration that ran. */
export interface SchemaTable {
  version: number
}

/** 4.4: the record for each Session. */
export interface SessionsTable {
  company: string
  id: string
  client_id: string
  user_id: string
  /** Set at the first sign-in and kept for ever: a Session never takes another account, not even after sign-out. */
  account: string | null
  /** The grant that last signed it in; null when signed out. */
  grant_id: string | null
  /** Counts sign-outs: a token from before a sign-out stays signed out after the next sign-in. */
  epoch: number
  created_at: number
  last_used_at: number
  expires_at: number
  ended_at: number | null
}

/** 4.4: the record for each Account Token, which is a sign-in that the person approved. */
export interface GrantsTable {
  company: string
  id: string
  client_id: string
  user_id: string
  account: string
  scopes: string
  /** `mcp`: a Direct Sign-In through MCP's own flow (6). */
  sign_in: 'direct' | 'device' | 'mediated' | 'mcp'
  token_hash: string
  created_at: number
  last_used_at: number
  expires_at: number | null
  revoked_at: number | null
}

/** 4.5: one-time authorization codes. */
export interface CodesTable {
  company: string
  code_hash: string
  client_id: string
  redirect_uri: string
  code_challenge: string
  account: string
  scopes: string
  /** The MCP server that the code is for (6, RFC 8707); null in the flow of 4.5. */
  resource: string | null
  created_at: number
  expires_at: number
  used_at: number | null
  /** What the first exchange gave, so that a second use can revoke it. */
  grant_id: string | null
}

/** Assertions and form tokens that were used (4.1, 4.2): durable before anything is given for them. */
export interface UsedIdsTable {
  company: string
  kind: 'client_assertion' | 'session_assertion' | 'browser_assertion' | 'form' | 'forms_ended'
  /** The `client_id`; for `form` the person's account, and for `forms_ended` that account as SHA-256. */
  owner: string
  id_hash: string
  expires_at: number
}

/**
 * DPoP Proofs that were used (4.3). One hash of key thumbprint and `jti` together: a row for every request is the bulk of
 * what is written, and half the bytes is nearly twice the speed.
 */
export interface ProofsTable {
  company: string
  mark: string
  expires_at: number
}

/** Browsers of Personal Agents that joined a Session (5): what they may do follows the Session, so nothing of it is here. */
export interface BrowsersTable {
  company: string
  cookie_hash: string
  session_id: string
  created_at: number
  expires_at: number
}

/** 4.1: Personal Agents that authenticated here: what "new" means, for registration and for the limit on new ones. */
export interface AgentsTable {
  company: string
  client_id: string
  /** The host of the `client_id`, as it is shown. */
  host: string
  /** What the limit for one host counts together: the host's own domain, by its name. */
  site: string
  /** `client_name`, cleaned; the host where there is none. */
  name: string
  first_seen_at: number
  /** Noted once a day. */
  last_seen_at: number
  /** When the company's `register` said yes; null where it was never asked. */
  registered_at: number | null
}

/** 4.1: Personal Agents that the company keeps out. A row stays until somebody takes the block back. */
export interface BlockedAgentsTable {
  company: string
  client_id: string
  /** Why, in the company's own words. */
  reason: string | null
  blocked_at: number
}

/** 4.6: requests to sign in by a device, decided once and spent once. */
export interface DeviceCodesTable {
  company: string
  code_hash: string
  user_code_hash: string
  client_id: string
  scopes: string
  status: 'pending' | 'approved' | 'declined' | 'used'
  /** Who decided; null while nobody has. */
  account: string | null
  approved_scopes: string | null
  created_at: number
  expires_at: number
  polled_at: number | null
  interval_seconds: number
}

/** 4.7: sign-ins by credentials that wait for a one-time code, and how they ended. Of the credentials there is nothing. */
export interface MediatedTable {
  company: string
  id: string
  /** Only this Session may finish it. */
  session_id: string
  client_id: string
  account: string
  scopes: string
  /** HMAC under a key of ours. */
  code_hash: string
  /** Where the code went, in the company's words for the person. */
  sent_to: string
  status: 'waiting' | 'done' | 'failed'
  tries: number
  created_at: number
  expires_at: number
}

/** 4.8: Account Tokens that were replaced. One that comes again late was copied; it lives as long as its grant's row. */
export interface RetiredTokensTable {
  company: string
  token_hash: string
  grant_id: string
  successor_hash: string
  retired_at: number
}

/** Attempts that are limited (4.6, 4.7): how many there were in the window that began last. */
export interface AttemptsTable {
  company: string
  kind: string
  /** SHA-256 of whom it is counted for: an account or an address is nobody's business here. */
  owner_hash: string
  started_at: number
  count: number
  expires_at: number
}

/** Operations: one row each, which every change of state compares and sets. What was agreed stands in its revisions. */
export interface OperationsTable {
  company: string
  id: string
  /** The `name` of the company's `operation()`. */
  name: string
  client_id: string
  user_id: string
  /** The account that it belongs to; null for one that was proposed signed out, which is the agent's and its User's. */
  account: string | null
  session_id: string
  /** SHA-256 of whose it is and what it is about, while it is open: two open ones for the same thing can't be. */
  identity: string | null
  state: 'proposed' | 'in_progress' | 'succeeded' | 'failed' | 'cancelled' | 'expired'
  /** The latest revision. */
  revision: number
  /** When it expires, while it is proposed and does so. */
  expires_at: number | null
  confirmed_revision: number | null
  /** On whose word: `user`, `standing_permission`, or `page` for the company's own page. */
  approved_by: 'user' | 'standing_permission' | 'page' | null
  confirmed_at: number | null
  /** The scopes that whoever confirmed had, space-separated. */
  confirmed_scopes: string | null
  /** Counts who may write the outcome: only the newest turn may. 0 while nothing was started. */
  turn: number
  started_at: number | null
  /** Since when the outcome isn't known; null while it runs, and when it is known. */
  unknown_since: number | null
  cancel_asked_at: number | null
  /** 1 once its person was erased while it was in progress: it goes when it has ended. */
  to_erase: number | null
  /** The conversation in which it was proposed, which is told what becomes of it (Operations 4.3); null for any other. */
  conversation_id: string | null
  /** How many entries its trail has. */
  trail: number
  /** JSON. */
  result: string | null
  created_at: number
  updated_at: number
  finished_at: number | null
}

/** Revisions of operations. Written once, never changed. */
export interface RevisionsTable {
  company: string
  operation_id: string
  revision: number
  summary: string
  /** JSON; null where none are stated. */
  terms: string | null
  /** What was asked for, as the operation's schema gave it; JSON. */
  input: string
  /** What the company keeps for itself; JSON. */
  data: string | null
  /** Who may approve it: `user`, also `standing_permission`, or `page`: only on the company's own page. */
  approval: 'user' | 'standing_permission' | 'page'
  expires_at: number | null
  /** SHA-256 of all of this. */
  digest: string
  created_at: number
}

/** Who did what to an operation, when, and by which channel. Never changed. */
export interface TrailTable {
  company: string
  operation_id: string
  /** Counts from 1. */
  number: number
  event: string
  at: number
  revision: number | null
  channel: string
  /** JSON: which agent, Session, member of staff. */
  who: string
  /** JSON. */
  detail: string | null
}

/** Work that has to happen, whatever happens to the process: claimed by moving `due_at` on, deleted when it is done. */
export interface OutboxTable {
  company: string
  id: string
  kind: 'perform' | 'reconcile' | 'cancel' | 'tell'
  operation_id: string
  /** JSON. */
  payload: string | null
  /** Milliseconds since 1970; whoever claims it moves it to the end of the lease. */
  due_at: number
  /** How often it was claimed. */
  attempts: number
  created_at: number
}

/** 7: conversations, one row each. Every change compares `version` and raises it, and appends its events with it. */
export interface ConversationsTable {
  company: string
  id: string
  client_id: string
  user_id: string
  /** Set once it used the User's account (7.2): from then on it is the account's, and never another's. */
  account: string | null
  /** The conversation before it, for a Direct Conversation (7.10). */
  parent_id: string | null
  /** The Direct Conversation that is open beside it. */
  direct_id: string | null
  status: 'working' | 'idle' | 'queued' | 'closed'
  responder: 'agent' | 'human'
  /** Counts changes. */
  version: number
  /** The number of the newest event; 0 for none. */
  last_event: number
  /** The number of the oldest event that is kept, and when that was written. */
  first_event: number
  oldest_at: number
  /** JSON: all that messages said of the User's situation (7.4), a newer fact in place of an older one. */
  context: string
  /** Whose message was accepted last, and with which rights (reading 22): what turns and staff may do follows them. */
  session_id: string
  caller_user_id: string
  caller_account: string | null
  grant_id: string | null
  scopes: string
  epoch: number
  /** Who wrote the last message of the Personal Agent's side. */
  sender: 'agent' | 'human'
  /** The number of the newest message that asks for a reply, and of the newest that a turn has answered. */
  asked: number
  answered: number
  /** Counts turns; what a turn writes has its number in its key. */
  turn: number
  /** What `asked` was when the turn was begun first: a turn that is begun again answers the same. */
  turn_asked: number
  /** Counts who may write for the turn: only the newest runner may. */
  runner: number
  /** How often the turn was begun. */
  attempts: number
  /** When the turn is to be begun or taken over; null while none is wanted. */
  turn_due_at: number | null
  /** Who of the staff has it, and until when without a sign of life. */
  held_by: string | null
  held_name: string | null
  queued_at: number | null
  queue_reason: string | null
  /** When it has to be looked at: somebody waits too long, is gone, or nothing happens any more. */
  care_due_at: number | null
  notes: number
  created_at: number
  updated_at: number
  closed_at: number | null
}

/** 7.5: the ledger. Written once, never changed; the oldest go when they are no longer kept. */
export interface EventsTable {
  company: string
  conversation_id: string
  /** Counts from 1, without a gap. */
  number: number
  /** Its type, with `.own` behind it where it ends nobody's wait: the Personal Agent's own messages, and what they cause. */
  type: string
  /** JSON of the whole event, as it travels. */
  body: string
  /** What it is written once for, such as the third step of the second turn; null where nothing can write it twice. */
  written_for: string | null
  created_at: number
}

/** 7.3: which messages were accepted, and what was answered: as long as their conversation is kept. */
export interface ReceiptsTable {
  company: string
  client_id: string
  user_id: string
  message_id: string
  conversation_id: string
  /** SHA-256 of the message and where it was sent. */
  digest: string
  code: number
  status: 'working' | 'idle' | 'queued' | 'closed'
  responder: 'agent' | 'human'
  /** The number of its event. */
  event: number
}

/** What a turn's tools answered, so that a turn that is begun again doesn't run them again. Goes with the turn. */
export interface StepsTable {
  company: string
  conversation_id: string
  turn: number
  step: number
  /** SHA-256 of the tool's name and its input. */
  digest: string
  /** JSON. */
  outcome: string
  created_at: number
}

/** What never leaves the company: notes of staff, and replies of the Company Agent that came after a person took over. */
export interface NotesTable {
  company: string
  conversation_id: string
  number: number
  kind: 'note' | 'draft' | 'handback'
  /** JSON: which member of staff, or the Company Agent. */
  who: string
  text: string
  /** JSON. */
  data: string | null
  created_at: number
}

/** Who of the staff was here last, and when. */
export interface StaffTable {
  company: string
  staff_id: string
  name: string
  seen_at: number
}

/** Who of the staff did what: read, took, wrote, ran, settled. Written once, in the transaction of what it tells of. */
export interface AuditTable {
  company: string
  /** Whoever sends the same form twice does nothing the second time: its key, or one of our own. */
  id: string
  at: number
  staff_id: string
  staff_name: string
  act: string
  conversation_id: string | null
  operation_id: string | null
  /** JSON; nothing of what was said or shown. */
  detail: string | null
}

/** What the company's own systems are to be told: committed with what causes it, and deleted once it was taken. */
export interface DeliveriesTable {
  company: string
  id: string
  /** Which of the configured addresses. */
  endpoint: string
  event: string
  /** JSON, as it is sent. */
  body: string
  /** What it tells of: it goes with that when a person is erased. */
  conversation_id: string | null
  operation_id: string | null
  /** Whoever claims it moves it to the end of the lease; null once it was given up. */
  due_at: number | null
  attempts: number
  /** What came of the last try, such as `status 503`; null before the first. */
  last_try: string | null
  created_at: number
  given_up_at: number | null
}

/** Where staff are wanted or at work: until when the Personal Agent is known to be listening. */
export interface ListenersTable {
  company: string
  conversation_id: string
  ends_at: number
}
