import { globSync, readFileSync } from 'node:fs'
import { cases } from './cases.ts'
import { requirements } from './requirements.ts'
import { type Fate, findTitles, type TestFile } from './test-titles.ts'

/** Something that tests can cite: a requirement or a case. */
export interface Citable {
  readonly id: string
  readonly built: boolean
}

/** One id in the title of one test or suite. */
export interface Citation {
  readonly id: string
  readonly file: string
  readonly line: number
  readonly fate: Fate
}

/** What does not fit between definitions and tests, each as a line to read. */
export interface Misfits {
  readonly definedTwice: readonly string[]
  readonly unknown: readonly string[]
  readonly uncited: readonly string[]
  readonly early: readonly string[]
}

/** Everything that tests can cite. */
export const citables: readonly Citable[] = [...requirements, ...cases]

const TESTS = [
  'packages/*/src/**/*.test.{ts,tsx}',
  'packages/*/test/**/*.{ts,tsx}',
  'examples/**/*.{ts,tsx}',
  'test/**/*.{ts,tsx}',
]

/** Reads every test file of the repository at `root`, in the order of their paths. */
export function readTestFiles(root: string): readonly TestFile[] {
  const paths = globSync(TESTS, { cwd: root, exclude: ['**/node_modules/**', '**/dist/**'] })
  return [...new Set(paths)]
    .map((path) => path.replaceAll('\\', '/'))
    .sort()
    .map((path) => ({ path, source: readFileSync(`${root}/${path}`, 'utf8') }))
}

/** Finds what the tests of a file cite in square brackets. One test cites an id once, however often it is written. */
export function findCitations(file: TestFile): readonly Citation[] {
  return findTitles(file).flatMap(({ title, line, fate }) =>
    [...new Set(citedIn(title))].map((id) => ({ id, file: file.path, line, fate })),
  )
}

/** The ids in a title. Brackets with nothing like an id in them, such as those of `[::1]`, cite nothing. */
function citedIn(title: string): readonly string[] {
  return [...title.matchAll(/\[([^[\]]+)\]/gu)]
    .map((match) => (match[1] ?? '').split(',').map((part) => part.trim()))
    .filter((parts) => parts.some(looksLikeAnId))
    .flat()
}

// A bare section such as `4.3` is no id, but whoever wrote it meant one, so it is reported as unknown.
function looksLikeAnId(part: string): boolean {
  return /^(?:K\d+$|ops\.|\d(?:\.\d{1,2})?\.[a-z…]|\d\.\d{1,2}$)/u.test(part)
}

/** Compares what is defined with what the tests cite. Skipped tests and expected failures show nothing. */
export function findMisfits(defined: readonly Citable[], citations: readonly Citation[]): Misfits {
  const builtById = new Map(defined.map(({ id, built }) => [id, built]))
  const passing = citations.filter(({ fate }) => fate === 'passes')
  const shown = new Set(passing.map(({ id }) => id))
  const others = new Set(citations.map(({ id }) => id))
  return {
    definedTwice: defined
      .filter(({ id }, index) => defined.findIndex((other) => other.id === id) !== index)
      .map(({ id }) => `${id} is defined twice`),
    unknown: citations
      .filter(({ id }) => !builtById.has(id))
      .map((citation) => `${citation.id} is not defined, cited at ${place(citation)}`),
    uncited: defined
      .filter(({ id, built }) => built && !shown.has(id))
      .map(({ id }) =>
        others.has(id) ? `${id} is built, but its tests are skipped or fail` : `${id} is built, but no test cites it`,
      ),
    early: passing
      .filter(({ id }) => builtById.get(id) === false)
      .map((citation) => `${citation.id} is not marked built, cited at ${place(citation)}`),
  }
}

function place({ file, line }: Citation): string {
  return `${file}:${line}`
}
