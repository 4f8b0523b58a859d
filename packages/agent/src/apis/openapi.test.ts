import { describe, expect, it } from 'vitest'
import { readOperations } from './openapi.ts'

const url = 'https://miramar.example/openapi.json'
const seven = (operation: object) =>
  Object.fromEntries(
    ['get', 'put', 'post', 'delete', 'patch', 'head', 'options'].map((method) => [method, { ...operation }]),
  )
const sevenThousand = Object.fromEntries(Array.from({ length: 1000 }, (_, at) => [`/a${at}`, { $ref: '#/item' }]))
const flood = (length: number, make: (at: number) => unknown = () => ({})) =>
  Array.from({ length }, (_, at) => make(at))
const members = (length: number) => Object.fromEntries(Array.from({ length }, (_, at) => [`application/x${at}`, []]))

describe('a document that refers to one large thing thousands of times', () => {
  // Without the bounds each of these takes minutes or all memory: the test's own time limit is the measure.
  it.each<[string, object]>([
    [
      'parameters',
      { item: { ...seven({}), parameters: flood(50_000, (at) => ({ in: 'query', name: `p${at}`, schema: {} })) } },
    ],
    ['descriptions', { item: seven({ description: 'a\u200b'.repeat(1_000_000), summary: 'b'.repeat(1_000_000) }) }],
    ['alternatives of rights', { item: seven({}), security: flood(300_000) }],
    ['rights', { item: seven({}), security: [{ poppy: flood(300_000, (at) => `s${at}`) }] }],
    ['names of rights', { item: seven({}), security: [members(100_000)] }],
    ['bodies', { item: seven({ requestBody: { $ref: '#/body' } }), body: { content: members(100_000) } }],
    ['references', { item: { ...seven({}), parameters: [{ $ref: `#/${'a/'.repeat(1_000_000)}` }] } }],
    [
      'addresses',
      {
        item: seven({}),
        servers: [{ url: '{a}'.repeat(600), variables: { a: { default: 'y'.repeat(1_000_000) } } }],
      },
    ],
  ])('is read in bounds: %s', (_, parts) => {
    const operations = readOperations({ openapi: '3.1.0', ...parts, paths: sevenThousand }, url)
    expect(operations.length).toBeLessThanOrEqual(2000)
    for (const { description, parameters, body } of operations.slice(0, 20)) {
      expect(description?.length ?? 0).toBeLessThanOrEqual(10_000)
      expect(parameters.length).toBeLessThanOrEqual(200)
      expect(body?.contentType.length ?? 0).toBeLessThanOrEqual(200)
    }
  })
})
