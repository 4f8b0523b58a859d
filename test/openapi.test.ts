import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Validator } from '@seriousme/openapi-schema-validator'
import { describe, expect, it, onTestFinished } from 'vitest'
import { startVisitingAgent } from '../examples/hotel/src/agent-server.ts'
import { startHotel } from '../examples/hotel/src/server.ts'
import { seedHotel } from './setup/seeded-hotel.ts'

const timeout = 60_000

interface Operation {
  readonly operationId: string
  readonly description: string
  readonly security: readonly Readonly<Record<string, readonly string[]>>[]
  readonly responses: Readonly<Record<string, unknown>>
}
interface OpenApi {
  readonly openapi: string
  readonly servers: readonly { readonly url: string }[]
  readonly paths: Readonly<Record<string, { readonly post: Operation }>>
}
interface Poppy {
  readonly auth: { readonly direct: { readonly scopes: readonly string[] }; readonly custom_scopes: object }
  readonly apis: readonly { readonly type: string; readonly url: string }[]
}

/** The hotel, and its document by the way that every agent finds it. */
async function openHotel() {
  const directory = mkdtempSync(join(tmpdir(), 'poppyseed-openapi-'))
  onTestFinished(() => rmSync(directory, { recursive: true, force: true }))
  const hotel = await startHotel({ port: 0, directory: seedHotel(directory), log: () => {} })
  onTestFinished(hotel.close)
  const poppy = (await (await fetch(`${hotel.origin}/.well-known/poppy.json`)).json()) as Poppy
  const url = poppy.apis.find(({ type }) => type === 'openapi')?.url ?? ''
  const response = await fetch(url)
  return { hotel, poppy, response, document: (await response.json()) as OpenApi }
}

const needed = {
  search_rooms: [],
  room_details: [],
  my_bookings: ['poppy:read'],
  add_booking_note: ['poppy:write'],
  loyalty_points: ['loyalty'],
  book_room: ['poppy:write'],
  cancel_booking: ['poppy:write'],
}

describe('the OpenAPI document of the hotel', () => {
  it('is there where poppy.json says, and a validator accepts it [3.1.apis-fields, 6.api-type]', {
    timeout,
  }, async () => {
    const { response, document } = await openHotel()
    expect([response.status, response.headers.get('content-type')]).toEqual([
      200,
      expect.stringMatching(/^application\/json/),
    ])
    expect(response.headers.get('access-control-allow-origin')).toBe('*')
    const validator = new Validator()
    // The validator changes what it is given.
    expect(await validator.validate(JSON.parse(JSON.stringify(document)))).toEqual({ valid: true })
    expect(validator.version).toBe('3.1')
  })

  it('has each tool at its address with the scopes that it needs, all of them explained [3.1.custom-scopes]', {
    timeout,
  }, async () => {
    const { hotel, poppy, document } = await openHotel()
    expect(document.servers).toEqual([{ url: hotel.origin }])
    const operations = Object.entries(document.paths).map(([path, { post }]) => ({ path, post }))
    expect(Object.fromEntries(operations.map(({ post }) => [post.operationId, post.security[0]?.DPoP]))).toEqual(needed)
    for (const { path, post } of operations) {
      expect(path).toBe(`/poppy/tools/${post.operationId}`)
      for (const scope of post.security[0]?.DPoP ?? []) {
        expect(poppy.auth.direct.scopes).toContain(scope)
        expect(post.description).toContain(scope)
        if (!scope.startsWith('poppy:')) expect(poppy.auth.custom_scopes).toHaveProperty(scope)
      }
    }
  })

  it('promises the refusals that really come [4.4.enforce, 6.invalid-token, 6.sign-in-required]', {
    timeout,
  }, async () => {
    const { hotel, document } = await openHotel()
    const { agent, close } = await startVisitingAgent()
    onTestFinished(close)
    const session = (await agent.forUser('maya').company(hotel.origin)).session()
    for (const [path, { post }] of Object.entries(document.paths)) {
      const anonymous = await fetch(hotel.origin + path, { method: 'POST' })
      expect({ path, status: anonymous.status }).toEqual({ path, status: 401 })
      expect(post.responses).toHaveProperty('401')
      const isFree = (post.security[0]?.DPoP ?? []).length === 0
      const refused = isFree ? { status: 400, companyCode: 'invalid_request' } : { code: 'sign_in_required' }
      await expect(session.call(post.operationId)).rejects.toMatchObject(refused)
      expect(post.responses).toHaveProperty(isFree ? '400' : '403')
    }
  })

  it('is what an agent goes by: every operation is listed for it with its scopes [6.calls-agent]', {
    timeout,
  }, async () => {
    const { hotel } = await openHotel()
    const { agent, close } = await startVisitingAgent()
    onTestFinished(close)
    const session = (await agent.forUser('maya').company(hotel.origin)).session()
    const operations = await session.apiOperations()
    expect(Object.fromEntries(operations.map(({ id, scopes }) => [id, scopes]))).toEqual(needed)
  })
})
