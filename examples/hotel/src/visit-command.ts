import { createInterface } from 'node:readline/promises'
import { AgentError, type Operation } from '@poppyseed/agent'
import { startVisitingAgent } from './agent-server.ts'
import { playVisit, termsAsLines, VisitError, type VisitOptions } from './visit.ts'

/**
 * `npm run visit -- [address] [--yes]`: the visit alone, against a hotel on this machine. Exits 0 once a room is booked, 1
 * when a step didn't go as told, and 3 when nobody approved the booking.
 */

const words = process.argv.slice(2)
const isYes = words.includes('--yes')
const address = words.find((word) => word !== '--yes') ?? `http://localhost:${process.env.PORT ?? 4000}`

let step = 0
const say = (line: string) => console.log(`${String(++step).padStart(2)}. ${line}`)
const { agent, close } = await startVisitingAgent()
try {
  const end = await playVisit({ address, agent, say, ...approval() })
  if (end.booking === 'succeeded') console.log(`\nBooking ${end.number}: succeeded.`)
  else {
    console.error(
      end.booking === 'nobody asked'
        ? '\nNothing was booked: there is no terminal to ask in. Add --yes to approve what the hotel proposes.'
        : '\nNothing was booked: you did not approve it.',
    )
    process.exitCode = 3
  }
} catch (error) {
  console.error(`\nThe visit to ${address} stopped after step ${step}. ${sentenceOf(error)}`)
  process.exitCode = 1
} finally {
  await close()
}

/** Who says yes: whoever typed `--yes`, whoever sits at the terminal, or nobody. */
function approval(): Pick<VisitOptions, 'approve'> {
  if (isYes) {
    return {
      approve: async (operation) => {
        show(operation)
        console.log('    Approved by --yes.')
        return true
      },
    }
  }
  if (process.stdin.isTTY !== true) return {}
  return {
    approve: async (operation) => {
      show(operation)
      const lines = createInterface({ input: process.stdin, output: process.stdout })
      try {
        // Ctrl+D and Ctrl+C are a no.
        const gone = new AbortController()
        lines.once('close', () => gone.abort())
        const answer = await lines.question('    Confirm this? [y/N] ', { signal: gone.signal }).catch(() => '')
        return /^y(es)?$/i.test(answer.trim())
      } finally {
        lines.close()
      }
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
