import { errorRow, isErrorCode } from '@poppyseed/protocol'
import { Validator } from '@seriousme/openapi-schema-validator'
import { describe, expect, it } from 'vitest'
import { z } from 'zod'
import { tool } from '../tools/tool.ts'
import { writeOpenApi } from './openapi.ts'

interface Node {
  readonly name: string
  readonly inside: readonly Node[]
}
const node: z.ZodType<Node> = z.object({ name: z.string(), inside: z.lazy(() => z.array(node)) })

const tools = [
  tool({
    name: 'search_rooms',
    title: 'Search rooms',
    description: 'Rooms that are free.',
    input: z.object({ guests: z.number().int().min(1), from: z.iso.date().optional() }),
    output: z.object({ rooms: z.array(z.string()) }),
    run: () => ({ rooms: [] }),
  }),
  tool({ name: 'add_note', description: 'Adds a note.', scope: ['poppy:write', 'loyalty'], run: () => null }),
  tool({
    name: 'floor_plan',
    description: 'What is in what.',
    input: {
      type: 'object',
      properties: { default: { $ref: '#/$defs/id' }, like: { const: { $ref: '#' } } },
      $defs: { id: { type: 'string' } },
    },
    output: node,
    run: () => ({ name: 'hotel', inside: [] }),
  }),
]

const document = writeOpenApi({
  info: { title: 'Hotel Miramar', version: '1.0.0' },
  server: 'https://miramar.example',
  tools,
  scopeTexts: { 'poppy:write': 'Change your bookings', loyalty: 'See your points' },
})

describe('the OpenAPI document', () => {
  it('is one that a validator accepts, with references that lead somewhere', async () => {
    const validator = new Validator()
    // What is checked is what travels; the validator changes what it is given.
    expect(await validator.validate(JSON.parse(JSON.stringify(document)))).toEqual({ valid: true })
    expect(validator.version).toBe('3.1')
    const references = [...JSON.stringify(document).matchAll(/"\$ref":"(#\/[^"]*)"/g)].map((match) => match[1] ?? '')
    expect(references.length).toBeGreaterThan(10)
    for (const reference of references) expect(at(reference), reference).toBeDefined()
  })

  it('has a POST for each tool, with its schemas', () => {
    expect(document).toMatchObject({ openapi: '3.1.0', servers: [{ url: 'https://miramar.example' }] })
    expect(at('#/paths/~1poppy~1tools~1search_rooms/post')).toMatchObject({
      operationId: 'search_rooms',
      summary: 'Search rooms',
      requestBody: {
        required: true,
        content: { 'application/json': { schema: { type: 'object', required: ['guests'] } } },
      },
      responses: { 200: { content: { 'application/json': { schema: { required: ['rooms'] } } } } },
    })
  })

  it('says what each tool needs, for programs and in words', () => {
    expect(at('#/components/securitySchemes/DPoP')).toMatchObject({ type: 'http', scheme: 'DPoP' })
    expect(at('#/paths/~1poppy~1tools~1search_rooms/post')).toMatchObject({
      security: [{ DPoP: [] }],
      description: 'Rooms that are free.\n\nNeeds a Session Token, but no sign-in.',
    })
    expect(at('#/paths/~1poppy~1tools~1add_note/post')).toMatchObject({
      security: [{ DPoP: ['poppy:write', 'loyalty'] }],
      description: expect.stringContaining('poppy:write loyalty (“Change your bookings”, “See your points”)'),
      requestBody: { required: false },
      responses: { 200: { content: { 'application/json': { schema: {} } } } },
    })
  })

  it('lets a schema refer to itself, and leaves values alone that look like references', () => {
    const { schema } = at('#/paths/~1poppy~1tools~1floor_plan/post/requestBody/content/application~1json') as {
      schema: object
    }
    expect(schema).toEqual({ $ref: '#/components/schemas/floor_plan.input' })
    expect(at('#/components/schemas/floor_plan.input')).toMatchObject({
      properties: {
        default: { $ref: '#/components/schemas/floor_plan.input/$defs/id' },
        like: { const: { $ref: '#' } },
      },
    })
    expect(JSON.stringify(at('#/components/schemas/floor_plan.output'))).toContain(
      '"$ref":"#/components/schemas/floor_plan.output',
    )
  })

  it('gives every error the status of the error table', () => {
    const { responses } = at('#/paths/~1poppy~1tools~1add_note/post') as {
      responses: Record<string, { $ref?: string }>
    }
    expect(Object.keys(responses)).toEqual([
      '200',
      '400',
      '401',
      '403',
      '404',
      '413',
      '415',
      '422',
      '429',
      '500',
      '503',
      '504',
    ])
    for (const [status, { $ref }] of Object.entries(responses)) {
      if ($ref === undefined) continue
      const codes = [...JSON.stringify(at($ref)).matchAll(/`(\w+)`/g)].map((match) => match[1] ?? '')
      expect(codes.length).toBeGreaterThan(0)
      for (const code of codes) expect(isErrorCode(code) && errorRow(code).status, code).toBe(Number(status))
    }
  })
})

function at(pointer: string): unknown {
  const keys = pointer
    .split('/')
    .slice(1)
    .map((key) => key.replaceAll('~1', '/').replaceAll('~0', '~'))
  return keys.reduce<unknown>((value, key) => (value as Record<string, unknown> | undefined)?.[key], document)
}
