import { AgentError } from '../../errors.ts'
import { createIdentity } from '../../identity/identity.ts'
import { generateKey } from '../../identity/keys.ts'
import { type CommandContext, openAgent } from '../command.ts'
import { listen } from '../local-server.ts'
import { table } from '../terminal.ts'

/** `poppy init` and `poppy serve`: who this agent is, and showing it. */

/** The port of a local identity, where none is named. */
const localPort = 4571

/** The options of `poppy init`. */
export interface InitOptions {
  readonly clientId?: string
  readonly local?: string | true
  readonly name: string
}

/** `poppy init`: makes the identity of this agent, once (4.1). */
export async function init(context: CommandContext, options: InitOptions): Promise<void> {
  const { output, home } = context
  const { clientId: given, local } = options
  if ((given === undefined) === (local === undefined)) {
    throw new AgentError(
      'invalid_input',
      'Say where this agent lives: --client-id https://… for real use, or --local for development.',
    )
  }
  const port = local === true || local === undefined ? localPort : Number(local)
  if (!Number.isInteger(port) || port < 1 || port > 65_535) {
    throw new AgentError('invalid_input', '--local takes a port between 1 and 65535.')
  }
  const isLocal = given === undefined
  const clientId = given ?? `http://localhost:${port}/agent.json`
  const keys = [await generateKey()]
  const { redirectUri, jwksUri } = createIdentity({ clientId, name: options.name, allowHttp: isLocal })
  await home.create({ version: 1, clientId, name: options.name, keys, local: isLocal })
  output.value({ clientId, jwksUri, redirectUri, name: options.name, home: home.folder, local: isLocal })
  output.line(`${output.bold(options.name)} is ready.`)
  output.line()
  for (const row of table([
    ['  Identity', clientId],
    ['  Keys', jwksUri],
    ['  Callback', redirectUri],
    ['  Kept in', home.folder],
  ])) {
    output.line(row)
  }
  output.line()
  if (isLocal) {
    output.line('This identity works with Companies on this machine only.')
    output.line('Next: poppy discover localhost:4000')
  } else {
    output.line(`Let ${new URL(clientId).origin} reach this command, which serves the three addresses:`)
    output.line('Next: poppy serve')
  }
}

/** `poppy serve`: serves the identity and takes callbacks until it is stopped. */
export async function serve(context: CommandContext, options: { readonly port?: string }): Promise<void> {
  const { output, around } = context
  const { agent, identity } = await openAgent(context)
  const own = identity.local ? Number(new URL(identity.clientId).port || 80) : localPort
  const port = options.port === undefined ? own : Number(options.port)
  if (!Number.isInteger(port) || port < 0 || port > 65_535) {
    throw new AgentError('invalid_input', '--port takes a port between 0 and 65535.')
  }
  if (identity.local && port !== own) {
    throw new AgentError('invalid_input', `The identity is ${identity.clientId}, so it must be served on port ${own}.`)
  }
  const server = await listen(agent, port)
  output.value({ clientId: agent.clientId, port: server.port })
  output.line(`Serving ${agent.clientId}`)
  output.line(output.dim(`on http://127.0.0.1:${server.port} until you press Ctrl+C`))
  await new Promise<void>((resolve) => {
    if (around.stop?.aborted) resolve()
    around.stop?.addEventListener('abort', () => resolve(), { once: true })
  })
  await server.close()
}

/** The options of `poppy identity`. */
export interface IdentityOptions {
  readonly compromised?: boolean
}

/** `poppy identity` and `poppy identity rotate`: the signing keys of this agent, and a new one in place of the old (4.1). */
export async function identityKeys(
  context: CommandContext,
  action: string | undefined,
  options: IdentityOptions,
): Promise<void> {
  const { output } = context
  if (action !== undefined && action !== 'rotate') {
    throw new AgentError('invalid_input', 'poppy identity shows the keys; poppy identity rotate makes a new one.')
  }
  const { agent } = await openAgent(context)
  const compromised = options.compromised === true
  const keys = action === 'rotate' ? await agent.identity.rotate({ compromised }) : await agent.identity.keys()
  output.value({ clientId: agent.clientId, keys })
  output.line(output.bold(agent.clientId))
  output.line()
  const at = (time: number) => new Date(time).toISOString().slice(0, 16).replace('T', ' ')
  for (const row of table(
    keys.map(({ kid, state, signsFrom, until }) => [
      `  ${kid}`,
      { next: 'signs next', signing: 'signs', retiring: 'has signed', kept: 'published' }[state],
      [
        state === 'next' && signsFrom !== null ? `from ${at(signsFrom)} UTC` : '',
        until === null ? '' : `until ${at(until)} UTC`,
      ]
        .filter(Boolean)
        .join(', '),
    ]),
  )) {
    output.line(row)
  }
  if (action !== 'rotate') return
  output.line()
  output.line(
    compromised
      ? 'The new key signs now, and the others are gone. What they sign is refused as soon as a Company asks for the keys again.'
      : 'Nothing stops meanwhile, and every sign-in stays. Keep the identity served until the old key has gone.',
  )
}
