/** Which language a person reads: `Accept-Language` (RFC 9110, 12.5.4), matched by lookup (RFC 4647, 3.4). */

/** Characters of the header, and languages in it, that are looked at. */
const mostCharacters = 1000
const mostRanges = 30

/** What a language tag of ours looks like: `de`, `de-AT`, `zh-Hant`, `sr-Latn-RS`. */
const tag = /^[a-z]{2,3}(?:-[A-Z][a-z]{3})?(?:-(?:[A-Z]{2}|[0-9]{3}))?$/

/** Whether a text is a language tag as it is written here: language, and if need be script and region. */
export function isLanguageTag(text: string): boolean {
  return tag.test(text)
}

/**
 * The language, script and region of a tag that somebody sent, as browsers write them; null where it is none. Variants and
 * extensions are dropped: nobody's header chooses a calendar.
 */
export function readTag(text: string): string | null {
  const [language = '', second = '', third = ''] = text.toLowerCase().split('-')
  if (!/^[a-z]{2,3}$/.test(language)) return null
  const hasScript = /^[a-z]{4}$/.test(second)
  const script = hasScript ? `-${second.charAt(0).toUpperCase()}${second.slice(1)}` : ''
  const region = hasScript ? third : second
  return `${language}${script}${/^(?:[a-z]{2}|[0-9]{3})$/.test(region) ? `-${region.toUpperCase()}` : ''}`
}

/** Of those that there are, the one for a tag: itself, with less and less of it, or another of the same language. */
export function lookUp(available: readonly string[], wanted: string): string | undefined {
  for (let range = wanted; range !== ''; range = range.slice(0, Math.max(0, range.lastIndexOf('-')))) {
    if (available.includes(range)) return range
  }
  const [language] = wanted.split('-')
  return available.find((one) => one.split('-')[0] === language)
}

/** A language that there are words in, and the locale in which the person writes dates and numbers. */
export interface Chosen {
  readonly language: string
  readonly locale: string
}

/**
 * Picks the language for a header. Nobody gets an error page for asking for what isn't there: then it is the usual one.
 * @param header as it came: anything, or nothing
 * @param options.available the languages that there are words in
 * @param options.standard the locale for whoever asks for none of them; there have to be words for it
 */
export function negotiate(
  header: string | null | undefined,
  { available, standard }: { readonly available: readonly string[]; readonly standard: string },
): Chosen {
  const usual: Chosen = { language: lookUp(available, standard) ?? standard, locale: standard }
  const ranges = rangesOf(header ?? '')
  const refused = ranges.filter(({ quality }) => quality === 0).map(({ range }) => range)
  const isRefused = (language: string) =>
    refused.some((range) => language === range || language.startsWith(`${range}-`))
  for (const { range, quality } of ranges) {
    if (quality === 0) continue
    if (range === '*') {
      if (!isRefused(usual.language)) return usual
      const other = available.find((one) => !isRefused(one))
      if (other !== undefined) return { language: other, locale: other }
      continue
    }
    const language = lookUp(available, range)
    if (language === undefined) continue
    // A bare language says nothing of how dates are written there: as the company does, where it is the same.
    return { language, locale: !range.includes('-') && standard.startsWith(`${range}-`) ? standard : range }
  }
  return usual
}

/** The languages of a header that can be read, most wanted first; those of one weight in their order. */
function rangesOf(header: string): readonly { readonly range: string; readonly quality: number }[] {
  const isCut = header.length > mostCharacters
  const entries = header.slice(0, mostCharacters).split(',')
  // What was cut in two isn't what was meant.
  if (isCut) entries.pop()
  return entries
    .slice(0, mostRanges)
    .flatMap((entry) => {
      const [name = '', ...parameters] = entry.split(';').map((part) => part.trim())
      const range = name === '*' ? name : readTag(name)
      const quality = qualityOf(parameters)
      return range === null || quality === null ? [] : [{ range, quality }]
    })
    .sort((one, other) => other.quality - one.quality)
}

/** The weight of a language, 1 where it has none; null where it can't be read. */
function qualityOf(parameters: readonly string[]): number | null {
  if (parameters.length === 0) return 1
  const [, value] =
    (parameters.length === 1 && /^q=(0(?:\.[0-9]{0,3})?|1(?:\.0{0,3})?)$/i.exec(parameters[0] ?? '')) || []
  return value === undefined ? null : Number(value)
}
