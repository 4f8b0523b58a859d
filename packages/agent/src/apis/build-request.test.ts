import { describe, expect, it } from 'vitest'
import { AgentError } from '../errors.ts'
import { buildRequest, type CallInput } from './build-request.ts'
import { readOperations } from './openapi.ts'

/** Builds a request for the one operation of a document, as a Company might describe it. */
function build(path: string, operation: object, input: CallInput, method = 'post') {
  const document = { servers: [{ url: '/v1/' }], paths: { [path]: { [method]: operation } } }
  const [read] = readOperations(document, 'https://api.example.com/openapi.json')
  if (!read) throw new Error('it was not read')
  const { url, headers, body } = buildRequest(read, input)
  return { url, type: headers.get('content-type'), body, headers }
}

const query = (name: string, more: object = {}) => ({ parameters: [{ name, in: 'query', ...more }] })
const bodyOf = (...types: readonly string[]) => ({
  requestBody: { content: Object.fromEntries(types.map((type) => [type, {}])) },
})

describe('the parameters of an operation', () => {
  it.each([
    ['a list, exploded', {}, ['a b', 'c&d'], 'x=a%20b&x=c%26d'],
    ['a list with commas', { explode: false }, ['a', 'b,c'], 'x=a,b%2Cc'],
    ['a list with bars', { style: 'pipeDelimited', explode: false }, ['a', 'b'], 'x=a|b'],
    ['a list with spaces', { style: 'spaceDelimited', explode: false }, ['a', 'b'], 'x=a%20b'],
    ['an object, exploded', {}, { a: 1, b: true }, 'a=1&b=true'],
    ['an object in one', { explode: false }, { a: 1, b: 2 }, 'x=a,1,b,2'],
    ['a deep object', { style: 'deepObject' }, { a: 1, b: 'ü' }, 'x%5Ba%5D=1&x%5Bb%5D=%C3%BC'],
    ['a number', {}, 7, 'x=7'],
  ])('stand in the query as %s', (_, more, value, written) => {
    expect(build('/search', query('x', more), { x: value }).url).toBe(`https://api.example.com/v1/search?${written}`)
  })

  it('stand in path and headers, and never where they would be ours', () => {
    const parameters = [
      { name: 'id', in: 'path' },
      { name: 'X-Tags', in: 'header' },
      { name: 'DPoP', in: 'header' },
      { name: 'Cookie', in: 'header' },
    ]
    const input = { id: ['a/b', 'c'], 'X-Tags': ['one', 'two'], DPoP: 'forged', Cookie: 'a=b' }
    const { url, headers } = build('/orders/{id}/items', { parameters }, input)
    expect(url).toBe('https://api.example.com/v1/orders/a%2Fb,c/items')
    expect([headers.get('x-tags'), headers.get('dpop'), headers.get('cookie')]).toEqual(['one,two', null, null])
  })
})

describe('the body of an operation', () => {
  it('is JSON, a form or text, as the document says; JSON before all', () => {
    const input = { name: 'Maya & co', tags: ['a', 'b'], no: null, deep: { a: 1 } }
    for (const type of ['application/json', 'application/vnd.example+json; charset=utf-8']) {
      const { body, ...built } = build('/notes', bodyOf('text/plain', type), input)
      expect([built.type, JSON.parse(body ?? '')]).toEqual([type, input])
    }
    expect(build('/notes', bodyOf('application/x-www-form-urlencoded', 'image/png'), input)).toMatchObject({
      type: 'application/x-www-form-urlencoded',
      body: 'name=Maya+%26+co&tags=a&tags=b&deep=%7B%22a%22%3A1%7D',
    })
    expect(build('/notes', bodyOf('text/plain'), { body: 'Hello & goodbye' })).toMatchObject({
      type: 'text/plain',
      body: 'Hello & goodbye',
    })
  })

  it('is refused in a sentence where it can’t be written', () => {
    for (const [types, input] of [
      [['multipart/form-data'], { file: 'x' }],
      [['text/plain'], { name: 'Maya' }],
      [['application/x-www-form-urlencoded'], { body: ['a'] }],
    ] as const) {
      expect(() => build('/notes', bodyOf(...types), input)).toThrow(AgentError)
      expect(() => build('/notes', bodyOf(...types), input)).toThrow(/takes .+, which can't be sent from here/)
    }
  })
})
