import { AgentError } from '../../errors.ts'
import { createPublicFetch } from '../../net/public-fetch.ts'
import type { Session } from '../../session.ts'
import { type AccountOptions, accountFlag, nameOf, sessionOf } from '../account.ts'
import type { ChatScreen } from '../chat/screen.ts'
import { runTalk, type SaidBefore, type Talk } from '../chat/talk.ts'
import { traced } from '../chat/trace.ts'
import { type CommandContext, withAgent } from '../command.ts'
import { clean, type Output, shellWord } from '../terminal.ts'

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
  if (words?.trim() === '') throw new AgentError('invalid_input', 'There are no words in what is to be said.')
  let screen: ChatScreen | undefined
  const identity = await context.home.identity()
  const tell = (line: string) => {
    const write = () => around.stderr(`${output.dim(line)}\n`)
    if (screen) screen.aside(write)
    else write()
  }
  const fetch = around.fetch ?? createPublicFetch(identity?.local === true)
  const open = options.trace ? { ...context, around: { ...around, fetch: traced(fetch, tell, around.now) } } : context
  await withAgent(open, async ({ user }) => {
    const company = await user.company(domain)
    const session = await sessionOf(company, options)
    const names = { company: company.name }
    const before = await sayWhatIsLeft(session, output)
    const opened = options.continue === undefined ? undefined : await session.conversations.open(options.continue)
    const shown = words === undefined ? (around.screen?.(output.json) as ChatScreen) : oneLine(words, output.line)
    screen = shown
    const signIn: Talk['signIn'] = async ({ scopes, error }, signal) => {
      output.value({ needs: 'sign_in', scopes })
      if (!output.json) shown.show(clean(error.message, 400))
      return session.signIn({
        scopes: scopes.length > 0 ? scopes : (company.signIn.direct ?? []),
        signal,
        open: (url) => {
          output.value({ open: url })
          if (output.json) return
          shown.show(`Open this address in your browser to sign in:\n\n  ${clean(url, 8000)}\n`)
          if (shown.isLive)
            shown.show(output.dim('You can go on here meanwhile. Ctrl-C cancels the sign-in, and nothing else.'))
        },
      })
    }
    if (shown.isLive && !output.json) {
      shown.show(`${output.bold(nameOf(company, session))}  ${output.dim(clean(company.domain))}`)
      shown.show(
        output.dim('Your lines are your agent’s; /human says something in your own name. /help shows the rest.'),
      )
    }
    try {
      const talk = {
        session,
        screen: shown,
        output,
        names,
        signIn,
        before,
        now: around.now,
        asUser: options.human === true,
      }
      const { conversation, isClosed, failure } = await runTalk({ ...talk, isOnce: words !== undefined }, opened)
      const isKnown = conversation !== undefined && failure?.code !== 'conversation_not_found'
      if (isKnown) output.value({ conversation: conversation.id, status: isClosed ? 'closed' : conversation.status })
      if (isKnown && !isClosed) {
        output.line(
          `Next: poppy chat ${shellWord(domain)}${accountFlag(options.account)} --continue ${shellWord(conversation.id)}`,
        )
      }
      if (failure) throw failure
    } finally {
      shown.close()
    }
  })
}

/** What a process before this one couldn't say for certain is said first, once, and told. @returns what was said */
async function sayWhatIsLeft({ conversations }: Session, output: Output): Promise<readonly SaidBefore[]> {
  const unsent = new Map((await conversations.unsent()).map((message) => [message.id, message]))
  const all: SaidBefore[] = []
  for (const { error, id, conversation } of await conversations.resumeSending()) {
    const message = unsent.get(id)
    if (error) output.line(`Not sent yet (${clean(id, 60)}): ${clean(error.message, 300)}`)
    if (conversation === undefined || message === undefined) continue
    output.value({ sent: id, conversation: conversation.id })
    output.line(`Sent now (${clean(conversation.id, 256)}): ${clean(message.text ?? 'facts without words', 300)}`)
    all.push({ message, conversation })
  }
  return all
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
    onInterrupt: () => {},
    aside: (write) => write(),
    close: () => {},
  }
}
