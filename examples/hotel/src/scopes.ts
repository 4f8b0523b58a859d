/** What an agent can be let do here, each in a sentence for the guest. Consent page and the site's own pages show the same. */
export const scopes = {
  'poppy:read': 'See your bookings and your notes on them',
  'poppy:write': 'Add notes to your bookings and cancel them',
  loyalty: 'See your points',
} as const

/** One of the hotel's scopes. */
export type HotelScope = keyof typeof scopes

/** Which of these are the hotel's, in its own order. */
export function hotelScopes(names: readonly string[]): readonly HotelScope[] {
  return (Object.keys(scopes) as HotelScope[]).filter((scope) => names.includes(scope))
}

/** Scopes as the end of a sentence: "see your points; add notes to your bookings". */
export function inWords(granted: readonly HotelScope[]): string {
  return granted.map((scope) => scopes[scope].charAt(0).toLowerCase() + scopes[scope].slice(1)).join('; ')
}
