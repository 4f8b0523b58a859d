/** Exit codes, as `--help` lists them. */
export const exitCodes = { done: 0, failed: 1, usage: 2 } as const

/** What a program may tell errors of the command apart by. */
export type CommandErrorCode = 'invalid_input' | 'no_store' | 'store_unavailable' | 'which_company' | 'unknown_company'

/** An error of the command in words for whoever typed it. Its message and hint hold no password. */
export class CommandError extends Error {
  readonly code: CommandErrorCode
  /** The command that helps. */
  readonly hint: string | undefined

  constructor(code: CommandErrorCode, message: string, hint?: string) {
    super(message)
    this.name = 'CommandError'
    this.code = code
    this.hint = hint
  }
}
