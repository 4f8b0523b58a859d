import { createMisbehavingAgentHost, type HostSwitches } from '@poppyseed/conformance'
import { describe, expect, it, onTestFinished } from 'vitest'
import { makeWorld } from './setup/world.ts'

// The Company with its own guarded fetcher, and logos of a host that misbehaves: the page is there at once, and what it
// shows is a picture from our own origin, or nothing.

const origin = 'http://localhost:9'

async function open(faults: Partial<HostSwitches>) {
  const host = await createMisbehavingAgentHost({ switches: { logoUri: 'right', ...faults } })
  const development = {
    origin,
    development: true,
    organization: { name: 'Hotel Miramar', domain: 'localhost' },
  } as const
  // Nothing in the fetcher's place: documents and logos come over the network, guarded.
  const { send } = await makeWorld({ ...development, now: Date.now, fetchDocument: undefined } as never)
  onTestFinished(host.close)
  return { host, send, agent: host.newAgent() }
}

/** Opens the consent page, then its logo, as a browser would. */
async function show({ send, agent }: Awaited<ReturnType<typeof open>>) {
  const query = new URLSearchParams({
    response_type: 'code',
    client_id: agent.clientId,
    redirect_uri: agent.redirectUri,
    scope: 'poppy:read',
    state: 'a-state',
    code_challenge: 'E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM',
    code_challenge_method: 'S256',
  })
  const page = await send(new Request(`${origin}/poppy/authorize?${query}`))
  const html = await page.text()
  const src = /<img[^>]* src="([^"]+)"/.exec(html)?.[1]
  const logo = src === undefined ? null : await send(new Request(new URL(src, origin)))
  return { page, html, src, logo }
}

describe('the logo of an agent', () => {
  it('comes from our own origin, as a picture and nothing else [4.5.shows-logo, K34]', async () => {
    const visit = await open({})
    const { page, html, src, logo } = await show(visit)
    expect([page.status, logo?.status, logo?.headers.get('content-type')]).toEqual([200, 200, 'image/png'])
    expect(src).toMatch(/^\/poppy\/agents\/logo\//)
    expect(html).not.toContain('logo.png')
    expect(logo?.headers.get('x-content-type-options')).toBe('nosniff')
  })

  const faults: readonly (readonly [string, Partial<HostSwitches>])[] = [
    ['a drawing with a script in it', { logo: 'svg_with_script' }],
    ['a page', { logo: 'page' }],
    ['a picture of a megabyte', { logo: 'png_of_a_megabyte' }],
    ['a text that calls itself a picture', { logo: 'text_as_png' }],
    ['on a host that is not the agent’s', { logoUri: 'other_host' }],
    ['inside', { logoUri: 'private' }],
    ['a script', { logoUri: 'script' }],
  ]
  it.each(faults)('that is %s is left out, and the page is there [K34]', async (_name, switches) => {
    const visit = await open(switches)
    const { page, html, logo } = await show(visit)
    expect([page.status, logo === null || logo.status === 404]).toEqual([200, true])
    expect(html).toContain(new URL(visit.agent.clientId).host)
    expect(html).not.toMatch(/<script|evil\.example|169\.254|javascript:/)
    expect(visit.host.reachedInside).toEqual([])
  })

  const deliveries: readonly Partial<HostSwitches>[] = [
    { redirect: 'inner' },
    { redirect: 'metadata_service' },
    { redirect: 'elsewhere' },
    { delivery: 'endless' },
    { delivery: 'huge' },
    { delivery: 'zip_bomb' },
    { delivery: 'cut' },
    { delivery: 'lost' },
    { delivery: 'silent' },
    { delivery: 'empty' },
    { status: 500 },
  ]
  it.each(deliveries)('that is delivered with %j is left out in bounded time [K16, K34]', async (switches) => {
    const visit = await open({})
    visit.host.next(100, switches, 'logo')
    const begun = performance.now()
    const { page, logo } = await show(visit)
    expect([page.status, logo?.status]).toEqual([200, 404])
    expect(performance.now() - begun).toBeLessThan(20_000)
    expect(visit.host.reachedInside).toEqual([])
  })
})
