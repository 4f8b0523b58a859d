import type { Wording } from '../words/wording.ts'
import type { Problem } from '../words/words.ts'
import { messagePage } from './layout.tsx'

/** What a person is told when something went wrong: what happened, whether anything was changed, and what to do. */

/** A problem, and what it means for the person. */
export interface Told {
  readonly problem: Problem
  /** Whether anything was changed, and what to do. */
  readonly outcome: string
}

/** The page that tells a problem. */
export function problemPage(
  wording: Wording,
  { problem, outcome, status }: Told & { readonly status: number },
): Response {
  return messagePage(wording, {
    status,
    title: wording.say(`${problem}.title`),
    text: `${wording.say(`${problem}.why`)} ${outcome}`,
  })
}

/** The page that tells why nothing was changed, and no agent got access. */
export function noAccessPage(wording: Wording, status: number, problem: Problem): Response {
  return problemPage(wording, { status, problem, outcome: wording.say('outcome.noAccess') })
}

/**
 * Makes a page of an error's answer: the same boundary as everywhere, in words.
 * @param answer what an API would have said: its status, and the headers that a browser heeds, are kept
 * @param told for a problem with the request; a fault of ours and a limit that was met (4.3) are told in words of their own
 */
export function failurePage(answer: Response, wording: Wording, told: Told & { readonly status?: number }): Response {
  const { status } = answer
  const shown =
    status === 429
      ? problemPage(wording, {
          status,
          problem: 'tooMany',
          outcome: wording.say('outcome.wait', { time: wording.wait(Number(answer.headers.get('retry-after'))) }),
        })
      : status >= 500
        ? problemPage(wording, { status, problem: 'ours', outcome: told.outcome })
        : problemPage(wording, { ...told, status: told.status ?? status })
  for (const name of ['allow', 'retry-after']) {
    const value = answer.headers.get(name)
    if (value !== null) shown.headers.set(name, value)
  }
  return shown
}
