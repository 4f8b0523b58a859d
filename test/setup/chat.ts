import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createMisbehavingCompany, type MisbehavingCompany } from '@poppyseed/conformance'
import { onTestFinished } from 'vitest'
import type { ChatScreen } from '../../packages/agent/src/cli/chat/screen.ts'
import { runPoppy } from '../../packages/agent/src/cli/poppy.ts'
import { freePort } from './free-port.ts'
import { openAddress } from './hostile-company.ts'

/** What a person does: types a line, presses Ctrl-C, or something else; each once something was seen. */
export type Typed =
  | string
  | { readonly after: RegExp; readonly type: string }
  | { readonly after: RegExp; readonly presses: 'Ctrl-C' }
  | { readonly after: RegExp; readonly does: () => unknown }

/** What a person sees and types; lines may wait for something to be seen. */
function screenOf(lines: readonly Typed[], isLive: boolean) {
  let seen = ''
  const rest = [...lines]
  const watchers = new Set<() => void>()
  let isClosed = false
  let interrupt: (() => boolean) | undefined
  const look = () => {
    for (const one of [...watchers]) one()
  }
  const until = (what: RegExp) =>
    new Promise<void>((resolve) => {
      const check = () => {
        if (!isClosed && !what.test(seen)) return
        watchers.delete(check)
        resolve()
      }
      watchers.add(check)
      check()
    })
  const screen: ChatScreen = {
    isLive,
    columns: () => (isLive ? 200 : undefined),
    async next() {
      for (;;) {
        const line = rest.shift()
        if (line === undefined || isClosed) return undefined
        if (typeof line === 'string') return line
        await until(line.after)
        if (isClosed) return undefined
        if ('type' in line) return line.type
        if ('does' in line) await line.does()
        // Ctrl-C with nothing to cancel leaves.
        else if (!interrupt?.()) return undefined
      }
    },
    onInterrupt(act) {
      interrupt = act
    },
    show(text) {
      seen += `${text}\n`
      look()
    },
    piece(text) {
      seen += text
      look()
    },
    aside: (write) => write(),
    close() {
      isClosed = true
      look()
    },
  }
  return { screen, seen: () => seen }
}

/** How somebody sits there. */
export interface Sitting {
  readonly isLive?: boolean
  /** Opens a page to sign in, each once, with what was shown so far; left out, the person approves at once. */
  readonly browser?: (url: string, shown: () => string) => unknown
}

/** What a command ended with, and all that was shown. */
export interface Sat {
  readonly code: number
  readonly out: string
  readonly err: string
  readonly seen: string
}

/** Approves on the page, and is sent back to the agent. */
export async function approve(url: string): Promise<void> {
  await fetch(await openAddress(url))
}

/** A person with `poppy`, a home of their own, and a Company. */
export async function sitDownToChat(): Promise<{
  readonly poppy: (args: readonly string[], lines?: readonly Typed[], sitting?: Sitting) => Promise<Sat>
  readonly company: MisbehavingCompany
  readonly home: string
}> {
  const folder = mkdtempSync(join(tmpdir(), 'poppyseed-chat-'))
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
  const home = join(folder, 'home')
  const port = await freePort()
  const company = await createMisbehavingCompany({})
  onTestFinished(company.close)
  const poppy = async (
    args: readonly string[],
    lines: readonly Typed[] = [],
    { isLive = false, browser = approve }: Sitting = {},
  ) => {
    let out = ''
    let err = ''
    const { screen, seen } = screenOf(lines, isLive)
    const opened = new Set<string>()
    const look = (text: string) => {
      const [url] = /http:[^\s"]+\/authorize\?[^\s"]+/.exec(text) ?? []
      if (url === undefined || opened.has(url)) return
      opened.add(url)
      void browser(url, () => out + seen())
    }
    const code = await runPoppy(args, {
      stdout: (text) => {
        out += text
        look(text)
      },
      stderr: (text) => {
        err += text
      },
      isTerminal: false,
      hasPerson: true,
      env: { POPPY_HOME: home },
      now: Date.now,
      screen: () => ({
        ...screen,
        show(text) {
          screen.show(text)
          look(text)
        },
      }),
    })
    return { code, out, err, seen: seen() }
  }
  await poppy(['init', '--local', String(port)])
  return { poppy, company, home }
}
