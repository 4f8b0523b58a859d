import { runPoppyseed } from './poppyseed.ts'

// Node says of its own SQLite that it is experimental: nothing that whoever blocks an agent could do anything about.
const { emitWarning } = process
process.emitWarning = (warning: string | Error, ...rest: never[]) => {
  if (!/SQLite is an experimental feature/.test(String(warning))) emitWarning.call(process, warning, ...rest)
}

process.exitCode = await runPoppyseed(process.argv.slice(2), {
  stdout: (text) => void process.stdout.write(text),
  stderr: (text) => void process.stderr.write(text),
  isTerminal: process.stdout.isTTY,
  env: process.env,
  now: Date.now,
})
