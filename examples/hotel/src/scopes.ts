/** What an agent can be let do here, each in a sentence for the guest. The library's pages speak both
 * languages, the site's own are English. */
export const scopes = {
  'poppy:read': {
    en: 'See your bookings and your notes on them',
    de: 'Ihre Buchungen sehen und Ihre Nachrichten dazu',
  },
  'poppy:write': {
    en: 'Add notes to your bookings and cancel them, book rooms and pay deposits',
    de: 'Nachrichten zu Ihren Buchungen schreiben, sie stornieren, Zimmer buchen und Anzahlungen leisten',
  },
  loyalty: { en: 'See your points', de: 'Ihre Punkte sehen' },
} as const

/** One of the hotel's scopes. */
export type HotelScope = keyof typeof scopes

/** Which of these are the hotel's, in its own order. */
export function hotelScopes(names: readonly string[]): readonly HotelScope[] {
  return (Object.keys(scopes) as HotelScope[]).filter((scope) => names.includes(scope))
}

/** Scopes as the end of a sentence: "see your points; add notes to your bookings". */
export function inWords(granted: readonly HotelScope[]): string {
  return granted
    .map((scope) => scopes[scope].en)
    .map((text) => text.charAt(0).toLowerCase() + text.slice(1))
    .join('; ')
}
