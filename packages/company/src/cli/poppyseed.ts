import { Command, CommanderError } from 'commander'
import { type AgentsContext, block, blocked, list, unblock } from './agents.ts'
import { CommandError, exitCodes } from './command-error.ts'
import { findCompany } from './companies.ts'
import { openStore } from './open-store.ts'
import { createOutput, shellWord, type Terminal } from './terminal.ts'

/** The world around `poppyseed`: a test hands in its own. */
export interface Surroundings extends Terminal {
  /** Milliseconds since 1970. */
  readonly now: () => number
}

interface CommonOptions {
  readonly store?: string
  readonly company?: string
  readonly json?: boolean
}

const moreHelp = `
Stores:
  sqlite:poppy.db                    the file that the Company has
  postgres://user:…@host/database    better in POPPYSEED_STORE: others on this machine see what is typed

Exit codes:
  0  done
  1  failed
  2  the command was not understood`

/**
 * Runs the command.
 * @returns the exit code
 */
export async function runPoppyseed(args: readonly string[], around: Surroundings): Promise<number> {
  let code: number = exitCodes.done
  // What isn't understood is repeated, and it may be an address that stands in the wrong place.
  const writeErr = (text: string) => around.stderr(text.replace(/:\/\/[^\s'"]+/g, '://…'))
  const configure = (command: Command) => command.exitOverride().configureOutput({ writeOut: around.stdout, writeErr })
  const program = configure(new Command('poppyseed'))
    .description('Looks after a Company of the Personal Agent Protocol (draft 0.1), beside the site that runs it.')
    .version('0.1.0')
    .showHelpAfterError('Try: poppyseed --help')
    .addHelpText('after', moreHelp)
  const agents = configure(program.command('agents'))
    .description('which Personal Agents came, and which are kept out')
    .showHelpAfterError('Try: poppyseed agents --help')

  const add = (usage: string, description: string) =>
    configure(agents.command(usage))
      .description(description)
      .showHelpAfterError(`Try: poppyseed agents ${usage.split(' ', 1)[0]} --help`)
      .option('--store <store>', 'sqlite:path or postgres://…; left out, what POPPYSEED_STORE says')
      .option('--company <issuer>', 'which Company, where the store has several')
      .option('--json', 'one JSON value, for programs')

  /** Runs a command's work on its store: errors in words, with the command that helps. */
  const run = async (options: CommonOptions, work: (context: AgentsContext) => Promise<void>): Promise<void> => {
    const output = createOutput(around, options.json === true)
    try {
      const db = await openStore(options.store ?? around.env.POPPYSEED_STORE, around.now)
      try {
        const scope = await findCompany(db, options.company)
        await work({ scope, output, now: around.now, where: whereOf(options) })
      } finally {
        await db.close()
      }
    } catch (error) {
      output.error(error)
      code = error instanceof CommandError && error.code === 'invalid_input' ? exitCodes.usage : exitCodes.failed
    }
  }

  add('block <client_id>', 'keep an agent out, with its next request and at every instance')
    .option('--reason <text>', 'why, for whoever looks later; the agent is never told')
    .action((clientId: string, options: CommonOptions & { readonly reason?: string }) =>
      run(options, (context) => block(context, clientId, options.reason)),
    )
  add('unblock <client_id>', 'let it in again, with what it had').action((clientId: string, options: CommonOptions) =>
    run(options, (context) => unblock(context, clientId)),
  )
  add('blocked', 'show who is kept out, since when and why').action((options: CommonOptions) => run(options, blocked))
  add('list', 'show who was here, the latest first')
    .option('--limit <number>', 'how many at most', '50')
    .action((options: CommonOptions & { readonly limit: string }) =>
      run(options, async (context) => list(context, readLimit(options.limit))),
    )

  try {
    await program.parseAsync([...args], { from: 'user' })
  } catch (error) {
    if (!(error instanceof CommanderError)) throw error
    return error.exitCode === 0 ? exitCodes.done : exitCodes.usage
  }
  return code
}

/** The options that a command which is suggested needs again. An address with a password in it is never among them. */
function whereOf({ store, company }: CommonOptions): string {
  const words = [
    store === undefined ? '' : ` --store ${/^sqlite:/.test(store) ? shellWord(store) : 'postgres://…'}`,
    company === undefined ? '' : ` --company ${shellWord(company)}`,
  ]
  return words.join('')
}

function readLimit(text: string): number {
  const limit = /^\d{1,5}$/.test(text) ? Number(text) : 0
  if (limit < 1)
    throw new CommandError('invalid_input', '--limit is a number from 1 to 99999.', 'Try: poppyseed agents list --help')
  return limit
}
