import { z } from 'zod'
import { DocumentError } from '../../errors.ts'
import { isScope } from '../../scopes.ts'
import { isServiceUrl } from '../../service-url.ts'
import { isJsonObject } from '../../strict-json.ts'
import type { Discovery } from '../codec.ts'

/** `poppy.json` of draft 0.1 (3, 3.1), read and written. Members that we don't know are ignored wherever they stand. */

const text = z.string().min(1).max(2048)
const scopes = z.array(z.string().refine(isScope, 'not a scope')).max(200)

const documentSchema = z.object({
  protocol_version: text,
  organization: z.object({ name: z.string().min(1).max(500), domain: z.string().min(1).max(253) }),
  auth: z
    .object({
      issuer: text,
      direct: z.object({ scopes }).optional(),
      device: z.object({ scopes }).optional(),
      mediated: z
        .object({
          endpoint: text,
          fields: z.array(z.object({ name: text, label: text, secret: z.boolean() })).max(50),
          scopes,
        })
        .optional(),
      custom_scopes: z.record(z.string(), z.unknown()).optional().catch(undefined),
    })
    .optional(),
  agent: z.object({ protocols: z.array(z.unknown()) }).optional(),
  web: z.object({ browser_session_endpoint: text.optional() }).optional(),
  apis: z.array(z.unknown()).optional(),
  extensions: z.record(z.string(), z.unknown()).optional().catch(undefined),
})

const protocolSchema = z.object({ type: z.literal('poppy'), endpoint: text, resource: text.optional() })
const apiSchema = z.object({
  type: z.string(),
  url: text,
  description: z.string().optional().catch(undefined),
  resource: text.optional(),
})
const extensionSchema = z.looseObject({ version: z.string() })

/** The document of draft 0.1, as it travels. */
export type PoppyDocument = z.infer<typeof documentSchema>

/**
 * Reads a document of the 0.1 family.
 * @throws DocumentError with the place that is wrong
 */
export function readDiscovery(document: unknown, allowHttp: boolean): Discovery {
  const parsed = documentSchema.safeParse(document)
  if (!parsed.success) {
    const issue = parsed.error.issues[0]
    throw invalid(`${issue?.path.join('.') || 'the document'}: ${issue?.message ?? 'wrong'}`)
  }
  const { organization, auth, agent, web, apis, extensions, protocol_version } = parsed.data
  // 3.1: something must be there to work with, and all of it but plain browsing needs the issuer
  if (!agent && !apis && !web) throw invalid('it has none of agent, apis and web')
  if (!auth && (agent || apis || web?.browser_session_endpoint)) throw invalid('auth is missing')
  // RFC 8414, 2: an issuer has no query
  if (auth && (!isServiceUrl(auth.issuer, allowHttp) || auth.issuer.includes('?')))
    throw invalid('auth.issuer: not an HTTPS URL without a query')
  if (auth?.mediated && !isServiceUrl(auth.mediated.endpoint, allowHttp))
    throw invalid('auth.mediated.endpoint: not an HTTPS URL')
  if (web?.browser_session_endpoint && !isServiceUrl(web.browser_session_endpoint, allowHttp)) {
    throw invalid('web.browser_session_endpoint: not an HTTPS URL')
  }
  return {
    protocolVersion: protocol_version,
    organization,
    issuer: auth?.issuer,
    signIn: {
      direct: auth?.direct?.scopes,
      device: auth?.device?.scopes,
      mediated: auth?.mediated,
    },
    // 4.4: names that begin with poppy: are the protocol's own, so nobody else's words stand beside them
    customScopes: readRecord(auth?.custom_scopes, (text, name) =>
      typeof text === 'string' && !name.startsWith('poppy:') ? text : undefined,
    ),
    conversations: readEntries(agent?.protocols ?? [], protocolSchema, (entry) =>
      isServiceUrl(entry.endpoint, allowHttp),
    ),
    // 6: types that we don't know stay in the list; whoever calls skips them
    apis: readEntries(apis ?? [], apiSchema, (entry) => isServiceUrl(entry.url, allowHttp)),
    browserSessionEndpoint: web?.browser_session_endpoint,
    extensions: readRecord(extensions, (entry) => extensionSchema.safeParse(entry).data),
  }
}

/** Takes the entries that fit; an entry that doesn't is one of a kind that we don't know (3.3, 6, 7.1). */
function readEntries<T>(
  entries: readonly unknown[],
  schema: z.ZodType<T>,
  isUsable: (entry: T) => boolean,
): readonly T[] {
  return entries.flatMap((entry) => {
    if (!isJsonObject(entry)) return []
    const read = schema.safeParse(entry)
    return read.success && isUsable(read.data) ? [read.data] : []
  })
}

/** Takes the members that fit. No prototype: a name such as "constructor" finds nothing that the document didn't say. */
function readRecord<T>(
  record: Readonly<Record<string, unknown>> | undefined,
  read: (value: unknown, name: string) => T | undefined,
): Readonly<Record<string, T>> {
  const taken: Record<string, T> = Object.create(null)
  for (const [name, value] of Object.entries(record ?? {})) {
    const fit = read(value, name)
    if (fit !== undefined) taken[name] = fit
  }
  return taken
}

/** Writes the document. Empty parts are left out: what isn't built is not advertised. */
export function writeDiscovery(discovery: Discovery): PoppyDocument {
  const { signIn, issuer } = discovery
  const optional = <K extends string, V>(name: K, value: V | undefined) =>
    value === undefined ? {} : { [name]: value }
  const list = (value: readonly string[] | undefined) => (value === undefined ? undefined : { scopes: [...value] })
  // 3.1: something must stand there; without an issuer it can only be a website to browse
  const endpoint = discovery.browserSessionEndpoint
  const web = endpoint === undefined ? (issuer === undefined ? {} : undefined) : { browser_session_endpoint: endpoint }
  const some = <T extends object>(value: T): T | undefined => (Object.keys(value).length > 0 ? value : undefined)
  return {
    protocol_version: discovery.protocolVersion,
    organization: discovery.organization,
    ...(issuer === undefined
      ? {}
      : {
          auth: {
            issuer,
            ...optional('direct', list(signIn.direct)),
            ...optional('device', list(signIn.device)),
            ...optional('mediated', signIn.mediated),
            ...optional('custom_scopes', some(discovery.customScopes)),
          },
        }),
    ...(discovery.conversations.length > 0 ? { agent: { protocols: [...discovery.conversations] } } : {}),
    ...optional('web', web),
    ...(discovery.apis.length > 0 || (discovery.conversations.length === 0 && !web)
      ? { apis: [...discovery.apis] }
      : {}),
    ...optional('extensions', some(discovery.extensions)),
  } as PoppyDocument
}

function invalid(message: string): DocumentError {
  return new DocumentError('invalid', `poppy.json is not usable: ${message}.`)
}
