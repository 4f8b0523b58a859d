import { describe, expect, it } from 'vitest'
import { errorOf, startVisit } from '../../test/visit.ts'

/** A Company whose OpenAPI document lists the address where operations are confirmed. */
async function visit(stated: (origin: string) => unknown) {
  const started = await startVisit()
  const { fake } = started
  fake.switches.poppy = (document) => ({ ...document, extensions: { operations: stated(fake.origin) } })
  fake.switches.openapi = (document) => ({
    ...document,
    servers: [{ url: '/' }],
    paths: {
      '/operations/{id}/confirm': {
        post: {
          operationId: 'confirm_it',
          parameters: [{ name: 'id', in: 'path', required: true, schema: { type: 'string' } }],
          requestBody: { content: { 'application/json': { schema: { type: 'object' } } } },
        },
      },
    },
  })
  return { ...started, here: await started.session() }
}

describe('the operations endpoint', () => {
  it('is no tool, even where a Company lists it as one: only the owner’s way confirms [ops.approve-revision-agent]', async () => {
    const { here, fake } = await visit((origin) => ({ version: '1', endpoint: `${origin}/operations/` }))
    const error = await errorOf(here.call('confirm_it', { id: 'opn_1', revision: 1, approved_by: 'user' }))
    expect([error.code, error.action]).toEqual(['approval_required', 'ask_owner'])
    const [tool] = (await here.tools({ onUnavailable: () => {} })).filter(({ name }) => name === 'confirm_it')
    expect((await errorOf(tool?.call({ id: 'opn_1' }) ?? Promise.resolve())).code).toBe('approval_required')
    expect(fake.requests.filter(({ path }) => path.startsWith('/operations'))).toEqual([])
  })

  it.each([
    ['another version', () => ({ version: '2', endpoint: 'https://company.example/operations' })],
    ['a version that is no text', () => ({ version: 1, endpoint: 'https://company.example/operations' })],
    ['half a version', () => ({ version: '1.0', endpoint: 'https://company.example/operations' })],
    ['no endpoint', () => ({ version: '1' })],
    ['plain HTTP', () => ({ version: '1', endpoint: 'http://company.example/operations' })],
    ['a query', () => ({ version: '1', endpoint: 'https://company.example/operations?a=b' })],
    ['a fragment', () => ({ version: '1', endpoint: 'https://company.example/operations#a' })],
    ['a name and password', () => ({ version: '1', endpoint: 'https://a:b@company.example/operations' })],
    ['a script', () => ({ version: '1', endpoint: 'javascript:alert(1)' })],
    ['a resource that is none', () => ({ version: '1', endpoint: 'https://company.example/o', resource: 7 })],
    ['a text in its place', () => '1'],
  ])('with %s is as if there were none [ops.other-version-agent]', async (_name, stated) => {
    const { here } = await visit(stated)
    expect((await errorOf(here.operations.read('opn_1'))).code).toBe('operations_unavailable')
    const proposal = { operation: { operation_id: 'opn_1', revision: 1, state: 'proposed', summary: 'A room.' } }
    expect(await here.operations.of(proposal)).toBeUndefined()
  })
})
