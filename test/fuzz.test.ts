import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { authorizationQuery, openForm } from './setup/consent.ts'
import { type FormRequest, formRequests, type Stage, setStage } from './setup/refusals.ts'

/** Anything at the endpoints that strangers reach: nothing falls over, and what is refused changes nothing. */

const origin = 'https://miramar.example'
// Each of three stories: a few hundred inputs, or a hundred thousand.
const runs = process.env.LONG ? 34_000 : 120
/** A new Company now and then, so that its tables stay small. */
const runsOfOneStage = 500

const oddText = fc.oneof(
  fc.constantFrom('', ' ', '\0', '\ud800', '\u202e', '💥', '__proto__', 'constructor', 'null', '[]', '{"a":1}'),
  fc.constantFrom("'; drop table poppy_sessions; --", '%', '%00', '../../x', '\r\nset-cookie: a=b', 'a'.repeat(5000)),
  fc.constantFrom('poppy:read', 'poppy:read poppy:write', 'loyalty', 'poppy:admin', 'S256', 'plain', 'code', 'token'),
  fc.constantFrom(`${origin}/poppy/mcp`, `${origin}/poppy/openapi.json`, 'https://evil.test', 'javascript:alert(1)'),
  fc.constantFrom('eyJhbGciOiJub25lIn0.e30.', 'eyJhbGciOiJub25lIn0.e30.x', '..', '....', 'a.b.c', 'a.b.c.d.e'),
  fc.string({ unit: 'binary', maxLength: 40 }),
)
const names = [
  ...['grant_type', 'assertion', 'client_id', 'client_assertion', 'client_assertion_type', 'session_id', 'scope'],
  ...['resource', 'code', 'redirect_uri', 'code_verifier', 'refresh_token', 'token', 'token_type_hint', 'x'],
  ...['response_type', 'state', 'code_challenge', 'code_challenge_method', 'request', 'decision', 'client_secret'],
]
/** One thing done to a list of parameters. */
const change = fc.oneof(
  fc.record({ do: fc.constant('set' as const), name: fc.constantFrom(...names), value: oddText }),
  fc.record({ do: fc.constant('add' as const), name: fc.oneof(fc.constantFrom(...names), oddText), value: oddText }),
  fc.record({ do: fc.constant('drop' as const), name: fc.constantFrom(...names) }),
  fc.record({ do: fc.constant('double' as const), name: fc.constantFrom(...names) }),
  fc.record({ do: fc.constant('swap' as const), name: fc.constantFrom(...names), other: fc.constantFrom(...names) }),
  fc.record({ do: fc.constant('cut' as const), name: fc.constantFrom(...names), at: fc.nat(400) }),
)
type Change = typeof change extends fc.Arbitrary<infer T> ? T : never

function apply(parameters: URLSearchParams, changes: readonly Change[]): URLSearchParams {
  for (const one of changes) {
    const value = parameters.get(one.name) ?? ''
    switch (one.do) {
      case 'set':
        parameters.set(one.name, one.value)
        break
      case 'add':
        parameters.append(one.name, one.value)
        break
      case 'drop':
        parameters.delete(one.name)
        break
      case 'double':
        parameters.append(one.name, value)
        break
      case 'swap':
        parameters.set(one.name, parameters.get(one.other) ?? '')
        parameters.set(one.other, value)
        break
      case 'cut':
        parameters.set(one.name, value.slice(0, one.at) + value.slice(one.at + 1))
        break
    }
  }
  return parameters
}

const header = fc.oneof(
  { weight: 8, arbitrary: fc.constant(undefined) },
  { weight: 1, arbitrary: fc.constant(null) },
  { weight: 1, arbitrary: fc.string({ unit: 'grapheme-ascii', maxLength: 60 }).map((text) => text.trim()) },
)
const contentType = fc.oneof(
  { weight: 9, arbitrary: fc.constant('application/x-www-form-urlencoded') },
  {
    weight: 1,
    arbitrary: fc.constantFrom('', 'application/json', 'text/plain', 'multipart/form-data; boundary=x', ';', 'x'),
  },
)

/** Runs a property at one stage after another. */
async function atStages(property: (stage: Stage) => fc.IAsyncPropertyWithHooks<never>): Promise<void> {
  for (let left = runs; left > 0; left -= runsOfOneStage) {
    const stage = await setStage()
    await fc.assert(property(stage), { numRuns: Math.min(left, runsOfOneStage) })
    expect(stage.world.log.filter((line) => line.startsWith('error'))).toEqual([])
  }
}

const long = process.env.LONG ? 1_800_000 : 15_000

describe('whatever is sent', () => {
  it('to the token and revocation endpoints is answered, and changes nothing when it is refused [4.2.error-body]', {
    timeout: long,
  }, async () => {
    await atStages(
      (stage) =>
        fc.asyncProperty(
          fc.constantFrom(...formRequests),
          fc.array(change, { minLength: 1, maxLength: 4 }),
          header,
          contentType,
          async (request: FormRequest, changes, proof, type) => {
            const right = await stage.right(request)
            // A code that is presented may be spent, and a token that is revoked is: those have tests of their own.
            if (request === 'a code') right.code = 'made-up'
            if (request === 'a revocation') right.token = 'pat_made-up'
            const body = String(apply(new URLSearchParams(right), changes))
            const before = await stage.store.dump()
            const answer = await stage.post(request, body, {
              headers: { 'content-type': type },
              ...(proof === undefined ? {} : { proof }),
            })
            const text = await answer.text()
            expect([200, 400, 401]).toContain(answer.status)
            if (answer.status === 200) return
            expect(JSON.parse(text)).toMatchObject({ error: expect.stringMatching(/^[a-z_]+$/) })
            expect(answer.headers.get('cache-control')).toBe('no-store')
            expect(await stage.store.dump()).toEqual(before)
          },
        ) as never,
    )
  })

  it('to the authorization endpoint is a page or a redirect to the agent with iss, and changes nothing until a person decides [4.5.redirect-uri-exact]', {
    timeout: long,
  }, async () => {
    await atStages(
      ({ world, store }) =>
        fc.asyncProperty(fc.array(change, { minLength: 1, maxLength: 4 }), async (changes) => {
          const query = apply(authorizationQuery(world.agent), changes)
          const before = await store.dump()
          const answer = await world.send(new Request(`${origin}/poppy/authorize?${query}`))
          const location = answer.headers.get('location')
          expect([200, 303, 400]).toContain(answer.status)
          if (location !== null) {
            expect(location.startsWith(`${world.agent.redirectUri}?`)).toBe(true)
            expect(new URL(location).searchParams.getAll('iss')).toEqual([origin])
            expect(new URL(location).searchParams.has('code')).toBe(false)
          }
          const text = await answer.text()
          expect(text).not.toMatch(/<script|<img|onerror=|javascript:/i)
          for (const [, target] of text.matchAll(/(?:href|src|action)="([^"]*)"/g))
            expect(target).toMatch(/^(?:https:\/\/miramar\.example)?\/(?:poppy\/authorize$|login\?)/)
          expect(await store.dump()).toEqual(before)
        }) as never,
    )
  })

  it('as a person’s decision gives a code only for a form that we sealed, for what was ticked on it [4.4.grant-at-most]', {
    timeout: long,
  }, async () => {
    await atStages((stage) => {
      const { world, store } = stage
      return fc.asyncProperty(
        fc.array(change, { minLength: 1, maxLength: 3 }),
        fc.array(oddText, { maxLength: 3 }),
        contentType,
        async (changes, scopes, type) => {
          const form = await openForm(world)
          const fields = new URLSearchParams({ request: form, decision: 'approve' })
          for (const scope of scopes) fields.append('scope', scope)
          apply(fields, changes)
          const before = (await store.dump()) as { codes: { code_hash: string }[] }
          const answer = await world.send(
            new Request(`${origin}/poppy/authorize`, {
              method: 'POST',
              body: String(fields),
              headers: { origin, 'content-type': type },
            }),
          )
          expect([303, 400]).toContain(answer.status)
          const after = (await store.dump()) as { codes: { code_hash: string; scopes: string }[] }
          const location = answer.headers.get('location')
          if (location === null || !new URL(location).searchParams.has('code')) {
            expect(after).toEqual(before)
            return
          }
          expect(location.startsWith(`${world.agent.redirectUri}?`)).toBe(true)
          const known = new Set(before.codes.map(({ code_hash }) => code_hash))
          const [made] = after.codes.filter(({ code_hash }) => !known.has(code_hash))
          const ticked = fields.getAll('scope')
          expect(made?.scopes.split(' ').every((scope) => ticked.includes(scope) && scope !== 'loyalty')).toBe(true)
        },
      ) as never
    })
  })
})
