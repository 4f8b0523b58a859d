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
  let isSecret = false
  const screen = new Writable({
    write(chunk, _encoding, done) {
      if (!isSecret) output.write(chunk)
      done()
    },
  })
  const isTerminal = input.isTTY === true
  // No history: an arrow key must not bring a password back.
  const lines = createInterface({ input, output: screen, terminal: isTerminal, historySize: 0 })
  const answers = lines[Symbol.asyncIterator]()
  return {
    ask: async (label, { secret }) => {
      output.write(`${label}: `)
      isSecret = secret
      try {
        const { value, done } = await answers.next()
        return done ? undefined : value
      } finally {
        isSecret = false
        if (secret || !isTerminal) output.write('\n')
      }
    },
    close: () => lines.close(),
  }
}
