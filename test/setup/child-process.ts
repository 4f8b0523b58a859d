import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { type Agent, request as httpRequest, type IncomingMessage } from 'node:http'
import { createInterface } from 'node:readline'

/** Processes of tests, and requests to what listens there under another name. */

/** A process that listens. */
export interface Listening {
  readonly child: ChildProcess
  /** What it wrote first: where it listens. */
  readonly line: string
  /** Has it end as a deploy ends it, and resolves when it has. */
  readonly end: () => Promise<void>
}

/** Starts one; `whenOver` takes what ends it, before it is known whether it will ever listen. */
export async function startListening(
  script: string,
  argument: readonly string[],
  {
    env = {},
    whenOver,
  }: {
    readonly env?: Readonly<Record<string, string>>
    readonly whenOver?: (end: () => Promise<void>) => void
  } = {},
): Promise<Listening> {
  const child = spawn(process.execPath, ['--conditions', '@poppyseed/source', script, ...argument], {
    stdio: ['pipe', 'pipe', 'inherit'],
    env: { ...process.env, ...env },
  })
  const end = async () => {
    if (!isRunning(child)) return
    child.stdin.end()
    await once(child, 'exit')
  }
  whenOver?.(end)
  // It may have been killed.
  child.stdin.on('error', () => {})
  for await (const line of createInterface({ input: child.stdout })) return { child, line, end }
  throw new Error(`${script} ended before it listened`)
}

/** Whether it hasn't ended yet. */
export function isRunning(child: ChildProcess | undefined): boolean {
  return child?.exitCode === null && child.signalCode === null
}

/** Sends a request to this port of our machine, whatever host it names; rejects where the process dies over it. */
export async function ask(
  request: Request,
  { port, agent }: { readonly port: number; readonly agent: Agent | false },
): Promise<IncomingMessage> {
  const { pathname, search, host } = new URL(request.url)
  const body = Buffer.from(await request.clone().arrayBuffer())
  const outgoing = httpRequest({
    ...{ host: '127.0.0.1', port, path: pathname + search, method: request.method, agent },
    headers: { ...Object.fromEntries(request.headers), host, 'content-length': body.byteLength },
  })
  outgoing.end(body)
  const [answer] = (await once(outgoing, 'response')) as [IncomingMessage]
  return answer
}

/** The same, with the whole answer. */
export async function send(request: Request, to: { readonly port: number; readonly agent: Agent }): Promise<Response> {
  const answer = await ask(request, to)
  const parts: Buffer[] = []
  for await (const part of answer as AsyncIterable<Buffer>) parts.push(part)
  const headers = new Headers(Object.entries(answer.headers).map(([name, value]) => [name, String(value)]))
  return new Response(Buffer.concat(parts), { status: answer.statusCode ?? 0, headers })
}
