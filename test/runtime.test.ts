import { once } from 'node:events'
import { createServer, request } from 'node:https'
import type { AddressInfo } from 'node:net'
import pg from 'pg'
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest'
import manifest from '../package.json' with { type: 'json' }
import { axe, chromiumMissing, openBrowser, screenshot, type TestBrowser } from './setup/browser.ts'
import { freshSchema, postgresMissing } from './setup/postgres.ts'
import { testTls } from './setup/tls.ts'

describe('the runtime', () => {
  it.runIf(process.platform === 'linux')('is the Node that npm ci brought, whatever the machine has', () => {
    expect(process.version).toBe(`v${manifest.optionalDependencies[`node-linux-${process.arch as 'x64' | 'arm64'}`]}`)
  })
})

describe.skipIf(postgresMissing)('PostgreSQL', () => {
  it('is a real server, and each schema is a world of its own', async () => {
    const [mine, yours] = await Promise.all([freshSchema(), freshSchema()])
    const [me, you] = [mine, yours].map(({ url }) => new pg.Client({ connectionString: url }))
    if (!me || !you) throw new Error('two clients')
    await Promise.all([me.connect(), you.connect()])
    onTestFinished(async () => {
      await Promise.all([me.end(), you.end()])
      await Promise.all([mine.drop(), yours.drop()])
    })
    expect((await me.query('select version()')).rows[0]).toMatchObject({
      version: expect.stringMatching(/^PostgreSQL 18/),
    })
    await me.query('create table letters (text text)')
    await expect(you.query('select * from letters')).rejects.toThrow('does not exist')
  })
})

describe('the certificate authority', () => {
  it('is believed by a client that was told of it, for the name and no other', async () => {
    const site = await httpsSite('miramar.example')
    const get = (servername: string) =>
      new Promise<number | undefined>((resolve, reject) => {
        const options = { host: '127.0.0.1', port: site.port, servername, ca: testTls().ca, agent: false }
        request(options, (response) => resolve(response.resume().statusCode))
          .on('error', reject)
          .end()
      })
    expect(await get('miramar.example')).toBe(200)
    await expect(get('evil.example')).rejects.toThrow("does not match certificate's altnames")
  })
})

describe.skipIf(chromiumMissing)('the browser', () => {
  let browser: TestBrowser
  let port: number
  beforeAll(async () => {
    port = (await httpsSite('miramar.example', afterAll)).port
    browser = await openBrowser({ hosts: { 'miramar.example:443': `127.0.0.1:${port}` }, spki: [testTls().spki] })
  })
  afterAll(async () => {
    await browser?.close()
  })

  it.each([
    { screen: 'phone', scheme: 'light', width: 390, ground: 'rgb(255, 255, 255)' },
    { screen: 'desktop', scheme: 'dark', width: 1280, ground: 'rgb(17, 17, 17)' },
  ] as const)('renders a page of a real name over TLS: $screen, $scheme', async ({ screen, scheme, width, ground }) => {
    const page = await browser.page({ screen, scheme })
    await page.goto('https://miramar.example/')
    expect(
      await page.evaluate('[location.origin, innerWidth, getComputedStyle(document.body).backgroundColor]'),
    ).toEqual(['https://miramar.example', width, ground])
    expect(await axe(page)).toEqual([])
    await screenshot(page, `runtime-${screen}-${scheme}`)
  })

  it('refuses a certificate for a name that nobody vouched for', async () => {
    const stranger = await openBrowser({ hosts: { 'miramar.example:443': `127.0.0.1:${port}` } })
    onTestFinished(() => stranger.close())
    const page = await stranger.page()
    await expect(page.goto('https://miramar.example/')).rejects.toThrow('ERR_CERT_AUTHORITY_INVALID')
  })
})

const page = `<!doctype html><html lang="en"><meta name="viewport" content="width=device-width"><title>Miramar</title>
<style>body{background:#fff;color:#111}@media(prefers-color-scheme:dark){body{background:#111;color:#eee}}</style>
<main><h1>Hotel Miramar</h1></main>`

async function httpsSite(name: string, after: (stop: () => Promise<void>) => void = onTestFinished) {
  const server = createServer(testTls().certFor(name), (_, response) => {
    response.setHeader('content-type', 'text/html; charset=utf-8')
    response.end(page)
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  after(async () => {
    server.closeAllConnections()
    server.close()
  })
  return server.address() as AddressInfo
}
