import type { Heard, HeardMessage } from 'poppyseed'
import { addDays, type Day, isDay } from './days.ts'

/* What a message to the front desk asks for: read from its words, in English and German, and from its `data`. */

/** A stay that somebody wishes, as far as they said. */
export type Wish = {
  readonly from?: Day
  readonly to?: Day
  readonly guests?: number
  /** The slug of a room. */
  readonly room?: string
  readonly isCheapest?: boolean
}

/** Whoever wants a person; not who counts them: "a room for one person", "the price per person", "für zwei Menschen". */
function wantsPerson(): RegExp {
  const one = String.raw`(?:person|human|someone|somebody|(?:member\sof\s(?:the\s|your\s)?)?staff|manager)\b(?!['’-])`
  const some = String.raw`(?:(?:an?|the|some|any)\s)?(?:(?:real|actual|live|human)\s)*${one}`
  // "A person" is one to talk with, "one person" is one of the guests.
  const notCounted = String.raw`(?<!\b(?:per|each|another|for(?:\s(?:an?|one|another|a\ssingle))?)\s)`
  const verbs = String.raw`(?:wants?|needs?|would\slike|i.?d\slike|(?:gets?|gives?)(?:\s(?:me|us))?|(?:ask|call)(?:s|ing)?\sfor|requests?)`
  return new RegExp(
    [
      String.raw`\b(?:speak|talk|connect|transfer|reach)\b.{0,40}\b${notCounted}${one}`,
      String.raw`\b(?:real|actual|live)\s(?:human\s)?${one}`,
      String.raw`(?<!(?:n.?t|\bnot|\bnever)\s)\b${verbs}\s(?:to\s(?:have|get|see)\s)?(?:(?:help|an\sanswer)\sfrom\s)?${some}`,
      String.raw`\b${one}\s(?:to|(?:(?:that|whom?)\s)?(?:i|we)\s(?:can|could|may))\s(?:talk|speak)\b`,
      String.raw`^\W*${some}(?:\W+please)?\W*$`,
      String.raw`\bcomplain`,
      // "für zwei Menschen" counts guests too.
      String.raw`(?<!\b(?:für|pro|je)\s(?:[a-zäöüß\d]+\s)?)(?<!\b(?:zwei|drei|vier|fünf|sechs|\d+)\s)\bmensch`,
      String.raw`\b(?:mitarbeiter|beschwer)`,
      String.raw`\bmit\s(?:jemande[mn]|einer\s(?:echten\s)?person)\b`,
      String.raw`\b(?:brauche|will|möchte|hätte\sgerne?)\s(?:(?:bitte|gerne?)\s)?(?:jemanden|eine\s(?:echte\s)?person)\b(?!\s(?:mehr|dazu))`,
    ].join('|'),
    'i',
  )
}

/** Patterns of what messages are about. */
export const about = {
  nature:
    /\bare you (?:an? )?(?:real |actual )?(?:human|person|ai|bot|machine)|\b(?:sind sie|bist du) (?:eine? )?(?:mensch|ki|bot|maschine)/i,
  person: wantsPerson(),
  cancel: /\bcancel|\bstornier/i,
  deposit: /\bdeposit|\banzahlung/i,
  celebration: /\bwedding|\bcelebrat|\bwhole house|\bhochzeit|\bfeier|\bganze haus/i,
  late: /\b(?:late|midnight|check.?in|arrive at|arrival time)\b|\bwhen\b.*\barrive\b|\bspät|\banreisezeit|\bmitternacht|\bwann\b.*\b(?:ankommen|anreisen|einchecken)\b/i,
  points: /\bpoints?\b|\bloyalty|\bpunkte/i,
  bookings:
    /\b(?:my|their|her|his|our|the guest.s|existing|current) (?:bookings?|reservations?|stays?)\b|\b(?:meine|ihre|unsere) (?:buchung|reservierung)/i,
  book: /\b(?:book|reserve)\b|\bbuchen?\b|\breservier/i,
  rooms: /\brooms?\b|\bfree\b|\bavailab|\bvacan|\bzimmer|\bfrei\b/i,
  house: /\bbreakfast|\bbus\b|\bcar\b|\bpark|\bfrühstück|\bauto\b/i,
  end: /\b(?:that.s|that is|that was) all\b|\bnothing (?:else|more)\b|\bdas (?:ist|war) alles\b/i,
  unavailable: /\b(?:can.?t|cannot|won.?t) talk\b|\bdeclined?\b|\bnicht sprechen\b/i,
  goingOn: /\bsigned in\b|\bgo on\b|\bcontinue\b|\btry again\b|\bangemeldet\b|\bweiter\b/i,
}

const months = [
  /^jan/,
  /^feb/,
  /^(?:mar|mär|mrz)/,
  /^apr/,
  /^(?:may|mai)/,
  /^jun/,
  /^jul/,
  /^aug/,
  /^sep/,
  /^(?:oct|okt)/,
  /^nov/,
  /^(?:dec|dez)/,
]
const numbers = ['', 'one|eine?n?', 'two|zwei', 'three|drei', 'four|vier', 'five|fünf', 'six|sechs']
const people = 'guests?|people|persons?|adults?|of us|personen|gäste|leute|erwachsene'

/** The number of a booking, if one is named. */
export function bookingNumber({ text, message }: Pick<Heard, 'text' | 'message'>): string | null {
  const given = message.data?.booking
  return /\bMIR-\d{4,6}\b/i.exec(typeof given === 'string' ? given : text)?.[0].toUpperCase() ?? null
}

/**
 * What is wished, of all that the guest's side said since something was last proposed; what was said later counts.
 * @param rooms what the rooms are called
 */
export function wishOf(
  history: readonly HeardMessage[],
  rooms: readonly { readonly slug: string; readonly name: string }[],
): Wish {
  const since = history.findLastIndex(({ operation }) => operation !== undefined) + 1
  const said = history.slice(Math.max(since, history.length - 12)).filter(({ from }) => from === 'user')
  return Object.assign({}, ...said.map((message) => readWish(message, rooms))) as Wish
}

/** What one message wishes. */
export function readWish(
  { text = '', data = {} }: HeardMessage,
  rooms: readonly { readonly slug: string; readonly name: string }[],
): Wish {
  const [first, second] = daysIn(text)
  const nights = countOf(text, 'nights?|nächte?')
  const from = dayOf(data.from) ?? first
  const to =
    dayOf(data.to) ?? second ?? (from !== undefined && nights !== undefined ? addDays(from, nights) : undefined)
  const guests = typeof data.guests === 'number' ? data.guests : (countOf(text, people) ?? forSome(text))
  const named = typeof data.room === 'string' ? data.room : text
  const room = rooms.find(({ slug, name }) => new RegExp(`\\b(?:${slug}|${name})\\b`, 'i').test(named))
  return {
    ...(from === undefined ? {} : { from }),
    ...(to === undefined ? {} : { to }),
    ...(guests === undefined ? {} : { guests }),
    ...(room === undefined ? {} : { room: room.slug }),
    ...(/\bcheapest|\bgünstigste/i.test(text) ? { isCheapest: true } : {}),
  }
}

const dayOf = (value: unknown): Day | undefined => (typeof value === 'string' && isDay(value) ? value : undefined)

/** Days as `2027-05-01`, `1.5.2027`, `1 May 2027`, `May 1, 2027` or `1. Mai 2027`, in their order. */
function daysIn(text: string): readonly Day[] {
  const month = String.raw`((?:jan|feb|mar|mär|mrz|apr|may|mai|jun|jul|aug|sep|oct|okt|nov|dec|dez)\p{L}{0,7})`
  const pattern = new RegExp(
    [
      String.raw`\b(\d{4})-(\d{2})-(\d{2})\b`,
      String.raw`\b(\d{1,2})\.\s?(\d{1,2})\.\s?(\d{4})\b`,
      String.raw`\b(\d{1,2})\.?(?:st|nd|rd|th)?\s${month}\.?\s(\d{4})\b`,
      String.raw`\b${month}\s(\d{1,2})(?:st|nd|rd|th)?,?\s(\d{4})\b`,
    ].join('|'),
    'giu',
  )
  return [...text.slice(0, 2000).matchAll(pattern)].flatMap((found) => {
    const [, y1, m1, d1, d2, m2, y2, d3, m3, y3, m4, d4, y4] = found
    const [year, month, date] = y1
      ? [y1, m1, d1]
      : y2
        ? [y2, m2, d2]
        : y3
          ? [y3, monthOf(m3 ?? ''), d3]
          : [y4, monthOf(m4 ?? ''), d4]
    const day = `${year}-${(month ?? '').padStart(2, '0')}-${(date ?? '').padStart(2, '0')}`
    return isDay(day) ? [day] : []
  })
}

function monthOf(name: string): string {
  return String(months.findIndex((month) => month.test(name.toLowerCase())) + 1)
}

/** "3 nights", "two nights": what is counted, if it is. */
function countOf(text: string, what: string): number | undefined {
  const digits = new RegExp(`\\b(\\d{1,2})\\s+(?:${what})(?![\\p{L}\\d])`, 'iu').exec(text)?.[1]
  if (digits !== undefined) return Number(digits)
  const word = numbers.findIndex(
    (names) => names !== '' && new RegExp(`\\b(?:${names})\\s+(?:${what})(?![\\p{L}\\d])`, 'iu').test(text),
  )
  return word < 0 ? undefined : word
}

/** "for two", "für 3". */
function forSome(text: string): number | undefined {
  const some = /\b(?:for|für)\s+(\d{1,2}|\p{L}+)(?!\s*(?:nights?|nächte?|\p{N}))/iu.exec(text)?.[1]
  if (some === undefined) return undefined
  if (/^\d+$/.test(some)) return Number(some)
  const word = numbers.findIndex((names) => names !== '' && new RegExp(`^(?:${names})$`, 'i').test(some))
  return word < 2 ? undefined : word
}
