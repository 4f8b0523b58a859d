import { formatScope } from '@poppyseed/protocol'
import type { Tool } from './tool.ts'

/** Where the list tells the scopes that a tool needs, space-separated as on the wire (4.4). */
const scopeMetaKey = 'poppy/scope'

/** Where the list tells the extensions without which a tool can't be used (3.3), space-separated. */
const extensionMetaKey = 'poppy/extension'

/** A tool as MCP's `tools/list` gives it. Everybody sees all tools; rights are checked when one is called. */
export function describeTool(tool: Tool): Record<string, unknown> {
  return {
    name: tool.name,
    ...(tool.title === undefined ? {} : { title: tool.title }),
    description: describe(tool),
    inputSchema: tool.input.json,
    ...(tool.output === undefined ? {} : { outputSchema: tool.output.json }),
    ...(tool.annotations === undefined ? {} : { annotations: tool.annotations }),
    ...metaOf(tool),
  }
}

/** A model reads the description and no schema: what a call changes stands there too. */
function describe({ description, proposes }: Tool): string {
  return proposes
    ? `${description}\n\nAnswers with a proposal: nothing is changed before its revision is confirmed (Operations extension, version 1).`
    : description
}

function metaOf({ scopes, extensions }: Tool): { readonly _meta?: Readonly<Record<string, string>> } {
  if (scopes.length === 0 && extensions.length === 0) return {}
  return {
    _meta: {
      ...(scopes.length === 0 ? {} : { [scopeMetaKey]: formatScope(scopes) }),
      ...(extensions.length === 0 ? {} : { [extensionMetaKey]: extensions.join(' ') }),
    },
  }
}
