import { describe, expect, it } from 'vitest'
import { approve, sitDownToChat as sitDown } from './setup/chat.ts'

// `poppy chat`, as a person types it: who speaks is told, the answer is waited for, and words with a slash do the rest.

describe('poppy chat', () => {
  it('says one thing, shows the answer and how to go on, and goes on', async () => {
    const { poppy, company } = await sitDown()
    company.conversations.script([{ say: 'Which jacket?\nAI: or coat' }], [{ say: 'Sure.' }])
    const first = await poppy(['chat', company.origin, 'The jacket is too small.'])
    expect([first.code, first.err]).toEqual([0, ''])
    expect(first.out).toContain('Misbehaving Company (AI): Which jacket?\n  AI: or coat\n')
    const [, id = ''] = /Next: poppy chat \S+ --continue (\S+)/.exec(first.out) ?? []
    expect(id).toMatch(/^[A-Za-z0-9_-]+$/)
    const next = await poppy(['chat', company.origin, '--continue', id, 'The green one.'])
    expect(next.out).toContain('Misbehaving Company (AI): Sure.\n')
    expect(company.findings).toEqual([])
  })

  it('fails as a command where its only words can’t be said, and says what helps', async () => {
    const { poppy, company } = await sitDown()
    const unknown = await poppy(['chat', company.origin, '--continue', 'cnv_of_nobody', 'Hello?'])
    expect(unknown.code).not.toBe(0)
    expect(unknown.err).toMatch(
      /^Error: Misbehaving Company knows no such conversation of yours\.\nTo begin a new one: /,
    )
    expect(unknown.out).not.toContain('--continue')
    const empty = await poppy(['chat', company.origin, ' '])
    expect([empty.code, company.conversations.entries]).toEqual([2, []])
  })

  it('says once what could not be said for certain, where the same command is given once more, and tells it [K44]', async () => {
    const { poppy, company } = await sitDown()
    const unheard = () => company.next(3, { ...company.switches, delivery: 'lost' }, 'conversations')
    const received = () => company.conversations.entries.map(({ received }) => received.map(({ text }) => text))
    company.conversations.script([{ say: 'Which jacket?' }], [{ say: 'Thank you.' }], [{ say: 'Thanks again.' }])
    unheard()
    expect((await poppy(['chat', company.origin, 'The jacket.'])).code).toBe(4)
    const again = await poppy(['chat', company.origin, 'The jacket.'])
    const [, id = ''] = /Next: poppy chat \S+ --continue (\S+)/.exec(again.out) ?? []
    expect(again.out).toContain(`Sent now (${id}): The jacket.\nMisbehaving Company (AI): Which jacket?\n`)
    expect(received()).toEqual([['The jacket.']])
    // Also where it goes on, of a pipe, and in the owner's own words.
    unheard()
    const go = ['chat', company.origin, '--human', '--continue', id]
    expect((await poppy(go, ['The green one.'])).seen).toContain('Not done: ')
    const next = await poppy(go, ['The green one.', 'The green one.'])
    expect(next.seen).toBe('Misbehaving Company (AI): Thank you.\nMisbehaving Company (AI): Thanks again.\n')
    expect(received()).toEqual([['The jacket.', 'The green one.', 'The green one.']])
    // In the agent's words it is another message, and in another conversation too.
    unheard()
    await poppy(['chat', company.origin, '--continue', id, 'Yes.'])
    await poppy([...go, 'Yes.'])
    unheard()
    await poppy(['chat', company.origin, '--continue', id, 'No.'])
    await poppy(['chat', company.origin, 'No.'])
    expect(received()).toEqual([['The jacket.', 'The green one.', 'The green one.', 'Yes.', 'Yes.', 'No.'], ['No.']])
    expect(company.findings).toEqual([])
  })

  it('takes the lines of a pipe one after another, tells agent from person, and closes', async () => {
    const { poppy, company } = await sitDown()
    company.conversations.script([{ say: 'Which jacket?' }], [{ say: 'Thank you.' }])
    const { code, seen } = await poppy(
      ['chat', company.origin],
      ['The jacket is too small.', '', '/human The green one.', '/nonsense', '/close'],
    )
    expect(code).toBe(0)
    expect(seen).toContain('Misbehaving Company (AI): Which jacket?')
    expect(seen).toContain('Misbehaving Company (AI): Thank you.')
    expect(seen).toContain('Not done: There is no /nonsense. Type /help for what there is.')
    expect(seen).toContain('The conversation is closed.')
    const heard = company.conversations.entries[0]?.received.map(({ sender, text }) => [sender, text])
    expect(heard).toEqual([
      ['agent', 'The jacket is too small.'],
      ['human', 'The green one.'],
    ])
    expect(company.findings).toEqual([])
  })

  it('streams at a terminal, and shows the whole message once', async () => {
    const { poppy, company } = await sitDown()
    company.conversations.script([{ say: 'Which jacket do you mean?', deltas: ['Which jacket ', 'do you mean?'] }])
    const { code, seen, out } = await poppy(
      ['chat', company.origin],
      ['The jacket is too small.', { after: /do you mean\?\n/, type: '/leave' }],
      { isLive: true },
    )
    expect(code).toBe(0)
    expect(seen.match(/Which jacket/g)).toHaveLength(1)
    expect(seen).toContain('Misbehaving Company (AI): Which jacket do you mean?')
    expect(out).toMatch(/Next: poppy chat \S+ --continue \S+\n$/)
    expect(company.findings).toEqual([])
  })

  it('says that the Company is silent for now, and that it answers again', async () => {
    const { poppy, company } = await sitDown()
    company.conversations.script([{ say: 'Which jacket do you mean?' }])
    company.next(3, { ...company.switches, gateway: 'empty_503' }, 'events')
    const { seen } = await poppy(
      ['chat', company.origin],
      ['I want to return a jacket.', { after: /Which jacket/, type: '/leave' }],
      { isLive: true },
    )
    expect(seen).toMatch(
      /\nMisbehaving Company answered HTTP 503\.\nTrying again\. What Misbehaving Company says meanwhile comes when it answers\.\n/,
    )
    expect(seen.match(/Trying again/g)).toHaveLength(1)
    expect(seen).toMatch(/Trying again[\s\S]*Misbehaving Company answers again\.\n[\s\S]*Which jacket/)
  })

  it('shows a message again whose pieces did not say that a person wrote it', async () => {
    const { poppy, company } = await sitDown()
    company.conversations.script([{ say: 'I am Rosa.', sender: 'human', deltas: ['I am ', 'Rosa.'] }])
    const { seen } = await poppy(
      ['chat', company.origin],
      ['Who is this?', { after: /a person\): I am Rosa/, type: '/leave' }],
      { isLive: true },
    )
    expect(seen).toContain('Misbehaving Company (a person): I am Rosa.')
  })

  it('confirms no proposal that took the place of another a moment ago', async () => {
    const { poppy, company } = await sitDown()
    const proposes = { say: 'I can book this.', proposes: true }
    company.conversations.script([{ needs: ['poppy:write'] }, proposes, proposes])
    const { seen } = await poppy(
      ['chat', company.origin],
      [
        'A table for two, please.',
        { after: /Type \/confirm[\s\S]*Type \/confirm/, type: '/confirm' },
        { after: /type \/confirm once more/, type: '/confirm' },
        '/leave',
      ],
      { isLive: true },
    )
    expect(seen).toContain('This has just taken the place of what was proposed before.')
    expect(seen).toContain('Confirmed. State: done.')
    expect(company.operations.map(({ performed }) => performed)).toEqual([0, 1])
  })

  it.each([
    ['told twice', ['a', 'b', 'b']],
    ['after the one before it was taken back', ['a', 'a cancelled', 'b']],
  ])('confirms none that came a moment ago, %s', async (_, told) => {
    const { poppy, company } = await sitDown()
    const proposal = (what: string) => {
      const [name, state = 'proposed'] = what.split(' ')
      const terms = { price: name === 'a' ? '10.00' : '1000.00' }
      const operation = { operation_id: `opn_${name}`, revision: 1, state, summary: `Table ${name}.`, terms }
      return {
        event: {
          type: 'message',
          message: { id: `msg_${what}`.replace(' ', '_'), role: 'company', sender: 'agent', operation },
        },
      }
    }
    company.conversations.script([...told.map(proposal), { say: 'That is it.' }])
    const { seen } = await poppy(
      ['chat', company.origin],
      ['A table for two, please.', { after: /That is it/, type: '/confirm' }, '/leave'],
      { isLive: true },
    )
    expect(seen).toContain('This has just taken the place of what was proposed before.')
  })

  it('signs in when it is asked to, and goes on in the same conversation', async () => {
    const { poppy, company } = await sitDown()
    company.conversations.script([{ needs: ['poppy:read'] }, { say: 'Your room is 12.' }])
    const { seen } = await poppy(
      ['chat', company.origin],
      ['Which room is mine?', { after: /Your room is 12/, type: '/close' }],
      { isLive: true },
    )
    expect(seen).toContain('Open this address in your browser to sign in:')
    expect(seen).toContain('Signed in; the conversation goes on.')
    expect(seen).toContain('The conversation is closed.')
    expect(company.conversations.entries).toHaveLength(1)
    expect(company.findings).toEqual([])
  })

  it('says where it can’t hear the company any more, and hears it again with the next line', async () => {
    const { poppy, company } = await sitDown()
    company.conversations.script([{ say: 'Which jacket?' }], [{ say: 'Noted.' }])
    company.next(1, { refuse: 'conversation_not_found' }, 'events')
    const { seen } = await poppy(
      ['chat', company.origin],
      [
        'The jacket is too small.',
        { after: /looked for again with your next line/, type: 'The green one.' },
        { after: /Noted\./, type: '/close' },
      ],
      { isLive: true },
    )
    expect(seen).toMatch(/Not done: [^\n]+\n[\s\S]+Which jacket\?[\s\S]+Noted\./)
    expect(company.findings).toEqual([])
  })

  it('shows a proposal with its terms, and confirms exactly that', async () => {
    const { poppy, company } = await sitDown()
    company.conversations.script([{ needs: ['poppy:write'] }, { say: 'I can book this.', proposes: true }])
    const { seen } = await poppy(
      ['chat', company.origin],
      [
        'A table for two, please.',
        { after: /Type \/confirm/, type: '/confirm' },
        {
          after: /Confirmed\. State: done\./,
          does: () => {
            const { id: operation_id = '' } = company.operations[0] ?? {}
            const operation = { operation_id, revision: 1, state: 'succeeded', summary: 'A table for two.' }
            const message = { id: 'msg_done', role: 'company', sender: 'agent', text: 'It is booked.', operation }
            const event = { type: 'message', message }
            company.conversations.say(company.conversations.entries[0]?.id ?? '', { event })
          },
        },
        { after: /It is booked/, type: '/confirm' },
        '/leave',
      ],
      { isLive: true },
    )
    expect(seen).toMatch(/Terms +table: by the window/)
    expect(seen).toContain('Confirmed. State: done.')
    // The Company tells it too, and it is not said again.
    expect(seen.match(/State: done\./g)).toHaveLength(1)
    expect(seen).toContain('Not done: Nothing is proposed that could be confirmed.')
    expect(company.operations[0]).toMatchObject({ performed: 1, confirms: 1, confirmed: { approvedBy: 'user' } })
    expect(company.findings).toEqual([])
  })

  it('confirms nothing where the terms at the endpoint are others than those of the message, under the same revision', async () => {
    const { poppy, company } = await sitDown()
    company.conversations.script([{ needs: ['poppy:write'] }, { say: 'I can book this.', proposes: true }])
    company.next(1000, { operationTerms: 'missing' }, 'operations')
    const { seen } = await poppy(
      ['chat', company.origin],
      ['A table for two, please.', { after: /Type \/confirm/, type: '/confirm' }, '/leave'],
      { isLive: true },
    )
    expect(seen).toContain('The terms have changed.')
    expect(seen).toContain('Not confirmed. Nothing was done.')
    expect(company.operations[0]).toMatchObject({ performed: 0, confirms: 0 })
  })

  it('asks for a person, and for the owner themselves, who speaks in a conversation of their own', async () => {
    const { poppy, company } = await sitDown()
    company.conversations.script(
      [
        { state: { responder: 'human' } },
        { say: 'May I ask the guest?', sender: 'human' },
        { asksForUser: 'We need your yes.' },
      ],
      [{ say: 'Good morning, what is it about?', sender: 'human' }],
    )
    const { seen } = await poppy(
      ['chat', company.origin],
      [
        'The room is too loud.',
        { after: /would like to talk with you: We need your yes\./, type: '/direct Good morning' },
        { after: /what is it about/, type: 'The room is too loud, says me.' },
        { after: /says me/, type: '/close' },
        { after: /Back in the conversation of your agent/, type: '/leave' },
      ],
      { isLive: true },
    )
    expect(seen).toContain('Misbehaving Company (a person): May I ask the guest?')
    // What the owner did themselves is told once, in words that say which conversation is meant.
    expect(seen).toContain(
      'Your own conversation with the company is closed.\nBack in the conversation of your agent.\n',
    )
    expect(seen).not.toContain('The conversation is closed.')
    expect(seen).not.toContain('Direct Conversation')
    const [first, direct] = company.conversations.entries
    expect(first?.received.map(({ sender }) => sender)).toEqual(['agent'])
    expect(direct?.received.map(({ sender, text }) => [sender, text])).toEqual([
      ['human', 'Good morning'],
      ['human', 'The room is too loud, says me.'],
    ])
    expect(direct?.parentId).toBe(first?.id)
    expect(company.findings).toEqual([])
  })

  it('asks for a person of the company, goes on meanwhile, and closing ends the waiting', async () => {
    const { poppy, company } = await sitDown()
    company.conversations.script([{ say: 'I can’t help with that.' }])
    const { seen } = await poppy(
      ['chat', company.origin],
      [
        'The room is too loud.',
        { after: /can’t help/, type: '/handoff' },
        { after: /Waiting for a person/, type: 'It is room 12.' },
        '/close',
      ],
      { isLive: true },
    )
    expect(seen).toContain('Waiting for a person. You can go on writing meanwhile.')
    expect(seen).toContain('The conversation is closed.')
    const [entry] = company.conversations.entries
    expect(entry?.received.map(({ text }) => text)).toEqual(['The room is too loud.', 'It is room 12.'])
    expect([entry?.status, company.findings]).toEqual(['closed', []])
  })

  it('traces each request beside the chat, and nothing that is secret in it', async () => {
    const { poppy, company } = await sitDown()
    company.conversations.script([{ say: 'Which jacket?' }])
    const { err } = await poppy(['chat', company.origin, 'The jacket is too small.', '--trace'])
    expect(err).toMatch(/→ POST \S+ {2}\[proof\]\n {2}grant_type=\S+ .*client_assertion=…/)
    expect(err).toMatch(/→ POST \S+ {2}\[DPoP token, proof\]\n {2}\{"message":\{"id":"msg_[^"]+","sender":"agent"/)
    expect(err).toMatch(/← 201 application\/json, \d+ ms/)
    expect(err).not.toMatch(/eyJ[A-Za-z0-9_-]{10}/)
  })
})

describe('a sign-in that waits in a chat', () => {
  const rosa = [
    { state: { responder: 'human' as const } },
    { say: 'I am Rosa, I read along.', sender: 'human' as const },
  ]
  const room = { say: 'Your room is 12.', sender: 'human' as const }

  it('holds up nothing else: who joins and what they say is shown, and what is typed goes on', async () => {
    const { poppy, company } = await sitDown()
    company.conversations.script([{ needs: ['poppy:read'] }])
    const id = () => company.conversations.entries[0]?.id ?? ''
    let page = ''
    const { seen } = await poppy(
      ['chat', company.origin],
      [
        'Which room is mine?',
        {
          after: /Open this address in your browser/,
          does: () => company.conversations.say(id(), ...rosa),
        },
        { after: /I am Rosa/, type: '/help' },
        { after: /ask for a person/, does: () => approve(page) },
        { after: /Signed in; the/, does: () => company.conversations.say(id(), room) },
        { after: /Your room is 12/, type: '/close' },
      ],
      { isLive: true, browser: (url) => (page = url) },
    )
    expect(seen).toContain('Ctrl-C cancels the sign-in, and nothing else.')
    const order = [
      'Open this address',
      'A person answers now.',
      'I am Rosa',
      'ask for a person',
      'Signed in; the conversation goes on.',
      'room is 12',
    ]
    const places = order.map((words) => seen.indexOf(words))
    expect(places.every((at, index) => at > (places[index - 1] ?? -1))).toBe(true)
    expect(company.conversations.entries[0]?.status).toBe('closed')
    expect(company.findings).toEqual([])
  })

  it('is cancelled by Ctrl-C, which leaves the chat where it is, and asked for again by /sign-in', async () => {
    const { poppy, company } = await sitDown()
    company.conversations.script([{ needs: ['poppy:read'] }, { say: 'Your room is 12.' }])
    let pages = 0
    const { seen, code } = await poppy(
      ['chat', company.origin],
      [
        '/sign-in',
        { after: /Nothing needs a sign-in/, type: 'Which room is mine?' },
        { after: /Open this address[\s\S]*Ctrl-C cancels/, presses: 'Ctrl-C' },
        { after: /Sign-in cancelled/, type: '/sign-in' },
        { after: /Your room is 12/, presses: 'Ctrl-C' },
        'never typed',
      ],
      {
        isLive: true,
        browser: async (url) => {
          pages += 1
          if (pages > 1) await approve(url)
        },
      },
    )
    expect([code, pages]).toEqual([0, 2])
    expect(seen).toContain('Sign-in cancelled; the conversation goes on without it. /sign-in opens it again.')
    expect(company.conversations.entries[0]?.received.map(({ text }) => text)).toEqual([
      'Which room is mine?',
      'The user has signed in. Please go on.',
    ])
    expect(company.findings).toEqual([])
  })

  it('isn’t begun twice where the Company asks again while its page is open', async () => {
    const { poppy, company } = await sitDown()
    company.conversations.script([{ needs: ['poppy:read'] }, { say: 'Your room is 12.' }])
    let page = ''
    const again = { event: { type: 'authorization', error: 'sign_in_required', scope: 'poppy:read' } }
    const { seen } = await poppy(
      ['chat', company.origin],
      [
        'Which room is mine?',
        {
          after: /Ctrl-C cancels/,
          does: () =>
            company.conversations.say(company.conversations.entries[0]?.id ?? '', again, { say: 'Still waiting.' }),
        },
        { after: /Still waiting/, does: () => approve(page) },
        { after: /Your room is 12/, type: '/leave' },
      ],
      { isLive: true, browser: (url) => (page = url) },
    )
    expect(seen.match(/Open this address/g)).toHaveLength(1)
    expect(company.conversations.entries[0]?.received).toHaveLength(2)
    expect(company.findings).toEqual([])
  })

  it.each([
    ['of one line', false, undefined],
    ['of one line, for a program', true, undefined],
    // The agent hears late that its message arrived: what came of it is on the screen by then.
    ['of one line, which has its answer at once', false, 'lost'],
  ] as const)('holds up nothing in a chat %s either', async (_, isJson, delivery) => {
    const { poppy, company } = await sitDown()
    company.conversations.script([{ needs: ['poppy:read'] }])
    const id = () => company.conversations.entries[0]?.id ?? ''
    const { out, code } = await poppy(
      ['chat', company.origin, 'Which room is mine?', ...(isJson ? ['--json'] : [])],
      [],
      {
        browser: async (url, shown) => {
          company.conversations.say(id(), ...rosa)
          await expect.poll(shown, { timeout: 30_000 }).toContain('I am Rosa')
          if (delivery) company.next(1, { delivery }, 'conversations')
          await approve(url)
          const heard = () => company.conversations.entries[0]?.received.length
          await expect.poll(heard, { timeout: 30_000 }).toBe(2)
          company.conversations.say(id(), room)
        },
      },
    )
    expect(code).toBe(0)
    const [rosaAt, roomAt] = [out.indexOf('I am Rosa'), out.indexOf('Your room is 12')]
    const signedInAt = out.indexOf(isJson ? '"signedIn"' : 'Signed in; the conversation goes on.')
    expect([rosaAt > 0, rosaAt < signedInAt, signedInAt < roomAt]).toEqual([true, true, true])
    expect(company.findings).toEqual([])
  })
})
