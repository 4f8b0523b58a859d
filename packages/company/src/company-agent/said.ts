import { conversationLimits, isScope } from '@poppyseed/protocol'
import { inPlainWords } from './plain-words.ts'
import type { Said } from './turn.ts'

/** What a Company Agent yields, read: whatever a model made up, only what a conversation can hold goes on from here. */

/** Characters that an agent may say in one turn, in how many pieces and things. */
export const mostText = 320_000

/** It said more than that at once: nobody looks through it. */
export class TooMuchSaid extends Error {}

/** Characters of a reason that is kept. */
const longestReason = 1000

/**
 * Text as it may stand in a message: no control characters but line breaks and tabs, none that turn the direction of what
 * follows, and no half characters.
 */
export function cleanText(text: string): string {
  return (
    text
      .replace(/\r\n?|[\u2028\u2029]/g, '\n')
      // biome-ignore lint/suspicious/noControlCharactersInRegex: these are what is taken out
      .replace(/[\u0000-\u0008\u000b\u000c\u000e-\u001f\u007f-\u009f\u202a-\u202e\u2066-\u2069]/g, '')
      .toWellFormed()
  )
}

/** One line or a few, for a reason. */
function cleanReason(reason: string): string {
  return cleanText(reason.slice(0, longestReason * 4))
    .trim()
    .slice(0, longestReason)
    .toWellFormed()
}

/** How many characters of a text stand in one message: as many as it may have, and whole words where there are some. */
export function cutAt(text: string, limit: number = conversationLimits.text): number {
  if (text.length <= limit) return text.length
  const space = Math.max(text.lastIndexOf(' ', limit - 1), text.lastIndexOf('\n', limit - 1))
  if (space > limit - 2000) return space + 1
  // Never between the halves of a character.
  return /[\uD800-\uDBFF]/.test(text.charAt(limit - 1)) ? limit - 1 : limit
}

/** A text in pieces that each fit a message; none where nothing is left of it. */
export function cutText(text: string): readonly string[] {
  const pieces: string[] = []
  for (let rest = text.trim(); rest !== ''; ) {
    const at = cutAt(rest)
    pieces.push(rest.slice(0, at).trim())
    rest = rest.slice(at).trim()
  }
  return pieces
}

// What was yielded is never in these: it may be what a customer said.
const writeText = "Write: yield { type: 'text', text: … }."
const types = 'text, message, call, needs-sign-in, needs-scope, handoff, ask-for-user, close'

/**
 * Reads something that an agent said. What it says in text is cleaned, and plain words (7.4).
 * @throws TypeError for what nobody could say: a mistake in the agent, told in its log
 * @throws TooMuchSaid for a text that is longer than all that a turn may say
 */
export function readSaid(value: unknown): Said {
  if (typeof value === 'string') throw new TypeError(`The agent yielded a bare text. ${writeText}`)
  if (typeof value !== 'object' || value === null) throw new TypeError('The agent yielded something that is no object.')
  const said = value as Readonly<Record<string, unknown>>
  switch (said.type) {
    case 'text': {
      const text = textOf(said, 'text')
      if (text === undefined) throw new TypeError(`The agent yielded a text without its words. ${writeText}`)
      return { type: 'text', text }
    }
    case 'message': {
      const text = textOf(said, 'text')
      const data = dataOf(said.data)
      return {
        type: 'message',
        ...(text === undefined ? {} : { text: inPlainWords(cleanText(text)) }),
        ...(data === undefined ? {} : { data }),
      }
    }
    case 'call': {
      if (typeof said.name !== 'string') throw new TypeError('The agent called a tool without saying which.')
      return { type: 'call', name: said.name, input: said.input ?? {} }
    }
    case 'needs-sign-in': {
      const scope = scopeOf(said.scope)
      return { type: 'needs-sign-in', ...(scope === '' ? {} : { scope }), ...wordsOf(said) }
    }
    case 'needs-scope': {
      const scope = scopeOf(said.scope)
      if (scope === '') throw new TypeError('The agent asked for scopes without naming one.')
      return { type: 'needs-scope', scope, ...wordsOf(said) }
    }
    case 'handoff': {
      const reason = cleanReason(textOf(said, 'reason') ?? '')
      return { type: 'handoff', ...(reason === '' ? {} : { reason }) }
    }
    case 'ask-for-user': {
      const reason = inPlainWords(cleanReason(textOf(said, 'reason') ?? ''))
      if (reason === '') throw new TypeError('The agent asked for the User without a reason.')
      return { type: 'ask-for-user', reason }
    }
    case 'close':
      return { type: 'close' }
    default:
      throw new TypeError(`The agent yielded something of a type that there is not. There are: ${types}.`)
  }
}

function wordsOf(said: Readonly<Record<string, unknown>>): { readonly text?: string } {
  const text = inPlainWords(cleanText(textOf(said, 'text') ?? '')).trim()
  return text === '' ? {} : { text: text.slice(0, cutAt(text)).trim() }
}

function textOf(said: Readonly<Record<string, unknown>>, member: string): string | undefined {
  const text = said[member]
  if (text === undefined) return undefined
  if (typeof text === 'string') {
    // Before anything goes through it: cleaning holds up all others for as long as the text is.
    if (text.length > mostText) throw new TooMuchSaid('The agent said too much at once.')
    return text
  }
  throw new TypeError(`The agent said something whose \`${member}\` is no text.`)
}

/** 6: scopes, space-separated; what is none was made up, and is left out. */
function scopeOf(scope: unknown): string {
  if (scope === undefined) return ''
  if (typeof scope !== 'string') throw new TypeError('The agent named scopes that are no text.')
  return [...new Set(scope.slice(0, 4000).split(/\s+/))].filter(isScope).join(' ')
}

/** 7.4: an object, as it will travel. */
function dataOf(data: unknown): Readonly<Record<string, unknown>> | undefined {
  if (data === undefined || data === null) return undefined
  const json = JSON.stringify(data)
  if (json === undefined || !json.startsWith('{')) throw new TypeError('The agent said `data` that is no object.')
  if (Buffer.byteLength(json) > conversationLimits.data) throw new TypeError('The agent said too much in `data`.')
  const copy = JSON.parse(json) as Readonly<Record<string, unknown>>
  if (depthOf(copy) > conversationLimits.depth) throw new TypeError('The agent said `data` that is nested too deeply.')
  return Object.keys(copy).length === 0 ? undefined : copy
}

function depthOf(value: unknown): number {
  if (typeof value !== 'object' || value === null) return 0
  return 1 + Math.max(0, ...Object.values(value).map(depthOf))
}
