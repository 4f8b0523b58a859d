import { isJsonObject } from '@poppyseed/protocol'
import { isSignedBy, signingKey, webhookHeaders } from '../crypto/webhook-signature.ts'
import type { WebhookEvent } from './wire.ts'

/** For whoever receives webhooks: whether a request is one, and what it says. */

/** How {@link verifyWebhook} looks. */
export interface VerifyWebhookOptions {
  /** Milliseconds since 1970; left out, the system's clock. */
  readonly now?: () => number
}

/** Seconds by which the time of a delivery may differ from the receiver's clock. */
const tolerance = 300
/** Bytes of a body: several times what the largest message makes. */
const mostBytes = 1_048_576

/**
 * Reads a webhook, and says whether it is genuine: signed with the secret, as it is, and at most five minutes ago. Reads the
 * body of the request. Each event may come more than once, with the same `id`, and in any order.
 *
 * ```ts
 * const event = await verifyWebhook(request, process.env.WEBHOOK_SECRET)
 * if (event === null) return new Response(null, { status: 401 })
 * ```
 * @param secret the one of the configuration, or a list while it is changed
 * @returns null for whatever isn't genuine
 * @throws TypeError for a secret that is none
 */
export async function verifyWebhook(
  request: Request,
  secret: string | readonly string[] | undefined,
  { now = Date.now }: VerifyWebhookOptions = {},
): Promise<WebhookEvent | null> {
  const secrets = secret === undefined ? [] : typeof secret === 'string' ? [secret] : secret
  const keys = secrets.map(signingKey).filter((key) => key !== null)
  if (keys.length === 0 || keys.length !== secrets.length)
    throw new TypeError("verifyWebhook takes the secret of `webhooks`: 'whsec_…', or at least 32 characters.")
  const id = request.headers.get(webhookHeaders.id) ?? ''
  const time = request.headers.get(webhookHeaders.time) ?? ''
  const signature = request.headers.get(webhookHeaders.signature) ?? ''
  if (!/^[\w-]{1,128}$/.test(id) || !/^[1-9][0-9]{0,14}$/.test(time)) return null
  const at = Number(time)
  if (Math.abs(now() / 1000 - at) > tolerance) return null
  const body = await readText(request)
  if (body === null || !isSignedBy(keys, signature, { id, at, body })) return null
  return readEvent(id, body)
}

/** Null for a body that is too large or no UTF-8: none of ours. */
async function readText({ body }: Request): Promise<string | null> {
  const chunks: Uint8Array[] = []
  let size = 0
  for await (const chunk of body ?? []) {
    size += chunk.byteLength
    if (size > mostBytes) return null
    chunks.push(chunk)
  }
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(Buffer.concat(chunks))
  } catch {
    return null
  }
}

/** The body is the Company's own, so that it has the form that the types say; a later release may have more types. */
function readEvent(id: string, body: string): WebhookEvent | null {
  let parsed: unknown
  try {
    parsed = JSON.parse(body)
  } catch {
    return null
  }
  if (!isJsonObject(parsed) || typeof parsed.type !== 'string' || !isJsonObject(parsed.data)) return null
  return { ...parsed, id } as unknown as WebhookEvent
}
