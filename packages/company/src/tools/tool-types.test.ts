import { describe, expectTypeOf, it } from 'vitest'
import type { Company } from '../company.ts'
import type { Principal } from '../sessions/principal.ts'
import { type SignedInPrincipal, tool } from './tool.ts'

const one = { name: 'one', description: 'One.' }

describe('who is calling, to the type checker', () => {
  it('is signed in wherever a tool needs a scope', () => {
    tool({
      ...one,
      scope: 'poppy:read',
      run: (_, { principal }) => expectTypeOf(principal.account).toEqualTypeOf<string>(),
    })
    tool({
      ...one,
      scope: ['a', 'b'],
      run: (_, { principal }) => expectTypeOf(principal.account).toEqualTypeOf<string>(),
    })
  })

  it('may be signed out where it needs none', () => {
    tool({ ...one, run: (_, { principal }) => expectTypeOf(principal).toEqualTypeOf<Principal>() })
    tool({ ...one, scope: [], run: (_, { principal }) => expectTypeOf(principal).toEqualTypeOf<Principal>() })
    const some: readonly string[] = []
    tool({ ...one, scope: some, run: (_, { principal }) => expectTypeOf(principal).toEqualTypeOf<Principal>() })
  })

  it('is told the same way to a site’s own API', () => {
    const ask = (company: Company, request: Request) => ({
      scoped: () => company.authenticate(request, { scope: 'poppy:read' }),
      bare: () => company.authenticate(request),
    })
    expectTypeOf<ReturnType<ReturnType<typeof ask>['scoped']>>().resolves.toEqualTypeOf<SignedInPrincipal | Response>()
    expectTypeOf<ReturnType<ReturnType<typeof ask>['bare']>>().resolves.toEqualTypeOf<Principal | Response>()
  })
})
