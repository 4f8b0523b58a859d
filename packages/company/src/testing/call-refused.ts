/** An answer other than success: what an agent is told, for a test to look at. */
export class CallRefused extends Error {
  override readonly name = 'CallRefused'
  /** The HTTP status; 200 where MCP says it in a tool's result. */
  readonly status: number
  /** The code of the error table, such as `insufficient_scope`. */
  readonly code: string
  /** The scopes that would be needed, where that was the reason. */
  readonly scope: string | undefined
  /** The whole body, such as the `issues` of an input that isn't valid. */
  readonly body: Readonly<Record<string, unknown>>

  constructor(status: number, body: Readonly<Record<string, unknown>>) {
    const code = typeof body.error === 'string' ? body.error : `status ${status}`
    const description = typeof body.error_description === 'string' ? `: ${body.error_description}` : ''
    super(`${code}${description}`)
    this.status = status
    this.code = code
    this.scope = typeof body.scope === 'string' ? body.scope : undefined
    this.body = body
  }
}

/** Gives an answer that went well. @throws CallRefused for any other */
export async function accepted(answer: Response): Promise<Response> {
  if (answer.ok) return answer
  const text = await answer.text()
  throw new CallRefused(answer.status, text.startsWith('{') ? (JSON.parse(text) as Record<string, unknown>) : {})
}
