import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { isSameAgreement, isStillAgreement, readCopy } from './copy.ts'

const wire = { operation_id: 'opn_1', revision: 1, state: 'proposed', summary: 'A room.' }
const copyOf = (change: Record<string, unknown> = {}) => {
  const copy = readCopy({ operation: { ...wire, ...change } }, true)
  if (!copy) throw new Error('no operation')
  return copy.agreed
}

describe('a copy of an operation', () => {
  it('is read under operation, bare, and with id and status where nothing else is meant [ops.envelope-agent]', () => {
    const { operation_id: id, state: status, ...rest } = wire
    expect(readCopy({ operation: wire }, false)?.wire.operation_id).toBe('opn_1')
    expect(readCopy(wire, false)?.wire.operation_id).toBe('opn_1')
    expect(readCopy({ id, status, ...rest }, true)?.wire.state).toBe('proposed')
    // A tool's result may look like that and be something else.
    expect(readCopy({ id, status, ...rest }, false)).toBeUndefined()
  })

  it.each([
    ['a text', 'opn_1'],
    ['a list', [wire]],
    ['no id', { ...wire, operation_id: undefined }],
    ['an id with a path in it', { ...wire, operation_id: '../token' }],
    ['revision zero', { ...wire, revision: 0 }],
    ['half a revision', { ...wire, revision: 1.5 }],
    ['a state that is none', { ...wire, state: 'done' }],
    ['no words', { ...wire, summary: '' }],
    ['more words than anybody reads', { ...wire, summary: 'x'.repeat(5000) }],
    ['terms that are a list', { ...wire, terms: [1] }],
    ['terms without end', { ...wire, terms: Object.fromEntries(Array.from({ length: 600 }, (_, at) => [at, at])) }],
    ['terms as long as a book', { ...wire, terms: { a: 'x'.repeat(30_000) } }],
    ['a number that would be shown as another', { ...wire, terms: JSON.parse('{"a":[12345678901234567890]}') }],
    ['terms that hide one', { ...wire, terms: JSON.parse('{"a":{"__proto__":1}}') }],
    ['an expiry that is no time', { ...wire, expires_at: 'soon' }],
  ])('is none with %s', (_name, body) => {
    expect(readCopy(body, true)).toBeUndefined()
  })
})

it('an operation inside an operation is not what is read', () => {
  const inner = { ...wire, operation_id: 'opn_2', terms: JSON.parse('{"__proto__":1}') as unknown }
  expect(readCopy({ operation: { ...wire, operation: inner } }, true)?.wire.operation_id).toBe('opn_1')
  expect(readCopy({ ...wire, operation: inner }, true)).toBeUndefined()
})

describe('an operation that has ended', () => {
  it('says so whatever its result is: one beyond all bounds is left out', () => {
    const long = {
      ...wire,
      state: 'succeeded',
      result: { stops: Array.from({ length: 900 }, (_, at) => `stop ${at}`) },
    }
    expect(readCopy(long, true)?.wire.result).toEqual(long.result)
    let deep: unknown = 'bottom'
    for (let at = 0; at < 5000; at++) deep = [deep]
    for (const result of [deep, 'x'.repeat(400_000), JSON.parse('{"__proto__":1}') as unknown]) {
      const copy = readCopy({ operation: { ...long, result } }, true)
      expect([copy?.wire.state, copy?.wire.result]).toEqual(['succeeded', undefined])
    }
  })
})

describe('whatever JSON it is', () => {
  it('reading it ends, in an operation or in none', () => {
    const part = fc.jsonValue({ maxDepth: 4 })
    const odd = fc.record(
      {
        operation_id: part,
        id: part,
        revision: part,
        state: part,
        status: part,
        summary: part,
        terms: part,
        result: part,
      },
      { requiredKeys: [] },
    )
    const nearly = fc.record({ terms: part, result: part, confirmation: part, expires_at: part }, { requiredKeys: [] })
    const bodies = fc.oneof(
      part,
      odd,
      odd.map((operation) => ({ operation })),
      nearly.map((change) => ({ ...wire, ...change })),
    )
    const run = fc.property(bodies, fc.boolean(), (body, isSurelyOne) => {
      const copy = readCopy(body, isSurelyOne)
      if (copy) expect(copy.wire.operation_id).toMatch(/^[A-Za-z0-9_-]+$/)
    })
    fc.assert(run, { numRuns: 500 })
  })
})

describe('what was agreed', () => {
  it('is revision, words and terms, whatever the order of their members', () => {
    const one = copyOf({ terms: { a: 1, b: { c: [1, 2], d: null } } })
    expect(isSameAgreement(one, copyOf({ terms: { b: { d: null, c: [1, 2] }, a: 1 } }))).toBe(true)
    for (const other of [
      { terms: { a: 1, b: { c: [2, 1], d: null } } },
      { terms: { a: '1', b: { c: [1, 2], d: null } } },
      { terms: { a: 1 } },
      {},
      { terms: { a: 1, b: { c: [1, 2], d: null } }, summary: 'A room!' },
      { terms: { a: 1, b: { c: [1, 2], d: null } }, revision: 2 },
    ])
      expect([other, isSameAgreement(one, copyOf(other))]).toEqual([other, false])
  })

  it('stays where an answer leaves the terms out, and doesn’t where it brings some', () => {
    const [bare, full] = [copyOf(), copyOf({ terms: { a: 1 } })]
    expect([isStillAgreement(full, bare), isStillAgreement(bare, full)]).toEqual([true, false])
  })

  it('tells any two terms apart that differ as JSON', () => {
    const value = fc.dictionary(fc.stringMatching(/^[a-c]{1,2}$/), fc.jsonValue({ maxDepth: 2 }), { maxKeys: 3 })
    const run = fc.property(value, value, (left, right) => {
      const sorted = (one: unknown) => JSON.stringify(one, (_, part: unknown) => order(part))
      const isSame = sorted(left) === sorted(right)
      const read = [left, right].map((terms) => readCopy({ operation: { ...wire, terms } }, true)?.agreed)
      const [first, second] = read
      if (first && second) expect(isSameAgreement(first, second)).toBe(isSame)
    })
    fc.assert(run, { numRuns: 300 })
  })
})

function order(value: unknown): unknown {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return value
  return Object.fromEntries(Object.entries(value).sort(([left], [right]) => (left < right ? -1 : 1)))
}
