import { formatScope } from '@poppyseed/protocol'
import type { Tool } from './tool.ts'

/** Where the list tells the scopes that a tool needs, space-separated as on the wire (4.4). */
export const scopeMetaKey = 'poppy/scope'

/** A tool as MCP's `tools/list` gives it. Everybody sees all tools; rights are checked when one is called. */
export function describeTool(tool: Tool): Record<string, unknown> {
  return {
    name: tool.name,
    ...(tool.title === undefined ? {} : { title: tool.title }),
    description: tool.description,
    inputSchema: tool.input.json,
    ...(tool.output === undefined ? {} : { outputSchema: tool.output.json }),
    ...(tool.annotations === undefined ? {} : { annotations: tool.annotations }),
    ...(tool.scopes.length === 0 ? {} : { _meta: { [scopeMetaKey]: formatScope(tool.scopes) } }),
  }
}
