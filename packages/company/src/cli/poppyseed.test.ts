import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, it, onTestFinished } from 'vitest'
import { agentRow, now } from '../../../../test/setup/rows.ts'
import type { StoreAddress } from '../../../../test/setup/store-process.ts'
import { silent, stores } from '../../../../test/setup/stores.ts'
import { isAgentBlocked } from '../agents/store.ts'
import { latestSchema } from '../store/migrations.ts'
import { runPoppyseed } from './poppyseed.ts'

const company = 'https://miramar.example'
const client = 'https://agent.example/client'

/** Runs the command; gives what it said. */
async function poppyseed(args: readonly string[], env: Record<string, string> = {}, isTerminal = false) {
  let out = ''
  let err = ''
  const code = await runPoppyseed(args, {
    stdout: (text) => {
      out += text
    },
    stderr: (text) => {
      err += text
    },
    isTerminal,
    env,
    now: () => now,
  })
  return { code, out, err }
}

const addressOf = (address: StoreAddress) => (address.kind === 'sqlite' ? `sqlite:${address.path}` : address.url)
const json = async (...run: Parameters<typeof poppyseed>) => {
  const { code, out, err } = await poppyseed([...run[0], '--json'], run[1])
  return { code, value: JSON.parse(out) as Record<string, unknown>, err }
}

describe.each(stores)('poppyseed agents, on a store in $name', { timeout: 60_000 }, ({ missing, fresh, empty }) => {
  const test = it.skipIf(missing !== null)
  async function start(companies: readonly string[] = [company]) {
    const { address, open } = await fresh()
    const db = await open()
    for (const [index, of] of companies.entries()) {
      await db.query
        .insertInto('poppy_agents')
        .values([
          { ...agentRow(), company: of },
          {
            ...agentRow({ client_id: 'https://other.example/a', host: 'other.example', last_seen_at: now - 1 - index }),
            company: of,
          },
        ])
        .execute()
    }
    const store = addressOf(address)
    return { db, store, env: { POPPYSEED_STORE: store } }
  }

  test('blocks an agent, shows who is blocked, and lets it in again', async () => {
    const { db, env } = await start()
    const scope = { db, company }
    const blocked = await poppyseed(['agents', 'block', client, '--reason', 'It tells lies'], env)
    expect(blocked).toEqual({
      code: 0,
      out: `${client} is blocked at ${company}.\nIt is out with its next request. Nothing of it was deleted.\nNext: poppyseed agents blocked\n`,
      err: '',
    })
    expect(await isAgentBlocked(scope, client)).toBe(true)
    expect((await poppyseed(['agents', 'block', client], env)).out).toMatch(/was blocked already/)
    expect((await poppyseed(['agents', 'blocked'], env)).out).toBe(
      `Blocked at ${company}:\n\n${client}  2025-06-15 15:06 UTC  It tells lies\n`,
    )
    expect((await poppyseed(['agents', 'unblock', client], env)).out).toMatch(/is no longer blocked/)
    expect(await isAgentBlocked(scope, client)).toBe(false)
    expect(await poppyseed(['agents', 'unblock', client], env)).toMatchObject({
      code: 0,
      out: expect.stringContaining('was not blocked'),
    })
    expect((await poppyseed(['agents', 'blocked'], env)).out).toMatch(/No agent is blocked/)
  })

  test('tells a program the same in JSON, one value and nothing beside it', async () => {
    const { store } = await start()
    const at = ['--store', store]
    expect(await json(['agents', 'block', client, '--reason', 'x', ...at])).toEqual({
      code: 0,
      value: { company, clientId: client, blocked: true, changed: true, known: true },
      err: '',
    })
    expect((await json(['agents', 'blocked', ...at])).value).toEqual({
      company,
      blocked: [
        {
          clientId: client,
          host: 'agent.example',
          name: 'Example Agent',
          reason: 'x',
          blockedAt: new Date(now).toISOString(),
        },
      ],
    })
    expect((await json(['agents', 'list', '--limit', '1', ...at])).value).toMatchObject({
      agents: [{ clientId: client, name: 'Example Agent', blockedAt: new Date(now).toISOString() }],
      more: true,
    })
    expect((await json(['agents', 'unblock', client, ...at])).value).toMatchObject({ blocked: false, changed: true })
    expect(await json(['agents', 'block', 'agent.example', ...at])).toMatchObject({
      code: 2,
      value: { error: 'invalid_input', message: expect.stringContaining('no client_id') },
      err: '',
    })
  })

  test('lists who was here, and says that nobody was', async () => {
    const { env } = await start()
    await poppyseed(['agents', 'block', client], env)
    expect((await poppyseed(['agents', 'list'], env)).out).toBe(
      `Agents at ${company}, the latest first:\n\n` +
        `${client}  Example Agent  seen 2025-06-15  blocked\n` +
        'https://other.example/a       Example Agent  seen 2025-06-15\n',
    )
    expect((await poppyseed(['agents', 'list', '--limit', '1'], env)).out).toMatch(/There are more: --limit/)
    for (const limit of ['0', '-1', 'all', '1e9', ''])
      expect(await poppyseed(['agents', 'list', `--limit=${limit}`], env)).toMatchObject({ code: 2 })
  })

  test('says so when an agent that it blocks was never here', async () => {
    const { env } = await start()
    const { code, out } = await poppyseed(['agents', 'block', 'https://agent.example/clinet'], env)
    expect([code, out]).toEqual([0, expect.stringContaining('look for a typing error')])
    expect(out).toContain('Next: poppyseed agents list')
  })

  test('takes the only Company, and asks which where there are several', async () => {
    const other = 'https://other-hotel.example'
    const { db, env } = await start([company, other])
    const unclear = await poppyseed(['agents', 'block', client], env)
    expect(unclear).toMatchObject({ code: 1, out: '' })
    expect(unclear.err).toContain(`There are 2 Companies in this store:\n  ${company}\n  ${other}\nTry: --company`)
    expect((await json(['agents', 'block', client], env)).value).toMatchObject({ error: 'which_company' })
    expect(await isAgentBlocked({ db, company }, client)).toBe(false)
    const chosen = await poppyseed(['agents', 'block', client, '--company', other], env)
    expect([chosen.code, chosen.out]).toEqual([0, expect.stringContaining(`blocked --company ${other}`)])
    expect(await isAgentBlocked({ db, company: other }, client)).toBe(true)
    expect(await isAgentBlocked({ db, company }, client)).toBe(false)
    const misspelt = await poppyseed(['agents', 'block', client, '--company', `${company}/`], env)
    expect([misspelt.code, misspelt.err]).toEqual([1, expect.stringContaining(`\n  ${company}\n`)])
  })

  test('suggests nothing that a shell would run, whatever another Company of the store is called', async () => {
    const hostile = "https://a.example/$(id)'`id`;\u001b[2J"
    const { env } = await start([hostile, company])
    const suggested = "Try: --company 'https://a.example/$(id)'\\''`id`;[2J'\n"
    expect((await poppyseed(['agents', 'blocked'], env)).err.endsWith(suggested)).toBe(true)
    const misspelt = await poppyseed(['agents', 'blocked', '--company', 'https://b.example'], env)
    expect([misspelt.code, misspelt.err.endsWith(suggested)]).toEqual([1, true])
  })

  test('wants the Company named where no agent has come yet', async () => {
    const { db, env } = await start([])
    const unclear = await poppyseed(['agents', 'blocked'], env)
    expect([unclear.code, unclear.err]).toEqual([1, expect.stringContaining('Try: --company <issuer>')])
    expect(await poppyseed(['agents', 'blocked', '--company', 'miramar'], env)).toMatchObject({ code: 2 })
    expect((await poppyseed(['agents', 'list', '--company', company], env)).out).toMatch(/No agent has come/)
    expect(await poppyseed(['agents', 'block', client, '--company', company], env)).toMatchObject({ code: 0 })
    expect(await isAgentBlocked({ db, company }, client)).toBe(true)
    // From now on the store knows it.
    expect(await poppyseed(['agents', 'blocked'], env)).toMatchObject({ code: 0 })
  })

  test('makes and migrates nothing: an older database stays as it is, a newer one too, an empty one empty', async () => {
    const nothing = await empty()
    if (nothing.address.kind === 'postgres') {
      const { code, err } = await poppyseed(['agents', 'blocked'], { POPPYSEED_STORE: addressOf(nothing.address) })
      expect([code, err]).toEqual([1, expect.stringContaining('has no tables of poppyseed')])
    }
    for (const [version, says] of [
      [latestSchema - 1, 'Use the release that the Company runs'],
      [latestSchema + 1, 'Install the release that wrote it'],
    ] as const) {
      const { address, store } = await fresh()
      // Closed before the command runs: in one process, whoever comes later joins those who have a file open.
      const db = await store().open({ now: () => now, log: silent })
      await db.query.updateTable('poppy_schema').set({ version }).execute()
      await db.close()
      for (const _ of ['the first time', 'and again, since nothing was changed']) {
        const { code, err } = await poppyseed(['agents', 'blocked'], { POPPYSEED_STORE: addressOf(address) })
        expect([code, err]).toEqual([1, expect.stringContaining(says)])
      }
    }
  })
})

describe('poppyseed', () => {
  it('says how it is used, and where it was not understood', async () => {
    const help = await poppyseed(['--help'])
    expect([help.code, help.out]).toEqual([0, expect.stringContaining('Usage: poppyseed')])
    expect(help.out).toContain('POPPYSEED_STORE')
    for (const args of [
      ['agents', 'blok'],
      ['nothing'],
      ['agents', 'block'],
      ['agents', 'blocked', '--no-such-option'],
    ])
      expect(await poppyseed(args)).toMatchObject({ code: 2, out: '', err: expect.stringMatching(/Try: poppyseed/) })
    expect((await poppyseed(['agents', 'block', '--help'])).out).toContain('--reason <text>')
  })

  it('wants a store, and one that is there', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'poppyseed-cli-'))
    onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
    for (const store of [
      undefined,
      '',
      'poppy.db',
      'sqlite:',
      'sqlite::memory:',
      'mysql://u:p@h/d',
      'postgres://:/:',
    ]) {
      const { code, err } = await poppyseed(['agents', 'blocked', ...(store === undefined ? [] : ['--store', store])])
      expect([store, code, err]).toEqual([store, 1, expect.stringMatching(/Try: --store sqlite:poppy\.db/)])
    }
    const gone = await poppyseed(['agents', 'blocked'], { POPPYSEED_STORE: `sqlite:${folder}/gone.db` })
    expect([gone.code, gone.err]).toEqual([1, expect.stringContaining('There is no file')])
    writeFileSync(join(folder, 'letter.db'), 'Dear database, you are none.'.repeat(100))
    const other = await poppyseed(['agents', 'blocked'], { POPPYSEED_STORE: `sqlite:${folder}/letter.db` })
    expect([other.code, other.err]).toEqual([1, expect.stringMatching(/can’t be used: .*not a database/)])
    writeFileSync(join(folder, 'empty.db'), '')
    const empty = await poppyseed(['agents', 'blocked'], { POPPYSEED_STORE: `sqlite:${folder}/empty.db` })
    expect([empty.code, empty.err]).toEqual([1, expect.stringContaining('has no tables of poppyseed')])
  })

  it('shows no password, wherever it stands', async () => {
    const password = 'hunter%322-very-secret'
    for (const address of [
      `postgres://maya:${password}@127.0.0.1:1/db`,
      `postgres://127.0.0.1:1/db?user=maya&password=${password}`,
      `postgres://maya:${password}@no-host.invalid/db`,
      `postgres://maya:${password}@[::1`,
      `postgres://maya:${password}@/%zz`,
      `mysql://maya:${password}@db/x`,
    ]) {
      for (const args of [
        ['agents', 'blocked', '--store', address],
        ['agents', 'blocked', '--json', '--store', address],
        ['agents', 'block', 'nonsense', '--store', address],
        ['agents', 'blocked', `--stroe=${address}`],
        ['agents', address],
        [address],
        ['agents', 'block', 'a', address],
      ]) {
        const { code, out, err } = await poppyseed(args, { POPPYSEED_STORE: address })
        expect(code).toBeGreaterThan(0)
        expect(out + err).not.toMatch(/hunter|very-secret/)
        expect(out + err).not.toBe('')
      }
    }
  })

  it('names what is wrong with a connection', async () => {
    const { err } = await poppyseed(['agents', 'blocked', '--store', 'postgres://maya:secret@127.0.0.1:1/db'])
    expect(err).toBe('Error: The store can’t be used: nothing listens at its address.\n')
  })

  it('colours only for a person who wants it, and speaks of npx to whoever came by it', async () => {
    const failing = ['agents', 'blocked']
    expect((await poppyseed(failing, {}, true)).err).toContain('\u001b[31m')
    for (const [env, isTerminal] of [
      [{ NO_COLOR: '1' }, true],
      [{ TERM: 'dumb' }, true],
      [{}, false],
    ] as const)
      expect((await poppyseed(failing, env as Record<string, string>, isTerminal)).err).not.toContain('\u001b')
  })
})
