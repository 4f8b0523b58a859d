import { describe, expect, expectTypeOf, it } from 'vitest'
import { z } from 'zod'
import * as mini from 'zod/mini'
import { ConfigurationError } from '../configuration-error.ts'
import { isTool, tool } from './tool.ts'

const base = { name: 'search_rooms', description: 'Rooms that are free.', run: () => null }

describe('a tool', () => {
  it('has the types of its schemas', () => {
    const made = tool({
      ...base,
      input: z.object({ guests: z.coerce.number<string>(), from: z.iso.date().optional() }),
      output: z.object({ rooms: z.array(z.string()) }),
      run(input, { principal, signal, via }) {
        expectTypeOf(input).toEqualTypeOf<{ guests: number; from?: string | undefined }>()
        expectTypeOf(principal.account).toEqualTypeOf<string | null>()
        expectTypeOf(signal).toEqualTypeOf<AbortSignal>()
        expectTypeOf(via).toEqualTypeOf<'http' | 'mcp' | 'conversation'>()
        return { rooms: [] }
      },
    })
    expect(isTool(made)).toBe(true)
    tool({
      ...base,
      input: { type: 'object', properties: { id: { type: 'string' } } },
      run(input) {
        expectTypeOf(input).toEqualTypeOf<Record<string, unknown>>()
      },
    })
    // @ts-expect-error the output schema wants something else
    tool({ ...base, output: z.object({ rooms: z.array(z.string()) }), run: () => ({ rooms: 'none' }) })
  })

  it('publishes the JSON Schema of what it is called with', () => {
    const made = tool({
      ...base,
      input: z.object({ page: z.number().default(1) }),
      output: z.object({ page: z.number() }) as z.ZodType,
    })
    expect(made.input.json).toEqual({ type: 'object', properties: { page: { type: 'number', default: 1 } } })
    expect(made.output?.json).toMatchObject({ type: 'object', required: ['page'], additionalProperties: false })
    expect(tool({ ...base, input: mini.object({ id: mini.string() }) }).input.json).toMatchObject({ required: ['id'] })
    expect(tool(base).input.json).toEqual({ type: 'object', properties: {} })
    const either = z.discriminatedUnion('by', [z.object({ by: z.literal('id') }), z.object({ by: z.literal('name') })])
    expect(tool({ ...base, input: either }).input.json).toMatchObject({ type: 'object', oneOf: [{}, {}] })
  })

  it('keeps the raw JSON Schema that it was given, whatever happens to it later', () => {
    const schema = { type: 'object', properties: { id: { type: 'string' } } }
    const made = tool({ ...base, input: schema })
    schema.properties.id.type = 'number'
    expect(made.input.json).toEqual({ type: 'object', properties: { id: { type: 'string' } } })
  })

  it.each<[string, object, RegExp]>([
    ['a name with spaces', { name: 'search rooms' }, /^A tool's name is 1 to 64 letters.+"search rooms"/],
    ['a name of 65 characters', { name: 'x'.repeat(65) }, /1 to 64/],
    ['no name', { name: undefined }, /1 to 64/],
    ['no description', { description: ' ' }, /search_rooms needs a description/],
    ['an empty title', { title: '' }, /title/],
    ['no function', { run: undefined }, /run: \(input, context\)/],
    ['a timeout in words', { timeout: '30s' }, /milliseconds/],
    ['no time at all', { timeout: 0 }, /milliseconds/],
    ['two scopes in one string', { scope: 'poppy:read poppy:write' }, /is not a scope/],
    ['an empty scope', { scope: [''] }, /is not a scope/],
    ['no scope at all', { scope: null }, /null is not a scope/],
    ['a scope from a misspelt constant', { scope: undefined }, /scope is undefined/],
    ['a misspelt scope, which would leave it open', { scopes: ['poppy:read'] }, /has no setting `scopes`.*scope,/],
    ['an unknown hint', { annotations: { readOnly: true } }, /readOnlyHint.+not readOnly/],
    ['a schema that is a string', { input: 'object' }, /input is not a schema/],
    ['an input that is no object', { input: z.string() }, /input must be an object/],
    ['a schema that JSON has no words for', { input: z.object({ at: z.date() }) }, /can't be written as JSON Schema/],
    ['raw JSON Schema that is no object', { input: { type: 'array' } }, /input must be an object/],
    ['a misspelt keyword', { input: { type: 'object', propertis: {} } }, /not valid JSON Schema.+propertis/],
    ['another dialect', { input: { $schema: 'http://json-schema.org/draft-04/schema#' } }, /2020-12/],
    [
      'a schema that is mute',
      { input: { '~standard': { version: 1, vendor: 'x', validate: () => ({ value: 1 }) } } },
      /can't give JSON Schema/,
    ],
  ])('refuses %s at once, in a sentence that says what to write', (_, wrong, sentence) => {
    const define = () => tool({ ...base, ...wrong } as typeof base)
    expect(define).toThrow(ConfigurationError)
    expect(define).toThrow(sentence)
  })
})
