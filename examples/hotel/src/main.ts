import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { stopOnSignals } from 'poppyseed/node'
import { startVisitingAgent } from './agent-server.ts'
import { addDays, dayAt } from './days.ts'
import { type PaymentProcess, startPaymentProcess } from './payment-process.ts'
import { startHotel } from './server.ts'
import { playVisit, termsAsLines } from './visit.ts'

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
    const end = await playVisit({
      address,
      agent,
      say: (line) => console.log(`${String(++step).padStart(3)}. ${line}`),
      // The whole visit is played, the guest in it too. `npm run visit` asks whoever sits at the terminal.
      approve: async (operation) => {
        for (const line of termsAsLines(operation)) console.log(`       ${line}`)
        console.log('       Maya, whom this program plays, approves these terms. Nobody was asked in this terminal.')
        return true
      },
    })
    if (end.booking === 'succeeded') console.log(`\nBooking ${end.number}: succeeded.`)
  } catch (error) {
    if (isClosing) return
    log(
      `The visit stopped after step ${step}: ${error instanceof Error ? error.message : 'unknown reason'} The hotel stays open.`,
    )
  } finally {
    await close()
  }
}

let payments: PaymentProcess | undefined
try {
  const hotel = await startHotel({
    port,
    directory,
    origin: process.env.ORIGIN,
    environment: process.env,
    log,
    payments: async () => {
      payments = await startPaymentProcess(join(directory, 'payments'))
      return payments
    },
  })
  // Before anything is said: whoever reads it may press Ctrl+C at once.
  const close = stopOnSignals(
    async () => {
      isClosing = true
      try {
        await hotel.close()
      } finally {
        // What is being paid at that moment is paid before the service goes.
        await payments?.close()
      }
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
    const poniente = `--arg room=poniente --arg from=${addDays(dayAt(Date.now()), 60)} --arg to=${addDays(dayAt(Date.now()), 62)} --arg guests=2`
    const behave = (behaviour: string) =>
      `curl -X PUT -H '@${payments?.headerFile}' -d '${behaviour}' ${payments?.address}/behaviour`
    console.log(`
Look around
  Rooms and the site      ${hotel.origin}/
  The staff inbox         ${hotel.inbox}
  The mails it would send ${hotel.outboxPage ?? 'not shown here: only at http://localhost'}
  Who acts for you        ${hotel.origin}/poppy/agents
  Its front desk          ${hotel.frontDesk}
  Its payment service     ${payments?.address}, a process of its own
  What agents read        ${hotel.origin}/.well-known/poppy.json
  The tools, for MCP      ${hotel.origin}/poppy/mcp
  The tools, for HTTP     ${hotel.origin}/poppy/openapi.json

Guests of this example                  Who works at its front desk
  maya@example.com    sea-view-42         desk1@miramar.example  front-desk-1
  guest2@example.com  harbour-7           desk2@miramar.example  front-desk-2

Be the person whom an agent asks for, from another terminal
  Sign in at ${hotel.inbox} as desk1. While that page is open somebody is here;
  else whoever asks outside the desk’s hours is told those hours, and that is all. Then
  npm run visit -- ${hotel.origin} --human   # an agent asks for a person, and waits

Let an agent of your own in, from another terminal
  npx poppy init --local
  npx poppy tools ${hotel.origin}
  npx poppy sign-in ${hotel.origin}             # in your browser
  npx poppy sign-in ${hotel.origin} --device    # or with a short code, on any device
${withPassword}  npx poppy call ${hotel.origin} my_bookings
  npx poppy call ${hotel.origin} book_room ${poniente}
  npx poppy operations${' '.repeat(hotel.origin.length)}           # what the hotel proposed; then show, confirm or cancel it by its id
  npx poppy chat ${hotel.origin}                # talk with the front desk
  npx poppy open ${hotel.origin} ${hotel.origin}/bookings
      # its own browser: open what this prints in a private window, never in the one you use
  npx poppy sign-out ${hotel.origin}            # before you try another way in

Pay a deposit when the payment service misbehaves: it takes the money, and
  ${behave('{"mode":"slow","milliseconds":8000,"times":1}')}
      # … answers after eight seconds, once
  ${behave('{"mode":"error","times":1}')}
      # … answers 500
  ${behave('{"mode":"hang","times":1}')}
      # … never answers
  npx poppy call ${hotel.origin} pay_deposit --arg booking=MIR-3121
      # then confirm it: money is taken once, and you are told so as soon as that is known

Play the visit again with: npm run visit -- ${hotel.origin}
What guests do is kept in ${directory}
Ctrl+C closes the hotel.`)
  }
} catch (error) {
  await payments?.close()
  const taken = error instanceof Error && 'code' in error && error.code === 'EADDRINUSE'
  if (taken) log(`Port ${port} is taken by another program. Close it, or choose another port: PORT=4001 npm start`)
  else log(`Hotel Miramar could not start: ${error instanceof Error ? error.message : 'unknown reason'}`)
  process.exit(1)
}
