import { AgentError, type Operation } from '@poppyseed/agent'
import { startVisitingAgent } from './agent-server.ts'
import { openTerminal, type Terminal } from './terminal.ts'
import { playVisit, termsAsLines, VisitError, type VisitOptions } from './visit.ts'
import { readVisitArguments, type VisitArguments, visitUsage } from './visit-arguments.ts'
import { type HumanVisitEnd, playHumanVisit } from './visit-human.ts'

/**
 * `npm run visit -- [address] [--yes] [--human]`: the visit alone, against a hotel on this machine. Exits 0 once a room is
 * booked, 1 when a step didn't go as told, and 3 when nobody approved the booking. With `--human` the agent asks for a person of
 * the hotel, and goes on until one of them closes the conversation, or Ctrl+C; then it exits 3 where nobody came. 2 is for words
 * that it doesn't understand.
 */

const { address, isYes, isHuman } = told()
const isTerminal = process.stdin.isTTY === true

let step = 0
const say = (line: string) => console.log(`${String(++step).padStart(2)}. ${line}`)
const { agent, close } = await startVisitingAgent()
try {
  if (isHuman) await visitPeople()
  else await visit()
} catch (error) {
  console.error(`\nThe visit to ${address} stopped after step ${step}. ${sentenceOf(error)}`)
  process.exitCode = 1
} finally {
  await close()
}

/** What stands behind `--`. Help and what isn't understood end the program here, before anything is opened. */
function told(): VisitArguments {
  try {
    const read = readVisitArguments(process.argv.slice(2), process.env.PORT)
    if (read !== 'help') return read
    console.log(visitUsage)
    process.exit(0)
  } catch (error) {
    console.error(`${error instanceof Error ? error.message : 'That was not understood.'}\n\n${visitUsage}`)
    process.exit(2)
  }
}

async function visit(): Promise<void> {
  // Ctrl+C ends the visit, and is a no only while it is asked.
  const ask = async (question: string) => {
    const terminal = openTerminal()
    try {
      return await terminal.ask(question)
    } finally {
      terminal.close()
    }
  }
  const end = await playVisit({ address, agent, say, ...approval(isTerminal ? ask : undefined) })
  if (end.booking === 'succeeded') {
    console.log(`\nBooking ${end.number}: succeeded.`)
    return
  }
  console.error(
    end.booking === 'nobody asked'
      ? '\nNothing was booked: there is no terminal to ask in. Add --yes to approve what the hotel proposes.'
      : '\nNothing was booked: you did not approve it.',
  )
  process.exitCode = 3
}

async function visitPeople(): Promise<void> {
  const terminal = isTerminal ? openTerminal() : undefined
  const stop = new AbortController()
  process.once('SIGINT', () => stop.abort()).once('SIGTERM', () => stop.abort())
  terminal?.onLeave(() => stop.abort())
  let end: HumanVisitEnd
  try {
    end = await playHumanVisit({
      address,
      agent,
      say,
      signal: stop.signal,
      ...approval(terminal?.ask),
      ...(terminal ? atTerminal(terminal) : {}),
    })
  } finally {
    terminal?.close()
  }
  const ends: Readonly<Record<HumanVisitEnd, string>> = {
    closed: 'The visit is over.',
    stopped: 'You ended the visit.',
    nobody: 'No person came.',
  }
  console.log(`\n${ends[end]}`)
  if (end === 'nobody') process.exitCode = 3
}

/** What whoever sits there can do beside saying yes: type what the agent says, and answer for the guest. */
function atTerminal({ ask, onLine }: Terminal) {
  return {
    askAgain: async () => (await ask('    Enter asks once more, Ctrl+C ends: ')) !== null,
    askGuest: async () => {
      const said = await ask('    What does the guest say? Enter: they can’t now. ')
      return said === null || said === '' ? null : said
    },
    onOpen: (send: (line: string) => Promise<void>) => {
      console.log('    What you type here, the agent says to the hotel.')
      onLine((line) => {
        send(line).catch((error: unknown) => console.error(`    That was not said. ${sentenceOf(error)}`))
      })
    },
  }
}

/** Who says yes: whoever typed `--yes`, whoever sits at the terminal, or nobody. */
function approval(ask: Terminal['ask'] | undefined): Pick<VisitOptions, 'approve'> {
  if (isYes) {
    return {
      approve: async (operation) => {
        show(operation)
        console.log('    Approved by --yes.')
        return true
      },
    }
  }
  if (!ask) return {}
  return {
    approve: async (operation) => {
      show(operation)
      // Ctrl+D and Ctrl+C are a no.
      return /^y(es)?$/i.test((await ask('    Confirm this? [y/N] ')) ?? '')
    },
  }
}

function show(operation: Operation): void {
  for (const line of termsAsLines(operation)) console.log(`    ${line}`)
}

function sentenceOf(error: unknown): string {
  if (error instanceof AgentError && error.code === 'unreachable')
    return `${error.message} Is the hotel open? Start it with: npm start. If it is open elsewhere: npm run visit -- http://localhost:PORT`
  if (error instanceof AgentError || error instanceof VisitError) return error.message
  return error instanceof Error ? error.message : 'The reason is not known.'
}
