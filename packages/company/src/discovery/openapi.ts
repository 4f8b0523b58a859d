import { type ErrorCode, errorRow, formatScope, isJsonObject } from '@poppyseed/protocol'
import { type JsonSchema, withoutDialect } from '../tools/schema.ts'
import type { Tool } from '../tools/tool.ts'

/** The tools as an OpenAPI 3.1 document (3.1, 6): what an `openapi` entry of `apis` points at. */

/** What {@link writeOpenApi} needs. */
export interface OpenApiOptions {
  readonly info: { readonly title: string; readonly version: string; readonly description?: string }
  /** What a tool's path stands behind: the Company's origin and public path prefix, such as `https://miramar.example`. */
  readonly server: string
  readonly tools: readonly Tool[]
  /** What each scope means, in the company's words. */
  readonly scopeTexts: Readonly<Record<string, string>>
}

/** An OpenAPI 3.1 document, ready for JSON. */
export type OpenApiDocument = Readonly<Record<string, unknown>>

/** Writes the document: one `POST` for each tool, its schemas, its errors, and the scopes that it needs (6). */
export function writeOpenApi(options: OpenApiOptions): OpenApiDocument {
  const { info, server, tools, scopeTexts } = options
  const schemas: Record<string, JsonSchema> = { Error: errorSchema }
  const paths = tools.map((tool) => [`/poppy/tools/${tool.name}`, { post: writeOperation(tool, scopeTexts, schemas) }])
  return {
    openapi: '3.1.0',
    info,
    servers: [{ url: server }],
    paths: Object.fromEntries(paths),
    components: { schemas, responses: errorResponses, securitySchemes: { DPoP: securityScheme } },
  }
}

function writeOperation(
  tool: Tool,
  scopeTexts: Readonly<Record<string, string>>,
  schemas: Record<string, JsonSchema>,
): object {
  const { required } = tool.input.json
  const refer = (json: JsonSchema, role: string) => placeSchema(json, `${tool.name}.${role}`, schemas)
  const result = outputOf(tool, refer, schemas)
  return {
    operationId: tool.name,
    summary: tool.title ?? tool.name,
    description: `${tool.description}\n\n${tool.proposes ? `${proposalText} ` : ''}${needs(tool, scopeTexts)}`,
    security: [{ DPoP: tool.scopes }],
    requestBody: {
      required: Array.isArray(required) && required.length > 0,
      content: { 'application/json': { schema: refer(tool.input.json, 'input') } },
    },
    responses: {
      ...(tool.proposes
        ? { 202: { description: proposalText, content: { 'application/json': { schema: result } } } }
        : { 200: { description: "The tool's result.", content: { 'application/json': { schema: result } } } }),
      ...Object.fromEntries(
        Object.entries(statuses).map(([status, { name }]) => [status, { $ref: `#/components/responses/${name}` }]),
      ),
    },
  }
}

function outputOf(
  { output, proposes }: Tool,
  refer: (json: JsonSchema, role: string) => JsonSchema,
  schemas: Record<string, JsonSchema>,
): JsonSchema {
  if (output === undefined) return {}
  if (!proposes) return refer(output.json, 'output')
  // All operations answer alike.
  schemas.Operation = output.json
  return { $ref: '#/components/schemas/Operation' }
}

/** Operations 4.1: no keyword of OpenAPI says it, so prose does. */
const proposalText =
  'Answers with an operation (Operations extension, version 1): a proposal. Nothing is changed before its revision is confirmed at the operations endpoint.'

/** The scopes in words too: a model reads descriptions, not security requirements. */
function needs(tool: Tool, scopeTexts: Readonly<Record<string, string>>): string {
  // 3.3: the extension first, as it is looked at first
  const extension = tool.extensions.map((one) => `Needs the extension ${one}. `).join('')
  // 6: every call carries a Session Token, signed in or not.
  if (tool.scopes.length === 0) return `${extension}Needs a Session Token, but no sign-in.`
  const words = tool.scopes.flatMap((scope) => (Object.hasOwn(scopeTexts, scope) ? [`“${scopeTexts[scope]}”`] : []))
  const meaning = words.length === 0 ? '' : ` (${words.join(', ')})`
  return `${extension}Needs a signed-in Session Token with the scope ${formatScope(tool.scopes)}${meaning}.`
}

/**
 * A schema that refers to itself (`#/$defs/…`) means its own root, but inside this document `#` is the document: such a
 * schema moves to the components, and its references follow.
 */
function placeSchema(json: JsonSchema, name: string, schemas: Record<string, JsonSchema>): JsonSchema {
  const root = `#/components/schemas/${name}`
  let moved = false
  const rewrite = (value: unknown): unknown => {
    if (Array.isArray(value)) return value.map(rewrite)
    if (!isJsonObject(value)) return value
    return mapMembers(value, (member, keyword) => {
      if (keyword === '$ref' && typeof member === 'string' && member.startsWith('#')) {
        moved = true
        return root + member.slice(1)
      }
      if (dataKeywords.has(keyword)) return member
      return mapKeywords.has(keyword) && isJsonObject(member) ? mapMembers(member, rewrite) : rewrite(member)
    })
  }
  // OpenAPI 3.1 takes 2020-12 where a schema doesn't say its dialect
  const plain = withoutDialect(json)
  const rewritten = rewrite(plain) as JsonSchema
  if (!moved) return plain
  schemas[name] = rewritten
  return { $ref: root }
}

function mapMembers(object: object, map: (member: unknown, name: string) => unknown): Record<string, unknown> {
  return Object.fromEntries(Object.entries(object).map(([name, member]) => [name, map(member, name)]))
}

/** What stands under these is an example or a value, no schema. */
const dataKeywords = new Set(['const', 'enum', 'default', 'examples', 'example'])
/** The members of these have names of the company's choosing, and are schemas. */
const mapKeywords = new Set(['properties', 'patternProperties', '$defs', 'definitions', 'dependentSchemas'])

const securityScheme = {
  type: 'http',
  scheme: 'DPoP',
  description:
    'A Session Token of the Personal Agent Protocol with a DPoP Proof (RFC 9449) in the DPoP header. The listed scopes are account scopes; with none, a signed-out token is enough.',
}

const errorSchema: JsonSchema = {
  type: 'object',
  required: ['error'],
  properties: {
    error: { type: 'string', description: 'A code.' },
    error_description: { type: 'string', description: 'What happened and what to do, in a sentence.' },
    error_id: { type: 'string', description: 'Names this failure in the log of the company.' },
    scope: { type: 'string', description: 'All the scopes that the call needs, separated by spaces.' },
    extension: { type: 'string', description: 'The extension that the call needs.' },
    issues: {
      type: 'array',
      description: 'What is wrong with the input, and where.',
      items: {
        type: 'object',
        required: ['path', 'message'],
        properties: {
          path: { type: 'string', description: 'JSON Pointer into the input.' },
          message: { type: 'string' },
        },
      },
    },
  },
}

interface StatusRow {
  readonly name: string
  readonly description: string
  readonly codes: readonly [ErrorCode, ...ErrorCode[]]
  readonly headers?: readonly string[]
}

/** The errors that a call can end in, one row for each status of the error table. */
const statuses: Readonly<Record<string, StatusRow>> = Object.fromEntries(
  (
    [
      { name: 'InvalidRequest', description: 'The input is not valid.', codes: ['invalid_request'] },
      {
        name: 'InvalidToken',
        description: 'Token or proof are missing or not valid.',
        codes: ['invalid_token', 'invalid_dpop_proof', 'use_dpop_nonce'],
        headers: ['WWW-Authenticate', 'DPoP-Nonce'],
      },
      {
        name: 'NotAllowed',
        description: 'The token lacks sign-in or scopes, or the Personal Agent an extension.',
        codes: ['sign_in_required', 'insufficient_scope', 'extension_required'],
        headers: ['WWW-Authenticate'],
      },
      { name: 'NotFound', description: 'There is no such tool.', codes: ['tool_not_found'] },
      { name: 'TooLarge', description: 'The body is too large.', codes: ['request_too_large'] },
      { name: 'NotJson', description: 'The body is not application/json.', codes: ['unsupported_media_type'] },
      { name: 'ToolFailed', description: 'The tool could not do it and says why.', codes: ['tool_failed'] },
      { name: 'TooMany', description: 'Too many requests.', codes: ['rate_limited'], headers: ['Retry-After'] },
      { name: 'ServerError', description: 'Something failed on our side.', codes: ['server_error'] },
      {
        name: 'Unavailable',
        description: 'Try again later.',
        codes: ['temporarily_unavailable'],
        headers: ['Retry-After'],
      },
      { name: 'Timeout', description: 'The tool took too long.', codes: ['tool_timeout'] },
    ] satisfies StatusRow[]
  ).map((row) => [errorRow(row.codes[0]).status, row]),
)

const errorResponses = Object.fromEntries(
  Object.values(statuses).map(({ name, description, codes, headers = [] }) => [
    name,
    {
      description: `${description} Codes: ${codes.map((code) => `\`${code}\``).join(', ')}.`,
      ...(headers.length === 0
        ? {}
        : { headers: Object.fromEntries(headers.map((header) => [header, { schema: { type: 'string' } }])) }),
      content: { 'application/json': { schema: { $ref: '#/components/schemas/Error' } } },
    },
  ]),
)
