import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { globSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { createServer, request as send } from 'node:http'
import { createRequire } from 'node:module'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { basename, dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { ToolError, tool } from 'poppyseed'
import { describe, expect, it, onTestFinished } from 'vitest'
import { discover, openForeignAgent, startSession } from './setup/foreign-agent.ts'
import { openSite } from './setup/site.ts'

// The official MCP conformance suite, against a Company with the tools that it asks for. It knows no tokens, so a proxy in
// front of the Company adds one.

/** Scenarios for what a server of tools offers. The suite may fail elsewhere as the baseline says, never here. */
const passing = [
  'server-initialize',
  'ping',
  'tools-list',
  'tools-call-simple-text',
  'tools-call-error',
  'json-schema-2020-12',
  'dns-rebinding-protection',
]

const baseline = fileURLToPath(new URL('mcp-conformance.yml', import.meta.url))

const addressSchema = {
  $schema: 'https://json-schema.org/draft/2020-12/schema',
  type: 'object',
  $defs: {
    address: { type: 'object', properties: { street: { type: 'string' }, city: { type: 'string' } } },
  },
  properties: { name: { type: 'string' }, address: { $ref: '#/$defs/address' } },
  additionalProperties: false,
}

const tools = [
  tool({
    name: 'test_simple_text',
    description: 'Gives a text.',
    run: () => 'This is a simple text response for testing.',
  }),
  tool({
    name: 'test_error_handling',
    description: 'Fails.',
    run: () => {
      throw new ToolError('This tool intentionally returns an error for testing')
    },
  }),
  tool({
    name: 'json_schema_2020_12_tool',
    description: 'Tool with JSON Schema 2020-12 features',
    input: addressSchema,
    run: (input) => input,
  }),
]

/** Passes everything on as it came, with a token. */
async function openProxy(port: number, token: string): Promise<string> {
  const proxy = createServer((incoming, answer) => {
    const { method, url, headers } = incoming
    const onward = send({ host: '127.0.0.1', port, method, path: url, headers: { ...headers, authorization: token } })
    onward.on('response', (response) => {
      answer.writeHead(response.statusCode ?? 500, response.headers)
      response.pipe(answer)
    })
    onward.on('error', () => answer.destroy())
    incoming.pipe(onward)
  })
  proxy.listen(0, '127.0.0.1')
  await once(proxy, 'listening')
  onTestFinished(() => {
    proxy.close()
    proxy.closeAllConnections()
  })
  return `http://localhost:${(proxy.address() as AddressInfo).port}`
}

/** Runs the suite's command; gives its exit code and what it printed. */
async function runSuite(url: string, folder: string): Promise<{ readonly code: number; readonly printed: string }> {
  const require = createRequire(import.meta.url)
  const command = join(dirname(require.resolve('@modelcontextprotocol/conformance/package.json')), 'dist/index.js')
  const options = ['server', '--url', url, '--suite', 'all', '-o', folder, '--expected-failures', baseline]
  const child = spawn(process.execPath, [command, ...options], { cwd: folder, stdio: ['ignore', 'pipe', 'pipe'] })
  let printed = ''
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    printed += text
  })
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    printed += text
  })
  const [code] = (await once(child, 'close')) as [number]
  return { code, printed }
}

/** The baseline's names: lines of one list. */
function expectedFailures(): readonly string[] {
  return [...readFileSync(baseline, 'utf8').matchAll(/^ {2}- (\S+)$/gm)].map(([, name = '']) => name)
}

interface Check {
  readonly id: string
  readonly status: 'SUCCESS' | 'FAILURE' | 'WARNING' | 'INFO' | 'SKIPPED'
}

/** What each scenario came to: the checks that it made, by the scenario's name. */
function readResults(folder: string): ReadonlyMap<string, readonly Check[]> {
  return new Map(
    globSync('*/checks.json', { cwd: folder }).map((path) => {
      const scenario = basename(dirname(path))
        .replace(/^server-/, '')
        .replace(/-\d{4}-\d{2}-\d{2}T.*$/, '')
      return [scenario, JSON.parse(readFileSync(join(folder, path), 'utf8')) as readonly Check[]]
    }),
  )
}

describe('the MCP conformance suite', () => {
  it('passes every scenario that is about what we offer, and fails where the baseline says, nowhere else', {
    timeout: 300_000,
  }, async () => {
    const folder = mkdtempSync(join(tmpdir(), 'poppyseed-mcp-'))
    onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
    const site = await openSite({ tools })
    const agent = await openForeignAgent('ES256')
    const started = await startSession(await discover(site.origin), agent, undefined, {
      resource: `${site.origin}/poppy/mcp`,
    })
    const proxy = await openProxy(site.port, `Bearer ${started.result.access_token}`)
    const { code, printed } = await runSuite(`${proxy}/poppy/mcp`, folder)
    const results = readResults(folder)
    for (const scenario of passing) {
      const checks = results.get(scenario) ?? []
      expect([scenario, checks.length > 0, checks.filter(({ status }) => status !== 'SUCCESS')]).toEqual([
        scenario,
        true,
        [],
      ])
    }
    // It is 1 where a scenario fails that isn't expected to, and where one passes that is.
    expect([code, code === 0 ? '' : printed]).toEqual([0, ''])
    expect([...results.keys()].sort()).toEqual([...passing, ...expectedFailures()].sort())
  })
})
