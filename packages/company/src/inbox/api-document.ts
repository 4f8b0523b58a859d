import type { ErrorCode } from '@poppyseed/protocol'
import { z } from 'zod'
import type { JsonSchema } from '../tools/schema.ts'
import { webhookBodySchemas } from '../webhooks/wire.ts'
import { askedSchemas } from './api-asked.ts'
import type { ApiOperation } from './api-operation.ts'
import { apiOperationsOf } from './api-operations.ts'
import type { ApiEndpoint } from './api-paths.ts'
import {
  answerSchemas,
  conversationSchema,
  errorSchema,
  foundConversationSchema,
  noteSchema,
  operationRecordSchema,
  staffSchema,
} from './api-schemas.ts'
import type { InboxParts } from './parts.ts'

/** The JSON API of the inbox as an OpenAPI 3.1 document, made from the schemas that it reads and writes by. */

const at = (name: string) => `#/components/schemas/${name}`

/** Bodies of POST, and all that is answered: each is a schema of the document's by its name. */
function componentSchemas(): Readonly<Record<string, JsonSchema>> {
  const registry = z.registry<{ id: string }>()
  const named = {
    Staff: staffSchema,
    Conversation: conversationSchema,
    FoundConversation: foundConversationSchema,
    Note: noteSchema,
    Operation: operationRecordSchema,
    Error: errorSchema,
    ...answerSchemas,
    ...askedSchemas,
  }
  for (const [id, schema] of Object.entries(named)) registry.add(schema, { id })
  return plainSchemas(z.toJSONSchema(registry, { io: 'input', uri: at }).schemas)
}

function plainSchemas(schemas: Readonly<Record<string, object>>): Readonly<Record<string, JsonSchema>> {
  return Object.fromEntries(
    Object.entries(schemas)
      // Queries are parameters.
      .filter(([name]) => !name.endsWith('Query') && name !== 'Nothing')
      .map(([name, schema]) => [name, plain(schema) as JsonSchema]),
  )
}

/** Without the dialect, which is OpenAPI 3.1's own, and without patterns where a format says it. */
function plain(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(plain)
  if (typeof value !== 'object' || value === null) return value
  const { $schema: _, $id: __, ...members } = value as Readonly<Record<string, unknown>>
  const { pattern, ...others } = members
  const kept = members.format === 'date-time' || pattern === undefined ? others : members
  return Object.fromEntries(Object.entries(kept).map(([name, member]) => [name, plain(member)]))
}

/** Writes the document of a Company: what it has, and nothing else. */
export function writeApiDocument(parts: InboxParts): Readonly<Record<string, unknown>> {
  const paths: Record<string, Record<string, unknown>> = {}
  for (const [endpoint, operation] of apiOperationsOf(parts)) {
    const [method = '', path = ''] = endpoint.split(' ')
    const place = path.replace('*', '{id}')
    paths[place] = { ...paths[place], [method.toLowerCase()]: writeOperation(endpoint, operation) }
  }
  return {
    openapi: '3.1.0',
    info: {
      title: `${parts.organization}: staff inbox`,
      version: '1',
      description:
        'For the company’s own help desk. Who asks is said by the company’s own staff login, on each request, and may do what they may do in the inbox. Bodies are application/json; requests of browsers from other sites are refused.',
    },
    servers: [{ url: `${parts.origin}${parts.path}/api` }],
    paths,
    webhooks: Object.fromEntries(
      Object.entries(webhookBodySchemas).map(([type, schema]) => [type, writeWebhook(type, schema)]),
    ),
    components: { schemas: componentSchemas(), responses: errorResponses },
  }
}

function writeOperation(endpoint: ApiEndpoint, operation: ApiOperation): object {
  const { name, summary, description, asked, answer, takesKey } = operation
  const isRead = endpoint.startsWith('GET')
  const hasId = endpoint.includes('*')
  const parameters = [
    ...(hasId ? [{ name: 'id', in: 'path', required: true, schema: { type: 'string' } }] : []),
    ...(isRead ? queryOf(asked) : []),
    ...(takesKey === true ? [keyParameter] : []),
  ]
  const body = isRead || asked === 'Nothing' ? null : { required: true, content: contentOf(asked) }
  return {
    operationId: name,
    summary,
    ...(description === undefined ? {} : { description }),
    ...(parameters.length === 0 ? {} : { parameters }),
    ...(body === null ? {} : { requestBody: body }),
    responses: {
      200: { description: 'Done.', content: contentOf(answer) },
      ...Object.fromEntries(
        Object.entries(errorStatuses)
          .filter(([, { where }]) =>
            where.some(
              (one) =>
                one === 'all' ||
                (one === 'id' && hasId) ||
                (one === 'act' && !isRead) ||
                (one === 'tool' && answer === 'Called'),
            ),
          )
          .map(([status]) => [status, { $ref: `#/components/responses/Status${status}` }]),
      ),
    },
  }
}

const contentOf = (name: string) => ({ 'application/json': { schema: { $ref: at(name) } } })

const keyParameter = {
  name: 'Idempotency-Key',
  in: 'header',
  description:
    'At most 200 characters of your own: the same act with the same key is done once. With another body it is refused, as `key_used`.',
  schema: { type: 'string', maxLength: 200 },
}

function queryOf(asked: ApiOperation['asked']): readonly object[] {
  const { properties = {}, required = [] } = plain(z.toJSONSchema(askedSchemas[asked], { io: 'input' })) as {
    readonly properties?: Readonly<Record<string, JsonSchema>>
    readonly required?: readonly string[]
  }
  return Object.entries(properties).map(([name, { description, ...schema }]) => ({
    name,
    in: 'query',
    ...(description === undefined ? {} : { description }),
    ...(required.includes(name) ? { required: true } : {}),
    schema,
  }))
}

function writeWebhook(type: string, schema: z.ZodType): object {
  return {
    post: {
      operationId: type,
      summary: `Sent to \`webhooks\` of the company’s configuration, signed as Standard Webhooks has it: ${type}`,
      parameters: ['webhook-id', 'webhook-timestamp', 'webhook-signature'].map((name) => ({
        name,
        in: 'header',
        required: true,
        schema: { type: 'string' },
      })),
      requestBody: {
        required: true,
        content: { 'application/json': { schema: plain(z.toJSONSchema(schema, { io: 'input' })) } },
      },
      responses: {
        '2XX': { description: 'Taken. Anything else is tried again.' },
        410: { description: 'Not wanted.' },
      },
    },
  }
}

interface StatusRow {
  readonly description: string
  readonly codes: readonly ErrorCode[]
  /** Where it can be: everywhere, where an id is in the path, where something is done, or where a tool is called. */
  readonly where: readonly ('all' | 'id' | 'act' | 'tool')[]
  readonly headers?: readonly string[]
}

const errorStatuses: Readonly<Record<string, StatusRow>> = {
  400: { description: 'It is asked in a wrong way.', codes: ['invalid_request', 'invalid_cursor'], where: ['all'] },
  401: {
    description: 'Nobody of the staff is signed in on this request.',
    codes: ['sign_in_required'],
    where: ['all'],
  },
  403: {
    description: 'It came from a browser at another site, or the customer’s rights don’t allow it.',
    codes: ['access_denied', 'sign_in_required', 'insufficient_scope', 'extension_required'],
    where: ['all'],
  },
  404: {
    description: 'There is no such thing.',
    codes: ['not_found', 'conversation_not_found', 'operation_not_found', 'tool_not_found'],
    where: ['id', 'tool'],
  },
  409: {
    description: 'It doesn’t fit as things are; `because` says why.',
    codes: ['staff_conflict', 'conversation_closed', 'revision_conflict'],
    where: ['act'],
  },
  413: { description: 'The body is too large.', codes: ['request_too_large'], where: ['act'] },
  415: { description: 'The body is not application/json.', codes: ['unsupported_media_type'], where: ['act'] },
  422: { description: 'The tool could not do it and says why.', codes: ['tool_failed'], where: ['tool'] },
  429: { description: 'Too many requests.', codes: ['rate_limited'], where: ['all'], headers: ['Retry-After'] },
  500: { description: 'Something failed on our side.', codes: ['server_error'], where: ['all'] },
  503: {
    description: 'Try again later.',
    codes: ['temporarily_unavailable'],
    where: ['all'],
    headers: ['Retry-After'],
  },
}

const errorResponses = Object.fromEntries(
  Object.entries(errorStatuses).map(([status, { description, codes, headers = [] }]) => [
    `Status${status}`,
    {
      description: `${description} Codes: ${codes.map((code) => `\`${code}\``).join(', ')}.`,
      ...(headers.length === 0
        ? {}
        : { headers: Object.fromEntries(headers.map((header) => [header, { schema: { type: 'string' } }])) }),
      content: contentOf('Error'),
    },
  ]),
)
