import { startPayments } from './server.ts'

/**
 * The payment service, in a process of its own. Told by its environment: `PAYMENTS_PORT` (0 takes any free one),
 * `PAYMENTS_DIR` and `PAYMENTS_KEY`. Prints its address as one line of JSON once it listens.
 */

const { PAYMENTS_PORT = '0', PAYMENTS_DIR, PAYMENTS_KEY } = process.env
if (!PAYMENTS_DIR || !PAYMENTS_KEY) {
  console.error(
    'The payment service needs PAYMENTS_DIR, where it keeps its ledger, and PAYMENTS_KEY, which its shop shows.',
  )
  process.exit(1)
}
const payments = await startPayments({ port: Number(PAYMENTS_PORT), directory: PAYMENTS_DIR, key: PAYMENTS_KEY })
console.log(JSON.stringify({ address: payments.address }))

for (const signal of ['SIGINT', 'SIGTERM'] as const) {
  process.once(signal, () => {
    void payments.close().then(() => process.exit(0))
  })
}
// Whoever started it holds its standard input open: it ends with them, however they end.
process.stdin.on('end', () => process.kill(process.pid, 'SIGTERM')).resume()
