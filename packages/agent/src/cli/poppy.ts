import { Command, CommanderError } from 'commander'
import type { AccountOptions } from './account.ts'
import { type CommandContext, type CommonOptions, createCommandContext, type Surroundings } from './command.ts'
import { openPage } from './commands/browser.ts'
import { type ChatOptions, chat } from './commands/chat.ts'
import { discover, status } from './commands/companies.ts'
import { type ConversationsOptions, conversations } from './commands/conversations.ts'
import { type IdentityOptions, type InitOptions, identityKeys, init, serve } from './commands/identity.ts'
import { type OperationsOptions, operations } from './commands/operations.ts'
import { type SignInOptions, signIn, signOut } from './commands/sign-in.ts'
import { type CallOptions, call, tools } from './commands/tools.ts'
import { exitCodeOf, exitCodes, hintFor } from './hints.ts'

const exitCodeHelp = `
Exit codes:
  0  done
  1  failed
  2  the command was not understood
  3  you are needed: sign in, or give more access
  4  try again later`

/**
 * Runs the command.
 * @returns the exit code
 */
export async function runPoppy(args: readonly string[], around: Surroundings): Promise<number> {
  let code: number = exitCodes.done
  const program = new Command('poppy')
    .description('A personal agent that visits Companies for you (Personal Agent Protocol, draft 0.1).')
    .version('0.1.0')
    .exitOverride()
    .configureOutput({ writeOut: around.stdout, writeErr: around.stderr })
    .showHelpAfterError('Try: poppy --help')
    .addHelpText('after', exitCodeHelp)

  const add = (usage: string, description: string) =>
    program
      .command(usage)
      .description(description)
      .showHelpAfterError(`Try: poppy ${usage.split(' ', 1)[0]} --help`)
      .option('--home <folder>', 'where identity and state are kept (default: $POPPY_HOME or ~/.poppy)')
      .option('--json', 'one JSON value a line, for programs')
      .exitOverride()

  /** A command that works in a Session: with one of the person's accounts, where they have several (4.4). */
  const addWithAccount = (usage: string, description: string) =>
    add(usage, description).option('--account <name>', 'which of your accounts there, by a name of your own')

  /** Runs a command's work: its errors in words, with the command that helps. */
  const run = async (
    name: string,
    options: CommonOptions & AccountOptions,
    domain: string | undefined | (() => string | undefined),
    work: (context: CommandContext) => Promise<void>,
  ): Promise<void> => {
    const context = createCommandContext(around, options)
    try {
      await work(context)
    } catch (error) {
      const place = typeof domain === 'function' ? domain() : domain
      context.output.error(error, hintFor(error, name, { domain: place, account: options.account }))
      code = exitCodeOf(error)
    }
  }

  add('init', 'make the identity of this agent')
    .option('--client-id <url>', 'the HTTPS address of its document, for real use')
    .option('--local [port]', 'an identity on http://localhost, for development')
    .option('--name <name>', 'the name that Companies show', 'Poppy')
    .action((options: CommonOptions & InitOptions) =>
      run('init', options, undefined, (context) => init(context, options)),
    )
  add('serve', 'serve the identity and take sign-in callbacks, on this machine')
    .option('--port <port>', 'where to listen')
    .action((options: CommonOptions & { port?: string }) =>
      run('serve', options, undefined, (context) => serve(context, options)),
    )
  add('identity [action]', 'show the signing keys of this agent, or rotate them')
    .option('--compromised', 'with rotate: somebody else may have a key, so all but the new one go at once')
    .action((action: string | undefined, options: CommonOptions & IdentityOptions) =>
      run('identity', options, undefined, (context) => identityKeys(context, action, options)),
    )
  add('discover <domain>', 'show what a Company offers').action((domain: string, options: CommonOptions) =>
    run('discover', options, domain, (context) => discover(context, domain)),
  )
  addWithAccount('sign-in <domain>', 'sign in at a Company, in your own browser or with a code on another device')
    .option('--scope <scope>', 'what to ask for; may be repeated (default: all that is offered)', collect)
    .option('--device', 'with a link and a short code, on whatever device you like')
    .option('--no-qr', 'with --device: draw no QR code')
    .option('--mediated', 'with credentials that you type here, where the Company takes them from an agent')
    .option('--again', 'even where the access is there already')
    .action((domain: string, options: CommonOptions & SignInOptions) =>
      run('sign-in', options, domain, (context) => signIn(context, domain, options)),
    )
  addWithAccount('tools <domain> [tool]', 'list what can be called at a Company, or show one').action(
    (domain: string, tool: string | undefined, options: CommonOptions & AccountOptions) =>
      run('tools', options, domain, (context) => tools(context, domain, tool, options)),
  )
  addWithAccount('call <domain> <tool> [json]', 'call a tool of a Company')
    .option('--arg <name=value>', 'one input; may be repeated', collect)
    .action((domain: string, tool: string, json: string | undefined, options: CommonOptions & CallOptions) =>
      run('call', options, domain, (context) => call(context, domain, tool, json, options)),
    )
  addWithAccount('chat <domain> [words]', 'talk with a Company; with words, say them and show the answer')
    .option('--continue <id>', 'go on with a conversation')
    .option('--human', 'your lines are your own words, and not your agent’s')
    .option('--trace', 'show the requests beside it, without what is secret in them')
    .action((domain: string, words: string | undefined, options: CommonOptions & ChatOptions) =>
      run('chat', options, domain, (context) => chat(context, domain, words, options)),
    )
  addWithAccount('conversations [action] [id]', 'conversations that this agent has had: list them, or show one')
    .option('--at <domain>', 'those with this Company alone')
    .action((action: string | undefined, id: string | undefined, options: CommonOptions & ConversationsOptions) =>
      run('conversations', options, options.at, (context) => conversations(context, action, id, options)),
    )
  addWithAccount('operations [action] [id]', 'what was proposed to you: list, show, confirm, cancel or wait')
    .option('--at <domain>', 'the Company, where this agent was not the one that asked for it')
    .option('--yes', 'with confirm: you have seen the terms and approve them')
    .option('--revision <number>', 'with --yes: this revision and no other')
    .option('--seconds <number>', 'with wait: how long at most (default: 600)')
    .action((action: string | undefined, id: string | undefined, options: CommonOptions & OperationsOptions) => {
      let domain = options.at
      return run(
        'operations',
        options,
        () => domain,
        async (context) => {
          const end = await operations(context, action, id, options, (address) => {
            domain = address
          })
          code = exitCodes[end]
        },
      )
    })
  addWithAccount(
    'open <domain> [url]',
    'let a browser that an agent controls join the visit; never your own browser',
  ).action((domain: string, url: string | undefined, options: CommonOptions & AccountOptions) =>
    run('open', options, domain, (context) => openPage(context, domain, url, options)),
  )
  add('status', 'show where this agent has been, and its access there').action((options: CommonOptions) =>
    run('status', options, undefined, status),
  )
  addWithAccount('sign-out <domain>', 'end the access to your account at a Company').action(
    (domain: string, options: CommonOptions & AccountOptions) =>
      run('sign-out', options, domain, (context) => signOut(context, domain, options)),
  )

  try {
    await program.parseAsync([...args], { from: 'user' })
  } catch (error) {
    if (!(error instanceof CommanderError)) throw error
    return error.exitCode === 0 ? exitCodes.done : exitCodes.usage
  }
  return code
}

function collect(value: string, before: readonly string[] | undefined): readonly string[] {
  return [...(before ?? []), value]
}
