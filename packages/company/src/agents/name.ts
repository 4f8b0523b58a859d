/** 4.5: the name under which a person sees a Personal Agent. The agent wrote it, so it is cleaned and cut. */

const maxLength = 60
/** How much of a name is looked at: putting a heap of accents in order takes the square of its height. */
const longestRead = 1000

/**
 * Makes an agent's own name fit to be shown: one line of at most 60 characters, with nothing in it that is invisible or
 * turns the direction of the text. It is still only what the agent calls itself: the host is always shown beside it.
 * @param name `client_name` as the agent wrote it
 * @param host the host of its `client_id`, shown in its place when nothing readable is left
 */
export function cleanAgentName(name: string | undefined, host: string): string {
  const clean = (name ?? '')
    .slice(0, longestRead)
    .normalize('NFC')
    // Line breaks and tabs part words; all else of this kind is simply not there.
    .replace(/[\s\p{Z}\u0085]+/gu, ' ')
    // Controls, bidi marks, zero-width characters, fillers and tags; lone surrogates and private use.
    .replace(/[\p{Cc}\p{Cf}\p{Cs}\p{Co}\p{Cn}\p{Default_Ignorable_Code_Point}\u2800]/gu, '')
    // A heap of accents on one letter covers the lines above and below: the host's among them.
    .replace(/(\p{M}{2})\p{M}+/gu, '$1')
    .replace(/ +/g, ' ')
    .trim()
  if (!/[\p{L}\p{N}]/u.test(clean)) return host
  const characters = [...clean]
  if (characters.length <= maxLength) return clean
  return `${characters
    .slice(0, maxLength - 1)
    .join('')
    .trimEnd()}…`
}
