import { jsonInWords } from './json-in-words.ts'

/**
 * A model's text as plain words (7.4: no JSON and no other markup in `text`), while it is still being written. What marks a
 * text up is taken away, and what it says stays: the words of a heading, of a link, of a table's cells. Only what may yet turn
 * out to be a mark is held back.
 */
export interface PlainWords {
  /** Takes the next piece, and gives what can be said already. */
  readonly push: (piece: string) => string
  /** Gives the rest. */
  readonly end: () => string
}

/** Characters that hide or turn text: control, zero-width and direction characters, tags, private use. Line feed and tab stay. */
export const unseen =
  /[\p{Cs}\p{Co}\u{e0000}-\u{e0fff}\u061c\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff]|(?![\n\t])\p{Cc}/gu

/** Characters that may begin a mark; all others are said as they come. */
const plainRun = /^[^\s\\`*_~![\]{}<>|()]+/
const isAddress = /https?:\/\/|www\.|\S@\S/
const safeAddress = /^(?:https?:\/\/|mailto:|tel:)/i

/** Characters that a link, a tag and a piece of JSON may have at most to be seen as one, and levels of the last. */
const limits = { label: 500, address: 2000, tag: 500, depth: 16, json: 2000, line: 400 }

const link = new RegExp(
  String.raw`^\[([^\[\]\n]{0,${limits.label}})\]\([ \t]*([^()\s]{0,${limits.address}})(?:[ \t]+"[^"\n]{0,${limits.label}}")?[ \t]*\)`,
)
const linkBegun = new RegExp(
  String.raw`^\[[^\[\]\n]{0,${limits.label}}(?:\](?:\([ \t]*(?:[^()\s]{0,${limits.address}}(?:[ \t]+(?:"[^"\n]{0,${limits.label}}(?:"[ \t]*)?)?)?)?)?)?$`,
)
const tag = new RegExp(String.raw`^<(/?[A-Za-z!?][^<>\n]{0,${limits.tag}})>`)
const tagBegun = new RegExp(String.raw`^<(?:/?[A-Za-z!?][^<>\n]{0,${limits.tag}}|/)?$`)
const jsonBegun = /^(?:\{\s*(?:["}]|$)|\[\s*(?:["{[]|$))/
const isWordCharacter = /[\p{L}\p{N}]/u

/** What comes of the beginning of what is left: how much of it is done, what is said of it, what is read in its place. */
interface Taken {
  readonly taken: number
  readonly said?: string
  readonly instead?: string
}

/** Makes a converter for one message. */
export function plainWords(): PlainWords {
  let left = ''
  let half = ''
  /** The last of what was said: enough to know the word that is being written. */
  let last = ''
  let isLineStart = true
  /** Whether nothing was said on this line yet. */
  let isBlank = true
  let isRow = false
  let open = { star: false, underscore: false }

  function say(text: string): string {
    if (text === '') return ''
    // What was taken out between two characters doesn't make a mark of them.
    const isMark = (last.endsWith('<') && /^[/A-Za-z!?]/.test(text)) || (last.endsWith(']') && text.startsWith('('))
    const said = isMark ? ` ${text}` : text
    last = (last + said).slice(-limits.address)
    const line = said.slice(said.lastIndexOf('\n') + 1)
    isBlank = line.trim() === '' && (isBlank || line.length < said.length)
    return said
  }

  function newLine(): void {
    isLineStart = true
    isRow = false
    open = { star: false, underscore: false }
  }

  /** A mark that makes a line what it is; null where more must come to know. */
  function atLineStart(isAll: boolean): Taken | null | undefined {
    const indent = /^[ \t]*/.exec(left)?.[0] ?? ''
    const line = left.slice(indent.length, indent.length + limits.line)
    const end = line.indexOf('\n')
    const begun = end < 0 ? line : line.slice(0, end)
    const isWhole = isAll || end >= 0 || begun.length === limits.line
    const whole = indent.length + (end < 0 ? begun.length : end + 1)
    if (line === '') return isAll ? { taken: indent.length } : null
    // Fences, rules, underlines of headings, the line below a table's head: nothing but marks.
    if (/^(?:`{1,2}|~{1,2})$/.test(begun) && !isWhole) return null
    if (/^(?:`{3,}|~{3,})/.test(begun)) return isWhole ? { taken: whole } : null
    if (/^[-=*_|:\s]*$/.test(begun)) {
      if (!isWhole) return null
      if (/([-=*_])[ \t]*\1[ \t]*\1/.test(begun) || (begun.includes('|') && begun.includes('-')))
        return { taken: whole }
    }
    if (/^(?:#{1,6}|[+>])$/.test(begun) && !isWhole) return null
    const mark = /^(?:#{1,6}(?=[ \t]|$)|>)[ \t]*/.exec(begun)?.[0]
    if (mark) return { taken: indent.length + mark.length }
    const bullet = /^[*+][ \t]+(?=\S)/.exec(begun)?.[0]
    if (/^[*+][ \t]*$/.test(begun) && !isWhole) return null
    isLineStart = false
    if (bullet) return { taken: indent.length + bullet.length, said: `${indent}- ` }
    if (begun.startsWith('|')) {
      isRow = true
      return { taken: indent.length + (/^\|[ \t]*/.exec(begun)?.[0].length ?? 1) }
    }
    return indent === '' ? undefined : { taken: indent.length, said: indent }
  }

  /** A run of `*`, `_` or `~`: emphasis, or what it looks like. */
  function emphasis(run: string, isAll: boolean): Taken | null {
    const next = left[run.length]
    if (next === undefined && !isAll) return null
    const taken = run.length
    const before = isWordCharacter.test(last.slice(-1))
    const after = isWordCharacter.test(next ?? '')
    const mark = run[0] ?? ''
    if (mark === '~') return run.length >= 2 ? { taken } : { taken, said: run }
    const inAddress = isAddress.test(lastWordOf(last))
    if (mark === '_' && ((before && after) || (inAddress && run.length === 1))) return { taken, said: run }
    if (run.length >= 2) return { taken }
    const name = mark === '*' ? 'star' : 'underscore'
    const isSpaceBefore = last === '' || /\s$/.test(last)
    if (open[name] && !isSpaceBefore && !(mark === '_' && after)) {
      open = { ...open, [name]: false }
      return { taken }
    }
    if (!before && next !== undefined && !/\s/.test(next)) {
      open = { ...open, [name]: true }
      return { taken }
    }
    return { taken, said: last.endsWith('*') && mark === '*' ? '' : run }
  }

  function bracket(isAll: boolean): Taken | null {
    const found = link.exec(left)
    if (found) {
      const [{ length: taken }, label = '', address = ''] = found
      const shown = safeAddress.test(address) && address !== label.trim() && `mailto:${label.trim()}` !== address
      return { taken, instead: label.trim() === '' ? (shown ? address : '') : shown ? `${label} (${address})` : label }
    }
    if (!isAll && linkBegun.test(left)) return null
    return jsonBegun.test(left) ? json(isAll) : { taken: 1, said: '[' }
  }

  function json(isAll: boolean): Taken | null {
    const end = endOfJson(left.slice(0, limits.json))
    if (end === null && !isAll && left.length < limits.json) return null
    if (end !== null) {
      const words = jsonInWords(left.slice(0, end))
      if (words !== null) return { taken: end, instead: words }
    }
    return { taken: 1 }
  }

  function angle(isAll: boolean): Taken | null {
    const found = tag.exec(left)
    if (found) {
      const [{ length: taken }, inside = ''] = found
      if (safeAddress.test(inside) || /^[^\s@]+@[^\s@]+$/.test(inside)) return { taken, instead: inside }
      return /^(?:br|\/p|\/div|\/li|\/tr|\/h[1-6])\b/i.test(inside) ? { taken, instead: '\n' } : { taken }
    }
    if (!isAll && tagBegun.test(left)) return null
    return { taken: 1, said: '<' }
  }

  function spaces(run: string, isAll: boolean): Taken | null {
    const next = left[run.length]
    if (next === undefined) return isAll ? { taken: run.length } : null
    if (next === '\n') return { taken: run.length }
    if (next !== '|') return { taken: run.length, said: run.replaceAll('\t', ' ') }
    return cell(run.length, isAll)
  }

  /** Between two cells of a table is a comma, after the last one nothing. */
  function cell(before: number, isAll: boolean): Taken | null {
    const after = /^\|[ \t]*/.exec(left.slice(before))?.[0] ?? '|'
    const taken = before + after.length
    const next = left[taken]
    if (next === undefined && !isAll) return null
    if (isRow && (next === undefined || next === '\n')) return { taken }
    if (isRow || (before > 0 && after.length > 1)) return { taken, said: ', ' }
    return { taken, said: `${' '.repeat(Math.min(before, 1))}|` }
  }

  function inLine(isAll: boolean): Taken | null {
    const [character = ''] = left
    if (character === '\n') {
      newLine()
      return { taken: 1, said: last === '' || last.endsWith('\n\n') ? '' : '\n' }
    }
    const space = /^[ \t]+/.exec(left)?.[0]
    if (space) return spaces(space, isAll)
    const run = /^(?:\*+|_+|~+)/.exec(left)?.[0]
    if (run) return emphasis(run, isAll)
    if (character === '`') return { taken: /^`+/.exec(left)?.[0].length ?? 1 }
    if (character === '[') return bracket(isAll)
    if (character === '{') return jsonBegun.test(left) ? json(isAll) : { taken: 1, said: '{' }
    if (character === '<') return angle(isAll)
    if (character === '|') return cell(0, isAll)
    if (character === '!' || character === '\\') {
      if (left.length === 1 && !isAll) return null
      const isMark = character === '!' ? left[1] === '[' : /^\\[!-/:-@[-`{-~]/.test(left)
      return { taken: 1, said: isMark ? '' : character }
    }
    const plain = plainRun.exec(left)?.[0] ?? character
    return { taken: plain.length, said: plain }
  }

  function go(isAll: boolean): string {
    let said = ''
    while (left !== '') {
      const marked = isLineStart ? atLineStart(isAll) : undefined
      if (marked === null) break
      const step = marked ?? inLine(isAll)
      if (step === null) break
      left = (step.instead ?? '') + left.slice(step.taken)
      said += say(step.said ?? '')
      // What is left after a mark that said nothing begins the line.
      if (isBlank) isLineStart = true
    }
    return said
  }

  return {
    push(piece) {
      const whole = half + piece
      // A character may be cut in two by the border of a piece.
      half = /[\ud800-\udbff]$/.exec(whole)?.[0] ?? ''
      left += (half === '' ? whole : whole.slice(0, -1)).replace(unseen, '')
      return go(false)
    },
    end() {
      half = ''
      return go(true)
    },
  }
}

/** All of a text at once, without space at its ends. */
export function inPlainWords(text: string): string {
  const words = plainWords()
  return (words.push(text) + words.end()).trim()
}

function lastWordOf(text: string): string {
  let from = text.length
  while (from > 0 && !/\s/.test(text[from - 1] ?? '')) from--
  return text.slice(from)
}

/** Where the object or list ends that a text begins with, or null where it doesn't. */
function endOfJson(text: string): number | null {
  let depth = 0
  let isText = false
  for (let at = 0; at < text.length; at++) {
    const character = text[at]
    if (isText) {
      if (character === '\\') at++
      else if (character === '"') isText = false
    } else if (character === '"') isText = true
    else if (character === '{' || character === '[') {
      if (++depth > limits.depth) return null
    } else if (character === '}' || character === ']') {
      depth--
      if (depth === 0) return at + 1
    }
  }
  return null
}
