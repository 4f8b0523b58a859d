import { expect, it } from 'vitest'
import { conformancePage, currentPage, writtenPage } from './conformance-page.ts'
import type { Requirement } from './requirements.ts'

const ath: Requirement = {
  id: '4.3.ath',
  section: '4.3',
  side: 'company',
  level: 'MUST',
  text: 'check a | b',
  built: true,
  plain: true,
}

it('shows each requirement with the tests that should pass, and counts them at the top', () => {
  const citation = { id: '4.3.ath', file: 'some.test.ts', line: 1 } as const
  const page = conformancePage(
    [ath, { ...ath, id: '4.3.htu', built: false }],
    [],
    [
      { ...citation, fate: 'passes' },
      { ...citation, fate: 'skipped' },
    ],
  )
  expect(page).toContain('- Requirements: 2, of which 1 are built')
  expect(page).toContain('| `4.3.ath` | company | MUST (stated) | check a \\| b | yes | 1 |')
  expect(page).toContain('| `4.3.htu` | company | MUST (stated) | check a \\| b |  | 0 |')
})

it('is the page in docs/conformance.md; if not, run: node spec/conformance-page.ts', () => {
  expect(writtenPage()).toBe(currentPage())
})
