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
  /** What Ctrl-C does instead of leaving, as long as it says true; undefined: it leaves. */
  readonly onInterrupt: (act: (() => boolean) | undefined) => void
  /** Lets something else write whole lines, beside a message that is being written and the line that is being typed. */
  readonly aside: (write: () => void) => void
  /** Lets go of the input, so that the process can end. */
  readonly close: () => void
}

const prompt = '> '

/**
 * Opens the screen: lines from `input`, and everything that is shown to `output`.
 * @param isPlain nothing is drawn, at a terminal either: what is written is for a program
 */
export function openScreen(
  input: NodeJS.ReadableStream & { readonly isTTY?: boolean },
  output: NodeJS.WritableStream & { readonly isTTY?: boolean; readonly columns?: number },
  isPlain = false,
): ChatScreen {
  const isLive = !isPlain && input.isTTY === true && output.isTTY === true
  /** Whether a message is being written: what is typed meanwhile isn't echoed into it. */
  let isWriting = false
  const echo = new Writable({
    write(chunk, _encoding, done) {
      if (!isWriting) output.write(chunk)
      done()
    },
  })
  // A line that is longer than the terminal is wide takes several rows: how many is counted with this.
  Object.defineProperty(echo, 'columns', { get: () => output.columns })
  const resized = () => echo.emit('resize')
  output.on('resize', resized)
  const lines = createInterface({ input, output: echo, terminal: isLive, prompt, historySize: isLive ? 50 : 0 })
  const typed: string[] = []
  let waiting: ((line: string | undefined) => void) | undefined
  let isClosed = false
  /** Closed by the chat, and not by whoever types. */
  let isLetGo = false
  const asides: (() => void)[] = []
  const give = (line: string | undefined) => {
    const take = waiting
    waiting = undefined
    if (take) take(line)
    else if (line !== undefined) typed.push(line)
  }
  lines.on('line', give)
  lines.on('close', () => {
    isClosed = true
    output.off('resize', resized)
    // What stood there when somebody left stays as it is.
    if (isLive && (!isLetGo || isWriting)) output.write('\n')
    isWriting = false
    for (const write of asides.splice(0)) write()
    give(undefined)
  })
  let interrupt: (() => boolean) | undefined
  // Ctrl-C leaves, unless there is something else to end; the conversation stays.
  lines.on('SIGINT', () => {
    if (interrupt?.() !== true) lines.close()
  })

  // Node draws the line again as many rows further up as it had; what was shown in between stands there now.
  const forgetRows = () => Object.assign(lines, { prevRows: 0 })
  const clearLine = () => {
    if (!isLive || isWriting) return
    const { rows } = lines.getCursorPos()
    output.write(`${rows > 0 ? `\u001b[${rows}A` : ''}\r\u001b[J`)
    forgetRows()
  }
  const askAgain = () => {
    if (isLive && !isClosed) lines.prompt(true)
  }
  return {
    isLive,
    columns: () => (isLive ? output.columns : undefined),
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
      for (const write of asides.splice(0)) write()
      forgetRows()
      if (waiting) askAgain()
    },
    piece(text) {
      clearLine()
      isWriting = true
      output.write(text)
    },
    onInterrupt(act) {
      interrupt = act
    },
    aside(write) {
      if (isWriting) {
        asides.push(write)
        return
      }
      if (isClosed) return write()
      clearLine()
      write()
      if (waiting) askAgain()
    },
    close() {
      if (isClosed) return
      isLetGo = true
      clearLine()
      lines.close()
    },
  }
}
