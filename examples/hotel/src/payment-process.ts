import { type ChildProcess, spawn } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { chmodSync, mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import type { PaymentsAccess } from './payment-service.ts'

/** The payment service in a process of its own, which ends with the one that started it, however that ends. */
export type PaymentProcess = PaymentsAccess & {
  /** A file with the header that whoever asks the service shows, as `curl -H @file` takes it. */
  readonly headerFile: string
  readonly pid: number
  readonly close: () => Promise<void>
}

// As it is written, or as it is built: its process runs what this one does.
const program = fileURLToPath(
  new URL(import.meta.url.endsWith('.ts') ? '../payments/main.ts' : '../payments/dist/main.js', import.meta.url),
)

/**
 * Starts the payment service on a free port of the loopback address.
 * @param directory where it keeps its ledger
 * @throws Error when it doesn't start
 */
export async function startPaymentProcess(directory: string): Promise<PaymentProcess> {
  const key = randomBytes(24).toString('base64url')
  mkdirSync(directory, { recursive: true, mode: 0o700 })
  const headerFile = join(directory, 'header')
  writeFileSync(headerFile, `authorization: Bearer ${key}\n`, { mode: 0o600 })
  chmodSync(headerFile, 0o600)
  const child = spawn(process.execPath, ['--disable-warning=ExperimentalWarning', program], {
    env: { ...process.env, PAYMENTS_PORT: '0', PAYMENTS_DIR: directory, PAYMENTS_KEY: key },
    // It ends when its standard input does, which is when we do. Ctrl+C is for us: what runs here may need it to the end.
    stdio: ['pipe', 'pipe', 'inherit'],
    detached: true,
  })
  // A pipe that breaks because it ended is no news.
  child.stdin.on('error', () => {})
  const ended = once(child, 'close')
  const address = await addressOf(child, ended)
  const { pid } = child
  if (pid === undefined) throw new Error('The payment service did not start.')
  return {
    address,
    key,
    headerFile,
    pid,
    close: async () => {
      child.stdin.end()
      await ended
    },
  }
}

async function addressOf(child: ChildProcess, ended: Promise<unknown>): Promise<string> {
  if (!child.stdout) throw new Error('The payment service has no output.')
  const lines = createInterface({ input: child.stdout })
  const line = await Promise.race([once(lines, 'line').then(([first]: unknown[]) => first), ended.then(() => null)])
  if (typeof line !== 'string') throw new Error('The payment service did not start.')
  const { address } = JSON.parse(line) as { readonly address?: unknown }
  if (typeof address !== 'string') throw new Error('The payment service did not say where it is.')
  return address
}
