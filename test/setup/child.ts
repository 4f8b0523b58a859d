import { spawn } from 'node:child_process'
import { onTestFinished } from 'vitest'

/** A command of the repository as a person types it, in a process group of its own. */
export interface Child {
  /** What it has written so far. */
  readonly output: { readonly stdout: string; readonly stderr: string }
  /** Resolves once stdout has this text; rejects, with all that was written, when the command ends before. */
  readonly says: (text: string) => Promise<void>
  /** Types a line, where the command has something to read from. */
  readonly type: (line: string) => void
  /** Types just this, without the end of a line: keys such as Ctrl-C too. */
  readonly press: (keys: string) => void
  /** To every process of the group, as Ctrl+C in a terminal does; or to the command itself and not to what it started. */
  readonly signal: (name: 'SIGINT' | 'SIGTERM' | 'SIGKILL', to?: 'group' | 'leader') => void
  /** Resolves when it has ended and its output is complete, with its exit code. */
  readonly ended: Promise<number | null>
}

const root = new URL('../..', import.meta.url)

/**
 * Starts `command` in the repository's folder; it is ended with the test.
 * @param input whether somebody may type; else there is nobody
 */
export function startChild(
  command: string,
  args: readonly string[],
  env: Record<string, string> = {},
  input: 'typed' | 'none' = 'none',
): Child {
  const child = spawn(command, args, {
    cwd: root,
    env: { ...process.env, NO_COLOR: '1', ...env },
    stdio: [input === 'typed' ? 'pipe' : 'ignore', 'pipe', 'pipe'],
    detached: true,
  })
  const output = { stdout: '', stderr: '' }
  const listeners = new Set<() => void>()
  const take = (stream: 'stdout' | 'stderr') => (chunk: string) => {
    output[stream] += chunk
    for (const listener of listeners) listener()
  }
  child.stdout?.setEncoding('utf8').on('data', take('stdout'))
  child.stderr?.setEncoding('utf8').on('data', take('stderr'))
  const ended = new Promise<number | null>((resolve, reject) => {
    child.on('error', reject).on('close', (code) => resolve(code))
  })
  const signal = (name: NodeJS.Signals, to: 'group' | 'leader' = 'group') => {
    if (child.pid === undefined) return
    try {
      process.kill(to === 'group' ? -child.pid : child.pid, name)
    } catch (error) {
      // Nobody of the group is left, which is what was wanted.
      if (!(error instanceof Error && 'code' in error && error.code === 'ESRCH')) throw error
    }
  }
  onTestFinished(() => signal('SIGKILL'))
  return {
    output,
    signal,
    ended,
    type: (line) => void child.stdin?.write(`${line}\n`),
    press: (keys) => void child.stdin?.write(keys),
    says: (text) =>
      new Promise((resolve, reject) => {
        const look = () => {
          if (!output.stdout.includes(text)) return
          listeners.delete(look)
          resolve()
        }
        listeners.add(look)
        look()
        ended.then(
          () => reject(new Error(`It ended without saying “${text}”:\n${output.stdout}\n${output.stderr}`)),
          reject,
        )
      }),
  }
}
