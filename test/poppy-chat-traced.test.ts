import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createMisbehavingCompany } from '@poppyseed/conformance'
import { describe, expect, it, onTestFinished } from 'vitest'
import type { ChatScreen } from '../packages/agent/src/cli/chat/screen.ts'
import { runPoppy } from '../packages/agent/src/cli/poppy.ts'
import type { Fetch } from '../packages/agent/src/net/exchange.ts'
import { createPublicFetch } from '../packages/agent/src/net/public-fetch.ts'
import { freePort } from './setup/free-port.ts'
import { openAddress } from './setup/hostile-company.ts'

// `poppy chat --trace`: all that is printed, looked through for every secret that went over the wire in that very chat.

/** Parameters and members whose values open something, or did. */
const secretNames = [
  ...['code', 'code_verifier', 'refresh_token', 'session_id', 'token', 'client_assertion', 'assertion'],
  ...['session_assertion', 'access_token', 'device_code', 'user_code', 'request'],
]

/** A `fetch` that keeps each secret that it sends or gets, by where it stood. */
function listeningIn(fetch: Fetch) {
  const secrets = new Map<string, Set<string>>()
  const note = (name: string, value: string) => {
    // A line is cut, so that of a long one its beginning may be all that is printed; of a JWT each part is looked for.
    const kept = secrets.get(name) ?? new Set()
    for (const part of value.split('.')) if (part.length >= 12) kept.add(part.slice(0, 20))
    secrets.set(name, kept)
  }
  const noteAll = (entries: Iterable<readonly [string, unknown]>) => {
    for (const [name, value] of entries) if (secretNames.includes(name) && typeof value === 'string') note(name, value)
  }
  const listening: Fetch = async (url, init) => {
    const headers = new Headers(init.headers)
    note('DPoP', headers.get('dpop') ?? '')
    note('Authorization', headers.get('authorization')?.split(' ')[1] ?? '')
    noteAll(new URL(url).searchParams)
    if (init.body instanceof URLSearchParams || typeof init.body === 'string')
      noteAll(new URLSearchParams(String(init.body)))
    const answer = await fetch(url, init)
    if (!answer.headers.get('content-type')?.startsWith('application/json')) return answer
    const text = await answer.text()
    noteAll(Object.entries(JSON.parse(text) as object))
    return new Response(text, { status: answer.status, headers: answer.headers })
  }
  return { secrets, listening }
}

describe('poppy chat --trace', () => {
  it('shows a sign-in, a renewal and a confirmed operation, and nothing that is secret in them', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'poppyseed-traced-'))
    onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
    const port = await freePort()
    const clock = { now: Date.now() }
    const company = await createMisbehavingCompany({ now: () => clock.now, switches: { rotation: 'grace' } })
    onTestFinished(company.close)
    const { secrets, listening } = listeningIn(createPublicFetch(true))
    const printed = { out: '', err: '', seen: '' }
    const openings = new Set<string>()

    const poppy = async (args: readonly string[], lines: readonly (readonly [RegExp, string])[] = []) => {
      const rest = [...lines]
      let isClosed = false
      let seen = ''
      const watchers = new Set<() => void>()
      const look = () => {
        for (const one of [...watchers]) one()
      }
      const screen: ChatScreen = {
        isLive: true,
        columns: () => 200,
        next: () =>
          new Promise((resolve) => {
            const line = rest.shift()
            const check = () => {
              if (!isClosed && line !== undefined && !line[0].test(seen)) return
              watchers.delete(check)
              resolve(isClosed ? undefined : line?.[1])
            }
            watchers.add(check)
            check()
          }),
        show(text) {
          seen += `${text}\n`
          const [url] = /http:\S+\/authorize\?\S+/.exec(text) ?? []
          if (url !== undefined && !openings.has(url)) {
            openings.add(url)
            void openAddress(url).then((callback) => fetch(callback))
          }
          look()
        },
        piece(text) {
          seen += text
          look()
        },
        aside: (write) => write(),
        onInterrupt: () => {},
        close() {
          isClosed = true
          look()
        },
      }
      const code = await runPoppy(args, {
        stdout: (text) => {
          printed.out += text
        },
        stderr: (text) => {
          printed.err += text
        },
        isTerminal: false,
        hasPerson: true,
        env: { POPPY_HOME: join(folder, 'home') },
        now: () => clock.now,
        fetch: listening,
        screen: () => screen,
      })
      printed.seen += seen
      return code
    }

    await poppy(['init', '--local', String(port)])
    company.conversations.script(
      [{ needs: ['poppy:write'] }, { say: 'I can book this.', proposes: true }],
      // A second sign-in replaces the first, whose Account Token is revoked.
      [{ needs: ['poppy:read'] }, { say: 'It is table 7.' }],
    )
    const booked = await poppy(
      ['chat', company.origin, '--trace'],
      [
        [/^/, 'A table for two, please.'],
        [/Type \/confirm/, '/confirm'],
        [/Confirmed\. State/, 'Which table is it?'],
        [/It is table 7/, '/leave'],
      ],
    )
    expect(company.operations[0]).toMatchObject({ performed: 1, confirms: 1 })
    // The Session Token runs out: the next chat begins with a new one, and with a new Account Token.
    clock.now += 2 * 3_600_000
    company.conversations.script([{ say: 'Anything else?' }])
    const asked = await poppy(['chat', company.origin, 'Is there a garden?', '--trace'])
    expect([booked, asked]).toEqual([0, 0])

    const leaks = [...secrets].flatMap(([name, values]) =>
      [...values].flatMap((value) =>
        Object.entries(printed).flatMap(([where, text]) => (text.includes(value) ? [`${name} in ${where}`] : [])),
      ),
    )
    expect(leaks).toEqual([])

    // All of it went over the wire, and is told of by its name.
    for (const name of [
      'code',
      'code_verifier',
      'refresh_token',
      'session_id',
      'token',
      'client_assertion',
      'access_token',
    ])
      expect([name, secrets.get(name)?.size ?? 0]).not.toEqual([name, 0])
    for (const grant of ['authorization_code', 'refresh_token'])
      expect(printed.err).toMatch(new RegExp(`grant_type=${grant} `))
    for (const name of ['code', 'code_verifier', 'refresh_token', 'session_id', 'token', 'client_assertion'])
      expect(printed.err).toMatch(new RegExp(`(?:^| )${name}=…`, 'm'))
    expect(printed.err).toMatch(/→ POST \S+\/confirm {2}\[DPoP token, proof\]/)
  })
})
