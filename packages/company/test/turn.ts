import type { CompanyAgent, HeardMessage, Said, ToolOutcome, Turn } from '../src/company-agent/turn.ts'

/** A turn for a test of a Company Agent, and what an engine does with what it says: the seam's types and no more. */

let messages = 0

/** A message of the customer's AI, or what is said otherwise. */
export function heard(text: string, other: Partial<HeardMessage> = {}): HeardMessage {
  return { id: `msg_${++messages}`, from: 'user', sender: 'agent', text, at: Date.UTC(2027, 2, 1, 12), ...other }
}

/** A turn with two tools, one that proposes, and one that is locked; a call gives back what it was called with. */
export function turnOf(other: Partial<Turn> & { readonly says?: string } = {}): Turn {
  const { says = 'Hello?', ...given } = other
  const asked = given.asked ?? [heard(says)]
  const tool = (name: string, proposes = false) => ({
    name,
    title: undefined,
    description: `Does ${name}.`,
    input: { type: 'object', properties: { q: { type: 'string' } } },
    proposes,
  })
  return {
    conversationId: 'cnv_1',
    history: asked,
    asked,
    notes: [],
    context: {},
    locale: 'en',
    writesFor: 'agent',
    isDirect: false,
    signedIn: false,
    tools: [tool('search_rooms'), tool('book_room', true)],
    locked: [{ ...tool('my_bookings'), needs: 'sign_in', scope: 'poppy:read' }],
    call: async (name, input): Promise<ToolOutcome> => ({ ok: true, value: { name, input } }),
    more: async () => [],
    signal: new AbortController().signal,
    ...given,
  }
}

/** Plays a turn to its end: what was said, with the pieces of a message joined as well. */
export async function play(agent: CompanyAgent, turn: Turn) {
  const said: Said[] = []
  const texts: string[] = []
  let text = ''
  const outcomes: ToolOutcome[] = []
  const end = () => {
    if (text.trim() !== '') texts.push(text.trim())
    text = ''
  }
  const iterator = agent(turn)[Symbol.asyncIterator]() as AsyncGenerator<Said, void, ToolOutcome | undefined>
  for (let outcome: ToolOutcome | undefined; ; ) {
    const { done, value } = await iterator.next(outcome)
    if (done === true || value === undefined) break
    said.push(value)
    outcome = undefined
    if (value.type === 'text') {
      text += value.text
      continue
    }
    end()
    if (value.type === 'message' && value.text !== undefined) texts.push(value.text)
    if (value.type === 'call') {
      outcome = await turn.call(value.name, value.input)
      outcomes.push(outcome)
    }
  }
  end()
  return { said, texts, outcomes, types: said.map(({ type }) => type) }
}
