import { openScreen } from './chat/screen.ts'
import { runPoppy } from './poppy.ts'
import { openPrompt } from './prompt.ts'

const stop = new AbortController()
const args = process.argv.slice(2)
// Only `serve` has something to finish; everything else ends at once.
if (args.includes('serve')) {
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => stop.abort())
}

process.exitCode = await runPoppy(args, {
  stdout: (text) => void process.stdout.write(text),
  stderr: (text) => void process.stderr.write(text),
  isTerminal: process.stdout.isTTY,
  columns: process.stdout.columns,
  env: process.env,
  now: Date.now,
  hasPerson: process.stdin.isTTY && process.stdout.isTTY,
  prompt: () => openPrompt(process.stdin, process.stderr),
  screen: (isPlain) => openScreen(process.stdin, process.stdout, isPlain),
  stop: stop.signal,
})
