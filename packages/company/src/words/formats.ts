/**
 * What writes numbers, times and names in a reader's language. Each is made once for a language and a manner: making one takes
 * longer than all that is written with it on a page.
 */

const [dates, numbers, names]: readonly [
  Map<string, Intl.DateTimeFormat>,
  Map<string, Intl.NumberFormat>,
  Map<string, Intl.DisplayNames>,
] = [new Map(), new Map(), new Map()]

/** How many are kept of a kind: a browser names the language, so that it could name thousands. */
const most = 200

/** Dates and times. */
export const dateFormat = (locale: string, options: Intl.DateTimeFormatOptions): Intl.DateTimeFormat =>
  kept(dates, `${locale} ${JSON.stringify(options)}`, () => new Intl.DateTimeFormat(locale, options))

/** Numbers and amounts. */
export const numberFormat = (locale: string, options: Intl.NumberFormatOptions = {}): Intl.NumberFormat =>
  kept(numbers, `${locale} ${JSON.stringify(options)}`, () => new Intl.NumberFormat(locale, options))

/** Names of languages. */
export const languageNames = (locale: string): Intl.DisplayNames =>
  kept(names, locale, () => new Intl.DisplayNames(locale, { type: 'language' }))

function kept<Made>(all: Map<string, Made>, key: string, make: () => Made): Made {
  const found = all.get(key)
  if (found !== undefined) return found
  const made = make()
  if (all.size >= most) all.clear()
  all.set(key, made)
  return made
}
