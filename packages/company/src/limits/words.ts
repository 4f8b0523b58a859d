/** What a person reads where a limit was met (4.3). */

/**
 * Title and text for the page, or null where the answer is about something else.
 * @param answer one with status 429 has its `Retry-After`
 */
export function tooManyRequests({
  status,
  headers,
}: Response): { readonly title: string; readonly text: string } | null {
  if (status !== 429) return null
  const time = timeInWords(Number(headers.get('retry-after')))
  return {
    title: 'Too many requests just now',
    text: `They came from your network, your account or your agent. Nothing was changed. Wait ${time}, then go back and try again.`,
  }
}

function timeInWords(seconds: number): string {
  if (seconds === 1) return 'a second'
  return seconds < 90 ? `${seconds} seconds` : `${Math.ceil(seconds / 60)} minutes`
}
