import { createInterface } from 'node:readline'
import { Writable } from 'node:stream'

/** Asks a person for a line at the terminal; what is secret is not shown while it is typed. */
export interface Prompt {
  /** @returns the line, or undefined where the person gave up or there is nobody */
  readonly ask: (label: string, options: { readonly secret: boolean }) => Promise<string | undefined>
  /** Lets go of the input, so that the process can end. */
  readonly close: () => void
}

/** Opens a prompt. Labels go to `output`; lines of a pipe are read the same way, and echoed by nobody. */
export function openPrompt(
  input: NodeJS.ReadableStream & { readonly isTTY?: boolean },
  output: NodeJS.WritableStream,
): Prompt {
  // Only while a question is open whose answer may be seen: a password that is pasted with the line before it comes too early.
  let isShown = false
  const screen = new Writable({
    write(chunk, _encoding, done) {
      if (isShown) output.write(chunk)
      done()
    },
  })
  const isTerminal = input.isTTY === true
  // No history: an arrow key must not bring a password back.
  const lines = createInterface({ input, output: screen, terminal: isTerminal, historySize: 0 })
  /** Lines that nobody has asked for yet, and whoever waits for one. */
  const typed: string[] = []
  let waiting: ((line: string | undefined) => void) | undefined
  let isClosed = false
  const answer = (line: string | undefined) => {
    isShown = false
    const give = waiting
    waiting = undefined
    if (give) give(line)
    else if (line !== undefined) typed.push(line)
  }
  // At once, not a turn of the event loop later: what follows in the same paste is echoed by then.
  lines.on('line', answer)
  lines.on('close', () => {
    isClosed = true
    answer(undefined)
  })
  return {
    ask: async (label, { secret }) => {
      output.write(`${label}: `)
      const early = typed.shift()
      if (early !== undefined || isClosed) {
        output.write('\n')
        return early
      }
      isShown = !secret
      const line = await new Promise<string | undefined>((resolve) => {
        waiting = resolve
      })
      if (secret || !isTerminal) output.write('\n')
      return line
    },
    close: () => lines.close(),
  }
}
