import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createPersonalAgent, generateKey, memoryStore } from '@poppyseed/agent'
import { createDocumentFetcher, type DocumentFetcherOptions } from 'poppyseed/node'
import { describe, expect, it, onTestFinished } from 'vitest'
import { createPerson } from '../examples/hotel/src/person.ts'
import { startHotel } from '../examples/hotel/src/server.ts'
import { playVisit } from '../examples/hotel/src/visit.ts'
import { listen } from './setup/listen.ts'
import { namedFetch, tlsProxy } from './setup/names.ts'
import { seedHotel } from './setup/seeded-hotel.ts'
import { testTls } from './setup/tls.ts'

// As on the open internet: names, certificates, the guarded fetcher, and no switch for development anywhere. Ours are
// the authority that signs the certificates, and that all names lead to this machine.

const timeout = 120_000
const origin = 'https://miramar.example'

/** What the Company's fetcher is told of this small internet. */
const internet = (): DocumentFetcherOptions => ({
  ca: testTls().ca,
  lookup: async () => ['127.0.0.1'],
  isAllowedAddress: (address) => address === '127.0.0.1',
  timeout: 30_000,
})

/** The hotel at https://miramar.example, behind what ends TLS for it. */
async function openHotel(options: DocumentFetcherOptions) {
  const directory = mkdtempSync(join(tmpdir(), 'poppyseed-https-'))
  onTestFinished(() => rmSync(directory, { recursive: true, force: true }))
  const log: string[] = []
  const fetchDocument = createDocumentFetcher(options)
  const hotel = await startHotel({
    port: 0,
    directory: seedHotel(directory),
    origin,
    log: (line) => log.push(line),
    fetchDocument,
  })
  onTestFinished(async () => {
    await hotel.close()
    fetchDocument.close()
  })
  return { log, port: await tlsProxy('miramar.example', hotel.port) }
}

/** A Personal Agent at https://agent.example. */
async function openAgent(hotelPort: number, ca?: string) {
  const keys = [await generateKey()]
  let agent: ReturnType<typeof createPersonalAgent> | undefined
  const { port } = await listen(() => (request) => agent?.fetch(request) ?? new Response(null, { status: 503 }), {
    tls: testTls().certFor('agent.example'),
  })
  const ports = { 'miramar.example': hotelPort }
  agent = createPersonalAgent({
    clientId: `https://agent.example:${port}/agent.json`,
    name: 'Example Agent',
    keys,
    store: memoryStore(),
    fetch: namedFetch(ports, ca),
  })
  const browse = namedFetch(ports)
  const person = createPerson(async ({ url, method, headers, body }) =>
    browse(url, { method, headers, redirect: 'manual', ...(body ? { body: await new Response(body).text() } : {}) }),
  )
  return { agent, person }
}

describe('the visit over HTTPS', () => {
  it('goes as told between names, with nothing switched on for development [3.well-known, 3.1.auth-issuer, 4.1.client-id-https-agent, 4.1.jwks-same-domain-agent, 4.1.redirect-uris-same-domain-agent, K04]', {
    timeout,
  }, async () => {
    const hotel = await openHotel(internet())
    const { agent, person } = await openAgent(hotel.port)
    expect(new URL(agent.redirectUri).hostname).toBe('agent.example')
    const told: string[] = []
    const say = (line: string) => told.push(line)
    const end = await playVisit({ address: 'miramar.example', agent, person, say, approve: async () => true })
    expect(end).toMatchObject({ booking: 'succeeded' })
    expect(told).toHaveLength(12)
    expect(told.at(-1)).toContain('refused')
    expect(hotel.log).toEqual([])
  })

  it('publishes its own origin everywhere, and cookies that never leave HTTPS [3.well-known]', {
    timeout,
  }, async () => {
    const hotel = await openHotel(internet())
    const browse = namedFetch({ 'miramar.example': hotel.port })
    for (const path of [
      '/.well-known/poppy.json',
      '/.well-known/oauth-authorization-server',
      '/.well-known/oauth-protected-resource/poppy/mcp',
      '/poppy/openapi.json',
    ]) {
      const text = await (await browse(origin + path)).text()
      const addresses = [...text.matchAll(/"((?:https?:)\/\/[^"/]+)/g)].map(([, address]) => address)
      expect({
        path,
        addresses: [...new Set(addresses)].filter((one) => one?.includes('miramar') || one?.includes('local')),
      }).toEqual({
        path,
        addresses: [origin],
      })
    }
    const login = await browse(`${origin}/login`)
    expect(login.headers.getSetCookie()).not.toEqual([])
    for (const cookie of login.headers.getSetCookie()) expect(cookie).toMatch(/; Secure/i)
  })

  it('goes no further when the agent does not know the authority of the certificate', { timeout }, async () => {
    const hotel = await openHotel(internet())
    const { agent, person } = await openAgent(hotel.port, '')
    const told: string[] = []
    const visit = playVisit({ address: 'miramar.example', agent, person, say: (line) => told.push(line) })
    await expect(visit).rejects.toMatchObject({ code: 'unreachable' })
    expect(told).toEqual([])
  })

  it.each([
    ['its certificate is nobody’s', { ...internet(), ca: [] }],
    ['its name leads inside', { ca: testTls().ca, lookup: async () => ['127.0.0.1'] }],
    ['its name is unknown', { ...internet(), lookup: async () => [] }],
  ])('lets no agent in when %s, and says the same each time [4.1.private-key-jwt]', { timeout }, async (_, options) => {
    const hotel = await openHotel(options)
    const { agent, person } = await openAgent(hotel.port)
    const told: string[] = []
    const visit = playVisit({ address: 'miramar.example', agent, person, say: (line) => told.push(line) })
    await expect(visit).rejects.toMatchObject({ code: 'client_refused', companyCode: 'invalid_client', status: 401 })
    expect(told).toHaveLength(1)
  })
})
