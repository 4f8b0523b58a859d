/** How long an import of the library takes, beside one of what it stands on. Each in a process of its own. */

import { execFileSync } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { median } from './figures.ts'

const times = 10
/** What the library may take, as a multiple of importing hono, zod and jose. */
const most = 1.5

const imports = {
  'hono, zod and jose': ['hono', 'zod', 'jose'],
  poppyseed: ['poppyseed'],
  'poppyseed, /sqlite and /node': ['poppyseed', 'poppyseed/sqlite', 'poppyseed/node'],
} as const
type Title = keyof typeof imports

/** Milliseconds from the first import to the last, without the start of Node. */
interface Figures {
  readonly time: number
  /** Of the processor, all threads: what another program on the machine disturbs least. */
  readonly processor: number
}

function measure(names: readonly string[]): Figures {
  const program = `const [from, used] = [performance.now(), process.cpuUsage()]
${names.map((name) => `await import('${name}')`).join('\n')}
const time = performance.now() - from
const { user, system } = process.cpuUsage(used)
console.log(JSON.stringify({ time, processor: (user + system) / 1000 }))`
  const answer = execFileSync(process.execPath, ['--input-type=module', '-e', program], {
    cwd: fileURLToPath(new URL('..', import.meta.url)),
    encoding: 'utf8',
  })
  return JSON.parse(answer) as Figures
}

/** Measures in turns, so that a machine that is busy for a while is busy for all of them. */
export function measureImports(): { readonly text: string; readonly good: boolean } {
  const titles = Object.keys(imports) as Title[]
  const figures: Record<Title, Figures[]> = {
    'hono, zod and jose': [],
    poppyseed: [],
    'poppyseed, /sqlite and /node': [],
  }
  // The first round reads the files from the disk.
  for (let round = -1; round < times; round++) {
    for (const title of titles) {
      const measured = measure(imports[title])
      if (round >= 0) figures[title].push(measured)
    }
  }
  const of = (title: Title, kind: keyof Figures) => median(figures[title].map((one) => one[kind]))
  const lines = titles.map(
    (title) => `import ${title}: ${of(title, 'time').toFixed(0)} ms, processor ${of(title, 'processor').toFixed(0)} ms`,
  )
  const ratioOf = (kind: keyof Figures) => of('poppyseed', kind) / of('hono, zod and jose', kind)
  const good = ratioOf('time') <= most
  lines.push(
    `import: product/hono, zod and jose ${ratioOf('time').toFixed(2)}, at most ${most.toFixed(1)}: ${good ? 'met' : 'MISSED'}; by processor time ${ratioOf('processor').toFixed(2)}`,
  )
  return { text: [`medians of ${times} processes each`, ...lines].join('\n'), good }
}
