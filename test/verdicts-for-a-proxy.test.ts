import { describe, expect, it } from 'vitest'
import { listen } from './setup/listen.ts'
import { openSite } from './setup/site.ts'
import { makeWireAgent, type WireAgent } from './setup/wire-agent.ts'
import { outcome, type Tokens } from './setup/world.ts'

// A proxy in front of an API asks by a sub-request whether a call may pass (nginx's auth_request, Traefik's ForwardAuth). The
// sub-request goes to another address by another method: what counts is the request that the agent made.

/** Who answers the proxy; `isNaive` hands the sub-request on as it is. */
async function open({ isNaive = false } = {}) {
  let agent: WireAgent | undefined
  const passed: string[] = []
  const site = await openSite({
    fetchDocument: async (url) => ({ document: agent?.documents[url], headers: new Headers() }),
  })
  const inner = await listen(() => async (request) => {
    if (new URL(request.url).pathname !== '/verify') return new Response(null, { status: 404 })
    const headers = new Headers(request.headers)
    // Only the proxy reaches this listener, and it writes both whatever the caller sent.
    const [method = '', path = ''] = [headers.get('x-original-method'), headers.get('x-original-path')].map(String)
    const asked = isNaive
      ? new Request(site.origin + new URL(request.url).pathname, { headers })
      : new Request(site.origin + path, { method, headers })
    const caller = await site.company.authenticate(asked)
    return caller instanceof Response ? caller : new Response(null, { headers: { 'x-user': caller.userId } })
  })
  const proxy = await listen(() => async (request) => {
    const { pathname } = new URL(request.url)
    const headers = new Headers(request.headers)
    headers.set('x-original-method', request.method)
    headers.set('x-original-path', pathname)
    headers.delete('content-length')
    const verdict = await fetch(`${inner.origin}/verify`, { headers })
    if (!verdict.ok) return verdict
    passed.push(`${request.method} ${pathname} ${verdict.headers.get('x-user')}`)
    return new Response('Ordered.')
  })
  agent = await makeWireAgent({
    clientId: 'https://agent.example/agent.json',
    now: Date.now,
    origin: site.origin,
    send: (request) => fetch(request),
  })
  const made = agent
  const { access_token } = (await (await made.startSession()).json()) as Tokens
  /** A call as the agent makes it: to the public address, which here is the proxy's listener. */
  const order = (headers: Record<string, string>, method = 'POST') =>
    fetch(`${proxy.origin}/orders`, { method, headers, ...(method === 'POST' ? { body: '{}' } : {}) })
  const proofFor = (method: string, url: string) => made.proof(method, url, access_token)
  return { site, agent: made, token: access_token, order, proofFor, passed, inner }
}

describe('a proxy that asks by a sub-request', () => {
  it('lets a call pass with a proof for the public address, once, and with no other [K06, 4.3.htm, 4.3.htu]', async () => {
    const { site, agent, token, order, proofFor, passed, inner } = await open()
    const authorization = `DPoP ${token}`
    const dpop = await proofFor('POST', `${site.origin}/orders`)
    expect((await order({ authorization, dpop })).status).toBe(200)
    const refused = [
      // the same again
      { authorization, dpop },
      // for the address of the sub-request, inside and as it would be outside
      { authorization, dpop: await proofFor('GET', `${inner.origin}/verify`) },
      { authorization, dpop: await proofFor('POST', `${inner.origin}/verify`) },
      { authorization, dpop: await proofFor('GET', `${site.origin}/verify`) },
      // for another method, and for another address
      { authorization, dpop: await proofFor('GET', `${site.origin}/orders`) },
      { authorization, dpop: await proofFor('POST', `${site.origin}/orders/1`) },
      // none, and the bound token as another kind
      { authorization },
      { authorization: `Bearer ${token}` },
      { authorization: `Bearer ${token}`, dpop: await proofFor('POST', `${site.origin}/orders`) },
      {},
    ]
    for (const headers of refused)
      expect(await outcome(await order(headers as Record<string, string>))).toMatch(/^401 /)
    // What the caller says of the original request counts for nothing.
    const lying = {
      authorization,
      dpop: await proofFor('GET', `${site.origin}/hours`),
      'x-original-method': 'GET',
      'x-original-path': '/hours',
    }
    expect((await order(lying)).status).toBe(401)
    expect(passed).toEqual([`POST /orders ${agent.userId}`])
  })

  it('refuses every right call where the sub-request is taken for the call: the mistake shows at once', async () => {
    const { site, token, order, proofFor, passed } = await open({ isNaive: true })
    const authorization = `DPoP ${token}`
    expect((await order({ authorization, dpop: await proofFor('POST', `${site.origin}/orders`) })).status).toBe(401)
    expect((await order({ authorization })).status).toBe(401)
    expect(passed).toEqual([])
  })
})
