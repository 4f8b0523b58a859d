import { fileURLToPath } from 'node:url'
import { stopOnSignals } from 'poppyseed/node'
import { startVisitingAgent } from './agent-server.ts'
import { startHotel } from './server.ts'
import { playVisit } from './visit.ts'

const port = Number(process.env.PORT ?? 4000)
const directory = process.env.DATABASE_DIR ?? fileURLToPath(new URL('../data', import.meta.url))
const log = (line: string): void => console.error(line)
let isClosing = false

if (!Number.isInteger(port) || port < 0 || port > 65_535) {
  log(`PORT must be a number from 0 to 65535. It is: ${process.env.PORT}`)
  process.exit(1)
}

/** An agent's visit, told step by step, so that whoever starts the hotel sees what it is for. */
async function visit(address: string): Promise<void> {
  const { agent, close } = await startVisitingAgent()
  let step = 0
  try {
    console.log('A personal agent visits:')
    await playVisit({ address, agent, say: (line) => console.log(`${String(++step).padStart(3)}. ${line}`) })
  } catch (error) {
    if (isClosing) return
    log(
      `The visit stopped after step ${step}: ${error instanceof Error ? error.message : 'unknown reason'} The hotel stays open.`,
    )
  } finally {
    await close()
  }
}

try {
  const hotel = await startHotel({ port, directory, origin: process.env.ORIGIN, log })
  // Before anything is said: whoever reads it may press Ctrl+C at once.
  const close = stopOnSignals(
    () => {
      isClosing = true
      return hotel.close()
    },
    {
      failed: (error) =>
        log(`The hotel did not close cleanly: ${error instanceof Error ? error.message : 'unknown reason'}`),
    },
  )
  // npm passes a signal on to its shell alone, which ends and leaves us behind with the port taken.
  const parent = process.ppid
  if (process.env.npm_lifecycle_event !== undefined) {
    setInterval(() => process.ppid !== parent && close(), 250).unref()
  }
  console.log(`Hotel Miramar is open at ${hotel.origin}\n`)
  await visit(hotel.origin)
  if (!isClosing) {
    const withPassword =
      hotel.outboxPage === null
        ? ''
        : `  npx poppy sign-in ${hotel.origin} --mediated  # or with a password; the code is in the outbox\n`
    console.log(`
Look around
  Rooms and the site      ${hotel.origin}/
  The mails it would send ${hotel.outboxPage ?? 'not shown here: only at http://localhost'}
  Who acts for you        ${hotel.origin}/poppy/agents
  What agents read        ${hotel.origin}/.well-known/poppy.json
  The tools, for MCP      ${hotel.origin}/poppy/mcp
  The tools, for HTTP     ${hotel.origin}/poppy/openapi.json

Guests of this example
  maya@example.com        sea-view-42
  guest2@example.com      harbour-7

Let an agent of your own in, from another terminal
  npx poppy init --local
  npx poppy tools ${hotel.origin}
  npx poppy sign-in ${hotel.origin}             # in your browser
  npx poppy sign-in ${hotel.origin} --device    # or with a short code, on any device
${withPassword}  npx poppy call ${hotel.origin} my_bookings
  npx poppy open ${hotel.origin} ${hotel.origin}/bookings
      # its own browser: open what this prints in a private window, never in the one you use
  npx poppy sign-out ${hotel.origin}            # before you try another way in

Play the visit again with: npm run visit -- ${hotel.origin}
What guests do is kept in ${directory}
Ctrl+C closes the hotel.`)
  }
} catch (error) {
  const taken = error instanceof Error && 'code' in error && error.code === 'EADDRINUSE'
  if (taken) log(`Port ${port} is taken by another program. Close it, or choose another port: PORT=4001 npm start`)
  else log(`Hotel Miramar could not start: ${error instanceof Error ? error.message : 'unknown reason'}`)
  process.exit(1)
}
