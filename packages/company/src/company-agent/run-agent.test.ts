import { describe, expect, it } from 'vitest'
import { type AgentEnd, runAgent, type Thing } from './run-agent.ts'
import type { CompanyAgent, Said, ToolOutcome, Turn } from './turn.ts'

// What an agent may do, and what it may not: whatever it is, the run ends, and nothing that it holds stays open.

/** The agent sees nothing of its turn here but the signal. */
const turnWith = (signal: AbortSignal) => ({ signal }) as Turn

interface Heard {
  readonly end: AgentEnd
  readonly things: readonly Thing[]
  readonly pieces: readonly string[]
  readonly afterwards: readonly unknown[]
}

async function run(
  agent: CompanyAgent,
  options: {
    readonly time?: number
    readonly stop?: AbortSignal
    readonly answer?: (thing: Thing) => ToolOutcome | 'over' | undefined
  } = {},
): Promise<Heard> {
  const things: Thing[] = []
  const pieces: string[] = []
  const afterwards: unknown[] = []
  const end = await runAgent({
    agent,
    turn: turnWith,
    listener: {
      piece: (text, from) => void pieces.push(`${from}:${text}`),
      async thing(thing) {
        things.push(thing)
        return options.answer?.(thing)
      },
    },
    time: options.time ?? 20_000,
    stop: options.stop ?? new AbortController().signal,
    afterwards: (error) => void afterwards.push(error),
  })
  return { end, things, pieces, afterwards }
}

const never = () => new Promise<never>(() => {})

describe('an agent that is run', () => {
  it('has pieces of text made one message, which ends with anything else', async () => {
    const { end, things, pieces } = await run(async function* () {
      yield { type: 'text', text: 'Good ' }
      yield { type: 'text', text: 'morning.' }
      yield { type: 'message', data: { rooms: 2 } }
      yield { type: 'text', text: 'Two rooms.' }
    })
    expect(pieces).toEqual(['0:Good', '4: morning.', '0:Two rooms.'])
    expect(things).toEqual([
      { type: 'message', text: 'Good morning.' },
      { type: 'message', data: { rooms: 2 } },
    ])
    expect(end).toEqual({ how: 'done', rest: 'Two rooms.' })
  })

  it('gets the outcome of a call from yield, and nothing from anything else', async () => {
    const got: unknown[] = []
    const outcome: ToolOutcome = { ok: true, value: 7 }
    await run(
      async function* () {
        got.push(yield { type: 'text', text: 'One moment.' })
        got.push(yield { type: 'call', name: 'count', input: {} })
      },
      { answer: (thing) => (thing.type === 'call' ? outcome : undefined) },
    )
    expect(got).toEqual([undefined, outcome])
  })

  it('may be any async iterable, an async function that gives one, or a list', async () => {
    const said: Said[] = [{ type: 'text', text: 'Hello.' }]
    const stream = new ReadableStream<Said>({
      start(controller) {
        for (const one of said) controller.enqueue(one)
        controller.close()
      },
    })
    const agents = [() => stream, async () => said[Symbol.iterator](), () => said] as unknown as CompanyAgent[]
    for (const agent of agents) expect((await run(agent)).end).toEqual({ how: 'done', rest: 'Hello.' })
  })

  it('says text without control characters, and keeps characters whole that came in halves', async () => {
    const { end, pieces } = await run(async function* () {
      yield { type: 'text', text: 'a\u0000b\u001b[31m\u202e \ud83d' }
      yield { type: 'text', text: '\ude00\r' }
      yield { type: 'text', text: '\nc\ud83d' }
    })
    expect(end).toEqual({ how: 'done', rest: 'ab[31m 😀\nc\ufffd' })
    expect(pieces.join('')).not.toMatch(/\p{Cs}/u)
  })

  it('has a long text cut into messages that fit, between words', async () => {
    const word = 'word '.repeat(8000)
    const { end, things } = await run(async function* () {
      yield { type: 'text', text: word }
    })
    const texts = [
      ...things.map((thing) => (thing.type === 'message' ? thing.text : '')),
      end.how === 'done' ? end.rest : '',
    ]
    expect(texts.length).toBe(2)
    expect(texts.every((text) => text !== undefined && text.length <= 32_000 && /^word.*word$/.test(text))).toBe(true)
    expect(texts.join(' ')).toBe(word.trim())
  })

  it.each<[string, CompanyAgent, string]>([
    ['never gives its iterator', () => never() as never, 'time'],
    [
      'yields for ever without waiting',
      async function* () {
        for (;;) yield { type: 'text', text: '' }
      },
      'too much|time',
    ],
    [
      'says megabytes',
      async function* () {
        for (;;) yield { type: 'text', text: 'x'.repeat(100_000) }
      },
      'too much',
    ],
    [
      'calls tools for ever',
      async function* () {
        for (;;) yield { type: 'call', name: 'again', input: {} }
      },
      'too much',
    ],
    [
      'throws at once',
      () => {
        throw new Error('no model')
      },
      'threw',
    ],
    [
      'throws later',
      async function* () {
        yield { type: 'text', text: 'I ' }
        throw new Error('the model is gone')
      },
      'threw',
    ],
    ['gives nothing', () => undefined as never, 'threw'],
    ['gives a text', () => 'Hello.' as never, 'threw'],
    [
      'has an iterator that gives nothing',
      () => ({ [Symbol.asyncIterator]: () => ({ next: () => null }) }) as never,
      'threw',
    ],
    ['yields null', () => [null] as never, 'nonsense'],
    ['yields a text that is none', () => [{ type: 'text', text: 5 }] as never, 'nonsense'],
    ['yields something unknown', () => [{ type: 'confirm', operation: 'opn_1' }] as never, 'nonsense'],
    ['yields data that is a list', () => [{ type: 'message', data: [1] }] as never, 'nonsense'],
    [
      'yields data that is too large',
      () => [{ type: 'message', data: { x: 'x'.repeat(70_000) } }] as never,
      'nonsense',
    ],
    ['asks for no scope', () => [{ type: 'needs-scope', scope: '"' }] as never, 'nonsense'],
  ])('fails when it %s, and the run ends', async (_, agent, because) => {
    const { end } = await run(agent, { time: 2000 })
    expect(end).toMatchObject({ how: 'failed', because: expect.stringMatching(new RegExp(`^(${because})$`)) as string })
  })

  it.each<readonly [string, unknown, RegExp]>([
    ['a bare text', 'Hello 12345.', /yield \{ type: 'text', text: … \}/],
    ['a type that there is not', { type: 'say', text: 'Hello 12345.' }, /text, message, call, needs-sign-in, .*close/],
    ['a text without its words', { type: 'text', words: 'Hello 12345.' }, /yield \{ type: 'text', text: … \}/],
  ])(
    'fails when it yields %s, and the log says what to write, and nothing of what was said',
    async (_, said, words) => {
      const { end } = await run(() => [said] as never, { time: 2000 })
      expect(end).toMatchObject({ how: 'failed', because: 'nonsense', error: expect.any(TypeError) as TypeError })
      const { message } = (end as unknown as { readonly error: TypeError }).error
      expect(message).toMatch(words)
      expect(message).not.toContain('12345')
    },
  )

  it('that waits for ever is given up when its time is over, and hears of it', async () => {
    let reason: unknown
    const { end } = await run(
      async function* ({ signal }) {
        signal.addEventListener('abort', () => {
          reason = signal.reason
        })
        yield { type: 'text', text: 'One moment' }
        await never()
      },
      { time: 20 },
    )
    expect(end).toMatchObject({ how: 'failed', because: 'time' })
    expect(reason).toBeInstanceOf(DOMException)
  })

  it('says plain words, whoever wrote it: no JSON and no markup [7.4.no-markup]', async () => {
    const { end, things } = await run(async function* () {
      yield { type: 'text', text: '## Rooms\n**Suite' }
      yield { type: 'text', text: ' 4** is `free`.' }
      yield { type: 'message', text: '{"room": "Suite 4"}' }
      yield { type: 'text', text: '[{"room": 5}]' }
    })
    expect(things).toEqual([
      { type: 'message', text: 'Rooms\nSuite 4 is free.' },
      { type: 'message', text: 'room: Suite 4' },
    ])
    expect(end).toEqual({ how: 'done', rest: 'room: 5' })
  })

  it('that is stopped has what it holds closed, and what it was saying is kept apart', async () => {
    const stop = new AbortController()
    const { promise: closed, resolve: close } = Promise.withResolvers<string>()
    const { promise: model, resolve: answer } = Promise.withResolvers<string>()
    const running = run(
      async function* () {
        try {
          yield { type: 'text', text: 'Your booking ' }
          stop.abort()
          yield { type: 'text', text: await model }
          yield { type: 'text', text: ' and this is never said' }
        } finally {
          close('closed')
        }
      },
      { stop: stop.signal },
    )
    const { end, things, pieces } = await running
    answer('is for two.')
    expect(things).toEqual([])
    expect(pieces).toEqual(['0:Your booking'])
    expect(end.how === 'stopped' && (await end.late)).toEqual({ text: 'Your booking is for two.' })
    expect(await closed).toBe('closed')
  })

  it('that is stopped before it begins says nothing', async () => {
    const { end, things } = await run(() => [{ type: 'message', text: 'Hello.' }] as never, {
      stop: AbortSignal.abort(),
    })
    expect([end.how, things]).toEqual(['stopped', []])
  })

  it('has what it holds closed when a thing ends the run, and what it throws then is heard', async () => {
    const { end, things, afterwards } = await run(
      async function* () {
        try {
          yield { type: 'text', text: 'Goodbye.' }
          yield { type: 'close' }
          yield { type: 'text', text: 'And another thing.' }
        } finally {
          await Promise.reject(new Error('it would not close'))
        }
      },
      { answer: (thing) => (thing.type === 'close' ? 'over' : undefined) },
    )
    await expect.poll(() => afterwards.length).toBe(1)
    expect(end).toEqual({ how: 'over' })
    expect(things).toEqual([{ type: 'message', text: 'Goodbye.' }, { type: 'close' }])
  })

  it('is closed, too, when what it says could not be kept', async () => {
    let isClosed = false
    const running = run(
      async function* () {
        try {
          yield { type: 'message', text: 'Hello.' }
        } finally {
          isClosed = true
        }
      },
      {
        answer() {
          throw new Error('the store is gone')
        },
      },
    )
    await expect(running).rejects.toThrow('the store is gone')
    await expect.poll(() => isClosed).toBe(true)
  })
})
