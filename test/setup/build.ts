import { startChild } from './child.ts'

let built: Promise<void> | undefined

/** Builds what the commands of the repository run, once for all tests that share this process. */
export function build(): Promise<void> {
  built ??= run()
  return built
}

async function run(): Promise<void> {
  const { ended, output } = startChild('npm', ['run', 'build'])
  if ((await ended) === 0) return
  built = undefined
  throw new Error(`npm run build failed:\n${output.stdout}\n${output.stderr}`)
}
