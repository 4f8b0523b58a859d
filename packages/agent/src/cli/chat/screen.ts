import { createInterface } from 'node:readline'
import { Writable } from 'node:stream'

/** Where a chat is typed and shown: what is said appears above the line that is being typed, which stays as it is. */
export interface ChatScreen {
  /** Whether a person types at a terminal; else lines come from a pipe, one after another. */
  readonly isLive: boolean
  /** How wide it is at this moment; undefined where nobody knows. */
  readonly columns: () => number | undefined
  /** @returns the next line, or undefined once there is none any more */
  readonly next: () => Promise<string | undefined>
  /** Shows whole lines; an empty one ends the line that goes on. */
  readonly show: (text: string) => void
  /** Shows a piece of a line that goes on. */
  readonly piece: (text: string) => void
  /** Lets go of the input, so that the process can end. */
  readonly close: () => void
}

const prompt = '> '

/** Opens the screen: lines from `input`, and everything that is shown to `output`. */
export function openScreen(
  input: NodeJS.ReadableStream & { readonly isTTY?: boolean },
  output: NodeJS.WritableStream & { readonly isTTY?: boolean },
): ChatScreen {
  const isLive = input.isTTY === true && output.isTTY === true
  /** Whether a message is being written: what is typed meanwhile isn't echoed into it. */
  let isWriting = false
  const echo = new Writable({
    write(chunk, _encoding, done) {
      if (!isWriting) output.write(chunk)
      done()
    },
  })
  const lines = createInterface({ input, output: echo, terminal: isLive, prompt, historySize: isLive ? 50 : 0 })
  const typed: string[] = []
  let waiting: ((line: string | undefined) => void) | undefined
  let isClosed = false
  const give = (line: string | undefined) => {
    const take = waiting
    waiting = undefined
    if (take) take(line)
    else if (line !== undefined) typed.push(line)
  }
  lines.on('line', give)
  lines.on('close', () => {
    isClosed = true
    give(undefined)
  })
  // Ctrl-C leaves; the conversation stays.
  lines.on('SIGINT', () => lines.close())

  const clearLine = () => {
    if (isLive && !isWriting) output.write('\r\u001b[K')
  }
  const askAgain = () => {
    if (isLive && !isClosed) lines.prompt(true)
  }
  return {
    isLive,
    columns: () => (isLive ? (output as { readonly columns?: number }).columns : undefined),
    next: () => {
      const early = typed.shift()
      if (early !== undefined || isClosed) return Promise.resolve(early)
      if (!isWriting) askAgain()
      return new Promise((resolve) => {
        waiting = resolve
      })
    },
    show(text) {
      const endsLine = isWriting && text === ''
      if (isWriting) output.write('\n')
      else clearLine()
      isWriting = false
      if (!endsLine) output.write(`${text}\n`)
      if (waiting) askAgain()
    },
    piece(text) {
      clearLine()
      isWriting = true
      output.write(text)
    },
    close: () => lines.close(),
  }
}
