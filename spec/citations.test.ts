import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { type Citable, citables, findCitations, findMisfits, readTestFiles } from './citations.ts'

const ROOT = join(import.meta.dirname, '..')

const found = (source: string) =>
  findCitations({ path: 'some.test.ts', source }).map(({ id, line, fate }) => `${id} line ${line} ${fate}`)

const misfits = (defined: readonly Citable[], source: string) =>
  findMisfits(defined, findCitations({ path: 'some.test.ts', source }))

describe('the ids in a title', () => {
  it('are found in each form of a test', () => {
    expect(found(`it('a [4.3.ath]', () => {})`)).toEqual(['4.3.ath line 1 passes'])
    expect(found(`test("b [K01]", async () => {})`)).toEqual(['K01 line 1 passes'])
    expect(found(`it(\`c \${name} [4.3.ath, K01] and [ops.cancel]\`, run)`)).toEqual([
      '4.3.ath line 1 passes',
      'K01 line 1 passes',
      'ops.cancel line 1 passes',
    ])
    expect(found(`it.each([[1], [2]])('d %s [7.13.invalid-cursor]', () => {})`)).toHaveLength(1)
    expect(found(`it.each\`a\n\${1}\`('e [3.well-known]', () => {})`)).toHaveLength(1)
    expect(found(`it.skipIf(!process.env.PG)('f [K02]', () => {})`)).toEqual(['K02 line 1 passes'])
    expect(found(`it.concurrent.for(rows)('g [K02]', () => {})`)).toHaveLength(1)
    expect(found(`it('h ' +\n  'i [K02]', () => {})`)).toEqual(['K02 line 1 passes'])
  })

  it('are found when the title stands on the next line', () => {
    expect(found(`import { it } from 'vitest'\n\nit(\n  'a [4.3.ath]',\n  () => {},\n)`)).toEqual([
      '4.3.ath line 3 passes',
    ])
  })

  it('are found in a suite and in the tests inside it', () => {
    expect(found(`describe('a [K01]', () => {\n  it('b [K02]', () => {})\n})`)).toEqual([
      'K01 line 1 passes',
      'K02 line 2 passes',
    ])
    expect(found(`describe('a [K01]', () => sharedTests(storage))`)).toEqual(['K01 line 1 passes'])
  })

  it('are found behind a name of our own for a kind of test', () => {
    expect(found(`const slowly = it.skipIf(!long)\nslowly('a [K01]', () => {})`)).toEqual(['K01 line 2 passes'])
    expect(found(`const maybe = pg ? it : it.skip\nmaybe('a [K01]', () => {})`)).toEqual(['K01 line 2 passes'])
  })

  it('are told from skipped tests and expected failures', () => {
    expect(found(`it.skip('a [K01]', () => {})`)).toEqual(['K01 line 1 skipped'])
    expect(found(`it.todo('a [K01]')`)).toEqual(['K01 line 1 skipped'])
    expect(found(`it('a [K01]')`)).toEqual(['K01 line 1 skipped'])
    expect(found(`it('a [K01]', { skip: true }, () => {})`)).toEqual(['K01 line 1 skipped'])
    expect(found(`it.skip.each(rows)('a [K01]', () => {})`)).toEqual(['K01 line 1 skipped'])
    expect(found(`it.fails('a [K01]', () => {})`)).toEqual(['K01 line 1 fails'])
    expect(found(`describe.skip('s', () => { it('a [K01]', () => {}) })`)).toEqual(['K01 line 1 skipped'])
    expect(found(`describe('s [K01]', () => { it.todo('a') })`)).toEqual(['K01 line 1 skipped'])
  })

  it('are not looked for elsewhere', () => {
    expect(found(`// it('a [K01]', () => {})\nconst text = "it('b [K01]', () => {})"\nlog('c [K01]')`)).toEqual([])
    expect(found(`it('refuses [::ffff:127.0.0.1], [0] and [some text]', () => {})`)).toEqual([])
  })
})

describe('definitions and tests that do not fit', () => {
  const ath = { id: '4.3.ath', built: true }

  it('fit when each built entry is cited and nothing else is', () => {
    const none = { definedTwice: [], unknown: [], uncited: [], early: [] }
    expect(misfits([ath, { id: 'K02', built: false }], `it('a [4.3.ath]', () => {})`)).toEqual(none)
  })

  it('show what is built and cited by no test', () => {
    expect(misfits([ath], '').uncited).toEqual(['4.3.ath is built, but no test cites it'])
  })

  it.each(['it.skip', 'it.todo', 'it.fails', 'describe.skip'])('show what is built and cited by %s only', (form) => {
    const { uncited } = misfits([ath], `${form}('a [4.3.ath]', () => {})`)
    expect(uncited).toEqual(['4.3.ath is built, but its tests are skipped or fail'])
  })

  it('show an id that does not exist, wrong in any of its parts', () => {
    const { unknown } = misfits([ath], `it('a [4.3.ath, nonsense] [K1] [4.3]', () => {})`)
    expect(unknown).toEqual([
      'nonsense is not defined, cited at some.test.ts:1',
      'K1 is not defined, cited at some.test.ts:1',
      '4.3 is not defined, cited at some.test.ts:1',
    ])
    expect(misfits([ath], `it(\`a [4.3.\${slug}]\`, () => {})`).unknown).toHaveLength(1)
  })

  it('show what is cited before it is built, unless the test is not expected to pass', () => {
    const later = [{ id: 'K02', built: false }]
    expect(misfits(later, `it('a [K02]', () => {})`).early).toEqual([
      'K02 is not marked built, cited at some.test.ts:1',
    ])
    expect(misfits(later, `it.skip('a [K02]', () => {})\nit.fails('b [K02]', () => {})`).early).toEqual([])
  })

  it('show an id that is defined twice', () => {
    expect(misfits([ath, ath], '').definedTwice).toEqual(['4.3.ath is defined twice'])
  })

  it('show a file that can not be read as TypeScript', () => {
    expect(() => found('it(')).toThrow(/some\.test\.ts/u)
  })
})

describe('the tests of this repository', () => {
  const { definedTwice, unknown, uncited, early } = findMisfits(citables, readTestFiles(ROOT).flatMap(findCitations))

  it('find each requirement and each case defined once', () => expect(definedTwice).toEqual([]))
  it('cite only what is defined', () => expect(unknown).toEqual([]))
  it('cite everything that is marked built', () => expect(uncited).toEqual([]))
  it('cite nothing that is not marked built', () => expect(early).toEqual([]))
})
