import { isJsonObject } from '@poppyseed/protocol'
import { cleanText, hiddenCharacter } from '../net/text.ts'
import { type ApiOperation, type Json, resolve } from './openapi.ts'

/**
 * The input of a tool as one JSON Schema that stands for itself, for a program or a model to fill in. It is made anew from
 * what a Company published: references are put in place as far as they go, texts are cleaned and cut, and what no model
 * needs is left out. No pattern comes through: whoever runs it would run the Company's code.
 */

/** How much of a schema is taken: more than a person would describe, less than what fills a model's attention. */
const maxNodes = 300
const maxDepth = 8
const maxList = 100
const maxText = 300

const types = new Set(['string', 'number', 'integer', 'boolean', 'object', 'array', 'null'])
const numbers = [
  ...['minimum', 'maximum', 'exclusiveMinimum', 'exclusiveMaximum', 'multipleOf'],
  ...['minLength', 'maxLength', 'minItems', 'maxItems', 'minProperties', 'maxProperties'],
]

/** How much all the schemas of one document come to: one small thing can be referred to thousands of times. */
export interface SchemaBudget {
  left: number
}

/** The budget of one document. */
export function schemaBudget(): SchemaBudget {
  return { left: 60_000 }
}

/** The input of an operation: its parameters, and the members of its body beside them (see `CallInput`). */
export function operationInput(operation: ApiOperation, document: Json, budget: SchemaBudget): Json {
  const { body } = operation
  const members = body && isJsonObject(body.schema.properties) ? Object.entries(body.schema.properties) : []
  // Each input has its share, so that one without end leaves room for the others.
  const share = Math.max(20, Math.floor(maxNodes / (operation.parameters.length + members.length + 1)))
  const properties = new Map<string, Json>()
  const required: string[] = []
  const add = (name: string, schema: unknown, isRequired: boolean, description?: string) => {
    if (properties.has(name) || !isShowable(name)) return
    const read = createReader(document, share, budget)(schema, 1)
    properties.set(name, description === undefined ? read : { ...read, description: cleanText(description, maxText) })
    if (isRequired) required.push(name)
  }
  for (const { name, schema, required: isRequired, description } of operation.parameters) {
    add(name, schema, isRequired, description)
  }
  if (body && members.length > 0) {
    const needed = Array.isArray(body.schema.required) ? (body.schema.required as readonly unknown[]) : []
    for (const [name, schema] of members.slice(0, maxList)) {
      add(name, schema, body.required && needed.includes(name))
    }
  } else if (body) {
    add('body', body.schema, body.required)
  }
  return objectOf(properties, required)
}

/** The input of an MCP tool: the schema that its server lists, whose references are its own. */
export function mcpInput(schema: unknown, budget: SchemaBudget): Json {
  const read = createReader(isJsonObject(schema) ? schema : {}, maxNodes, budget)(schema, 0)
  return read.type === 'object' ? read : { type: 'object', properties: {} }
}

function objectOf(properties: ReadonlyMap<string, Json>, required: readonly string[]): Json {
  return {
    type: 'object',
    properties: Object.fromEntries(properties),
    ...(required.length === 0 ? {} : { required: [...required] }),
  }
}

/** A name that a person or a model may see as it is, and write again. */
function isShowable(name: string): boolean {
  return name !== '' && name !== '__proto__' && name.length <= 100 && name.search(hiddenCharacter) < 0
}

/** Reads schemas of one document, all together no more than so much. */
function createReader(root: Json, most: number, budget: SchemaBudget): (schema: unknown, depth: number) => Json {
  let nodes = 0
  // The schemas that are being read: one that refers to itself says anything from there on.
  const open = new Set<unknown>()
  const read = (value: unknown, depth: number): Json => {
    const schema = resolve(root, value)
    if (!isJsonObject(schema) || open.has(schema) || depth > maxDepth) return {}
    if (++nodes > most || --budget.left < 0) return {}
    open.add(schema)
    try {
      return { ...plainParts(schema), ...nestedParts(schema, (inner) => read(inner, depth + 1)) }
    } finally {
      open.delete(schema)
    }
  }
  return read
}

function plainParts(schema: Json): Json {
  const parts: Record<string, unknown> = {}
  const stated = (Array.isArray(schema.type) ? (schema.type as readonly unknown[]) : [schema.type]).filter(
    (one): one is string => typeof one === 'string' && types.has(one),
  )
  // OpenAPI 3.0 says it beside the type.
  if (schema.nullable === true && stated.length > 0) stated.push('null')
  const kinds = [...new Set(stated)]
  if (kinds.length > 0) parts.type = kinds.length === 1 ? kinds[0] : kinds
  else if (isJsonObject(schema.properties)) parts.type = 'object'
  for (const name of ['title', 'description']) {
    const text = schema[name]
    if (typeof text === 'string' && text !== '') parts[name] = cleanText(text, maxText)
  }
  if (typeof schema.format === 'string' && /^[a-z0-9-]{1,40}$/.test(schema.format)) parts.format = schema.format
  for (const name of numbers) if (typeof schema[name] === 'number') parts[name] = schema[name]
  for (const name of ['const', 'default']) if (isPlain(schema[name])) parts[name] = schema[name]
  if (Array.isArray(schema.enum)) {
    const values = (schema.enum as readonly unknown[]).slice(0, maxList).filter(isPlain)
    if (values.length > 0) parts.enum = values
  }
  return parts
}

/** A value that stands in a schema as it is: one that would have to be cleaned could not be sent any more. */
function isPlain(value: unknown): boolean {
  if (typeof value === 'string') return value.length <= 200 && value.search(hiddenCharacter) < 0
  return typeof value === 'number' || typeof value === 'boolean' || value === null
}

function nestedParts(schema: Json, read: (value: unknown) => Json): Json {
  const parts: Record<string, unknown> = {}
  if (isJsonObject(schema.properties)) {
    const members = Object.entries(schema.properties)
      .filter(([name]) => isShowable(name))
      .slice(0, maxList)
    parts.properties = Object.fromEntries(members.map(([name, value]) => [name, read(value)]))
    const required = Array.isArray(schema.required) ? (schema.required as readonly unknown[]) : []
    const known = members.map(([name]) => name).filter((name) => required.includes(name))
    if (known.length > 0) parts.required = known
  }
  if (typeof schema.additionalProperties === 'boolean') parts.additionalProperties = schema.additionalProperties
  else if (isJsonObject(schema.additionalProperties)) parts.additionalProperties = read(schema.additionalProperties)
  if (isJsonObject(schema.items)) parts.items = read(schema.items)
  for (const name of ['anyOf', 'oneOf', 'allOf']) {
    const list = schema[name]
    if (Array.isArray(list) && list.length > 0) parts[name] = (list as readonly unknown[]).slice(0, 20).map(read)
  }
  return parts
}
