/**
 * What a tool throws when it can't do what was asked and the caller should know why: the message is a sentence for the
 * Personal Agent ("Room 12 is taken on these nights."). It goes out as `tool_failed` (6), over HTTP and MCP alike.
 * Anything else that a tool throws goes out without any detail.
 */
export class ToolError extends Error {
  override readonly name = 'ToolError'
}
