import { homedir } from 'node:os'
import { join, resolve } from 'node:path'
import { z } from 'zod'
import { AgentError } from '../errors.ts'
import { openPrivateFolder, readPrivateFile, writePrivateFile } from '../store/private-file.ts'

/** The folder where `poppy` keeps its identity and its state. */

const identitySchema = z.object({
  version: z.literal(1),
  clientId: z.string(),
  name: z.string(),
  keys: z.array(z.unknown()).min(1),
  /** Made with `--local`: plain HTTP on this machine, for development. */
  local: z.boolean(),
})

/** The identity of this agent, as it is kept. Holds private keys. */
export type KeptIdentity = z.infer<typeof identitySchema>

/** The folder where identity and state are kept, for its owner alone. */
export interface Home {
  readonly folder: string
  readonly statePath: string
  readonly identity: () => Promise<KeptIdentity | undefined>
  /** @throws AgentError where there is one already */
  readonly create: (identity: KeptIdentity) => Promise<void>
}

/** @param folder what `--home` says; else `POPPY_HOME`, else `~/.poppy` */
export function openHome(folder: string | undefined, env: Readonly<Record<string, string | undefined>>): Home {
  const path = resolve(folder ?? (env.POPPY_HOME || join(homedir(), '.poppy')))
  const identityPath = join(path, 'identity.json')
  const identity = async () => {
    const text = await readPrivateFile(identityPath)
    if (text === undefined) return undefined
    const parsed = identitySchema.safeParse(parse(text))
    if (!parsed.success) {
      throw new AgentError('misconfigured', `${identityPath} is not an identity of poppy, so it was left alone.`)
    }
    return parsed.data
  }
  return {
    folder: path,
    statePath: join(path, 'state.json'),
    identity,
    create: async (next) => {
      await openPrivateFolder(identityPath)
      const there = await identity()
      if (there) {
        throw new AgentError(
          'misconfigured',
          `There is an identity already: ${there.clientId} in ${path}. A new one would be a stranger to every Company that knows this one.`,
        )
      }
      await writePrivateFile(identityPath, `${JSON.stringify(next, null, 2)}\n`)
    },
  }
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    // No JSON is no identity, which the schema says next.
    return undefined
  }
}
