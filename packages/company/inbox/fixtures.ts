import type { ConversationRowView, ConversationView, InboxView } from '../src/inbox/view.ts'
import {
  all,
  conversation,
  entries,
  hour,
  mine,
  minute,
  none,
  now,
  openAccount,
  rows,
  unknown,
} from './fixture-parts.ts'

/** Made-up views of every screen and state, such as a hotel would have them: for tests and for looking at. */

/** What a language brings to a view. */
export interface FixtureLanguage {
  readonly language: string
  readonly locale: string
  readonly isRightToLeft?: boolean
  /** The page has them; here for what a view says in words. */
  readonly words: Readonly<Record<string, string>>
}

/** Every view, by a name for its picture. */
export function fixtures({
  language,
  locale,
  isRightToLeft = false,
  words,
}: FixtureLanguage): Record<string, InboxView> {
  const frame: InboxView = {
    organization: 'Hotel Miramar',
    hasAgent: true,
    me: { id: 'desk1', name: 'Rita Moreno' },
    signOutPage: '/staff/sign-out',
    colleagues: [
      { id: 'desk2', name: 'Ben Adeyemi' },
      { id: 'desk3', name: 'Chiara Bianchi' },
    ],
    language,
    locale,
    isRightToLeft,
    path: '/poppy/inbox',
    now,
    counts: {
      waiting: { number: 3, isMore: false },
      mine: { number: 2, isMore: false },
      settle: { number: 1, isMore: false },
    },
    newestWaiting: now - minute,
    list: {
      name: 'waiting',
      query: '',
      conversations: rows,
      found: {},
      operations: [],
      next: null,
      searchedSince: null,
    },
    conversation: null,
    operation: null,
    notice: null,
    entered: {},
    token: 'sealed.form.token',
    once: 'once_1',
  }
  const ofMine: InboxView = {
    ...frame,
    list: { ...frame.list, name: 'mine', conversations: mine },
    conversation,
  }
  const empty: InboxView['list'] = { ...frame.list, conversations: [] }
  const none0 = { number: 0, isMore: false }
  const queued: ConversationView = {
    ...conversation,
    ...(rows[0] as ConversationRowView),
    entries: entries.slice(0, 3),
    before: null,
    allowed: none,
    audit: [],
  }
  return {
    waiting: frame,
    'waiting-empty': { ...frame, list: empty, counts: { waiting: none0, mine: none0, settle: none0 }, colleagues: [] },
    'waiting-many': {
      ...frame,
      counts: { ...frame.counts, waiting: { number: 100, isMore: true } },
      list: {
        ...frame.list,
        conversations: Array.from({ length: 30 }, (_, index) => ({
          ...(rows[index % rows.length] as ConversationRowView),
          id: `conv_${index}`,
        })),
        next: '/poppy/inbox?list=waiting&after=conv_29',
      },
    },
    mine: { ...frame, list: ofMine.list },
    closed: {
      ...frame,
      list: {
        ...frame.list,
        name: 'closed',
        conversations: mine.map((one) => ({ ...one, status: 'closed', heldBy: null, closedAt: now - 26 * hour })),
      },
    },
    settle: { ...frame, list: { ...empty, name: 'settle', operations: [unknown] } },
    search: {
      ...frame,
      list: {
        name: 'search',
        query: 'hot water',
        conversations: rows.slice(0, 3),
        found: {
          [rows[0]?.id ?? '']: {
            kind: 'words',
            entry: 'e1',
            at: now - 32 * minute,
            excerpt: [
              { text: '…Maya had no ', isFound: false },
              { text: 'hot water', isFound: true },
              {
                text: ' on the second night of booking MIR-2041. She asks for half of that night back.',
                isFound: false,
              },
            ],
            who: { kind: 'message', by: 'agent', sender: 'agent' },
          },
          [rows[1]?.id ?? '']: {
            kind: 'words',
            entry: 'note-1',
            at: now - 26 * hour,
            excerpt: [
              { text: 'Boiler was off from 22:10 to 06:40: no ', isFound: false },
              { text: 'HOT WATER', isFound: true },
              { text: '.', isFound: false },
            ],
            who: { kind: 'note', note: 'note', by: 'Rita Moreno' },
          },
          [rows[2]?.id ?? '']: { kind: 'operation', id: unknown.id },
        },
        operations: [unknown],
        next: '/poppy/inbox?q=hot+water&since=1',
        searchedSince: now - 90 * 24 * hour,
      },
    },
    'search-opened': {
      ...frame,
      list: { ...frame.list, name: 'search', query: 'hot water', conversations: rows.slice(0, 1) },
      conversation: {
        ...conversation,
        newest: '/poppy/inbox/conversations/conv_harbour?q=hot+water',
        found: {
          entry: 'e1',
          pieces: [
            { text: 'Maya had no ', isFound: false },
            { text: 'hot water', isFound: true },
            { text: ' on the second night of booking MIR-2041. She asks for half of that night back.', isFound: false },
          ],
        },
      },
    },
    'search-empty': {
      ...frame,
      list: { ...empty, name: 'search', query: 'sauna' },
    },
    queued: { ...frame, conversation: queued },
    held: { ...ofMine },
    'held-by-other': {
      ...frame,
      list: { ...frame.list, name: 'open' },
      conversation: {
        ...queued,
        status: 'idle',
        responder: 'human',
        waitingSince: null,
        heldBy: { id: 'desk2', name: 'Ben Adeyemi' },
        allowed: { ...none, take: 'A colleague has this conversation.', close: 'A colleague has this conversation.' },
      },
    },
    'lost-to-other': {
      ...frame,
      list: { ...frame.list, name: 'open' },
      conversation: {
        ...queued,
        status: 'idle',
        responder: 'human',
        waitingSince: null,
        heldBy: { id: 'desk2', name: 'Ben Adeyemi' },
        allowed: { ...none, take: 'A colleague has this conversation.', close: 'A colleague has this conversation.' },
      },
      notice: { kind: 'refused', text: words['why.held_by_other'] ?? '' },
      entered: { act: 'reply', text: 'Dear Maya, the boiler was off that night.' },
    },
    'with-the-agent': {
      ...frame,
      list: { ...frame.list, name: 'open' },
      conversation: { ...queued, status: 'working', waitingSince: null, decision: null, asked: null, context: null },
    },
    'account-open': { ...ofMine, conversation: { ...conversation, account: openAccount } },
    'account-dark': {
      ...ofMine,
      conversation: {
        ...conversation,
        account: { state: 'dark' },
        isSignedIn: false,
        rights: { isSignedIn: false, signIn: null, granted: [], missing: conversation.rights.missing },
        allowed: { ...all, openAccount: 'The customer is not signed in.' },
        agent: { ...conversation.agent, isBlocked: true },
      },
    },
    ran: {
      ...ofMine,
      notice: { kind: 'done', text: words['done.call-tool'] ?? '' },
      conversation: {
        ...conversation,
        outcome: {
          tool: 'list_bookings',
          title: 'List bookings',
          isOk: true,
          isProposed: false,
          text: null,
          value: { kind: 'table', columns: ['number', 'from', 'paid'], rows: [['MIR-2041', '2026-11-28', '420.00']] },
        },
      },
    },
    refused: {
      ...ofMine,
      notice: { kind: 'refused', text: words['why.held_by_other'] ?? '' },
      entered: {
        act: 'reply',
        text: 'Dear Maya, the boiler was off that night, and I am sorry.',
        'data.0.name': 'refund',
        'data.0.value': '105',
      },
    },
    'to-a-person': {
      ...ofMine,
      conversation: {
        ...conversation,
        ...(mine[1] as ConversationRowView),
        writesFor: 'human',
        asked: { text: 'Could I have two more towels?', by: 'user', isPerson: true, at: now - 2 * hour },
        decision: null,
        entries: [
          {
            id: 'e20',
            at: now - 2 * hour,
            kind: 'message',
            by: 'user',
            isPerson: true,
            text: 'Could I have two more towels?',
            data: null,
            operation: null,
            isOutcome: false,
          },
          {
            id: 'e21',
            at: now - 2 * hour + minute,
            kind: 'message',
            by: 'staff',
            isPerson: true,
            text: 'They are on their way up.',
            data: null,
            operation: null,
            isOutcome: false,
          },
        ],
        before: null,
        parent: { id: 'conv_harbour', entries: entries.slice(0, 2) },
      },
    },
    'closed-conversation': {
      ...frame,
      list: { ...frame.list, name: 'closed', conversations: [] },
      conversation: {
        ...queued,
        status: 'closed',
        waitingSince: null,
        closedAt: now - hour,
        newest: '/poppy/inbox/conversations/conv_harbour?list=closed',
        allowed: { ...none, take: 'This conversation is closed.', close: 'This conversation is closed.' },
      },
    },
    'long-words': {
      ...ofMine,
      conversation: {
        ...conversation,
        claimedName: 'A'.repeat(120),
        asked: {
          text: `${'verylongword'.repeat(20)}\n\n${'Many words. '.repeat(200)}`,
          by: 'agent',
          isPerson: false,
          at: now,
        },
        entries: [
          ...entries,
          {
            id: 'long',
            at: now,
            kind: 'message',
            by: 'agent',
            isPerson: false,
            text: 'x'.repeat(500),
            data: {
              kind: 'fields',
              fields: [{ name: 'n'.repeat(80), value: { kind: 'value', text: 'v'.repeat(300) } }],
            },
            operation: null,
            isOutcome: false,
          },
        ],
      },
    },
    'settle-one': {
      ...frame,
      list: { ...empty, name: 'settle', operations: [unknown] },
      operation: unknown,
    },
  }
}
