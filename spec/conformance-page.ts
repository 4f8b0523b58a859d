import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { type Case, cases } from './cases.ts'
import { type Citation, findCitations, readTestFiles } from './citations.ts'
import { type Requirement, requirements } from './requirements.ts'

/** The folder of the repository. */
export const root = join(import.meta.dirname, '..')

const PAGE = join(root, 'docs', 'conformance.md')

/** What the page says for these requirements, cases and citations. Only tests that should pass are counted. */
export function conformancePage(
  listed: readonly Requirement[],
  situations: readonly Case[],
  citations: readonly Citation[],
): string {
  const passing = citations.filter(({ fate }) => fate === 'passes')
  const tests = (id: string) => String(passing.filter((citation) => citation.id === id).length)
  const sections = [...new Set(listed.map(({ section }) => section))]
  return [
    '# Conformance',
    '',
    'What Poppyseed owes by the Personal Agent Protocol, draft 0.1, and by version 1 of its Operations extension, in our own',
    'words, and how many tests show that it does it. Written by `node spec/conformance-page.ts`; change the data in `spec/` instead.',
    '',
    `- Requirements: ${count(listed)}`,
    `- Cases that broke other systems: ${count(situations)}`,
    '',
    'Level: the key word of the specification. *Stated* means that it says so without a key word, *table* that it stands in one',
    'of its tables; for Operations, *table* is our reading of the extension.',
    '',
    ...sections.flatMap((section) => [
      `## ${section === 'ops' ? 'Operations' : `Section ${section}`}`,
      '',
      '| Id | Side | Level | Requirement | Built | Tests |',
      '| --- | --- | --- | --- | --- | ---: |',
      ...listed
        .filter((requirement) => requirement.section === section)
        .map((it) => row([`\`${it.id}\``, it.side, level(it), it.text, yes(it.built), tests(it.id)])),
      '',
    ]),
    '## Cases',
    '',
    '| Id | Side | First | Situation | Right | Built | Tests |',
    '| --- | --- | --- | --- | --- | --- | ---: |',
    ...situations.map((it) =>
      row([it.id, it.side.join(', '), yes(it.first), it.situation, it.right, yes(it.built), tests(it.id)]),
    ),
    '',
  ].join('\n')
}

/** The page as this repository's data and tests make it. */
export function currentPage(): string {
  return conformancePage(requirements, cases, readTestFiles(root).flatMap(findCitations))
}

/** The page as it was last written, with the line ends of this system taken out. */
export function writtenPage(): string {
  return readFileSync(PAGE, 'utf8').replaceAll('\r\n', '\n')
}

function count(list: readonly { readonly built: boolean }[]): string {
  return `${list.length}, of which ${list.filter(({ built }) => built).length} are built`
}

function level(requirement: Requirement): string {
  if (requirement.table) return `${requirement.level} (table)`
  return requirement.plain ? `${requirement.level} (stated)` : requirement.level
}

function row(cells: readonly string[]): string {
  return `| ${cells.map((cell) => cell.replaceAll('|', '\\|')).join(' | ')} |`
}

function yes(value: boolean): string {
  return value ? 'yes' : ''
}

if (import.meta.main) writeFileSync(PAGE, currentPage())
