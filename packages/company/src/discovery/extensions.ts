import { extensionDomain, extensionVersion, PoppyError } from '@poppyseed/protocol'
import type { AgentDirectory } from '../agents/directory.ts'
import { isPlain } from '../config-shapes.ts'
import { wrong } from '../configuration-error.ts'
import type { Principal } from '../sessions/principal.ts'

/** Section 3.3: extensions beside the protocol's, as both sides list them, and what only agents with them may ask for. */

/** What is published of an extension. */
export interface ExtensionEntry {
  /** The major version: what can safely be ignored doesn't change it. */
  readonly version: number | string
  /** Whatever the extension defines, as JSON. */
  readonly [field: string]: unknown
}

/** The setting for {@link ExtensionEntry}s. */
export interface ExtensionsConfig {
  /**
   * Extensions that you support (3.3), by their names: `{ 'miramar.example/loyalty': { version: 1 } }`. The name begins with
   * a domain of whoever defined it: yours, or somebody else's whose extension you take up.
   */
  readonly extensions?: Readonly<Record<string, ExtensionEntry>>
}

/** As they are published: the version is a text. */
export type CheckedExtensions = Readonly<Record<string, { readonly version: string }>>

/** @throws ConfigurationError with a sentence that says what to write */
export function checkExtensions({ extensions }: ExtensionsConfig, domains: readonly string[]): CheckedExtensions {
  if (extensions === undefined) return {}
  const example = `'${domains[0]}/loyalty'`
  if (!isPlain(extensions)) throw wrong(`Write extensions: { ${example}: { version: 1 } }.`)
  const checked: Record<string, { readonly version: string }> = {}
  for (const [name, entry] of Object.entries(extensions)) {
    const setting = `\`extensions\`: '${name}'`
    const isNamed = extensionDomain(name) !== null
    if (!isNamed && /^[a-z0-9-]+$/.test(name))
      throw wrong(
        `${setting} is a plain name, which is for the protocol's own extensions; the library lists those by itself. A name of yours begins with your domain, such as ${example}.`,
      )
    if (!isNamed)
      throw wrong(`${setting} is no name of an extension. Write your domain, a slash and a word, such as ${example}.`)
    const version = isPlain(entry) ? extensionVersion(entry.version) : null
    if (version === null) throw wrong(`${setting} needs its major version, a whole number from 1 up: { version: 1 }.`)
    if (!isJson(entry)) throw wrong(`${setting} has a field that is not JSON, and so can't be published.`)
    checked[name] = Object.freeze({ ...structuredClone(entry as object), version })
  }
  return Object.freeze(checked)
}

function isJson(value: unknown, depth = 16): boolean {
  if (value === null || typeof value === 'string' || typeof value === 'boolean') return true
  if (typeof value === 'number') return Number.isFinite(value)
  if (typeof value !== 'object' || depth === 0) return false
  const prototype: unknown = Object.getPrototypeOf(value)
  if (!Array.isArray(value) && prototype !== Object.prototype && prototype !== null) return false
  return Object.values(value).every((member) => isJson(member, depth - 1))
}

/** Which extensions Personal Agents have. */
export interface ExtensionCheck {
  /**
   * Whether the agent's document lists the extension, in the Company's version: another version is another extension (3.3).
   * @throws PoppyError `temporarily_unavailable` where the document can't be had
   */
  readonly has: (principal: Principal, extension: string) => Promise<boolean>
  /** @throws PoppyError `extension_required` with the name, or what `has` throws */
  readonly require: (principal: Principal, extension: string) => Promise<void>
}

/** Makes the check. The agent's document is the one that its `client_id` gives now, kept as its headers say (4.1). */
export function createExtensionCheck(
  directory: Pick<AgentDirectory, 'find'>,
  extensions: CheckedExtensions,
): ExtensionCheck {
  async function has({ clientId }: Principal, extension: string): Promise<boolean> {
    if (!Object.hasOwn(extensions, extension)) return false
    // A Principal is somebody who was let in: that is not asked twice.
    const agent = await directory.find(clientId, { evenBlocked: true }).catch((error: unknown) => {
      if (!(error instanceof PoppyError)) throw error
      // Whether it has the extension isn't known, so neither answer would be true.
      throw new PoppyError('temporarily_unavailable', {
        description: 'What the Personal Agent supports could not be looked up. Try again later.',
        reason: `client metadata: ${error.reason ?? error.code}`,
        retryAfter: 60,
      })
    })
    return agent.metadata.extensions[extension] === extensions[extension]?.version
  }
  return {
    has,
    async require(principal, extension) {
      if (await has(principal, extension)) return
      throw new PoppyError('extension_required', {
        description: `This needs the extension ${extension}, version ${extensions[extension]?.version ?? 'unknown'}, in the Personal Agent's metadata document.`,
        extension,
      })
    },
  }
}
