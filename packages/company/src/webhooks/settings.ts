import { isLoopbackHost } from '@poppyseed/protocol'
import { isPlain, refuseUnknown } from '../config-shapes.ts'
import { wrong } from '../configuration-error.ts'
import { sha256 } from '../crypto/hash.ts'
import { signingKey } from '../crypto/webhook-signature.ts'
import { type WebhookEventType, webhookEventTypes } from './wire.ts'

/** The setting for webhooks: which of the company's own systems are told of what happens. */

/** See {@link WebhookSettings}. */
export interface WebhooksConfig {
  /** Systems of the company's own, such as its help desk, that are told of conversations and operations. */
  readonly webhooks?: readonly WebhookSettings[]
}

/** An address that is told. */
export interface WebhookSettings {
  /** `https://…`; http: on this machine with `development: true`. Its host and path may be a secret: they are in no log. */
  readonly url: string
  /**
   * What deliveries are signed with: `whsec_` and base64, as Standard Webhooks has it, or at least 32 characters from a
   * random source. A list, with the newest first, while one is changed: each delivery is signed with all of them.
   * `undefined` is for `process.env`; `createCompany` then says that it is missing.
   */
  readonly secret: string | readonly string[] | undefined
  /** Which events; all when left out. */
  readonly events?: readonly WebhookEventType[]
}

/** An address once it is known to be right. */
export interface WebhookEndpoint {
  /** What its deliveries are kept under: SHA-256 of the address, so that it stands in no row. */
  readonly id: string
  /** Its place in the configuration, which is what logs call it. */
  readonly name: string
  readonly url: string
  readonly keys: readonly Uint8Array[]
  readonly events: ReadonlySet<WebhookEventType>
}

const example = "webhooks: [{ url: 'https://desk.example/poppy', secret: process.env.WEBHOOK_SECRET }]"
const mostEndpoints = 20

/** @throws ConfigurationError with a sentence that says what to write */
export function checkWebhooks(
  webhooks: unknown,
  { isDevelopment, hasEvents }: { readonly isDevelopment: boolean; readonly hasEvents: boolean },
): readonly WebhookEndpoint[] {
  if (webhooks === undefined) return []
  if (!Array.isArray(webhooks) || webhooks.length > mostEndpoints)
    throw wrong(`\`webhooks\` is a list of at most ${mostEndpoints} addresses: ${example}.`)
  if (webhooks.length > 0 && !hasEvents)
    throw wrong(
      '`webhooks` tell of conversations and operations, and there are none. Write conversations: {}, or an agent.',
    )
  const endpoints = webhooks.map((one: unknown, at) => checkOne(one, `webhooks[${at}]`, isDevelopment))
  if (new Set(endpoints.map(({ id }) => id)).size !== endpoints.length)
    throw wrong('`webhooks` names an address twice: once each, with all of its events.')
  return endpoints
}

function checkOne(one: unknown, name: string, isDevelopment: boolean): WebhookEndpoint {
  if (!isPlain(one)) throw wrong(`\`${name}\` is an address with its secret: ${example}.`)
  refuseUnknown(name, one, ['url', 'secret', 'events'])
  const { url, secret, events = webhookEventTypes } = one
  return {
    id: sha256(checkUrl(url, name, isDevelopment)),
    name,
    url: new URL(url as string).href,
    keys: checkSecrets(secret, name),
    events: checkEvents(events, name),
  }
}

/** The address in one form. What was written isn't repeated: it may be a secret. */
function checkUrl(url: unknown, name: string, isDevelopment: boolean): string {
  const parsed = typeof url === 'string' ? URL.parse(url) : null
  if (parsed === null) throw wrong(`\`${name}.url\` is a whole address, such as 'https://desk.example/poppy'.`)
  if (parsed.username !== '' || parsed.password !== '' || parsed.hash !== '')
    throw wrong(
      `\`${name}.url\` has a name, a password or a fragment in it: the signature says who sends, leave them out.`,
    )
  const isOwnMachine = parsed.protocol === 'http:' && isLoopbackHost(parsed.hostname)
  if (parsed.protocol !== 'https:' && !(isOwnMachine && isDevelopment))
    throw wrong(
      `\`${name}.url\` has to begin with https:. Plain http: is for loopback hosts, with \`development: true\`.`,
    )
  return parsed.href
}

function checkSecrets(secret: unknown, name: string): readonly Uint8Array[] {
  const secrets: readonly unknown[] = Array.isArray(secret) ? secret : [secret]
  const keys = secrets.map((one) => (typeof one === 'string' ? signingKey(one) : null))
  if (keys.length === 0 || keys.length > 5 || keys.includes(null))
    throw wrong(
      `\`${name}.secret\` is missing or too weak: 'whsec_' and the base64 of 24 to 64 random bytes, such as whsec_$(openssl rand -base64 32), or at least 32 characters from a random source. Keep it out of the code.`,
    )
  return keys as readonly Uint8Array[]
}

function checkEvents(events: unknown, name: string): ReadonlySet<WebhookEventType> {
  const known: readonly unknown[] = webhookEventTypes
  if (!Array.isArray(events) || events.length === 0 || !events.every((event) => known.includes(event)))
    throw wrong(`\`${name}.events\` is a list of: ${webhookEventTypes.join(', ')}. Leave it out for all of them.`)
  return new Set(events as readonly WebhookEventType[])
}
