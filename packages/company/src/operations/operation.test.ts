import { describe, expect, expectTypeOf, it } from 'vitest'
import { z } from 'zod'
import { ConfigurationError } from '../configuration-error.ts'
import { tool } from '../tools/tool.ts'
import type { OperationDefinition } from './operation.ts'
import { isOperation, operation } from './operation.ts'
import { succeeded } from './outcome.ts'
import { checkProposal, inputToJson } from './proposal.ts'

const least = {
  name: 'book',
  description: 'Books a room.',
  propose: () => ({ summary: 'A room.' }),
  perform: () => succeeded(),
}

describe('an operation', () => {
  it('has what was left out as the usual', () => {
    expect(operation(least)).toMatchObject({
      name: 'book',
      scopes: [],
      approval: 'user',
      expiresIn: 900_000,
      timeout: 30_000,
      performTimeout: 60_000,
      repeatable: false,
      identity: undefined,
      reconcile: undefined,
      cancel: undefined,
    })
    expect(isOperation(operation(least))).toBe(true)
    expect(isOperation({ ...operation(least) })).toBe(false)
    expect(isOperation(tool({ name: 'a', description: 'b', run: () => 1 }))).toBe(false)
  })

  it.each<[string, unknown, RegExp]>([
    ['nothing', undefined, /An operation is written operation\(\{/],
    ['no name', { ...least, name: undefined }, /1 to 64 letters/],
    ['a name with a space', { ...least, name: 'book room' }, /1 to 64 letters/],
    ['a misspelt member', { ...least, reconsile: () => null }, /no setting `reconsile`.*reconcile/],
    ['an undefined scope', { ...least, scope: undefined }, /scope is undefined/],
    ['no description', { ...least, description: ' ' }, /needs a description/],
    ['an empty title', { ...least, title: '' }, /title must be/],
    ['another approval', { ...least, approval: 'nobody' }, /'user', 'standing_permission' or 'page'/],
    ['a page without an account', { ...least, approval: 'page' }, /so it needs a scope/],
    ['no time', { ...least, expiresIn: 0 }, /expiresIn is in seconds/],
    ['half a second', { ...least, expiresIn: 0.5 }, /expiresIn is in seconds/],
    ['a hundred days', { ...least, expiresIn: 100 * 86_400 }, /expiresIn is in seconds/],
    ['a timeout of nothing', { ...least, timeout: 0 }, /timeout is in milliseconds/],
    ['an hour for perform', { ...least, performTimeout: 3_600_000 }, /performTimeout is in milliseconds/],
    ['repeatable in words', { ...least, repeatable: 'yes' }, /repeatable is true or false/],
    ['no propose', { ...least, propose: undefined }, /works out the terms/],
    ['no perform', { ...least, perform: undefined }, /a function that does it/],
    ['identity as a text', { ...least, identity: 'booking' }, /identity is a function/],
    ['cancel as a text', { ...least, cancel: 'no' }, /cancel is a function/],
    ['a list as input', { ...least, input: z.array(z.string()) }, /input must be an object/],
    ['a scope that is none', { ...least, scope: 'a b' }, /is not a scope/],
    ['an extension that is none', { ...least, extension: 'operations' }, /is not an extension/],
  ])('with %s is refused at once, in a sentence that says what to write', (_, definition, says) => {
    const make = () => operation(definition as typeof least)
    expect(make).toThrow(ConfigurationError)
    expect(make).toThrow(says)
  })

  it('has the types of its input, terms and data from propose to perform', () => {
    operation({
      name: 'book',
      description: 'Books a room.',
      input: z.object({ nights: z.int() }),
      scope: 'poppy:write',
      propose: ({ nights }, { principal }) => {
        expectTypeOf(nights).toEqualTypeOf<number>()
        expectTypeOf(principal.account).toEqualTypeOf<string>()
        return { summary: 'A room.', terms: { price: '1.00' }, data: { rate: 7 } }
      },
      perform: ({ input, terms, data }) => {
        expectTypeOf(input).toEqualTypeOf<{ nights: number }>()
        expectTypeOf(terms).toEqualTypeOf<{ price: string }>()
        expectTypeOf(data).toEqualTypeOf<{ rate: number }>()
        return succeeded()
      },
      reconcile: ({ terms }) => {
        expectTypeOf(terms.price).toEqualTypeOf<string>()
        return succeeded()
      },
    })
    const made = operation({
      name: 'call',
      description: 'Calls back.',
      propose: (_input, { principal }) => {
        expectTypeOf(principal.account).toEqualTypeOf<string | null>()
        return { summary: 'A call.' }
      },
      perform: ({ terms, data }) => {
        expectTypeOf(terms).toEqualTypeOf<null>()
        expectTypeOf(data).toEqualTypeOf<null>()
        return succeeded()
      },
    })
    expectTypeOf<OperationDefinition<undefined>['approval']>().toEqualTypeOf<
      'user' | 'standing_permission' | 'page' | undefined
    >()
    // The types are judged by the type check; what is left out stands for what the documents say.
    expect([made.scopes, made.approval, made.expiresIn, made.repeatable]).toEqual([[], 'user', 900_000, false])
  })
})

describe('a proposal', () => {
  const check = (proposal: unknown) => checkProposal(proposal, { operation: operation(least), now: 1000 })
  class Room {}

  it('is kept as JSON, with the operation’s own approval and time where it says nothing', () => {
    expect(check({ summary: 'A room.' })).toEqual({
      summary: 'A room.',
      terms: null,
      data: undefined,
      approval: 'user',
      expiresAt: 901_000,
    })
    const whole = { summary: 'A', terms: { a: [1, { b: null }] }, data: 'x', approval: 'page', expiresIn: 1 }
    expect(check(whole)).toEqual({
      summary: 'A',
      terms: '{"a":[1,{"b":null}]}',
      data: '"x"',
      approval: 'page',
      expiresAt: 2000,
    })
    // As good as not there.
    expect(check({ summary: 'A', terms: { a: 1, b: undefined } }).terms).toBe('{"a":1}')
  })

  it.each<[string, unknown, RegExp]>([
    ['nothing', undefined, /is written \{ summary/],
    ['a list', [], /is written \{ summary/],
    ['a text', 'A room.', /is written \{ summary/],
    ['a misspelt member', { summary: 'A', term: {} }, /has no `term`/],
    ['no summary', { terms: {} }, /needs a summary/],
    ['an empty summary', { summary: ' \n' }, /needs a summary/],
    ['a summary as a number', { summary: 7 }, /needs a summary/],
    ['an endless summary', { summary: 'a'.repeat(4001) }, /over 4000/],
    ['half a character', { summary: 'A \ud83c' }, /characters that are none/],
    ['a NUL', { summary: 'A\0' }, /characters that are none/],
    ['terms as a list', { summary: 'A', terms: [] }, /terms is an object/],
    ['a Date in terms', { summary: 'A', terms: { at: new Date() } }, /such as a Date/],
    ['NaN in terms', { summary: 'A', terms: { price: Number.NaN } }, /JSON would change/],
    ['minus nothing', { summary: 'A', terms: { price: -0 } }, /JSON would change/],
    ['a bigint', { summary: 'A', terms: { price: 1n } }, /JSON would change/],
    ['a function', { summary: 'A', terms: { price: () => 1 } }, /JSON would change/],
    ['undefined in a list', { summary: 'A', terms: { rooms: [undefined] } }, /JSON would change/],
    ['a list with holes', { summary: 'A', terms: { rooms: new Array(2) } }, /JSON would change/],
    ['an object of a class', { summary: 'A', terms: { room: new Room() } }, /JSON would change/],
    ['a Map', { summary: 'A', terms: { room: new Map() } }, /JSON would change/],
    ['a prototype', { summary: 'A', terms: JSON.parse('{"__proto__":{"a":1}}') as object }, /JSON would change/],
    ['terms that are too deep', { summary: 'A', terms: deep(17) }, /JSON would change/],
    ['terms that are too long', { summary: 'A', terms: { a: 'a'.repeat(33_000) } }, /longer than 32768/],
    ['an endless name', { summary: 'A', terms: { ['a'.repeat(201)]: 1 } }, /a name in terms/],
    ['a Date in data', { summary: 'A', data: new Date() }, /data has something/],
    ['endless data', { summary: 'A', data: 'a'.repeat(70_000) }, /longer than 65536/],
    ['another approval', { summary: 'A', approval: 'nobody' }, /approval is/],
    ['no time', { summary: 'A', expiresIn: 0 }, /whole number of seconds/],
    ['half a second', { summary: 'A', expiresIn: 0.5 }, /whole number of seconds/],
    ['a time in words', { summary: 'A', expiresIn: '900' }, /whole number of seconds/],
  ])('with %s is refused', (_, proposal, says) => {
    expect(() => check(proposal)).toThrow(says)
  })

  it('goes on with an input that perform gets as propose got it, or not at all', () => {
    expect(inputToJson({ from: '2026-12-01' }, { name: 'book' })).toBe('{"from":"2026-12-01"}')
    expect(() => inputToJson({ from: new Date() }, { name: 'book' })).toThrow(/input of book.*such as a Date/)
  })
})

function deep(levels: number): object {
  return levels === 0 ? {} : { a: deep(levels - 1) }
}
