import { extensionDomain, extensionVersion, isJsonObject } from '@poppyseed/protocol'
import { AgentError } from '../errors.ts'

/** What a Personal Agent says of an extension that it supports (3.3, 4.1). */
export interface SupportedExtension {
  /** The major version: another one counts as another extension. */
  readonly version: number | string
  /** Whatever the extension defines, as JSON. */
  readonly [field: string]: unknown
}

/**
 * Checks what is to stand in the metadata document under `extensions`; the versions become texts.
 * @throws AgentError `misconfigured`
 */
export function readExtensions(
  extensions: Readonly<Record<string, SupportedExtension>>,
): Readonly<Record<string, { readonly version: string }>> {
  const example = "extensions: { 'miramar.example/loyalty': { version: 1 } }"
  if (!isJsonObject(extensions)) throw misconfigured(`extensions says for each its version: ${example}.`)
  const read: Record<string, { version: string }> = {}
  for (const [name, entry] of Object.entries(extensions) as [string, unknown][]) {
    // 3.3: plain names are the protocol's own; this library lists those that it speaks by itself
    if (extensionDomain(name) === null)
      throw misconfigured(
        `extensions: "${name}" doesn't begin with the domain of whoever defined the extension. Write ${example}.`,
      )
    const version = isJsonObject(entry) ? extensionVersion(entry.version) : null
    if (version === null)
      throw misconfigured(`extensions: "${name}" needs its major version, a whole number from 1 up. Write ${example}.`)
    try {
      read[name] = { ...(JSON.parse(JSON.stringify(entry)) as object), version }
    } catch {
      throw misconfigured(`extensions: "${name}" has a field that is not JSON.`)
    }
  }
  return read
}

function misconfigured(message: string): AgentError {
  return new AgentError('misconfigured', message)
}
