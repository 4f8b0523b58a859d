import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { authorizationQuery, openForm } from './setup/consent.ts'
import { apply, type budgets, change, contentType, header, inputs, oddText, patience } from './setup/fuzz.ts'
import { type FormRequest, formRequests, type Stage, setStage } from './setup/refusals.ts'

/** Anything at the endpoints that strangers reach: nothing falls over, and what is refused changes nothing. */

const origin = 'https://miramar.example'
/** A new Company now and then, so that its tables stay small. */
const runsOfOneStage = 500

/** Runs a property at one stage after another. */
async function atStages(
  group: keyof typeof budgets,
  property: (stage: Stage) => fc.IAsyncPropertyWithHooks<never>,
): Promise<void> {
  for (let left = inputs(group); left > 0; left -= runsOfOneStage) {
    const stage = await setStage()
    await fc.assert(property(stage), {
      numRuns: Math.min(left, runsOfOneStage),
      timeout: patience.input,
    })
    expect(stage.world.log.filter((line) => line.startsWith('error'))).toEqual([])
  }
}

describe('whatever is sent', () => {
  it('to the token and revocation endpoints is answered, and changes nothing when it is refused [4.2.error-body]', {
    timeout: patience.group,
  }, async () => {
    await atStages(
      'tokens',
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
    timeout: patience.group,
  }, async () => {
    await atStages(
      'authorization',
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
            expect(target).toMatch(/^(?:https:\/\/miramar\.example)?\/(?:poppy\/(?:authorize|agents)$|login\?)/)
          expect(await store.dump()).toEqual(before)
        }) as never,
    )
  })

  it('as a person’s decision gives a code only for a form that we sealed, for what was ticked on it [4.4.grant-at-most]', {
    timeout: patience.group,
  }, async () => {
    await atStages('decisions', (stage) => {
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
