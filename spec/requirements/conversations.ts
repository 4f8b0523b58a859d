import { section } from './section.ts'

/** Section 7: conversations, up to what they refuse. */
export const conversations = [
  ...section('7.1', {
    built: {
      'skip-unknown-agent': 'plain: agent MUST skip conversation protocols that it does not know',
      'chosen-endpoint-agent': 'plain: agent MUST use the endpoint of the protocol entry it chose',
      'type-poppy': 'table: company MUST list this protocol as type poppy, with an endpoint',
    },
  }),
  ...section('7.2', {
    built: {
      'id-format-agent': 'plain: agent MUST make message IDs of 1 to 256 characters of URL-safe base64',
      'id-prefix-agent': 'agent SHOULD begin its message IDs with a short prefix',
      'id-opaque-agent': 'agent MUST NOT depend on the form of IDs that the Company chose',
      'id-prefix': 'company SHOULD begin its IDs with a short prefix for their kind',
      'owner-only':
        'company MUST refuse requests from another client_id, User or account than the owner of the conversation',
      'any-session': 'plain: company MUST let any Session of the owner continue a conversation',
      'account-owns': 'plain: company MUST give a conversation to the account once it has used it',
      'token-and-proof': 'plain: company MUST require a Session Token and a DPoP proof on each request',
      'id-format': 'plain: company MUST make and accept IDs of 1 to 256 characters of URL-safe base64',
      'id-opaque': 'company MUST NOT depend on the form of message IDs that the Personal Agent chose',
    },
  }),
  ...section('7.3', {
    built: {
      'message-id-unique-agent': 'agent MUST NOT use one message ID for two messages of a User',
      'retry-same-id-agent': 'plain: agent MUST retry a message with the same ID',
      start: 'plain: company MUST answer a first message with 201, conversation_id, status and responder',
      next: 'plain: company MUST answer a later message with 202 and the same fields',
      'first-message-retry': 'plain: company MUST answer a retried first message with the conversation it started',
      'message-retry':
        'plain: company MUST answer a message it has accepted before with the original response, and add nothing',
      'message-id-conflict': 'plain: company MUST answer message_id_conflict for a known message ID with other content',
      wait: 'plain: company MUST answer a POST with wait as a read from its cursor, with status 201 or 202',
      'message-id-kept': 'plain: company MUST keep this check as long as it keeps the conversation',
    },
  }),
  ...section('7.4', {
    built: {
      'content-agent': 'agent MUST send at least one of text, data and context in a message',
      'no-markup-agent': 'agent SHOULD NOT write as text what is structured: data is for that',
      'context-format-agent':
        'agent MUST share locale, time zone and availability in the fields and formats defined for them',
      'share-little-agent': 'agent SHOULD tell the Company no more than the task takes',
      'no-markup': 'company SHOULD NOT let the Company Agent write as text what is structured: data is for that',
      content: 'company MUST refuse a message with none of text, data and context',
      'id-and-sender': 'table: company MUST require an ID and a sender in each message',
      role: 'table: company MUST state in events the role of each message, user or company',
      'company-message': 'plain: company MUST give its messages an ID, sender, and text or data, and no context',
      'context-keeps': 'plain: company MUST keep the earlier value of a context field that a message leaves out',
      'context-only': 'plain: company MUST take a message with only context as an update that says nothing else',
      'context-given': 'plain: company MUST give context to the Company Agent',
    },
  }),
  ...section('7.5', {
    built: {
      'skip-unknown-agent': 'agent MUST pass over events of an unknown type',
      'cursor-opaque-agent': 'agent MUST NOT work out an order, or anything else, from what cursors look like',
      'has-more-agent': 'plain: agent MUST read again at once when has_more is true',
      'in-order-agent': 'plain: agent MUST handle events in order and save the cursor after them',
      'skip-handled-agent': 'plain: agent MUST skip events that it has handled',
      'cursor-expired-agent': 'plain: agent MUST read from the beginning after cursor_expired',
      'tell-gap-agent': 'agent SHOULD let the User know of the gap',
      order: 'plain: company MUST record a conversation as one ordered list of events',
      'event-fields': 'plain: company MUST give each event an id, a type and an RFC 3339 created_at',
      'after-cursor': 'plain: company MUST return the events after the cursor, or from the beginning without one',
      'read-fields': 'company MUST state cursor, has_more, status and responder in each successful read',
      cursor: 'plain: company MUST state as cursor the last event returned, or the cursor of the request',
      wait: 'plain: company MUST hold a read for up to wait seconds until there is an event, and else return none',
      'cursor-expired': 'plain: company MUST answer cursor_expired for a cursor whose events it no longer has',
    },
  }),
  ...section('7.6', {
    built: {
      'json-fallback-agent': 'plain: agent MUST take a JSON answer when it asked for a stream',
      'last-event-id-agent': 'plain: agent MUST reconnect with the last event it handled in Last-Event-ID',
      'delta-replaced-agent': 'plain: agent MUST replace the pieces of a message by the complete one',
      'delta-no-act-agent': 'agent MUST NOT do anything because of text that has come only in pieces',
      'delta-dropped-agent': 'plain: agent MUST drop the pieces of an unfinished message after a reconnect',
      'sse-events': 'plain: company MUST send streamed events with the event ID as SSE id and the same JSON as data',
      'last-event-id': 'plain: company MUST go on after Last-Event-ID, as after a cursor',
      'delta-no-id': 'plain: company MUST send text-delta events without an id',
    },
  }),
  ...section('7.7', {
    built: {
      'queued-responder': 'plain: company MUST keep responder agent while a conversation is queued',
      'closed-responder': 'plain: company MUST keep the last responder in a closed conversation',
      'status-and-responder': 'company MUST state status and responder in each successful answer to a POST or a read',
      'state-event': 'plain: company MUST add a state event with both values whenever one changes',
      sender: 'company MUST state on each of its messages whether an agent or a human wrote it',
      'status-values': 'table: company MUST use the statuses working, idle, queued and closed',
    },
  }),
  ...section('7.8', {
    built: {
      'sender-agent': 'agent MUST set the sender of each message',
      'human-own-words-agent':
        "agent MUST set sender human only for the User's own words, not for a summary or translation",
      'who-writes':
        'plain: company MUST tell truthfully, by responder and sender, whether a person or an AI takes part',
    },
  }),
  ...section('7.9', {
    built: {
      handoff: 'plain: company MUST answer a handoff request with 202, status and responder',
      queued: 'plain: company MUST set status queued until a person joins, and then responder human',
      'no-one': 'plain: company MUST go back to idle with responder agent and say why when no one is available',
      'messages-while-queued': 'plain: company MUST accept messages while a handoff waits',
      'close-cancels': 'plain: company MUST cancel a waiting handoff when the conversation closes',
      'person-scopes': 'plain: company MUST hold its people to the same scopes as the Company Agent',
    },
  }),
  ...section('7.10', {
    built: {
      'as-written-agent':
        "plain: agent MUST send the User's messages as written, with sender human, and show the replies to the User",
      'ask-user-agent': 'plain: agent MUST ask the User, and say so in the conversation when they decline',
      start:
        'plain: company MUST start a Direct Conversation with an ID of its own for a message with parent_conversation_id',
      'parent-open': 'company MUST refuse a parent that is closed, with conversation_closed',
      'parent-owner': 'company MUST refuse a parent of another owner, with conversation_not_found',
      'parent-not-direct': 'company MUST refuse a parent that is itself a Direct Conversation',
      'user-requested': 'plain: company MUST ask for the User by a user_requested event with a reason',
      'only-agent-starts': 'plain: company MUST NOT start a Direct Conversation itself',
      'direct-opened': 'plain: company MUST add direct_opened with the new ID to the parent',
      'parent-waits':
        'plain: company MUST refuse messages and handoffs on the parent with direct_conversation_open and that ID',
      'parent-readable': 'plain: company MUST let the parent be read meanwhile',
      'direct-closed': 'plain: company MUST add direct_closed to the parent and take messages there again',
      'parent-knows':
        'plain: company MUST let the Company Agent of the parent know what was said in the Direct Conversation',
      'parent-close': 'plain: company MUST close the open Direct Conversation when its parent closes',
      'one-open': 'plain: company MUST answer direct_conversation_open for a second Direct Conversation of one parent',
    },
  }),
  ...section('7.11', {
    built: {
      'authorization-agent':
        'plain: agent MUST respond to an authorization event as to that error, and continue the conversation',
      authorization: 'plain: company MUST add an authorization event when the Company Agent needs the account',
      'also-asks': 'company SHOULD also ask for it in a message',
      'authorization-scope': 'plain: company MUST name the scopes that are needed in an insufficient_scope event',
      'token-scopes':
        'plain: company MUST check the scopes of the token before it reads or changes the account, whoever answers',
      'message-no-authority': 'plain: company MUST NOT take a message as permission for the action it asks for',
      'any-token': "plain: company MUST accept any Session Token of the conversation's owner",
      'sign-in-required':
        'plain: company MUST answer sign_in_required to a token not signed in to the account that the conversation used',
    },
  }),
  ...section('7.12', {
    built: {
      close: 'plain: company MUST add a closed state event and answer a close request with 200, status and responder',
      'closed-refuses': 'plain: company MUST refuse messages to a closed conversation',
      'closed-readable': 'plain: company MUST let the events of a closed conversation be read as long as it keeps them',
      'close-keeps-effects': 'plain: company MUST NOT cancel what a conversation started because it closes',
    },
  }),
  ...section('7.13', {
    built: {
      'conversation-closed':
        'table: company MUST answer 409 conversation_closed for a message or handoff to a closed conversation',
      'conversation-not-found':
        'table: company MUST answer 404 conversation_not_found for an unknown conversation or one of another owner',
      'invalid-request': 'table: company MUST answer 400 invalid_request for a malformed request',
      'error-body': 'plain: company MUST report errors as JSON with an error code',
      'invalid-cursor': 'table: company MUST answer 400 invalid_cursor for a cursor that is none of this conversation',
      'message-id-conflict': 'table: company MUST answer 409 message_id_conflict',
      'cursor-expired': 'table: company MUST answer cursor_expired for a cursor that is too old',
      'direct-conversation-open': 'table: company MUST state conversation_id with direct_conversation_open',
    },
  }),
]
