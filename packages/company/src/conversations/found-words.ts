/** Words in a text, as a search compares them: whether they are in it, and where. */

/** A piece of a text, and whether it is what was searched for. */
export interface TextPiece {
  readonly text: string
  readonly isFound: boolean
}

/** Characters of an excerpt, beside the words that were found. */
export const shownOfExcerpt = 180
/** Of them before the first of the words: on a narrow row it is still in sight. */
const shownBefore = 40

/** Without a difference of case, or of how an accent is written. */
const fold = (text: string) => composed(text).toLowerCase()

/** Marks on one letter from which on no more are put in order with them (UAX 15, stream-safe text): that takes their number squared. */
const someMarks = 30
const manyMarks = new RegExp(`\\p{M}{${someMarks + 1}}`, 'u')
const withSomeMarks = new RegExp(`\\P{M}*\\p{M}{0,${someMarks}}`, 'gu')

function composed(text: string): string {
  if (!manyMarks.test(text)) return text.normalize('NFC')
  return (text.match(withSomeMarks) ?? []).map((piece) => piece.normalize('NFC')).join('')
}

/** Whether these words are in a text. Words that stand apart in what is searched for may stand on two lines. */
export function earFor(sought: string): (text: string) => boolean {
  const words = fold(sought)
  return words.includes(' ')
    ? (text) => fold(text).replace(/\s+/g, ' ').includes(words)
    : (text) => fold(text).includes(words)
}

/** The whole text in pieces, each accent written in one character. Nothing found: one piece. */
export function piecesOf(text: string, sought: string): readonly TextPiece[] {
  const whole = composed(text)
  return cutInto(whole, placesOf(whole, sought), { from: 0, to: whole.length })
}

/** What stands around the first of the words, on one line, in pieces; null where they aren't in it. */
export function excerptOf(text: string, sought: string): readonly TextPiece[] | null {
  const whole = composed(text)
  const places = placesOf(whole, sought)
  const [first] = places
  if (first === undefined) return null
  const from = beginningBefore(whole, first.from)
  const to = endAfter(whole, Math.max(first.to, from + shownOfExcerpt))
  const more = { text: '…', isFound: false }
  const pieces = [
    ...(from > 0 ? [more] : []),
    ...cutInto(whole, places, { from, to }).map((piece) => ({ ...piece, text: piece.text.replace(/\s+/g, ' ') })),
    ...(to < whole.length ? [more] : []),
  ]
  return joined(pieces).flatMap(({ text: piece, isFound }, at, all) => {
    let shown = at === 0 ? piece.trimStart() : piece
    if (at === all.length - 1) shown = shown.trimEnd()
    return shown === '' ? [] : [{ text: shown, isFound }]
  })
}

/** Neighbours of one kind are one piece. */
function joined(pieces: readonly TextPiece[]): readonly TextPiece[] {
  const all: TextPiece[] = []
  for (const piece of pieces) {
    const before = all.at(-1)
    if (before?.isFound === piece.isFound) all[all.length - 1] = { ...piece, text: before.text + piece.text }
    else all.push(piece)
  }
  return all
}

interface Stretch {
  readonly from: number
  readonly to: number
}

/** Where the words are in a text that is composed; never within a character of it, and no two over each other. */
function placesOf(text: string, sought: string): readonly Stretch[] {
  const words = fold(sought)
  if (words === '') return []
  const isLoose = words.includes(' ')
  // Lower case may be longer than what it is of, so that each of its characters knows where that stood.
  const lower = text.toLowerCase()
  // Put together at the end, and looked at by what is known of it: a text that grows and is read in turn is copied each time.
  const folded: string[] = []
  const [froms, tos]: [number[], number[]] = [[], []]
  let isAfterSpace = false
  let at = 0
  let lowerAt = 0
  for (const character of text) {
    const from = at
    at += character.length
    const { length } = character.toLowerCase()
    // Out of the whole: at the end of a word a letter may be another one.
    const part = lower.slice(lowerAt, lowerAt + length)
    lowerAt += length
    const isSpace = isLoose && /^\s+$/.test(part)
    if (isSpace && isAfterSpace) {
      tos[tos.length - 1] = at
      continue
    }
    isAfterSpace = isSpace
    folded.push(isSpace ? ' ' : part)
    for (let unit = 0; unit < (isSpace ? 1 : part.length); unit += 1) {
      froms.push(from)
      tos.push(at)
    }
  }
  const places: Stretch[] = []
  const whole = folded.join('')
  for (let found = whole.indexOf(words); found >= 0; found = whole.indexOf(words, found + words.length)) {
    const from = froms[found] ?? 0
    const to = withItsMarks(text, tos[found + words.length - 1] ?? text.length)
    const before = places.at(-1)
    if (before !== undefined && from < before.to) places[places.length - 1] = { from: before.from, to }
    else places.push({ from, to })
  }
  return places
}

/** After accents that have no character together with their letter. */
function withItsMarks(text: string, at: number): number {
  const [marks = ''] = /^\p{M}*/u.exec(text.slice(at, at + 20)) ?? []
  return at + marks.length
}

/** A little before a place, at the beginning of a word where there is one. */
function beginningBefore(text: string, place: number): number {
  const rough = Math.max(0, place - shownBefore)
  if (rough === 0) return 0
  const space = /\s/.exec(text.slice(rough, place))
  return space === null ? between(text, rough) : rough + space.index + 1
}

/** About there, at the end of a word where one ends soon before. */
function endAfter(text: string, rough: number): number {
  return rough >= text.length ? text.length : between(text, rough)
}

/** Not in the middle of a character. */
function between(text: string, at: number): number {
  const code = text.charCodeAt(at)
  return code >= 0xdc00 && code <= 0xdfff ? at + 1 : at
}

/** A stretch of a text, in pieces. */
function cutInto(text: string, places: readonly Stretch[], { from, to }: Stretch): readonly TextPiece[] {
  const pieces: TextPiece[] = []
  const add = (begin: number, end: number, isFound: boolean) => {
    if (end > begin) pieces.push({ text: text.slice(begin, end), isFound })
  }
  let at = from
  for (const place of places) {
    if (place.to <= from || place.from >= to) continue
    add(at, place.from, false)
    add(Math.max(at, place.from), Math.min(place.to, to), true)
    at = Math.min(place.to, to)
  }
  add(at, to, false)
  return pieces
}
