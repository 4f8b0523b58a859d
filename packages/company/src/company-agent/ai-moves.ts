import { conversationLimits } from '@poppyseed/protocol'
import type { JsonSchema } from '../tools/schema.ts'
import type { MoveNames } from './ai-instruction.ts'
import { inPlainWords } from './plain-words.ts'
import type { Said, Turn } from './turn.ts'

/** What the agent can do beside calling the company's tools, as tools that a model calls. */

/** What a move comes to. */
export type Moved =
  /** Something is said, and the turn is over. */
  | { readonly ends: Said }
  /** Details are kept for the next message. */
  | { readonly details: Readonly<Record<string, unknown>> }
  /** Nothing is done; the model is told why. */
  | { readonly told: string }

/** One move. */
export interface Move {
  readonly description: string
  readonly input: JsonSchema
  readonly make: (input: Readonly<Record<string, unknown>>) => Moved
}

/** The moves of a turn, by the names that they have in it. */
export interface Moves {
  readonly names: MoveNames
  readonly byName: ReadonlyMap<string, Move>
}

const longestReason = 500

/** Makes the moves. A company's own tool keeps its name: a move of the same name gets another. */
export function movesOf(turn: Turn): Moves {
  const taken = new Set([...turn.tools, ...turn.locked].map(({ name }) => name))
  const byName = new Map<string, Move>()
  const add = (name: string, move: Move): string => {
    let own = name
    while (taken.has(own)) own = `conversation_${own}`.slice(0, 64)
    byName.set(own, move)
    return own
  }
  const openable = turn.locked.filter(({ needs }) => needs !== 'extension')
  const names: MoveNames = {
    signIn: openable.length === 0 ? undefined : add('ask_for_sign_in', askForSignIn(openable, turn.signedIn)),
    details: turn.writesFor === 'agent' ? add('give_details', giveDetails) : undefined,
    handOff: add('hand_off_to_person', handOff),
    // In a Direct Conversation the customer is there already.
    askForUser: turn.isDirect ? undefined : add('ask_for_user', askForUser),
    close: add('close_conversation', close),
  }
  return { names, byName }
}

/** 7.11. What is asked for follows from the tools, so that a model asks for no scope of its own making. */
function askForSignIn(locked: Turn['locked'], signedIn: boolean): Move {
  return {
    description:
      'Asks the customer’s side to sign in, or to allow more, for tools that cannot be used now. They are asked in words too. Ends your turn.',
    input: {
      type: 'object',
      properties: {
        tools: {
          type: 'array',
          items: { type: 'string', enum: locked.map(({ name }) => name) },
          minItems: 1,
          description: 'The tools that are needed.',
        },
      },
      required: ['tools'],
    },
    make({ tools }) {
      const wanted = Array.isArray(tools) ? tools : []
      const needed = locked.filter(({ name }) => wanted.includes(name))
      if (needed.length === 0) return { told: `Name one of these tools: ${locked.map(({ name }) => name).join(', ')}.` }
      const scope = [...new Set(needed.flatMap((tool) => tool.scope.split(' ')))].filter((one) => one !== '').join(' ')
      if (signedIn && scope !== '') return { ends: { type: 'needs-scope', scope } }
      return { ends: { type: 'needs-sign-in', ...(scope === '' ? {} : { scope }) } }
    },
  }
}

/** 7.4: `data`. */
const giveDetails: Move = {
  description:
    'Gives structured details to the AI that reads you, beside your next message. Call it before you write. Names in snake_case, plain values.',
  input: {
    type: 'object',
    properties: { details: { type: 'object', description: 'The details, such as {"rooms": [{"name": "…"}]}.' } },
    required: ['details'],
  },
  make({ details }) {
    if (typeof details !== 'object' || details === null || Array.isArray(details))
      return { told: 'Details are an object.' }
    const json = JSON.stringify(details)
    if (Buffer.byteLength(json) > conversationLimits.data || depthOf(details) > conversationLimits.depth)
      return { told: 'That is too much. Give less, and less deeply nested.' }
    return { details: JSON.parse(json) as Readonly<Record<string, unknown>> }
  },
}

/** 7.9. */
const handOff: Move = {
  description: 'Hands the conversation over to a person of the company. Ends your turn.',
  input: reasonSchema('Why, in a sentence for that person.'),
  make({ reason }) {
    const words = wordsOf(reason)
    return { ends: { type: 'handoff', ...(words === '' ? {} : { reason: words }) } }
  },
}

/** 7.10. */
const askForUser: Move = {
  description: 'Asks that the customer talks with the company in person. Ends your turn.',
  input: reasonSchema('Why, in a sentence that the customer reads.'),
  make({ reason }) {
    const words = wordsOf(reason)
    return words === '' ? { told: 'Say why, in a sentence.' } : { ends: { type: 'ask-for-user', reason: words } }
  },
}

/** 7.12. */
const close: Move = {
  description: 'Closes the conversation for good. Ends your turn.',
  input: { type: 'object', properties: {} },
  make: () => ({ ends: { type: 'close' } }),
}

function reasonSchema(description: string): JsonSchema {
  return { type: 'object', properties: { reason: { type: 'string', description } }, required: ['reason'] }
}

function wordsOf(reason: unknown): string {
  return typeof reason === 'string' ? inPlainWords(reason.slice(0, longestReason)).replace(/\s+/g, ' ') : ''
}

function depthOf(value: unknown): number {
  if (typeof value !== 'object' || value === null) return 0
  return 1 + Math.max(0, ...Object.values(value).map(depthOf))
}
