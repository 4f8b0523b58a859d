import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, it, onTestFinished } from 'vitest'
import { createCompany } from './company.ts'
import type { CompanyConfig } from './config.ts'
import type { Logger, Store } from './store/database.ts'
import { sqlite } from './store/sqlite.ts'
import { tool } from './tools/tool.ts'

const silent: Logger = { debug: () => {}, info: () => {}, warn: () => {}, error: () => {} }

function make(config: Partial<CompanyConfig> = {}) {
  return createCompany({
    organization: { name: 'Hotel Miramar', domain: 'miramar.example' },
    origin: 'https://miramar.example',
    secret: 'a-secret-for-tests-with-more-than-32-characters',
    store: sqlite(':memory:'),
    tools: [tool({ name: 'hello', description: 'Says hello.', run: () => 'hello' })],
    log: silent,
    ...config,
  })
}

const discovery = () => new Request('https://miramar.example/.well-known/poppy.json')

describe('the life of a Company', () => {
  it('starts as often as asked, tells its health, and closes', async () => {
    const company = make()
    await Promise.all([company.start(), company.start()])
    expect(await company.health()).toEqual({
      ok: true,
      store: 'sqlite in memory',
      schema: expect.any(Number),
      outbox: { waiting: 0, dueSince: null },
      turns: { waiting: 0, dueSince: null },
      deliveries: { waiting: 0, dueSince: null, givenUp: 0 },
    })
    expect((await company.fetch(discovery())).status).toBe(200)
    await Promise.all([company.close(), company.close()])
    const late = await company.fetch(discovery())
    expect([late.status, late.headers.get('retry-after')]).toEqual([503, '1'])
    await expect(company.start()).rejects.toThrow(/closed/)
  })

  it('says once and loudly that its store is in memory, wherever it runs [K03]', async () => {
    const lines: string[] = []
    const company = make({ log: { ...silent, warn: (_fields, message) => void lines.push(message) } })
    onTestFinished(() => company.close())
    await Promise.all([company.start(), company.fetch(discovery())])
    await company.start()
    expect(lines.filter((line) => line.includes('MEMORY'))).toEqual([
      expect.stringMatching(/^THE STORE IS IN MEMORY: .*another instance would accept what was used here/),
    ])
    expect(await company.health()).toMatchObject({ store: 'sqlite in memory' })
    const folder = mkdtempSync(join(tmpdir(), 'poppyseed-on-disk-'))
    onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
    const onDisk = make({ store: sqlite(join(folder, 'poppy.db')) })
    expect(await onDisk.health()).toMatchObject({ ok: true, store: 'sqlite' })
    await onDisk.close()
  })

  it('opens its store with the first request that needs it, where nobody called start', async () => {
    let opened = 0
    const inner = sqlite(':memory:')
    const store: Store = {
      name: 'sqlite',
      open(context) {
        opened++
        return inner.open(context)
      },
    }
    const company = make({ store })
    onTestFinished(() => company.close())
    await company.fetch(discovery())
    expect(opened).toBe(0)
    await Promise.all([company.health(), company.health()])
    expect(opened).toBe(1)
  })

  it('says that it is not well when the store is not there, and tries again', async () => {
    let isThere = false
    const inner = sqlite(':memory:')
    const store: Store = {
      name: 'postgres',
      open: (context) => (isThere ? inner.open(context) : Promise.reject(new Error('connection refused'))),
    }
    const lines: string[] = []
    const company = make({ store, log: { ...silent, error: (_fields, message) => void lines.push(message) } })
    onTestFinished(() => company.close())
    expect(await company.health()).toEqual({
      ok: false,
      store: 'postgres',
      schema: null,
      outbox: null,
      turns: null,
      deliveries: null,
    })
    expect(lines).toEqual(['the store is not reachable'])
    await expect(company.start()).rejects.toThrow('connection refused')
    isThere = true
    expect(await company.health()).toMatchObject({ ok: true })
  })

  it('owns its own paths and no others', async () => {
    const company = make()
    onTestFinished(() => company.close())
    const owns = (path: string) => company.owns(new Request(`https://miramar.example${path}`))
    expect(['/.well-known/poppy.json', '/poppy/token', '/poppy/tools/hello', '/poppy/mcp'].map(owns)).toEqual([
      true,
      true,
      true,
      true,
    ])
    // Without Direct Sign-In there is no page to approve on.
    expect(['/', '/poppy', '/poppy/tools', '/poppy/tools/', '/poppy/authorize', '/poppy/tools/a/b'].map(owns)).toEqual([
      false,
      false,
      false,
      false,
      false,
      false,
    ])
    expect((await company.fetch(new Request('https://miramar.example/rooms'))).status).toBe(404)
  })

  it('keeps its state in poppy.db where no store is named', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'company-'))
    const before = process.cwd()
    process.chdir(folder)
    onTestFinished(() => {
      process.chdir(before)
      rmSync(folder, { recursive: true })
    })
    const company = createCompany({
      organization: { name: 'Hotel Miramar', domain: 'miramar.example' },
      origin: 'https://miramar.example',
      secret: 'a-secret-for-tests-with-more-than-32-characters',
      log: silent,
    })
    await company.start()
    expect(await company.health()).toMatchObject({ ok: true, store: 'sqlite' })
    await company.close()
  })
})
