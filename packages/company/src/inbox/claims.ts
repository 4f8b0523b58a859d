import { cleanAgentName } from '../agents/name.ts'
import { inPlainSight } from '../operations/terms.ts'
import type { Wording } from '../words/wording.ts'
import type { InboxParts } from './parts.ts'

/** What a Personal Agent says of itself in its document (4.1): claims, apart from its host, which was checked. */

/** Milliseconds that a page waits for the document, where it isn't here already. */
const patience = 400

/** Makes them; none where the document can't be had in time. */
export async function claimsOf(
  { directory }: Pick<InboxParts, 'directory'>,
  clientId: string,
  wording: Wording,
): Promise<readonly { readonly name: string; readonly value: string }[]> {
  const { host } = new URL(clientId)
  const found = directory.find(clientId, { evenBlocked: true }).then(
    ({ metadata }) => metadata,
    // Why not is in the log of whoever fetches.
    () => null,
  )
  const { promise: late, resolve } = Promise.withResolvers<null>()
  const timer = setTimeout(() => resolve(null), patience)
  const metadata = await Promise.race([found, late])
  clearTimeout(timer)
  if (metadata === null) return []
  const extensions = Object.entries(metadata.extensions).slice(0, 20)
  return [
    ...(metadata.name === undefined
      ? []
      : [{ name: wording.say('inbox.agent.claimedName'), value: cleanAgentName(metadata.name, host) }]),
    ...(extensions.length === 0
      ? []
      : [
          {
            name: wording.say('inbox.agent.claimedExtensions'),
            value: inPlainSight(extensions.map(([name, version]) => `${name} ${version}`).join(', ')).slice(0, 500),
          },
        ]),
  ]
}
