import { fileURLToPath } from 'node:url'
import { startHotel } from './server.ts'

const port = Number(process.env.PORT ?? 4000)
const directory = process.env.DATABASE_DIR ?? fileURLToPath(new URL('../data', import.meta.url))
const log = (line: string): void => console.error(line)

if (!Number.isInteger(port) || port < 0 || port > 65_535) {
  log(`PORT must be a number from 0 to 65535. It is: ${process.env.PORT}`)
  process.exit(1)
}

try {
  const hotel = await startHotel({ port, directory, origin: process.env.ORIGIN, log })
  console.log(`Hotel Miramar is open.

  Rooms      ${hotel.origin}/
  Sign in    ${hotel.origin}/login
  Bookings   ${hotel.origin}/bookings

  Guests of this example
             maya@example.com     sea-view-42
             guest2@example.com   harbour-7

  Ctrl+C closes it. What guests do is kept in ${directory}`)

  let closing = false
  for (const signal of ['SIGINT', 'SIGTERM'] as const) {
    process.on(signal, () => {
      if (closing) return
      closing = true
      hotel.close().catch((error: unknown) => {
        log(`The hotel did not close cleanly: ${error instanceof Error ? error.message : 'unknown reason'}`)
        process.exitCode = 1
      })
    })
  }
} catch (error) {
  const taken = error instanceof Error && 'code' in error && error.code === 'EADDRINUSE'
  if (taken) log(`Port ${port} is taken by another program. Close it, or choose another port: PORT=4001 npm start`)
  else log(`Hotel Miramar could not start: ${error instanceof Error ? error.message : 'unknown reason'}`)
  process.exit(1)
}
