import { formatScope } from '@poppyseed/protocol'
import type { Tool } from './tool.ts'

/** Where the list tells the scopes that a tool needs, space-separated as on the wire (4.4). */
export const scopeMetaKey = 'poppy/scope'

/** Where the list tells the extension without which a tool can't be used (3.3). */
export const extensionMetaKey = 'poppy/extension'

/** A tool as MCP's `tools/list` gives it. Everybody sees all tools; rights are checked when one is called. */
export function describeTool(tool: Tool): Record<string, unknown> {
  return {
    name: tool.name,
    ...(tool.title === undefined ? {} : { title: tool.title }),
    description: tool.description,
    inputSchema: tool.input.json,
    ...(tool.output === undefined ? {} : { outputSchema: tool.output.json }),
    ...(tool.annotations === undefined ? {} : { annotations: tool.annotations }),
    ...metaOf(tool),
  }
}

function metaOf({ scopes, extension }: Tool): { readonly _meta?: Readonly<Record<string, string>> } {
  if (scopes.length === 0 && extension === undefined) return {}
  return {
    _meta: {
      ...(scopes.length === 0 ? {} : { [scopeMetaKey]: formatScope(scopes) }),
      ...(extension === undefined ? {} : { [extensionMetaKey]: extension }),
    },
  }
}
