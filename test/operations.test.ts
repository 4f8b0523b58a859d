import { readOperation } from '@poppyseed/protocol'
import { operation, succeeded, ToolError } from 'poppyseed'
import { describe, expect, it } from 'vitest'
import { compileSchema, type JsonSchema } from '../packages/company/src/tools/schema.ts'
import { asked, lists, openBookings, overMcp, signedIn, told, unknownId, type Wire } from './setup/bookings.ts'
import { outcome } from './setup/world.ts'

/** Operations over real requests: proposed like a tool, read, confirmed and cancelled at their endpoint. */

describe('an operation', () => {
  it('is listed with version and endpoint, where there are any [ops.discovery]', async () => {
    const document = async (world: { origin: string; send: (request: Request) => Promise<Response> }) =>
      (await (await world.send(new Request(`${world.origin}/.well-known/poppy.json`))).json()) as object
    const world = await openBookings()
    expect(await document(world)).toMatchObject({
      extensions: {
        operations: { version: '1', endpoint: 'https://miramar.example/poppy/operations' },
        'miramar.example/confirmation': { version: '1' },
      },
    })
    const without = await document(await openBookings({ operations: [] }))
    expect(JSON.stringify(without)).not.toContain('operations')
  })

  it('is proposed by a call, changes nothing, is read, and confirmed for exactly its revision [ops.envelope, ops.fields, ops.read, ops.confirm, ops.confirmation-recorded]', async () => {
    const world = await openBookings()
    const { access_token } = await signedIn(world)
    const agent = asked(world.agent, access_token)
    const proposed = await agent.propose('book_room', { nights: 2 })
    expect(proposed).toEqual({
      operation_id: expect.stringMatching(/^opn_[A-Za-z0-9_-]{20,}$/),
      revision: 1,
      state: 'proposed',
      summary: '2 nights in a sea view room, 260 €.',
      terms: { nights: 2, price: { amount: '260.00', currency: 'EUR' } },
      expires_at: '2026-11-30T12:15:00.000Z',
      user_approval_required: true,
      created_at: '2026-11-30T12:00:00.000Z',
      updated_at: '2026-11-30T12:00:00.000Z',
    })
    expect(world.counts).toEqual({ propose: 1, perform: 0 })
    expect((await told(await agent.read(proposed.operation_id))).operation).toEqual(proposed)
    world.clock.now += 60_000
    const confirmed = await told(await agent.confirm(proposed.operation_id))
    expect(confirmed.is).toMatch(/^200 (?:in_progress|succeeded)$/)
    expect(confirmed.operation.confirmation).toEqual({
      revision: 1,
      approved_by: 'user',
      confirmed_at: '2026-11-30T12:01:00.000Z',
    })
    // Again, and with a word that wouldn't be enough: it is as it is.
    const again = await told(await agent.confirm(proposed.operation_id))
    expect(again.is).toMatch(/^200 (?:in_progress|succeeded)$/)
    expect(again.operation.confirmation).toEqual(confirmed.operation.confirmation)
  })

  it('needs an agent that lists the extension, in this version [ops.extension-required, ops.other-version]', async () => {
    const world = await openBookings()
    const { access_token } = await world.start()
    for (const extensions of [null, {}, { operations: { version: '2' } }, { operations: {} }]) {
      const agent = await world.newAgent()
      lists(agent, extensions)
      const token = await world.start(agent)
      const answer = await agent.call('/poppy/tools/book_room', token.access_token, { body: { nights: 2 } })
      expect(answer.status).toBe(403)
      expect(await answer.json()).toMatchObject({ error: 'extension_required', extension: 'operations' })
    }
    expect(await outcome(await world.agent.call('/poppy/tools/book_room', access_token, { body: { nights: 2 } }))).toBe(
      '403 sign_in_required',
    )
    expect(world.counts.propose).toBe(0)
  })

  it('is proposed over MCP too, with its summary as text; a missing extension is the tool’s error there [ops.extension-required-mcp, ops.envelope]', async () => {
    const world = await openBookings()
    const { mcp } = await overMcp(world)
    const list = await mcp('tools/list')
    const listed = (list.tools as { name: string }[]).find(({ name }) => name === 'book_room')
    expect(listed).toMatchObject({
      description: expect.stringContaining('nothing is changed before its revision is confirmed'),
      annotations: { destructiveHint: false },
      outputSchema: { properties: { operation: { required: ['operation_id', 'revision', 'state', 'summary'] } } },
      _meta: { 'poppy/scope': 'poppy:write', 'poppy/extension': 'operations' },
    })
    const result = await mcp('tools/call', { name: 'book_room', arguments: { nights: 2 } })
    expect(result).toMatchObject({
      content: [{ type: 'text', text: '2 nights in a sea view room, 260 €.' }, { type: 'text' }],
      structuredContent: { operation: { state: 'proposed', revision: 1 } },
    })
    const { operation } = result.structuredContent as { operation: Wire }
    const agent = asked(world.agent, (await signedIn(world)).access_token)
    expect((await told(await agent.confirm(operation.operation_id))).is).toMatch(/^200 /)

    const refused = await openBookings()
    lists(refused.agent, {})
    const without = await overMcp(refused)
    expect(await without.mcp('tools/call', { name: 'book_room', arguments: { nights: 2 } })).toMatchObject({
      isError: true,
      structuredContent: { error: 'extension_required', extension: 'operations' },
    })
  })

  it('keeps nothing of a proposal that failed, is none, or came when nobody waited any more', async () => {
    const gate = Promise.withResolvers<void>()
    const late = Promise.withResolvers<void>()
    const make = (name: string, propose: () => Promise<unknown>) =>
      operation({
        name,
        description: 'Fails.',
        timeout: 30,
        propose: propose as () => Promise<{ summary: string }>,
        perform: () => succeeded(),
      })
    const world = await openBookings({
      operations: [
        make('says_why', async () => {
          throw new ToolError('Room 12 is taken on these nights.')
        }),
        make('breaks', async () => {
          throw new Error('secret detail')
        }),
        make('is_none', async () => ({ summary: 'At some time.', terms: { at: new Date(0) } })),
        make('page', async () => ({ summary: 'On a page.', approval: 'page' })),
        operation({
          name: 'identity_later',
          description: 'Fails.',
          identity: (async () => {
            throw new Error('secret detail')
          }) as never,
          propose: () => ({ summary: 'Anything.' }),
          perform: () => succeeded(),
        }),
        make('hangs', async () => {
          await gate.promise
          late.resolve()
          return { summary: 'Late.' }
        }),
      ],
    })
    const { access_token } = await world.start()
    const call = async (name: string) => {
      const answer = await world.agent.call(`/poppy/tools/${name}`, access_token, { body: {} })
      const text = await answer.text()
      expect(text).not.toMatch(/secret detail|Date/)
      return `${answer.status} ${(JSON.parse(text) as { error: string }).error}`
    }
    expect(await call('says_why')).toBe('422 tool_failed')
    expect(await call('breaks')).toBe('500 server_error')
    expect(await call('is_none')).toBe('500 server_error')
    // Signed out, there is nobody who could confirm it there.
    expect(await call('page')).toBe('500 server_error')
    expect(await call('identity_later')).toBe('500 server_error')
    expect(await call('hangs')).toBe('504 tool_timeout')
    gate.resolve()
    await late.promise
    expect((await world.company.operations.list()).operations).toEqual([])
    expect(world.log.join('\n')).toContain('JSON would change, such as a Date')
  })

  it('stands in the OpenAPI document with 202 and words for it, and the answers are as it says', async () => {
    const world = await openBookings()
    const document = (await (await world.send(new Request(`${world.origin}/poppy/openapi.json`))).json()) as {
      readonly paths: Record<string, { readonly post: { description: string; responses: Record<string, unknown> } }>
      readonly components: { readonly schemas: Record<string, JsonSchema> }
    }
    const book = document.paths['/poppy/tools/book_room']?.post
    expect(book?.description).toContain('Nothing is changed before its revision is confirmed')
    expect(book?.description).toContain('Needs the extension operations.')
    expect(Object.keys(book?.responses ?? {})).not.toContain('200')
    expect(book?.responses['202']).toMatchObject({
      content: { 'application/json': { schema: { $ref: '#/components/schemas/Operation' } } },
    })
    expect(document.paths['/poppy/tools/echo']?.post.responses).not.toHaveProperty('202')
    const { validate } = compileSchema(document.components.schemas.Operation ?? {}, 'output', 'Operation')
    const agent = asked(world.agent, (await signedIn(world)).access_token)
    const { operation_id } = await agent.propose('pay_deposit')
    const other = await agent.propose('book_room', { nights: 2 })
    for (const answer of [
      await agent.read(operation_id),
      await agent.confirm(other.operation_id, { revision: 1, approved_by: 'user', wait: 20 }),
      await agent.cancel(operation_id),
    ]) {
      const body: unknown = await answer.json()
      expect(await validate(body)).toEqual({ value: body })
      expect(readOperation(body)).toMatchObject({ revision: 1 })
    }
  })

  it('is unknown to whoever it isn’t for [ops.operation-not-found, ops.other-agent, ops.sign-in-required]', async () => {
    const world = await openBookings()
    const { access_token } = await signedIn(world)
    const agent = asked(world.agent, access_token)
    const { operation_id } = await agent.propose('book_room', { nights: 2 })
    for (const wrong of [unknownId(), 'x', 'opn_%00', `${operation_id}x`])
      expect(await outcome(await agent.read(wrong))).toBe('404 operation_not_found')
    // Another agent of the same person, signed in to the same account.
    const other = await world.newAgent()
    lists(other)
    const theirs = asked(other, (await signedIn(world, other)).access_token)
    for (const answer of [theirs.read(operation_id), theirs.confirm(operation_id), theirs.cancel(operation_id)])
      expect(await outcome(await answer)).toBe('404 operation_not_found')
    // The same agent signed out, and for another account.
    const signedOut = asked(world.agent, (await world.start()).access_token)
    expect(await outcome(await signedOut.confirm(operation_id))).toBe('403 sign_in_required')
    world.site.account = { id: 'acc-bob', name: 'bob@example.com' }
    const bob = asked(world.agent, (await signedIn(world)).access_token)
    for (const answer of [bob.read(operation_id), bob.confirm(operation_id), bob.cancel(operation_id)])
      expect(await outcome(await answer)).toBe('404 operation_not_found')
    expect((await told(await agent.read(operation_id))).is).toBe('200 proposed')
  })
})
