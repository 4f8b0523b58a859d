import { z } from 'zod'
import { DocumentError } from '../../errors.ts'
import { isServiceUrl } from '../../oauth-metadata.ts'
import { isScope } from '../../scopes.ts'
import { isJsonObject } from '../../strict-json.ts'
import type { Discovery } from '../codec.ts'

/** `poppy.json` of draft 0.1 (3, 3.1), read and written. Members that we don't know are ignored wherever they stand. */

const text = z.string().min(1).max(2048)
const scopes = z.array(z.string().refine(isScope, 'not a scope')).max(200)

const documentSchema = z.object({
  protocol_version: z.string(),
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
      custom_scopes: z.record(z.string(), z.string()).optional(),
    })
    .optional(),
  agent: z.object({ protocols: z.array(z.unknown()) }).optional(),
  web: z.object({ browser_session_endpoint: text.optional() }).optional(),
  apis: z.array(z.unknown()).optional(),
  extensions: z.record(z.string(), z.unknown()).optional(),
})

const protocolSchema = z.object({ type: z.literal('poppy'), endpoint: text, resource: text.optional() })
const apiSchema = z.object({
  type: z.string(),
  url: text,
  description: z.string().optional(),
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
  if (auth && !isServiceUrl(auth.issuer, allowHttp)) throw invalid('auth.issuer: not an HTTPS URL')
  if (auth?.mediated && !isServiceUrl(auth.mediated.endpoint, allowHttp))
    throw invalid('auth.mediated.endpoint: not an HTTPS URL')
  if (web?.browser_session_endpoint && !isServiceUrl(web.browser_session_endpoint, allowHttp)) {
    throw invalid('web.browser_session_endpoint: not an HTTPS URL')
  }
  for (const name of Object.keys(auth?.custom_scopes ?? {})) {
    if (name.startsWith('poppy:'))
      throw invalid('auth.custom_scopes: names that begin with poppy: are the protocol’s own')
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
    customScopes: auth?.custom_scopes ?? {},
    conversations: readEntries(agent?.protocols ?? [], protocolSchema, (entry) =>
      isServiceUrl(entry.endpoint, allowHttp),
    ),
    // 6: types that we don't know stay in the list; whoever calls skips them
    apis: readEntries(apis ?? [], apiSchema, (entry) => isServiceUrl(entry.url, allowHttp)),
    browserSessionEndpoint: web?.browser_session_endpoint,
    extensions: Object.fromEntries(
      Object.entries(extensions ?? {}).flatMap(([name, entry]) => {
        const read = extensionSchema.safeParse(entry)
        return read.success ? [[name, read.data]] : []
      }),
    ),
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

/** Writes the document. Empty parts are left out: what isn't built is not advertised. */
export function writeDiscovery(discovery: Discovery): PoppyDocument {
  const { signIn, issuer } = discovery
  const optional = <K extends string, V>(name: K, value: V | undefined) =>
    value === undefined ? {} : { [name]: value }
  const list = (value: readonly string[] | undefined) => (value === undefined ? undefined : { scopes: [...value] })
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
    ...(discovery.browserSessionEndpoint === undefined
      ? {}
      : { web: { browser_session_endpoint: discovery.browserSessionEndpoint } }),
    ...(discovery.apis.length > 0 || discovery.conversations.length === 0 ? { apis: [...discovery.apis] } : {}),
    ...optional('extensions', some(discovery.extensions)),
  } as PoppyDocument
}

function invalid(message: string): DocumentError {
  return new DocumentError('invalid', `poppy.json is not usable: ${message}.`)
}
