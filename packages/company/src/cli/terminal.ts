import { styleText } from 'node:util'
import { CommandError } from './command-error.ts'

/** Where the command writes. A test hands in its own. */
export interface Terminal {
  readonly stdout: (text: string) => void
  readonly stderr: (text: string) => void
  /** Whether a person is looking at `stdout`. */
  readonly isTerminal: boolean
  readonly env: Readonly<Record<string, string | undefined>>
}

/** What a command says: lines for a person, or one JSON value for a program. Never both. */
export interface Output {
  /** A line for a person. */
  readonly line: (text?: string) => void
  /** The result for a program. */
  readonly value: (value: unknown) => void
  readonly error: (error: unknown) => void
  readonly bold: (text: string) => string
  readonly dim: (text: string) => string
}

/** Writes for people, or one JSON value a line for programs. */
export function createOutput({ stdout, stderr, isTerminal, env }: Terminal, json: boolean): Output {
  // https://no-color.org: set and not empty
  const hasColours = isTerminal && !json && !env.NO_COLOR && env.TERM !== 'dumb'
  // Whoever came by npx has no command of the name `poppyseed`: what is said to be typed must work when it is.
  const typed = (text: string) =>
    env.npm_lifecycle_event === 'npx' ? text.replace(/(?<= )poppyseed (?=agents|--)/g, 'npx poppyseed ') : text
  const style = (format: 'bold' | 'dim' | 'red') => (text: string) =>
    hasColours ? styleText(format, text, { validateStream: false }) : text
  return {
    line: (text = '') => {
      if (!json) stdout(`${text.startsWith('Next: ') ? typed(text) : text}\n`)
    },
    value: (value) => {
      if (json) stdout(`${jsonLine(value)}\n`)
    },
    error(error) {
      const known = error instanceof CommandError ? error : null
      // What we don't know may hold anything, a connection's password too.
      const message = known?.message ?? `Something went wrong in poppyseed itself (${kindOf(error)}).`
      const hint = known?.hint
      if (json) stdout(`${jsonLine({ error: known?.code ?? 'unexpected', message, ...(hint ? { hint } : {}) })}\n`)
      else stderr(`${style('red')('Error:')} ${message}\n${hint === undefined ? '' : `${typed(hint)}\n`}`)
    },
    bold: style('bold'),
    dim: style('dim'),
  }
}

function kindOf(error: unknown): string {
  return error instanceof Error ? error.name : typeof error
}

/** Control characters (escapes among them), and what hides or turns text. */
const hiddenCharacter = /[\p{Cc}\u061c\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff]/gu

/** JSON for a program, which a person may look at too: what a terminal would act on stands there escaped. */
function jsonLine(value: unknown): string {
  return JSON.stringify(value).replace(
    hiddenCharacter,
    (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`,
  )
}

/** One line without what a terminal would act on, cut to `maxLength`. */
export function clean(text: string, maxLength = 300): string {
  const line = text
    .slice(0, maxLength * 4)
    .replace(hiddenCharacter, ' ')
    .trim()
  return line.length > maxLength ? `${line.slice(0, maxLength - 1)}…` : line
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

/** A word for a command line that a person may paste: quoted where a shell would read more into it. */
export function shellWord(text: string): string {
  const word = text.replace(/\p{Cc}/gu, '')
  return /^[A-Za-z0-9_.:/@%+=,-]+$/.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`
}
