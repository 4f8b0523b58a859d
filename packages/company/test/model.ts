import { MockLanguageModelV4, simulateReadableStream } from 'ai/test'

/** A model that writes what a test tells it to, and keeps what it was asked. */

type StreamResult = Awaited<ReturnType<MockLanguageModelV4['doStream']>>
type Part = StreamResult['stream'] extends ReadableStream<infer One> ? One : never

/** A text, whole or in pieces; a call of a tool, whose input may be any text; or a part as it comes from a provider. */
export type Written =
  | string
  | readonly string[]
  | { readonly call: string; readonly input?: unknown; readonly raw?: string }
  | { readonly part: Part }

const usage = {
  inputTokens: { total: 1, noCache: 1, cacheRead: 0, cacheWrite: 0 },
  outputTokens: { total: 1, text: 1, reasoning: 0 },
}

/**
 * @param steps what it writes each time that it is asked; the last of them also every time after
 */
export function modelThatWrites(...steps: readonly (readonly Written[])[]): MockLanguageModelV4 {
  let asked = 0
  return new MockLanguageModelV4({
    doStream: async () => streamOf(steps[Math.min(asked, steps.length - 1)] ?? [], asked++),
  })
}

/** A model that does whatever it is told, by anybody: for each `CALL name {…}` in what it reads it makes that call, once. */
export function modelThatObeys(): MockLanguageModelV4 {
  const done = new Set<string>()
  let asked = 0
  return new MockLanguageModelV4({
    doStream: async ({ prompt }) => {
      // Read as it stands, however deep it was quoted.
      const text = JSON.stringify(prompt).replaceAll('\\', '')
      const orders = [...text.matchAll(/CALL (\w+) (\{[^{}]*\})/g)].filter(([order]) => !done.has(order))
      for (const [order] of orders) done.add(order)
      const calls = orders.map(([, call = '', raw = '{}']): Written => ({ call, raw }))
      return streamOf(calls.length > 0 ? calls : ['I did all that I was told. It is confirmed.'], asked++)
    },
  })
}

function streamOf(step: readonly Written[], asked: number): StreamResult {
  const chunks = step.flatMap((written, at) => partsOf(written, `${asked}-${at}`))
  const isCalling = chunks.some(({ type }) => type === 'tool-call')
  const finishReason = { unified: isCalling ? ('tool-calls' as const) : ('stop' as const), raw: undefined }
  const stream = simulateReadableStream<Part>({
    chunks: [{ type: 'stream-start', warnings: [] }, ...chunks, { type: 'finish', usage, finishReason }],
    initialDelayInMs: null,
    chunkDelayInMs: null,
  })
  return { stream }
}

function partsOf(written: Written, id: string): readonly Part[] {
  if (typeof written === 'string') return partsOf([written], id)
  if (Array.isArray(written)) {
    const pieces = written as readonly string[]
    return [
      { type: 'text-start', id },
      ...pieces.map((delta): Part => ({ type: 'text-delta', id, delta })),
      { type: 'text-end', id },
    ]
  }
  const one = written as Exclude<Written, string | readonly string[]>
  if ('part' in one) return [one.part]
  const { call: toolName, input = {}, raw = JSON.stringify(input) } = one
  return [{ type: 'tool-call', toolCallId: `call-${id}`, toolName, input: raw }]
}

/** All that a model was given, as one text. */
export function promptsOf(model: MockLanguageModelV4): string {
  return JSON.stringify(model.doStreamCalls.map(({ abortSignal: _, ...call }) => call))
}
