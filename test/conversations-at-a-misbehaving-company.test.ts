import { AgentError, type PersonalAgentOptions } from '@poppyseed/agent'
import { wellBehaved } from '@poppyseed/conformance'
import { describe, expect, it } from 'vitest'
import {
  agentErrorOf,
  conversationSwitches,
  endOf,
  type Faults,
  flipped,
  using,
  visitHostileCompany,
} from './setup/hostile-company.ts'
import { followed, saying, talking, told } from './setup/talks.ts'

// The Personal Agent as it is published, follows conversations of a Company that misbehaves: nothing is lost, nothing is
// handled twice, and the Company has seen no rule broken.

const words = ['One, größer.', 'Two 💥', 'Three']

describe('a conversation', () => {
  it('is started, answered, gone on with and closed', async () => {
    const { here, conversation, company } = await talking([{ say: 'Which jacket?' }])
    company.conversations.script([{ say: 'Sure.', data: { size: 'M' } }])
    expect(await conversation.answer()).toMatchObject({ outcome: 'answered', text: 'Which jacket?', status: 'idle' })
    const reply = await conversation.reply('The green one.')
    expect(reply).toMatchObject({ outcome: 'answered', text: 'Sure.', responder: 'agent' })
    expect(reply.messages[0]).toMatchObject({ role: 'company', sender: 'agent', data: { size: 'M' } })
    expect(await conversation.close()).toEqual({ status: 'closed', responder: 'agent' })
    expect((await here.conversations.list()).map(({ id, status }) => [id, status])).toEqual([
      [conversation.id, 'closed'],
    ])
    expect(await endOf(conversation.send('One more thing.'))).toBe('conversation_closed')
    expect(company.findings).toEqual([])
  })

  it('outlasts the Session that started it: another one, and a new one, go on with it', async () => {
    const { here, conversation, company, session, agent } = await talking([{ say: 'Hi.' }])
    expect((await conversation.answer()).text).toBe('Hi.')
    const other = await (await session('another')).conversations.open(conversation.id)
    expect((await other.reply('From another Session.')).text).toBe('Heard: From another Session.')
    await here.end()
    company.endSessions()
    const later = await here.conversations.open(conversation.id)
    expect((await later.reply('From a new one.')).text).toBe('Heard: From a new one.')
    expect([company.conversations.entries.length, company.findings]).toEqual([1, []])
    expect(await agent.forUser('maya').conversations()).toMatchObject([
      { id: conversation.id, address: company.origin, account: 'default', session: 'default', status: 'idle' },
    ])
    expect(await agent.forUser('jonas').conversations()).toEqual([])
  })

  it('goes to the endpoint of the protocol that we speak, with a token for it [7.1.skip-unknown-agent, 7.1.chosen-endpoint-agent]', async () => {
    for (const conversations of ['beside_others', 'with_resource'] as const) {
      const { session, company } = await visitHostileCompany(using({ conversations }))
      const conversation = await (await session()).conversations.start('Hello again.')
      expect((await conversation.answer()).text).toBe('Heard: Hello again.')
      await conversation.close()
      expect(told(await followed(conversation))).toEqual([])
      expect(company.findings).toEqual([])
    }
    const { company, session } = await visitHostileCompany(using({ conversations: 'absent' }))
    expect(await endOf((await session()).conversations.start('Hello?'))).toBe('conversations_unavailable')
    expect(company.findings).toEqual([])
  })
})

describe('what a Company says', () => {
  const ways: readonly Faults[] = [
    {},
    ...(['cr', 'crlf', 'bom', 'comments', 'data_lines'] as const).map((streamForm) => ({ streamForm })),
    ...(['plain', 'cr', 'crlf', 'bom', 'comments', 'data_lines'] as const).map(
      (streamForm) => ({ streamForm, streamBytes: 'single' }) as const,
    ),
    { stream: 'json' },
    { stream: 'json', pageSize: 1 },
    { stream: 'json', waits: 'ends_on_echo' },
    { eventTimes: 'same' },
    { eventTimes: 'backwards' },
    { unknownEvents: true },
    { keepAlives: 'endless' },
    { conversationAnswer: 'no_id' },
    { conversationAnswer: 'no_id', stream: 'json' },
    { conversationAnswer: 'no_cursor', stream: 'json', pageSize: 2 },
  ]
  it.each(ways.map((faults) => [JSON.stringify(faults), faults] as const))(
    'arrives once and in order: %s [K46, 7.5.in-order-agent, 7.5.skip-handled-agent, 7.5.skip-unknown-agent, 7.5.has-more-agent, 7.6.json-fallback-agent, 7.5.cursor-opaque-agent]',
    async (_name, faults) => {
      const { conversation, company, live, book } = await talking([{ holds: true }], faults)
      const following = followed(conversation)
      for (const say of words) await live({ say }, { holds: true })
      await live({ closes: true })
      const events = await following
      expect(told(events)).toEqual(words)
      const ids = events.flatMap((event) => ('id' in event ? [event.id] : []))
      const known = book().events.filter(({ type }) => !type.includes('weather'))
      expect(ids).toEqual(known.map(({ id }) => id))
      expect(conversation.status).toBe('closed')
      // Whoever comes back later gets nothing twice.
      expect(await followed(conversation)).toEqual([])
      expect(company.findings).toEqual([])
    },
  )

  it('is there whole when it was said before somebody reads, by either way', async () => {
    for (const faults of [
      { stream: 'streams' },
      { stream: 'json' },
      { stream: 'json', repeatsEvents: 2, pageSize: 4 },
      { repeatsEvents: 1, streamCut: 'after_event' },
      { repeatsEvents: 2, streamCut: 'when_idle', unknownEvents: true },
    ] as const) {
      const { conversation, company } = await talking(saying(...words), using(faults))
      expect(told(await followed(conversation))).toEqual(words)
      expect(company.findings).toEqual([])
    }
  })
})

describe('a stream that is cut', () => {
  it('after each event goes on after that, with no cursor beside Last-Event-ID [K43, 7.6.last-event-id-agent]', async () => {
    const { conversation, company, waits, requests } = await cut('after_event')
    expect(told(await followed(conversation))).toEqual(words)
    const reads = requests()
    expect(reads.length).toBe(company.conversations.entries[0]?.events.length)
    expect(reads.every(({ parameters }) => !parameters.includes('cursor'))).toBe(true)
    expect([waits, company.findings]).toEqual([[], []])
  })

  it('in the middle of an event gets that one whole [K43, K46]', async () => {
    const { conversation, company } = await talking(saying(...words), { streamBytes: 'single' })
    company.next(3, using({ streamCut: 'in_event' }), 'events')
    company.next(1, using({ streamForm: 'unended' }), 'events')
    expect(told(await followed(conversation))).toEqual(words)
    expect(company.findings).toEqual([])
  })

  it.each(['after_delta', 'in_delta'] as const)(
    '%s drops the pieces of the unfinished message, and shows it whole [K43, 7.6.delta-dropped-agent, 7.6.delta-replaced-agent]',
    async (streamCut) => {
      const { conversation, company, live } = await talking([{ holds: true }])
      company.next(1, using({ streamCut }), 'events')
      const following = followed(conversation)
      await live({ say: 'It is booked.', deltas: ['It is ', 'booked.'] }, { holds: true })
      // The cut stream, and the next one.
      const reads = () => company.requests.filter(({ route }) => route === 'events').length
      await expect.poll(reads, { timeout: 10_000 }).toBe(2)
      await live({ say: 'Bye.', deltas: ['By', 'e.'] }, { closes: true })
      const events = await following
      const isPieceThere = streamCut === 'after_delta'
      expect(told(events)).toEqual([
        ...(isPieceThere ? ['(It is )', 'deltasDropped'] : []),
        ...['It is booked.', '(By)', '(e.)', 'Bye.'],
      ])
      const piece = events.find((event) => event.type === 'delta')
      const dropped = events.find((event) => event.type === 'deltasDropped')
      if (isPieceThere) expect(dropped).toEqual({ type: 'deltasDropped', messageIds: [piece?.messageId] })
      expect(company.findings).toEqual([])
    },
  )

  it('never gives a piece for a message: its words are in a member of their own [7.6.delta-no-act-agent]', async () => {
    const { conversation, company, live } = await talking([{ holds: true }])
    const following = followed(conversation)
    await live({ say: 'No.', deltas: ['Yes, ', 'it is done'] }, { closes: true })
    const events = await following
    for (const event of events) {
      if (event.type !== 'delta') continue
      expect(Object.keys(event).sort()).toEqual(['messageId', 'provisionalText', 'type'])
    }
    expect(events.filter(({ type }) => type === 'message').length).toBe(2)
    expect(told(events)).toEqual(['(Yes, )', '(it is done)', 'No.'])
    expect(company.findings).toEqual([])
  })

  it('because its token has ended goes on with a new one, and what comes again is skipped [K45, 7.6.last-event-id-agent]', async () => {
    const { conversation, company, live, clock, sent } = await talking([{ holds: true }], { expiresIn: 600 })
    clock.now += 3600_000
    const following = followed(conversation)
    await live({ say: 'One' }, { holds: true })
    sent()
    Object.assign(company.switches, using({ repeatsEvents: 2 }))
    clock.now += 601_000
    await live({ say: 'Two' }, { closes: true })
    expect(told(await following)).toEqual(['One', 'Two'])
    expect(sent().filter((line) => !line.includes('.well-known'))).toEqual([
      'POST /token 200',
      `GET /conversations/${conversation.id}/events 200`,
    ])
    expect(company.findings).toEqual([])
  })

  it('that falls silent is given up for another, and one that says it is there is not [K42]', async () => {
    const dead = await talking([{ holds: true }], using({ keepAlives: 'none' }), { timeouts: { stream: 0.3 } })
    const following = followed(dead.conversation)
    await dead.live({ say: 'One' }, { holds: true })
    const reads = () => dead.company.requests.filter(({ route }) => route === 'events').length
    await expect.poll(reads, { timeout: 10_000 }).toBeGreaterThanOrEqual(3)
    await dead.live({ say: 'Two' }, { closes: true })
    expect(told(await following)).toEqual(['One', 'Two'])

    const alive = await talking([{ holds: true }], using({ keepAlives: 'endless' }), { timeouts: { stream: 0.3 } })
    const other = followed(alive.conversation)
    await alive.live({ say: 'One' }, { holds: true })
    await new Promise((resolve) => setTimeout(resolve, 700))
    await alive.live({ closes: true })
    expect(told(await other)).toEqual(['One'])
    expect(alive.company.requests.filter(({ route }) => route === 'events')).toHaveLength(1)
    expect([dead.company.findings, alive.company.findings]).toEqual([[], []])
  })

  it('because something in between holds it back is doubted, and pages bring what it doesn’t', async () => {
    // As a proxy does that waits for the end of an answer.
    const holding: NonNullable<PersonalAgentOptions['fetch']> = async (url, init) => {
      const response = await fetch(url, init)
      if (!response.headers.get('content-type')?.startsWith('text/event-stream')) return response
      await response.body?.cancel()
      return new Response(new ReadableStream(), { status: 200, headers: response.headers })
    }
    const { conversation, company, live } = await talking(
      [{ say: 'One' }, { holds: true }],
      {},
      { fetch: holding, timeouts: { stream: 0.2 } },
    )
    const following = followed(conversation)
    const reads = () => company.requests.filter(({ route }) => route === 'events').length
    await expect.poll(reads, { timeout: 10_000 }).toBe(3)
    company.conversations.say(conversation.id, { say: 'Two' }, { holds: true })
    // The second time that a page knew better: from now on it is pages, and they are held.
    await expect.poll(reads, { timeout: 10_000 }).toBe(4)
    await live({ say: 'Three' }, { closes: true })
    expect(told(await following)).toEqual(['One', 'Two', 'Three'])
    expect(reads()).toBe(5)
    expect(company.findings).toEqual([])
  })

  async function cut(streamCut: Faults['streamCut'] & string) {
    const visit = await talking(saying(...words), using({ streamCut }))
    return { ...visit, requests: () => visit.company.requests.filter(({ route }) => route === 'events') }
  }
})

describe('events that the Company no longer has', () => {
  it('are told as missing, and reading goes on with what is there [7.5.cursor-expired-agent, 7.5.tell-gap-agent]', async () => {
    for (const stream of ['streams', 'json'] as const) {
      const { conversation, company, here } = await talking([{ say: 'One' }], { stream })
      expect(told(await followed(conversation, ({ type }) => type === 'message'))).toEqual([])
      company.conversations.say(conversation.id, { say: 'Two' }, { say: 'Three' }, { closes: true })
      company.conversations.keepOnly(conversation.id, 2)
      // As after a restart.
      const again = await here.conversations.open(conversation.id)
      expect(told(await followed(again))).toEqual(['missing: expired', 'Three'])
      expect(company.findings).toEqual([])
    }
  })

  it('are told in a reply, too, whose message is said once', async () => {
    const { here, conversation, company, book } = await talking([{ say: 'One' }])
    await conversation.answer()
    company.conversations.keepOnly(conversation.id, 0)
    const reply = await conversation.reply('And?')
    expect(told(reply.events)).toEqual(['missing: expired', 'Heard: And?'])
    expect(reply.outcome).toBe('answered')
    expect(book().received.map(({ text }) => text)).toEqual(['Hello.', 'And?'])
    expect([await here.conversations.unsent(), company.findings]).toEqual([[], []])
  })

  it.each(['expired', 'invalid'] as const)(
    'are no reason to ask for ever, where every cursor is %s',
    async (cursors) => {
      const { conversation, company } = await talking([{ say: 'One' }], using({ cursors, stream: 'json', pageSize: 1 }))
      const error = await agentErrorOf(followed(conversation))
      expect(error.companyCode).toBe(cursors === 'expired' ? 'cursor_expired' : 'invalid_cursor')
      expect(company.requests.length).toBeLessThan(40)
    },
  )
})

describe('events that are none', () => {
  it.each(['out_of_schema', 'not_json', 'no_id', 'deep'] as const)(
    '(%s) are told as missing once, and spoil no other',
    async (oddEvent) => {
      for (const stream of ['streams', 'json'] as const) {
        const { conversation, company, live } = await talking([{ holds: true }], using({ oddEvent, stream }))
        const following = followed(conversation)
        await live({ say: 'One' }, { holds: true })
        await live({ say: 'Two' }, { closes: true })
        const all = told(await following)
        expect(all.filter((one) => !one.startsWith('missing'))).toEqual(['One', 'Two'])
        expect(all.filter((one) => one === 'missing: unreadable').length).toBeGreaterThanOrEqual(2)
        expect(company.findings).toEqual([])
      }
    },
  )

  it('that have no measure don’t fill the memory by a stream', async () => {
    const { conversation, company, live } = await talking([{ holds: true }], using({ oddEvent: 'huge' }))
    const following = followed(conversation)
    await live({ say: 'One' }, { closes: true })
    expect(told(await following)).toEqual(['missing: unreadable', 'One'])
    expect(company.findings).toEqual([])
  })
})

describe('answers that are none', () => {
  it.each([
    [{ gateway: 'html_502' }],
    [{ gateway: 'empty_503' }],
    [{ delivery: 'lost' }],
    [{ delivery: 'cut' }],
    [{ delivery: 'html' }],
    [{ delivery: 'not_json' }],
    [{ delivery: 'empty' }],
    [{ limit: { retryAfter: '7' } }],
  ] as readonly (readonly [Faults])[])(
    '(%o) are waited out, and told where they go on: nothing is lost',
    async (faults) => {
      for (const stream of ['streams', 'json'] as const) {
        const { conversation, company, waits } = await talking(saying(...words), { stream })
        company.next(2, using(faults), 'events')
        const all = told(await followed(conversation))
        // What is mended at once by another attempt of the call itself isn't told.
        const connection = all.filter((one) => one.startsWith('connection'))
        expect([[], ['connectionLost', 'connectionBack']]).toContainEqual(connection)
        expect(all.slice(connection.length)).toEqual(words)
        expect(waits.length).toBeGreaterThan(0)
        expect(company.findings).toEqual([])
      }
    },
  )

  it('are told where they go on, and when they are over; one alone is not', async () => {
    for (const stream of ['streams', 'json'] as const) {
      const { conversation, company } = await talking(saying(...words), { stream })
      company.next(4, using({ gateway: 'empty_503' }), 'events')
      const events = await followed(conversation)
      expect(told(events)).toEqual(['connectionLost', 'connectionBack', ...words])
      expect(events[0]).toMatchObject({ error: { code: 'company_error', action: 'retry' } })
      expect(events[0]?.type === 'connectionLost' && events[0].error).toBeInstanceOf(AgentError)
      expect(JSON.parse(JSON.stringify(events[0]))).toMatchObject({
        error: { error: 'company_error', message: 'Misbehaving Company answered HTTP 503.', status: 503 },
      })
      const other = await talking(saying(...words), { stream })
      other.company.next(1, using({ gateway: 'empty_503' }), 'events')
      expect(told(await followed(other.conversation))).toEqual(words)
    }
  })

  it('for good end in an error, after a quarter of an hour and with fewer and fewer attempts', async () => {
    const { conversation, waits, sent } = await talking([{ say: 'One' }], { gateway: 'empty_503' })
    // The document of the Company can't be asked for any more, either.
    expect(['company_error', 'unreachable']).toContain((await agentErrorOf(followed(conversation))).code)
    expect(waits.slice(0, 6)).toEqual([1000, 2000, 4000, 8000, 16_000, 30_000])
    const all = waits.reduce((sum, one) => sum + one, 0)
    expect([all > 800_000, all < 1_000_000, sent().length < 50]).toEqual([true, true, true])
  })

  it.each([{ conversationAnswer: 'other_id' }, { conversationAnswer: 'no_status' }] as const)(
    'about something else (%o) are believed in nothing',
    async (faults) => {
      const { conversation, company } = await talking([{ say: 'One' }], using({ ...faults, stream: 'json' }))
      expect((await agentErrorOf(followed(conversation))).code).toBe('bad_answer')
      expect((await agentErrorOf(conversation.send('Hello?'))).code).toBe('bad_answer')
      expect(company.requests.length).toBeLessThan(30)
    },
  )

  it.each([['2'], ['Mon, 30 Nov 2026 12:00:20 GMT'], ['Mon, 30 Nov 2020 12:00:20 GMT'], ['-1'], ['abc'], [null]])(
    'with Retry-After %s are waited out, reading and sending [K55, 4.3.retry-after-agent]',
    async (retryAfter) => {
      const { conversation, company } = await talking([{ say: 'One' }])
      company.next(1, using({ limit: { retryAfter } }), 'events')
      expect((await conversation.answer()).text).toBe('One')
      company.next(1, using({ limit: { retryAfter } }), 'conversations')
      expect((await conversation.reply('Two')).text).toBe('Heard: Two')
      expect([company.findings, company.conversations.entries[0]?.received.length]).toEqual([[], 2])
    },
  )

  it('that ask to wait ten days are told, and nothing is sent before that [K55]', async () => {
    const { conversation, company, sent } = await talking([{ say: 'One' }])
    company.next(1, using({ limit: { retryAfter: '864000' } }), 'events')
    expect((await agentErrorOf(followed(conversation))).code).toBe('rate_limited')
    company.next(1, using({ limit: { retryAfter: '864000' } }), 'conversations')
    sent()
    expect((await agentErrorOf(conversation.send('Two'))).retryAfter).toBe(864_000)
    expect((await agentErrorOf(conversation.send('Two'))).code).toBe('rate_limited')
    expect([sent().length, company.findings]).toEqual([1, []])
  })
})

it('the stories of conversations have flipped every switch of them', () => {
  // In files of their own: what is sent, and who is asked.
  const elsewhere = ['authorization', 'directs', 'pollSeconds', 'streamExpiry', 'waits']
  expect(conversationSwitches.filter((name) => !flipped.has(name) && !elsewhere.includes(name))).toEqual([])
  expect(conversationSwitches.every((name) => Object.hasOwn(wellBehaved, name))).toBe(true)
})
