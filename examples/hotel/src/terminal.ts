import { createInterface } from 'node:readline'

/** Somebody who sits at the terminal. */
export interface Terminal {
  /** Asks, and gives what they typed; null once they left. */
  readonly ask: (question: string) => Promise<string | null>
  /** Takes each line that answers no question. */
  readonly onLine: (take: (line: string) => void) => void
  /** Told once they leave, by Ctrl+C or Ctrl+D. */
  readonly onLeave: (leave: () => void) => void
  readonly close: () => void
}

/** Opens it. From here on it takes Ctrl+C, until it is closed. */
export function openTerminal(): Terminal {
  const lines = createInterface({ input: process.stdin, output: process.stdout })
  let answer: ((line: string | null) => void) | undefined
  let take: (line: string) => void = () => {}
  let leave: () => void = () => {}
  let isGone = false
  const answered = (line: string | null) => {
    const asked = answer
    answer = undefined
    asked?.(line)
    return asked !== undefined
  }
  lines.on('line', (line) => {
    const typed = line.trim()
    if (!answered(typed) && typed !== '') take(typed)
  })
  // Ctrl+C closes it too.
  lines.on('SIGINT', () => lines.close())
  lines.on('close', () => {
    isGone = true
    answered(null)
    leave()
  })
  return {
    ask: (question) =>
      new Promise((resolve) => {
        if (isGone) {
          resolve(null)
          return
        }
        answer = resolve
        process.stdout.write(question)
      }),
    onLine: (listener) => {
      take = listener
    },
    onLeave: (listener) => {
      leave = listener
    },
    close: () => lines.close(),
  }
}
