import { tooManyRequests } from '../limits/words.ts'
import { messagePage } from './layout.tsx'

/** A failed request, told to a person: the same boundary as everywhere, in words. */

/**
 * Makes a page of an error's answer.
 * @param answer what an API would have said: its status, and the headers that a browser heeds, are kept
 * @param words what happened, what was changed, and what to do; a fault of ours is told in words of its own
 */
export function failurePage(
  answer: Response,
  words: { readonly title: string; readonly text: string; readonly status?: number },
): Response {
  const isOurs = answer.status >= 500
  const shown = messagePage({
    status: isOurs || answer.status === 429 ? answer.status : (words.status ?? answer.status),
    ...(tooManyRequests(answer) ?? {
      title: isOurs ? 'Something went wrong on our side' : words.title,
      text: words.text,
    }),
  })
  for (const name of ['allow', 'retry-after']) {
    const value = answer.headers.get(name)
    if (value !== null) shown.headers.set(name, value)
  }
  return shown
}
