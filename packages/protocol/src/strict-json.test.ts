import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { processorTime } from '../../../test/setup/processor-time.ts'
import { isJsonObject, JsonError, parseStrictJson } from './strict-json.ts'

const message = (text: string, maxDepth?: number): string => {
  try {
    parseStrictJson(text, maxDepth)
    return 'accepted'
  } catch (error) {
    if (!(error instanceof JsonError)) throw error
    return error.message
  }
}
const twice = 'A member stands twice in one object.'

describe('strict JSON', () => {
  it.each([
    '{"a":1,"a":2}',
    '{"a":1,"a":1}',
    '{"a":1,"\\u0061":2}',
    '{"\\u0061":1,"\\u0061":2}',
    '{ "a" : 1 , "b" : { } , "a" : 2 }',
    '{"b":{"a":1,"a":2}}',
    '[[{"a":[],"a":{}}]]',
    '{"a":[{"x":1}],"b":"{","a":2}',
    '{"a":"\\"","a":2}',
    '{"a":"\\\\","a":2}',
    '{"":1,"":2}',
    '{"__proto__":1,"__proto__":2}',
    '{"\\u005f_proto__":1,"__proto__":2}',
    '{"constructor":1,"constructor":2}',
    '{"é":1,"\\u00e9":2}',
    '{"a\\/b":1,"a/b":2}',
    '{"\\ud83d\\ude00":1,"😀":2}',
  ])('finds the member that stands twice in %s', (text) => {
    expect(message(text)).toBe(twice)
  })

  it.each([
    '{"a":1,"b":{"a":2},"c":[{"a":3},{"a":4}]}',
    '{"a":"a","b":"a"}',
    '{"a":["a","a"],"b":["b",{"a":"b"}]}',
    '{"a":"{\\"a\\":1,\\"a\\":2}"}',
    '{"a":1,"A":2,"a ":3}',
    '{"\\ud800":1,"\\ud801":2}',
    '["a","a"]',
    '"a"',
    ' 12 ',
    'null',
  ])('leaves alone what stands once: %s', (text) => {
    expect(parseStrictJson(text)).toEqual(JSON.parse(text))
  })

  it('refuses deep nesting, and says nothing of the text', () => {
    expect(message('[[1]]', 2)).toBe('accepted')
    expect(message('[[[1]]]', 2)).toBe('The JSON is nested too deeply.')
    expect(message('{"a":{"b":[]}}', 2)).toBe('The JSON is nested too deeply.')
    expect(message('[[],[],{},{"a":[]}]', 3)).toBe('accepted')
    expect(message('['.repeat(32) + ']'.repeat(32))).toBe('accepted')
    expect(message('['.repeat(33) + ']'.repeat(33))).toBe('The JSON is nested too deeply.')
    expect(message('['.repeat(100_000) + ']'.repeat(100_000))).toBe('The JSON is nested too deeply.')
    for (const text of ['', '{', '{"secret":', "{'a':1}", '\ufeff{}', '{"a":1}x', 'NaN', '[1,]']) {
      expect(message(text)).toBe('The text is not JSON.')
    }
  })

  it('keeps a member called __proto__ as a member', () => {
    const value = parseStrictJson('{"__proto__":{"alg":"none"}}') as Record<string, unknown>
    expect(value.alg).toBeUndefined()
    expect(Object.keys(value)).toEqual(['__proto__'])
  })

  it('equals JSON.parse on what it accepts, and accepts what JSON.stringify writes', () => {
    fc.assert(
      fc.property(fc.json({ maxDepth: 6 }), (text) => {
        expect(parseStrictJson(text)).toEqual(JSON.parse(text))
      }),
      { numRuns: 300 },
    )
  })

  it('throws nothing but its own error', () => {
    const piece = fc.constantFrom('{', '}', '[', ']', ',', ':', '"a"', '"', '\\', '1', 'null', ' ', '"\\u0061"')
    fc.assert(fc.property(fc.string(), (text) => void message(text)))
    fc.assert(
      fc.property(fc.array(piece, { maxLength: 20 }), (pieces) => {
        const text = pieces.join('')
        if (message(text) === 'accepted') expect(parseStrictJson(text)).toEqual(JSON.parse(text))
      }),
      { numRuns: 2000 },
    )
  })

  it('finds each member that is put in a second time, however it is spelled and wherever it stands', () => {
    const escaped = (name: string) =>
      Array.from({ length: name.length }, (_, at) => `\\u${name.charCodeAt(at).toString(16).padStart(4, '0')}`).join('')
    const path = fc.array(fc.constantFrom('object', 'array'), { maxLength: 5 })
    fc.assert(
      fc.property(fc.string(), fc.boolean(), path, fc.json({ maxDepth: 2 }), (name, isEscaped, around, value) => {
        const again = isEscaped ? `"${escaped(name)}"` : JSON.stringify(name)
        const object = `{${JSON.stringify(name)}:${value},"${escaped(`${name}x`)}":1,${again}:${value}}`
        const text = around.reduce((inner, kind) => (kind === 'array' ? `[0,${inner}]` : `{"k":${inner}}`), object)
        expect(message(text)).toBe(twice)
      }),
    )
  })

  it('is read in a time that grows with its length', () => {
    const members = Array.from({ length: 10_000 }, (_, at) => `"m${at}":${at}`).join(',')
    for (const text of [
      `{${members}}`,
      `"${'\\\\'.repeat(50_000)}"`,
      `["${'\\"'.repeat(50_000)}"]`,
      `[${'{},'.repeat(30_000)}{}]`,
      `{"${'a'.repeat(100_000)}":1}`,
      `[${' '.repeat(100_000)}]`,
    ]) {
      const before = processorTime()
      expect(message(text)).toBe('accepted')
      expect(processorTime() - before).toBeLessThan(2000)
    }
  })
})

describe('a JSON object', () => {
  it('is neither null nor an array nor a scalar', () => {
    expect([{}, { a: 1 }, Object.create(null)].every(isJsonObject)).toBe(true)
    expect([null, [], 'a', 1, true, undefined].some(isJsonObject)).toBe(false)
  })

  it('bounds how many values there are, where that is asked for', () => {
    const nulls = (count: number) => `[${Array.from({ length: count }, () => 'null').join()}]`
    expect(parseStrictJson(nulls(10), 32, 10)).toHaveLength(10)
    for (const text of [
      nulls(12),
      `{"a":${nulls(6)},"b":${nulls(6)}}`,
      `[${'{},'.repeat(6)}{}]`,
      `[${'[],'.repeat(6)}[]]`,
    ]) {
      expect(() => parseStrictJson(text, 32, 10)).toThrow(JsonError)
      expect(parseStrictJson(text)).toBeTruthy()
    }
    expect(parseStrictJson(JSON.stringify({ text: ',[{'.repeat(50) }), 32, 10)).toBeTruthy()
  })
})
