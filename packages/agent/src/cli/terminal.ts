import { styleText } from 'node:util'
import { AgentError } from '../errors.ts'
import { cleanLines, cleanText, hiddenCharacter } from '../net/text.ts'

/** Where the command writes. A test hands in its own. */
export interface Terminal {
  readonly stdout: (text: string) => void
  readonly stderr: (text: string) => void
  /** Whether a person is looking at `stdout`. */
  readonly isTerminal: boolean
  /** How wide that is; undefined where nobody knows. */
  readonly columns?: number | undefined
  readonly env: Readonly<Record<string, string | undefined>>
}

/** What a command says: lines for a person, or one JSON value a line for a program. Never both. */
export interface Output {
  readonly json: boolean
  /** A line for a person. Text of a Company in it has been cleaned by {@link clean} or {@link block}. */
  readonly line: (text?: string) => void
  /** The result for a program. */
  readonly value: (value: unknown) => void
  /** Something to know while waiting: to `stderr`, for a person who looks. */
  readonly note: (text: string) => void
  readonly error: (error: unknown, hint: string | undefined) => void
  readonly bold: (text: string) => string
  readonly dim: (text: string) => string
}

/** Writes for people, or one JSON value a line for programs. */
export function createOutput(terminal: Terminal, json: boolean): Output {
  const { stdout, stderr, isTerminal, env } = terminal
  // https://no-color.org: set and not empty
  const hasColours = isTerminal && !json && !env.NO_COLOR && env.TERM !== 'dumb'
  // Whoever came by npx has no command of the name `poppy`: what is said to be typed must work when it is.
  const typed = (text: string) =>
    env.npm_lifecycle_event === 'npx' ? text.replace(/(?<= )poppy (?=[a-z]+)/g, 'npx poppy ') : text
  const style = (format: 'bold' | 'dim' | 'red') => (text: string) =>
    hasColours ? styleText(format, text, { validateStream: false }) : text
  return {
    json,
    line: (text = '') => {
      if (!json) stdout(`${text.startsWith('Next: ') ? typed(text) : text}\n`)
    },
    value: (value) => {
      if (json) stdout(`${jsonLine(value)}\n`)
    },
    note: (text) => {
      if (!json && isTerminal) stderr(`${text}\n`)
    },
    error: (error, hint) => {
      if (json) {
        stdout(`${jsonLine(error instanceof AgentError ? error : { error: 'unexpected', message: wordsOf(error) })}\n`)
      } else {
        stderr(`${style('red')('Error:')} ${wordsOf(error)}\n${hint === undefined ? '' : `${typed(hint)}\n`}`)
      }
    },
    bold: style('bold'),
    dim: style('dim'),
  }
}

/** JSON for a program, which a person may look at too: what a terminal would act on stands there escaped. */
function jsonLine(value: unknown): string {
  return JSON.stringify(value).replace(
    hiddenCharacter,
    (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`,
  )
}

/** An error in words. What we don't know may hold anything, so only the system's own errors are quoted. */
function wordsOf(error: unknown): string {
  if (error instanceof AgentError) return cleanText(error.message, 1000)
  if (error instanceof Error && 'syscall' in error) return cleanText(error.message, 300)
  return `Something went wrong in poppy itself (${error instanceof Error ? error.name : typeof error}).`
}

/** A Company's text in one line. */
export function clean(text: string | undefined, maxLength = 200): string {
  return cleanText(text ?? '', maxLength)
}

/** A Company's text or value in several lines, without escape and control characters. */
export function block(value: unknown): string {
  // JSON leaves C1 and bidirectional characters as they are, so it is cleaned too.
  return cleanLines(typeof value === 'string' ? value : JSON.stringify(value, null, 2))
}

/** Rows with their columns aligned; the last column is not padded. */
export function table(rows: readonly (readonly string[])[], gap = 2): readonly string[] {
  const widths: number[] = []
  for (const row of rows) {
    for (const [at, cell] of row.entries()) widths[at] = Math.max(widths[at] ?? 0, cell.length)
  }
  return rows.map((row) =>
    row
      .map((cell, at) => (at === row.length - 1 ? cell : cell.padEnd((widths[at] ?? 0) + gap)))
      .join('')
      .trimEnd(),
  )
}

/** A column that nobody has anything in is left out: most people have one account at a Company. */
export function withoutEmptyColumns(rows: readonly (readonly string[])[]): readonly (readonly string[])[] {
  const isFilled = (at: number) => rows.some((row) => row[at] !== '')
  return rows.map((row) => row.filter((_, at) => isFilled(at)))
}

/** A word for a command line that a person may paste: quoted where a shell would read more into it. */
export function shellWord(text: string): string {
  const word = cleanText(text, 500)
  return /^[A-Za-z0-9_.:/@%+=,-]+$/.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`
}
