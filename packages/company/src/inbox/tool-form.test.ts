import { describe, expect, it } from 'vitest'
import { z } from 'zod'
import { compileSchema } from '../tools/schema.ts'
import { besideForm, enteredInput, readInput, toolFields } from './tool-form.ts'

const schemaOf = (schema: z.ZodType) => compileSchema(schema, 'input', 'here').json

const stay = schemaOf(
  z.object({
    room: z.string().meta({ title: 'Room number', description: 'As on its door' }),
    from: z.iso.date(),
    arrives_at: z.iso.datetime().optional(),
    nights: z.int().default(1),
    hasBreakfast: z.boolean().optional(),
    view: z.enum(['sea', 'garden']).nullable().optional(),
    beds: z.union([z.literal(1), z.literal(2)]),
    guests: z.array(z.string()).optional(),
    ages: z.array(z.number()).optional(),
    wishes: z.string().max(2000).optional(),
  }),
)

const read = (sent: Readonly<Record<string, string | readonly string[]>>, schema = stay) =>
  readInput(schema, {
    json: typeof sent.json === 'string' ? sent.json : undefined,
    valuesOf: (name) => (Object.hasOwn(sent, name) ? [sent[name] ?? []].flat() : []),
  })

describe('a tool as a form', () => {
  it('has a field for each member, with what a person is told of it', () => {
    expect(toolFields(stay)?.map(({ name, kind, isNeeded }) => [name, kind, isNeeded])).toEqual([
      ['room', 'text', true],
      ['from', 'date', true],
      ['arrives_at', 'date-time', false],
      ['nights', 'number', false],
      ['hasBreakfast', 'yes-no', false],
      ['view', 'choice', false],
      ['beds', 'choice', true],
      ['guests', 'list', false],
      ['ages', 'list', false],
      ['wishes', 'long-text', false],
    ])
    expect(toolFields(stay)?.[0]).toMatchObject({ label: 'Room number', hint: 'As on its door', standard: null })
    expect(toolFields(stay)?.[3]).toMatchObject({ label: 'Nights', standard: '1' })
    expect(toolFields(stay)?.[5]).toMatchObject({ choices: ['sea', 'garden'] })
  })

  it('is sent as the input that it stands for, and what is left empty is left out', () => {
    const input = {
      room: '12',
      from: '2027-03-05',
      arrives_at: '2027-03-05T14:30',
      nights: '3',
      hasBreakfast: 'true',
      view: 'sea',
      beds: '2',
      guests: 'Maya\r\n\r\n Otto \n',
      ages: '34\n36',
      wishes: 'A quiet one,\r\nplease.',
    }
    const wanted = {
      room: '12',
      from: '2027-03-05',
      arrives_at: '2027-03-05T14:30:00Z',
      nights: 3,
      hasBreakfast: true,
      view: 'sea',
      beds: 2,
      guests: ['Maya', 'Otto'],
      ages: [34, 36],
      wishes: 'A quiet one,\nplease.',
    }
    expect(read(input)).toEqual({ input: wanted })
    expect(read({ room: '12', from: ' ', nights: '', guests: '' })).toEqual({ input: { room: '12' } })
    expect(enteredInput(stay, wanted)).toMatchObject({ nights: '3', hasBreakfast: 'true', guests: 'Maya\nOtto' })
    expect(enteredInput(stay, wanted)).not.toHaveProperty('json')
  })

  it.each([
    ['no number', { nights: 'three' }, 'Nights'],
    ['endless', { nights: '9e999' }, 'Nights'],
    ['hexadecimal', { nights: '0x10' }, 'Nights'],
    ['neither yes nor no', { hasBreakfast: 'perhaps' }, 'Has Breakfast'],
    ['none of the choices', { view: 'street' }, 'View'],
    ['twice', { room: ['12', '13'] }, 'Room number'],
    ['no number in a list', { ages: '34\nold' }, 'Ages'],
  ])('says which field it could not read: %s', (_, sent, field) => {
    expect(read(sent)).toEqual({ field })
  })

  it('is JSON where its input is too deep, has any members, or very many', () => {
    const deep = schemaOf(z.object({ guest: z.object({ name: z.string() }) }))
    const any = schemaOf(z.record(z.string(), z.string()))
    const many = schemaOf(z.object(Object.fromEntries(Array.from({ length: 31 }, (_, n) => [`m${n}`, z.string()]))))
    const mixed = schemaOf(z.object({ either: z.union([z.string(), z.number()]) }))
    const named = { type: 'object', properties: { guest: { $ref: '#/$defs/guest' } }, $defs: { guest: {} } }
    for (const schema of [deep, any, many, mixed, named, {}, { type: 'string' }]) expect(toolFields(schema)).toBeNull()
    expect(read({ json: '{"guest":{"name":"Maya"}}' }, deep)).toEqual({ input: { guest: { name: 'Maya' } } })
    expect(enteredInput(deep, { guest: { name: 'Maya' } })).toEqual({
      json: '{\n  "guest": {\n    "name": "Maya"\n  }\n}',
    })
    for (const json of ['{', '[]', '"text"', '{"a":1,"a":2}', `${'['.repeat(100)}${']'.repeat(100)}`])
      expect(read({ json }, deep)).toEqual({ field: null })
  })

  it('keeps what of an input it has no field for', () => {
    expect(besideForm(stay, { room: '12', tariff: { code: 'B' } })).toEqual({ tariff: { code: 'B' } })
    expect(besideForm(stay, null)).toEqual({})
  })

  it('is not taken in by names that objects have of themselves', () => {
    const hostile = JSON.parse(
      '{"type":"object","properties":{"__proto__":{"type":"string"},"constructor":{"type":"number"}}}',
    ) as Record<string, unknown>
    expect(toolFields(hostile)?.map(({ name }) => name)).toEqual(['__proto__', 'constructor'])
    const result = read(
      Object.fromEntries([
        ['__proto__', 'x'],
        ['constructor', '1'],
      ]),
      hostile,
    )
    expect('input' in result && Object.keys(result.input)).toEqual(['__proto__', 'constructor'])
    expect(Object.getPrototypeOf('input' in result ? result.input : null)).toBe(Object.prototype)
  })
})
