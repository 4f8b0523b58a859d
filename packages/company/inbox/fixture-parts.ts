import type {
  Allowed,
  ConversationRowView,
  ConversationView,
  Entry,
  OperationCard,
  OperationDetails,
  ToolView,
} from '../src/inbox/view.ts'

/** What the made-up views are made of: conversations of a hotel, and what stands beside them. */

export const now = Date.UTC(2026, 10, 30, 14, 5)
export const minute = 60_000
export const hour = 60 * minute

const row = (part: Partial<ConversationRowView> & Pick<ConversationRowView, 'id' | 'host'>): ConversationRowView => ({
  status: 'queued',
  responder: 'agent',
  claimedName: null,
  isSignedIn: true,
  personLocale: 'en-GB',
  isUserAvailable: null,
  isDirect: false,
  isConnected: true,
  lastSeenAt: now - minute,
  waitingSince: now - 4 * minute,
  waitingFor: null,
  heldBy: null,
  isUnanswered: true,
  last: null,
  createdAt: now - hour,
  updatedAt: now - 4 * minute,
  closedAt: null,
  ...part,
})

export const rows: readonly ConversationRowView[] = [
  row({
    id: 'conv_harbour',
    host: 'muse.example',
    claimedName: 'Muse',
    waitingSince: now - 12 * minute,
    waitingFor: 'A refund above the limit of the agent',
    isUserAvailable: true,
    last: {
      by: 'agent',
      sender: 'agent',
      text: 'Maya paid 420 € for two nights and had no hot water for one of them. She asks for half of it back.',
      at: now - 12 * minute,
    },
  }),
  row({
    id: 'conv_late',
    host: 'assistant.a-rather-long-company-name-for-an-agent.example',
    personLocale: 'de-AT',
    isSignedIn: false,
    waitingSince: now - 3 * minute,
    isUserAvailable: false,
    isConnected: false,
    lastSeenAt: now - 3 * minute,
    last: {
      by: 'user',
      sender: 'human',
      text: 'Ich komme erst gegen zwei Uhr nachts an. Ist dann noch jemand da?',
      at: now - 3 * minute,
    },
  }),
  row({
    id: 'conv_dog',
    host: 'helper.example',
    claimedName: 'Helper',
    waitingSince: now - 20_000,
    isConnected: null,
    personLocale: null,
    waitingFor: 'Whether a large dog may stay in a sea-view room',
  }),
]

export const mine: readonly ConversationRowView[] = [
  row({
    id: 'conv_harbour',
    host: 'muse.example',
    status: 'idle',
    responder: 'human',
    heldBy: { id: 'desk1', name: 'Rita Moreno' },
    waitingSince: null,
    isUserAvailable: true,
    last: { by: 'agent', sender: 'agent', text: 'Could you look at it today? Maya leaves at five.', at: now - minute },
  }),
  row({
    id: 'conv_towels',
    host: 'muse.example',
    status: 'idle',
    responder: 'human',
    heldBy: { id: 'desk1', name: 'Rita Moreno' },
    waitingSince: null,
    isDirect: true,
    isUnanswered: false,
    last: { by: 'staff', sender: 'human', text: 'They are on their way up.', at: now - 2 * hour },
  }),
]

export const proposal: OperationCard = {
  id: 'op_refund_1',
  name: 'refund',
  state: 'proposed',
  revision: 2,
  summary: 'Refund 105.00 € of booking MIR-2041 to the card that paid it.',
  terms: {
    kind: 'fields',
    fields: [
      { name: 'Amount', value: { kind: 'value', text: '105.00 EUR' } },
      { name: 'Booking', value: { kind: 'value', text: 'MIR-2041' } },
      {
        name: 'Nights',
        value: {
          kind: 'table',
          columns: ['Night', 'Paid', 'Refunded'],
          rows: [
            ['28 Nov', '210.00', '0.00'],
            ['29 Nov', '210.00', '105.00'],
          ],
        },
      },
    ],
  },
  expiresAt: now + 50 * minute,
  unknownSince: null,
  result: null,
  conversationId: 'conv_harbour',
  host: 'muse.example',
  createdAt: now - 2 * minute,
  input: { booking: 'MIR-2041', amount: '105' },
}

export const unknown: OperationDetails = {
  ...proposal,
  id: 'op_deposit_7',
  name: 'charge_deposit',
  state: 'in_progress',
  revision: 1,
  summary: 'Charge a deposit of 150.00 € for booking MIR-1987.',
  unknownSince: now - 47 * minute,
  expiresAt: null,
  createdAt: now - hour,
  input: null,
  trail: [
    { at: now - hour, what: 'proposed', by: null, why: null },
    { at: now - 50 * minute, what: 'confirmed', by: null, why: null },
    { at: now - 49 * minute, what: 'started', by: null, why: null },
    { at: now - 47 * minute, what: 'unknown', by: null, why: 'it did not answer in time' },
  ],
  audit: [{ at: now - 40 * minute, by: 'Omar Haddad', act: 'read', detail: null }],
}

export const entries: readonly Entry[] = [
  {
    id: 'e1',
    at: now - 32 * minute,
    kind: 'message',
    by: 'agent',
    isPerson: false,
    text: 'Maya had no hot water on the second night of booking MIR-2041. She asks for half of that night back.',
    data: {
      kind: 'fields',
      fields: [
        { name: 'booking', value: { kind: 'value', text: 'MIR-2041' } },
        {
          name: 'nights',
          value: {
            kind: 'table',
            columns: ['date', 'paid', 'hot water'],
            rows: [
              ['2026-11-28', '210.00 EUR', 'yes'],
              ['2026-11-29', '210.00 EUR', 'no'],
            ],
          },
        },
      ],
    },
    operation: null,
    isOutcome: false,
  },
  {
    id: 'e2',
    at: now - 31 * minute,
    kind: 'message',
    by: 'company-agent',
    isPerson: false,
    text: 'I am sorry to hear that. A refund of more than 100 € is for a person to decide; I am asking one.',
    data: null,
    operation: null,
    isOutcome: false,
  },
  { id: 'e3', at: now - 31 * minute, kind: 'state', status: 'queued', responder: 'agent' },
  { id: 'e4', at: now - 29 * minute, kind: 'state', status: 'idle', responder: 'human' },
  {
    id: 'e5',
    at: now - 29 * minute,
    kind: 'note',
    note: 'draft',
    by: null,
    text: 'Someone from the front desk will look at the boiler’s log for that night and come back to you.',
    data: {
      kind: 'fields',
      fields: [{ name: 'Boiler', value: { kind: 'value', text: 'Off from 22:10 to 06:40' } }],
    },
  },
  {
    id: 'e6',
    at: now - 20 * minute,
    kind: 'note',
    note: 'note',
    by: 'Rita Moreno',
    text: 'Boiler was off from 22:10 to 06:40. She is right.',
    data: null,
  },
  {
    id: 'e7',
    at: now - 18 * minute,
    kind: 'authorization',
    needs: 'scope',
    scopes: [{ scope: 'poppy:write', text: 'Change your bookings' }],
  },
  {
    id: 'e8',
    at: now - 17 * minute,
    kind: 'user-requested',
    reason: 'We would like to hear which card you paid with.',
  },
  { id: 'e9', at: now - 16 * minute, kind: 'direct', isOpen: true, conversationId: 'conv_towels' },
  {
    id: 'e10',
    at: now - 15 * minute,
    kind: 'message',
    by: 'user',
    isPerson: true,
    text: 'With the one that ends in 4242, thank you.\nI leave at five.',
    data: null,
    operation: null,
    isOutcome: false,
  },
  {
    id: 'e11',
    at: now - 3 * minute,
    kind: 'message',
    by: 'staff',
    isPerson: true,
    text: 'You are right, the boiler was off that night. I propose this:',
    data: null,
    operation: null,
    isOutcome: false,
  },
  {
    id: 'e12',
    at: now - 2 * minute,
    kind: 'message',
    by: 'staff',
    isPerson: true,
    text: proposal.summary,
    data: null,
    operation: proposal,
    isOutcome: false,
  },
  {
    id: 'e13',
    at: now - minute,
    kind: 'message',
    by: 'agent',
    isPerson: false,
    text: 'Could you look at it today? Maya leaves at five.',
    data: null,
    operation: null,
    isOutcome: false,
  },
]

const text = { hint: null, choices: [], standard: null } as const

export const tools: readonly ToolView[] = [
  {
    name: 'list_bookings',
    title: 'List bookings',
    description: 'Bookings of the customer, newest first.',
    proposes: false,
    missing: null,
    asks: [],
    fields: [
      { ...text, name: 'from', label: 'From', isNeeded: false, kind: 'date' },
      {
        ...text,
        name: 'state',
        label: 'State',
        isNeeded: false,
        kind: 'choice',
        choices: ['booked', 'stayed', 'cancelled'],
      },
    ],
  },
  {
    name: 'refund',
    title: 'Refund',
    description: 'Proposes to give back what was paid for a booking, or a part of it.',
    proposes: true,
    missing: null,
    asks: [],
    fields: [
      { ...text, name: 'booking', label: 'Booking', isNeeded: true, kind: 'text', hint: 'Such as MIR-2041' },
      { ...text, name: 'amount', label: 'Amount in euros', isNeeded: true, kind: 'number' },
      { ...text, name: 'reason', label: 'Reason', isNeeded: false, kind: 'long-text' },
      { ...text, name: 'tell', label: 'Tell the customer by mail', isNeeded: false, kind: 'yes-no' },
    ],
  },
  {
    name: 'plan_stay',
    title: 'Plan a stay',
    description: 'Rooms, extras and times, all at once.',
    proposes: false,
    missing: null,
    asks: [],
    fields: null,
  },
  {
    name: 'change_dates',
    title: 'Change dates',
    description: 'Proposes other dates for a booking.',
    proposes: true,
    missing: 'The customer has not allowed: Change your bookings',
    asks: ['poppy:write'],
    fields: [],
  },
]

export const all: Allowed = {
  take: null,
  release: null,
  give: null,
  reply: null,
  handBack: null,
  askForUser: null,
  askForSignIn: null,
  openAccount: null,
  callTools: null,
  close: null,
}
const notMine = 'Take this conversation first.'
export const none: Allowed = {
  ...all,
  release: notMine,
  give: notMine,
  reply: notMine,
  handBack: notMine,
  askForUser: notMine,
  askForSignIn: notMine,
  openAccount: notMine,
  callTools: notMine,
}

export const conversation: ConversationView = {
  ...(mine[0] as ConversationRowView),
  claimedName: 'Muse',
  asked: {
    text: 'Maya had no hot water on the second night of booking MIR-2041. She asks for half of that night back.',
    by: 'agent',
    isPerson: false,
    at: now - 32 * minute,
  },
  decision: 'Whether 105.00 € are given back for the night of 29 November.',
  entries,
  before: '/poppy/inbox/conversations/conv_harbour?list=mine&before=e1',
  newest: null,
  found: null,
  parent: null,
  direct: null,
  writesFor: 'agent',
  context: {
    kind: 'fields',
    fields: [
      { name: 'locale', value: { kind: 'value', text: 'en-GB' } },
      { name: 'user_available', value: { kind: 'value', text: 'Yes' } },
      { name: 'budget', value: { kind: 'value', text: 'None; a refund only' } },
    ],
  },
  agent: {
    clientId: 'https://muse.example/.well-known/agent.json',
    host: 'muse.example',
    claims: [
      { name: 'Name', value: 'Muse' },
      { name: 'Made by', value: 'Muse Labs, Inc.' },
    ],
    isBlocked: false,
  },
  rights: {
    isSignedIn: true,
    signIn: 'sign-in-1',
    granted: [{ scope: 'poppy:read', text: 'See your bookings' }],
    missing: [
      { scope: 'poppy:write', text: 'Change your bookings' },
      { scope: 'loyalty', text: 'See your points' },
    ],
  },
  account: { state: 'closed' },
  tools,
  allowed: all,
  outcome: null,
  savedReplies: [
    { title: 'We look into it', text: 'Thank you. We look into it and come back to you within the hour.' },
    { title: 'Late arrival', text: 'The front desk is open all night. Ring the bell at the blue door.' },
  ],
  audit: [
    { at: now - 2 * minute, by: 'Rita Moreno', act: 'proposed', detail: 'refund' },
    { at: now - 29 * minute, by: 'Rita Moreno', act: 'took', detail: null },
    { at: now - 30 * minute, by: 'Ben Adeyemi', act: 'read', detail: null },
  ],
}

export const openAccount: ConversationView['account'] = {
  state: 'open',
  title: 'Maya Okafor',
  facts: [
    { name: 'Customer since', value: '2019' },
    { name: 'Points', value: '1,250' },
  ],
  tables: [
    {
      title: 'Bookings',
      columns: ['Number', 'From', 'To', 'Room', 'Paid'],
      rows: [
        ['MIR-2041', '28 Nov 2026', '30 Nov 2026', 'Sea view, double', '420.00 €'],
        ['MIR-1744', '3 Mar 2026', '9 Mar 2026', 'Garden, single', '890.00 €'],
      ],
    },
  ],
  links: [{ text: 'Open in the booking system', href: '/staff/bookings/maya' }],
}
