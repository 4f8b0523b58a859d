import { AgentError } from '../../errors.ts'
import { createPublicFetch } from '../../net/public-fetch.ts'
import { type AccountOptions, accountFlag, nameOf, sessionOf } from '../account.ts'
import type { ChatScreen } from '../chat/screen.ts'
import { runTalk, type Talk } from '../chat/talk.ts'
import { traced } from '../chat/trace.ts'
import { type CommandContext, withAgent } from '../command.ts'
import { clean, shellWord } from '../terminal.ts'

/** `poppy chat`: talking with a Company (7). */

/** The options of `poppy chat`. */
export interface ChatOptions extends AccountOptions {
  readonly continue?: string
  readonly human?: boolean
  readonly trace?: boolean
}

/**
 * `poppy chat <domain> [words]`: a conversation at the terminal, or of the lines of a pipe. With words it says those, shows the
 * answer and leaves.
 */
export async function chat(
  context: CommandContext,
  domain: string,
  words: string | undefined,
  options: ChatOptions,
): Promise<void> {
  const { around, output } = context
  if (words === undefined && !around.screen) {
    throw new AgentError('invalid_input', 'There is nobody here to type. Say it with the command.')
  }
  const identity = await context.home.identity()
  const tell = (line: string) => around.stderr(`${output.dim(line)}\n`)
  const fetch = around.fetch ?? createPublicFetch(identity?.local === true)
  const open = options.trace ? { ...context, around: { ...around, fetch: traced(fetch, tell, around.now) } } : context
  await withAgent(open, async ({ user }) => {
    const company = await user.company(domain)
    const session = await sessionOf(company, options)
    const names = { company: company.name }
    // What a process before this one couldn't say for certain is said first, once.
    const left = await session.conversations.resumeSending()
    for (const { error, id } of left)
      if (error) output.line(`Not sent yet (${clean(id, 60)}): ${clean(error.message, 300)}`)
    const opened = options.continue === undefined ? undefined : await session.conversations.open(options.continue)
    const screen = words === undefined ? (around.screen?.() as ChatScreen) : oneLine(words, output.line)
    const signIn: Talk['signIn'] = async ({ scopes, error }) => {
      output.value({ needs: 'sign_in', scopes })
      if (!output.json) screen.show(clean(error.message, 400))
      await session.signIn({
        scopes: scopes.length > 0 ? scopes : (company.signIn.direct ?? []),
        open: (url) => {
          output.value({ open: url })
          if (output.json) return
          screen.show('Open this address in your browser to sign in:')
          screen.show(`\n  ${clean(url, 8000)}\n`)
        },
      })
    }
    if (screen.isLive && !output.json) {
      screen.show(`${output.bold(nameOf(company, session))}  ${output.dim(clean(company.domain))}`)
      screen.show(
        output.dim('Your lines are your agent’s; /human says something in your own name. /help shows the rest.'),
      )
    }
    try {
      const end = await runTalk(
        { session, screen, output, names, signIn, now: around.now, asUser: options.human === true },
        opened,
      )
      if (end.conversation !== undefined && !end.isClosed) {
        output.value({ conversation: end.conversation.id, status: end.conversation.status })
        output.line(
          `Next: poppy chat ${shellWord(domain)}${accountFlag(options.account)} --continue ${shellWord(end.conversation.id)}`,
        )
      }
    } finally {
      screen.close()
    }
  })
}

/** A chat of one line. */
function oneLine(words: string, show: (text: string) => void): ChatScreen {
  const lines = [words]
  return {
    isLive: false,
    columns: () => undefined,
    next: async () => lines.shift(),
    show,
    piece: () => {},
    close: () => {},
  }
}
