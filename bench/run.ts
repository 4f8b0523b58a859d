/**
 * `npm run bench`: product, peer and floor, each on one core, the client on another; nine interleaved rounds, medians.
 * Fails when a ratio is below what we require, unless called with `--report`. `--profile=DIR` keeps a CPU profile of each
 * server; `--only=floor,product` leaves the others out, `--scenario=call`, `start`, `mcp`, `import`, `operations`, `conversations` or `inbox` the other ones. For
 * `mcp` the other one is the bare MCP library with the same tool, in both revisions.
 */

import { type ChildProcess, execFileSync, spawn } from 'node:child_process'
import { mkdirSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { availableParallelism, tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { load, prepareCalls, prepareMcpCalls, prepareStarts } from './client.ts'
import { measureConversations } from './conversations.ts'
import { measureImports } from './import.ts'
import { measureInbox } from './inbox.ts'
import { measureOperations } from './operations.ts'
import { makeParties, type Parties, type Ready, writeParties } from './parties.ts'
import { type Contender, contenders, type Outcome, report, type Sample } from './report.ts'

const { values: options } = parseArgs({
  options: {
    report: { type: 'boolean' },
    profile: { type: 'string' },
    only: { type: 'string' },
    scenario: { type: 'string' },
  },
})

const rounds = 9
/**
 * The first runs are slower, and the product's longer than others': it has more code, which is compiled as it is used. With two
 * of them and five rounds one ratio was anything from 0.86 to 1.18 on the same machine.
 */
const warmUps = 6

const scenarios = [
  {
    name: 'call',
    title: 'DPoP-protected call',
    count: 3000,
    prepare: prepareCalls,
    isOnce: true,
    over: { peer: 1.7, floor: 0.8 },
  },
  {
    name: 'start',
    title: 'Session start',
    count: 1500,
    prepare: prepareStarts,
    isOnce: true,
    over: { peer: 1, floor: 0.8 },
  },
  ...(['2025-11-25', '2026-07-28'] as const).map((revision) => ({
    name: 'mcp',
    title: `MCP tools/call ${revision}`,
    count: 3000,
    prepare: prepareMcpCalls(revision),
    isOnce: false,
    over: { mcp: 0.9 },
  })),
] as const satisfies readonly (Pick<Outcome, 'title' | 'over'> & Record<string, unknown>)[]

const chosen = scenarios.filter(({ name }) => name === (options.scenario ?? name))

interface Running {
  readonly name: Contender
  readonly ready: Ready
  readonly child: ChildProcess
}

/** Puts this process, which is the client, on core 1. */
function pinClient(): boolean {
  if (process.platform !== 'linux' || availableParallelism() < 2) return false
  try {
    execFileSync('taskset', ['-a', '-p', '-c', '1', String(process.pid)], { stdio: 'ignore' })
    return true
  } catch {
    return false
  }
}

async function startServer(name: Contender, parties: string, folder: string, pinned: boolean): Promise<Running> {
  mkdirSync(join(folder, name))
  const profile = options.profile ? ['--cpu-prof', `--cpu-prof-dir=${resolve(options.profile, name)}`] : []
  const node = [process.execPath, ...profile, source(name), parties, join(folder, name)]
  const [command = '', ...args] = pinned ? ['taskset', '-c', '0', ...node] : node
  // The peer warns of settings for development; an end that comes too early tells its code.
  const stdio = ['pipe', 'pipe', name === 'peer' ? 'ignore' : 'inherit'] as const
  const child = spawn(command, args, { stdio: [...stdio], env: { ...process.env, NODE_ENV: 'production' } })
  const ready = await new Promise<Ready>((found, reject) => {
    child.on('error', reject).on('exit', (code) => reject(new Error(`${name} ended with ${code}`)))
    if (child.stdout)
      createInterface(child.stdout).on('line', (line) => line.startsWith('{"port"') && found(JSON.parse(line)))
  })
  return { name, ready, child }
}

function source(name: Contender): string {
  return fileURLToPath(new URL(`${name}.ts`, import.meta.url))
}

/** Microseconds of processor time that a server has used, all threads; NaN where the system doesn't tell. */
function processorTime({ pid }: ChildProcess): number {
  if (process.platform !== 'linux') return Number.NaN
  // The name, in parentheses, may hold spaces; after it utime and stime are the 12th and 13th, in hundredths.
  const fields = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')[1]?.split(' ') ?? []
  return (Number(fields[11]) + Number(fields[12])) * 10_000
}

async function measure(servers: readonly Running[], parties: Parties): Promise<readonly Outcome[]> {
  const outcomes = chosen.map((scenario) => ({
    ...scenario,
    samples: { peer: [], floor: [], mcp: [], product: [] } as Record<Contender, Sample[]>,
  }))
  for (let round = -warmUps; round < rounds; round++) {
    for (const { title, count, prepare, isOnce, over, samples } of outcomes) {
      for (const { name, ready, child } of servers.filter((one) => one.name === 'product' || one.name in over)) {
        const requests = prepare(parties, ready, count)
        const before = processorTime(child)
        const perSecond = await load(ready.port, requests, isOnce).catch((cause: unknown) => {
          throw new Error(`${name}, ${title}`, { cause })
        })
        const sample = { perSecond, processor: (processorTime(child) - before) / count }
        if (round >= 0) samples[name].push(sample)
      }
    }
  }
  return outcomes
}

// Alone on the machine, before any server is started.
if ((options.scenario ?? 'import') === 'import') {
  const { text, good } = measureImports()
  console.log(`${text}\n`)
  if (!good && !options.report) process.exitCode = 1
  if (options.scenario === 'import') process.exit()
}

if ((options.scenario ?? 'operations') === 'operations') {
  const { text, good } = await measureOperations()
  console.log(`${text}\n`)
  if (!good && !options.report) process.exitCode = 1
  if (options.scenario === 'operations') process.exit()
}

if ((options.scenario ?? 'conversations') === 'conversations') {
  const { text, good } = await measureConversations()
  console.log(`${text}\n`)
  if (!good && !options.report) process.exitCode = 1
  if (options.scenario === 'conversations') process.exit()
}

if ((options.scenario ?? 'inbox') === 'inbox') {
  const { text, good } = await measureInbox()
  console.log(`${text}\n`)
  if (!good && !options.report) process.exitCode = 1
  if (options.scenario === 'inbox') process.exit()
}

const folder = mkdtempSync(join(tmpdir(), 'poppyseed-bench-'))
const servers: Running[] = []
try {
  const pinned = pinClient()
  const parties = await makeParties(4, 8)
  const file = join(folder, 'parties.json')
  writeParties(file, parties)
  const only = options.only?.split(',')
  const needed = new Set<string>(['product', ...chosen.flatMap(({ over }) => Object.keys(over))])
  for (const name of contenders.filter((one) => needed.has(one) && (only?.includes(one) ?? true)))
    servers.push(await startServer(name, file, folder, pinned))
  const { text, good } = report(await measure(servers, parties))
  console.log(
    `medians of ${rounds} rounds, ${pinned ? 'servers on one core, client on another' : 'not pinned to cores'}`,
  )
  console.log(text)
  if (!good && !options.report) process.exitCode = 1
} finally {
  await Promise.all(
    servers.map(({ child }) => new Promise((ended) => child.removeAllListeners('exit').on('exit', ended).stdin?.end())),
  )
  rmSync(folder, { recursive: true, force: true })
}
