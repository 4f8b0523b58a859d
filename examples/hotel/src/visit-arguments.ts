import { parseArgs } from 'node:util'

/** What `npm run visit` is told behind `--`. */
export interface VisitArguments {
  /** Where the hotel is: `http://localhost:4000`. */
  readonly address: string
  /** Whether all that the hotel proposes is approved. */
  readonly isYes: boolean
  /** Whether the agent asks for a person of the hotel. */
  readonly isHuman: boolean
}

/** How it is used, for whoever asks, or wrote something else. */
export const visitUsage = `npm run visit -- [address] [--human] [--yes]

  address   where the hotel is: http://localhost:4000, or the port that PORT says
  --human   ask for a person of the hotel, and wait
  --yes     approve what the hotel proposes, without asking in this terminal`

/**
 * Reads what stands behind `npm run visit --`.
 * @returns `'help'` where that was asked for
 * @throws TypeError with a sentence, for what isn't understood
 */
export function readVisitArguments(words: readonly string[], port = '4000'): VisitArguments | 'help' {
  const { values, positionals } = parseArgs({
    args: [...words],
    allowPositionals: true,
    options: {
      yes: { type: 'boolean', default: false },
      human: { type: 'boolean', default: false },
      help: { type: 'boolean', short: 'h', default: false },
    },
  })
  if (values.help) return 'help'
  const [address = `http://localhost:${port}`, more] = positionals
  if (more !== undefined) throw new TypeError(`There is one address, and this is another: ${more}`)
  return { address, isYes: values.yes, isHuman: values.human }
}
