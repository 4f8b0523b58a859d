import { once } from 'node:events'
import { connect } from 'node:net'
import { operation, succeeded } from 'poppyseed'
import { describe, expect, it, onTestFinished } from 'vitest'
import { findConversation } from '../packages/company/src/conversations/store.ts'
import { lists } from './setup/bookings.ts'
import { converse, pageOf, said, standingOf } from './setup/converse.ts'
import { type FreshStore, stores } from './setup/stores.ts'
import { openStreams, reply } from './setup/streaming.ts'
import { makeWorld } from './setup/world.ts'

/**
 * A request whose body comes late: its token was looked at when it began, and what it asks for is decided by the rights that there
 * are when it has come whole (4.9, 7.11).
 */

const book = operation({
  name: 'book_room',
  description: 'Books a room.',
  propose: () => ({ summary: 'One night.' }),
  perform: () => succeeded(),
})

const credentials = { scope: 'poppy:read', credentials: { email: 'maya@example.com', password: 'right' } }

describe.each(stores)('A body that comes late on $name', { timeout: 60_000 }, ({ missing, fresh }) => {
  const test = it.skipIf(missing !== null)

  async function signedIn(store: FreshStore) {
    let authenticated = 0
    let verified = 0
    let isBlocked = false
    const here = await openStreams(store, {
      operations: [book],
      prepare: lists,
      signIn: {
        direct: ['poppy:read', 'poppy:write', 'loyalty'],
        mediated: {
          scopes: ['poppy:read'],
          fields: [
            { name: 'email', label: 'Email', secret: false },
            { name: 'password', label: 'Password', secret: true },
          ],
          verify: () => {
            verified += 1
            return 'acc-maya'
          },
        },
      },
      agents: {
        block: () => {
          authenticated += 1
          return isBlocked
        },
      },
    })
    const { world, port } = here
    const id = await here.start()
    const tokens = await world.signIn(world.agent, here.tokens.session_id)
    const conversations = '/poppy/conversations'

    /** Sends a request up to the middle of its body; gives what sends the rest, and gives the answer. */
    async function begin(
      below: string,
      body: unknown,
      path = `${conversations}${below}`,
      bearer?: string,
    ): Promise<() => Promise<string>> {
      const url = `${world.origin}${path}`
      const text = JSON.stringify(body)
      const socket = connect(port, '127.0.0.1')
      onTestFinished(() => void socket.destroy())
      const before = authenticated
      const head = [
        `POST ${path} HTTP/1.1`,
        'host: miramar.example',
        'content-type: application/json',
        `content-length: ${Buffer.byteLength(text)}`,
        ...(bearer === undefined
          ? [
              `authorization: DPoP ${tokens.access_token}`,
              `dpop: ${await world.agent.proof('POST', url, tokens.access_token)}`,
            ]
          : [`authorization: Bearer ${bearer}`, 'accept: application/json, text/event-stream']),
        'connection: close',
      ]
      socket.write(`${head.join('\r\n')}\r\n\r\n${text.slice(0, 1)}`)
      await expect.poll(() => authenticated).toBeGreaterThan(before)
      // It waits for its body once other requests have gone their way after it.
      for (let count = 0; count < 3; count++) await here.talk.read('cnv_none')
      return async () => {
        let answer = ''
        socket.setEncoding('utf8').on('data', (chunk: string) => {
          answer += chunk
        })
        socket.write(text.slice(1))
        await once(socket, 'close')
        const status = /^HTTP\/1\.1 (\d{3})/.exec(answer)?.[1] ?? 'none'
        const error = /"error":"(\w+)"/.exec(answer)?.[1]
        return error === undefined ? status : `${status} ${error}`
      }
    }
    const row = async (of: string) => findConversation(await here.parts.scope(), of)
    const signOut = () => world.agent.revoke(tokens.refresh_token as string)
    const toAccount = () => here.write(id, [reply('You have one booking.')], { account: 'acc-maya' })
    /** The same at the MCP server, with a token for it. */
    const beginMcp = async (name: string) => {
      const resource = `${world.origin}/poppy/mcp`
      const grant = { grant_type: 'refresh_token', refresh_token: tokens.refresh_token as string, resource }
      const issued = (await (await world.agent.token(grant, { proof: null })).json()) as {
        readonly access_token: string
      }
      const call = { jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name, arguments: {} } }
      return begin('', call, '/poppy/mcp', issued.access_token)
    }
    /** One of each kind of request that has a body and a token. */
    const beginAll = async (messageId: string) => [
      await begin(`/${id}/messages`, { message: said('And dinner?') }),
      await begin('', { message: { ...said('Another matter.'), id: messageId } }),
      await begin(`/${id}/handoff`, {}),
      await begin(`/${id}/close`, {}),
      await begin('', { text: 'hello' }, '/poppy/tools/echo'),
      await begin('', { revision: 1, approved_by: 'user' }, '/poppy/operations/opn_none/confirm'),
      await begin('', {}, '/poppy/operations/opn_none/cancel'),
      await begin('', credentials, '/poppy/sign-in'),
      await begin('', { code: '123456' }, '/poppy/sign-in/sgn_none'),
      await beginMcp('echo'),
    ]
    return {
      here,
      world,
      id,
      tokens,
      begin,
      beginMcp,
      beginAll,
      row,
      signOut,
      toAccount,
      verified: () => verified,
      block: () => (isBlocked = true),
    }
  }

  test.each(['/messages', '/handoff', '/close'])(
    'to %s of a conversation that began signed in is refused, once the User has signed out [7.11.sign-in-required]',
    async (below) => {
      const { id, begin, row, signOut, toAccount } = await signedIn(await fresh())
      await toAccount()
      const before = await row(id)
      const end = await begin(`/${id}${below}`, below === '/messages' ? { message: said('My room?') } : {})
      await signOut()
      expect(await end()).toBe('403 sign_in_required')
      expect(await row(id)).toEqual(before)
    },
  )

  test('with a message is accepted signed out where nothing needs a sign-in, and its turn has no other rights', async () => {
    const { here, id, begin, row, signOut } = await signedIn(await fresh())
    const further = await begin(`/${id}/messages`, { message: said('And dinner?') })
    const first = await begin('', { message: { ...said('Another matter.'), id: 'msg_late' } })
    await signOut()
    expect(await further()).toBe('202')
    expect(await first()).toBe('201')
    expect(await row(id)).toMatchObject({ caller_account: null, grant_id: null, scopes: '' })
    const again = await here.talk.start({ ...said('Another matter.'), id: 'msg_late' })
    const { conversation_id: other } = await standingOf(again)
    expect(await row(other)).toMatchObject({ caller_account: null, grant_id: null, scopes: '' })
  })

  test('to a tool that needs the sign-in is refused, once the User has signed out or has signed in again', async () => {
    for (const isAgain of [false, true]) {
      const { world, here, begin, signOut } = await signedIn(await fresh())
      const mine = await begin('', {}, '/poppy/tools/my_bookings')
      const any = await begin('', { text: 'hello' }, '/poppy/tools/echo')
      await signOut()
      if (isAgain) await world.signIn(world.agent, here.tokens.session_id)
      world.clock.now += 2000
      expect(await mine()).toBe('403 sign_in_required')
      expect(await any()).toBe('200')
    }
  })

  test('to a tool of a Personal Agent that is blocked meanwhile is refused, and well it is called', async () => {
    const { world, begin } = await signedIn(await fresh())
    const well = await begin('', {}, '/poppy/tools/my_bookings')
    world.clock.now += 2000
    expect(await well()).toBe('200')
    const late = await begin('', { text: 'hello' }, '/poppy/tools/echo')
    await world.company.agents.block(world.agent.clientId)
    world.clock.now += 2000
    expect(await late()).toBe('401 invalid_token')
  })

  test('to a tool over MCP is decided in the same way', async () => {
    const { world, beginMcp, signOut } = await signedIn(await fresh())
    const well = await beginMcp('my_bookings')
    world.clock.now += 2000
    expect(await well()).toBe('200')
    const late = await beginMcp('my_bookings')
    await signOut()
    world.clock.now += 2000
    expect(await late()).toBe('403 sign_in_required')
  })

  test('of a Personal Agent that is blocked meanwhile changes nothing', async () => {
    const { world, id, begin, row } = await signedIn(await fresh())
    const before = await row(id)
    const ends = [
      await begin(`/${id}/messages`, { message: said('And dinner?') }),
      await begin('', { message: said('Another matter.') }),
      await begin('', { message: said('Between us.'), parent_conversation_id: id }),
      await begin(`/${id}/close`, {}),
    ]
    await world.company.agents.block(world.agent.clientId)
    for (const end of ends) expect(await end()).toBe('401 invalid_token')
    expect(await row(id)).toEqual(before)
  })

  test('of a Personal Agent that the configuration keeps out by then is refused, whatever it asks for', async () => {
    const { world, id, beginAll, row, verified, block } = await signedIn(await fresh())
    const before = await row(id)
    const ends = await beginAll('msg_kept_out')
    block()
    world.clock.now += 2000
    for (const end of ends) expect(await end()).toBe('401 invalid_token')
    expect([await row(id), verified()]).toEqual([before, 0])
  })

  test('and well is accepted with all that its token gives', async () => {
    const { here, id, begin, row } = await signedIn(await fresh())
    const end = await begin(`/${id}/messages`, { message: said('And dinner?') })
    expect(await end()).toBe('202')
    expect(await row(id)).toMatchObject({ caller_account: 'acc-maya', scopes: 'poppy:read poppy:write' })
    expect((await pageOf(await here.talk.read(id))).events.length).toBeGreaterThan(2)
  })

  test('and whose token has expired by then changes nothing and is refused, whatever it asks for [6.invalid-token]', async () => {
    const { world, id, tokens, beginAll, row, verified } = await signedIn(await fresh())
    const before = await row(id)
    const ends = await beginAll('msg_expired')
    world.clock.now += tokens.expires_in * 1000
    for (const end of ends) expect(await end()).toBe('401 invalid_token')
    expect(await row(id)).toEqual(before)
    expect(verified()).toBe(0)
    // With a new token the same message is a new one.
    const renewed = (await (await world.agent.startSession({ session_id: tokens.session_id })).json()) as {
      readonly access_token: string
    }
    const again = await converse(world.agent, renewed.access_token).start({
      ...said('Another matter.'),
      id: 'msg_expired',
    })
    expect(again.status).toBe(201)
  })

  test('with credentials or with a confirmation of a Personal Agent that is blocked meanwhile shows them to nobody', async () => {
    const { world, tokens, begin, verified } = await signedIn(await fresh())
    const proposed = await world.agent.call('/poppy/tools/book_room', tokens.access_token, { body: {} })
    const { operation } = (await proposed.json()) as { readonly operation: { readonly operation_id: string } }
    const ends = [
      await begin('', credentials, '/poppy/sign-in'),
      await begin('', { revision: 1, approved_by: 'user' }, `/poppy/operations/${operation.operation_id}/confirm`),
    ]
    await world.company.agents.block(world.agent.clientId)
    world.clock.now += 2000
    for (const end of ends) expect(await end()).toBe('401 invalid_token')
    expect(verified()).toBe(0)
    expect((await world.company.operations.list()).operations).toMatchObject([{ state: 'proposed' }])
  })
})

describe.each(stores)('A sign-out whose body comes late, on $name', ({ missing, fresh }) => {
  it.skipIf(missing !== null)('is none where its assertion has run out by then, and may have been used', async () => {
    const world = await makeWorld({}, (await fresh()).store())
    const tokens = await world.signIn(world.agent, (await world.start()).session_id)
    const form = new URLSearchParams({
      client_id: world.agent.clientId,
      client_assertion_type: 'urn:ietf:params:oauth:client-assertion-type:jwt-bearer',
      client_assertion: await world.agent.clientAssertion(),
      token: tokens.refresh_token as string,
    })
    const { readable, writable } = new TransformStream<Uint8Array, Uint8Array>()
    const held = world.company.fetch(
      new Request(`${world.origin}/poppy/revoke`, {
        method: 'POST',
        headers: { 'content-type': 'application/x-www-form-urlencoded' },
        body: readable,
        duplex: 'half',
      } as RequestInit),
    )
    world.clock.now += 200_000
    const writer = writable.getWriter()
    await Promise.all([writer.write(new TextEncoder().encode(form.toString())), writer.close()])
    const answer = await held
    expect([answer.status, await answer.text()]).toEqual([401, expect.stringContaining('invalid_client')])
    expect((await world.agent.revoke(tokens.refresh_token as string)).status).toBe(200)
  })
})

describe.each(stores)('What staff send whose body comes late, on $name', ({ missing, fresh }) => {
  it.skipIf(missing !== null)('is not done once they are signed out, at the pages and by the API', async () => {
    let isIn = true
    let asked = 0
    const world = await makeWorld(
      {
        agent: async function* () {},
        staff: () => {
          asked += 1
          return isIn ? { id: 'rita', name: 'Rita' } : null
        },
        staffSignInPage: () => '/desk/sign-in',
      },
      (await fresh()).store(),
    )
    const { access_token } = await world.start()
    const { conversation_id: id } = await standingOf(
      await converse(world.agent, access_token).start(said('Is breakfast included?')),
    )
    /** Sends the head, and gives what sends the body. */
    const begin = async (path: string, type: string, body: string) => {
      const { readable, writable } = new TransformStream<Uint8Array, Uint8Array>()
      const before = asked
      const answer = world.company.fetch(
        new Request(world.origin + path, {
          method: 'POST',
          headers: { 'content-type': type, 'sec-fetch-site': 'same-origin' },
          body: readable,
          duplex: 'half',
        } as RequestInit),
      )
      await expect.poll(() => asked).toBeGreaterThan(before)
      return async () => {
        const writer = writable.getWriter()
        await Promise.all(
          [writer.write(new TextEncoder().encode(body)), writer.close()].map((one) => one.catch(() => {})),
        )
        return answer
      }
    }
    const take = `/poppy/inbox/api/conversations/${id}/take`
    const late = await begin(take, 'application/json', '{}')
    const form = await begin(
      `/poppy/inbox/conversations/${id}/take`,
      'application/x-www-form-urlencoded',
      'token=a&once=b',
    )
    isIn = false
    world.clock.now += 2000
    const refused = await late()
    expect([refused.status, await refused.json()]).toMatchObject([401, { error: 'sign_in_required' }])
    const sent = await form()
    expect([sent.status, sent.headers.get('location')]).toEqual([303, expect.stringContaining('/desk/sign-in')])
    expect((await world.company.conversations.read(id)).conversation.responder).toBe('agent')
    // Who is signed in all the time does it, however late.
    isIn = true
    const well = await begin(take, 'application/json', '{}')
    world.clock.now += 2000
    expect((await well()).status).toBe(200)
  })
})
