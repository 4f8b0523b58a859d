import { createRequire } from 'node:module'
import { z } from 'zod'
import { ConfigurationError } from '../configuration-error.ts'
import { cleanIssue, type Issue } from './issue.ts'

/** What a tool takes and gives (6): a Standard Schema that can give JSON Schema, or raw JSON Schema. */

/** A JSON Schema of draft 2020-12. */
export type JsonSchema = Readonly<Record<string, unknown>>

type StandardResult<Output> =
  | { readonly value: Output; readonly issues?: undefined }
  | { readonly issues: readonly StandardIssue[] }

interface StandardIssue {
  readonly message: string
  readonly path?: readonly (PropertyKey | { readonly key: PropertyKey })[] | undefined
}

/** The part of Standard Schema and Standard JSON Schema (version 1 of each) that is used. */
export interface StandardSchema<Input = unknown, Output = Input> {
  readonly '~standard': {
    readonly version: 1
    readonly vendor: string
    readonly validate: (value: unknown) => StandardResult<Output> | Promise<StandardResult<Output>>
    readonly types?: { readonly input: Input; readonly output: Output } | undefined
    readonly jsonSchema?: {
      readonly input: (options: { readonly target: string }) => Record<string, unknown>
      readonly output: (options: { readonly target: string }) => Record<string, unknown>
    }
  }
}

/** What may stand in `input` and `output` of a tool. */
export type ToolSchema = StandardSchema | JsonSchema

/** What `run` is called with for a schema: its output type; for raw JSON Schema, an object of unknown members. */
export type ParsedBy<Schema> =
  Schema extends StandardSchema<infer _, infer Output>
    ? Output
    : Schema extends undefined
      ? Record<never, never>
      : Record<string, unknown>

/** What `run` has to return for an output schema. */
export type AcceptedBy<Schema> = Schema extends StandardSchema<infer Input, infer _> ? Input : unknown

/** A schema made ready once: what is published, and the check. */
export interface CompiledSchema {
  readonly json: JsonSchema
  readonly validate: (value: unknown) => Promise<{ readonly value: unknown } | { readonly issues: readonly Issue[] }>
  /** Raw JSON Schema judges what travels; a Standard Schema judges the company's own value. */
  readonly judges: 'json' | 'value'
}

/**
 * Makes a schema ready.
 * @param where such as `Tool my_bookings: input`, for the error's sentence
 * @throws ConfigurationError when the schema can't give JSON Schema or isn't valid
 */
export function compileSchema(schema: ToolSchema, direction: 'input' | 'output', where: string): CompiledSchema {
  if (isStandardSchema(schema)) return compileStandard(schema, direction, where)
  if (typeof schema !== 'object' || schema === null || Array.isArray(schema)) {
    throw new ConfigurationError(`${where} is not a schema. Write a schema such as z.object({ … }), or JSON Schema.`)
  }
  return compileRaw(schema, where)
}

function isStandardSchema(schema: ToolSchema): schema is StandardSchema {
  // ArkType's schemas are functions.
  return (typeof schema === 'object' || typeof schema === 'function') && schema !== null && '~standard' in schema
}

function compileStandard(schema: StandardSchema, direction: 'input' | 'output', where: string): CompiledSchema {
  const standard = schema['~standard']
  return {
    json: withoutDialect(standardToJson(schema, direction, where)),
    judges: 'value',
    async validate(value) {
      const result = await standard.validate(value)
      if (!result.issues) return { value: result.value }
      return { issues: result.issues.slice(0, 20).map(({ message, path }) => cleanIssue(value, keys(path), message)) }
    },
  }
}

function keys(path: StandardIssue['path']): readonly string[] {
  return (path ?? []).map((part) => String(typeof part === 'object' ? part.key : part))
}

function standardToJson(schema: StandardSchema, direction: 'input' | 'output', where: string): Record<string, unknown> {
  const { jsonSchema } = schema['~standard']
  try {
    if (jsonSchema) return jsonSchema[direction]({ target: 'draft-2020-12' })
    // Schemas of zod/mini can't tell it themselves.
    if (isZod(schema)) return z.toJSONSchema(schema, { io: direction, target: 'draft-2020-12' })
  } catch (error) {
    const why = error instanceof Error ? error.message : 'it failed'
    throw new ConfigurationError(
      `${where} can't be written as JSON Schema: ${why} Use types that JSON has, such as z.iso.date() for z.date().`,
      { cause: error },
    )
  }
  throw new ConfigurationError(
    `${where} can't give JSON Schema. Use a library that implements Standard JSON Schema (zod 4.2 or later does), or write JSON Schema.`,
  )
}

function isZod(schema: unknown): schema is z.core.$ZodType {
  return typeof schema === 'object' && schema !== null && '_zod' in schema
}

/** The dialect is 2020-12 everywhere, so it needn't be said in each schema. */
export function withoutDialect({ $schema: _, ...schema }: Record<string, unknown>): JsonSchema {
  return schema
}

function compileRaw(schema: JsonSchema, where: string): CompiledSchema {
  if (
    schema.$schema !== undefined &&
    !/^https:\/\/json-schema\.org\/draft\/2020-12\/schema#?$/.test(`${schema.$schema}`)
  ) {
    throw new ConfigurationError(
      `${where} must be JSON Schema 2020-12. Leave $schema out and write it in that dialect.`,
    )
  }
  // A copy: what the company changes later is not what was checked now. Otherwise it is published as it was written.
  const json = structuredClone(schema)
  const check = (() => {
    try {
      return makeAjv().compile(withoutDialect(json))
    } catch (error) {
      throw new ConfigurationError(
        `${where} is not valid JSON Schema: ${error instanceof Error ? error.message : ''}.`,
        {
          cause: error,
        },
      )
    }
  })()
  return {
    json,
    judges: 'json',
    async validate(value) {
      if (check(value)) return { value }
      const errors = (check.errors ?? []).slice(0, 20)
      return { issues: errors.map((error) => cleanIssue(value, pointerKeys(error.instancePath), error.message ?? '')) }
    },
  }
}

type Validators = typeof import('@modelcontextprotocol/server/validators/ajv')

function makeAjv() {
  // Loaded with the first raw JSON Schema, and by `require`, because a tool is checked at once where it is written.
  const { Ajv, addFormats } = createRequire(import.meta.url)(
    '@modelcontextprotocol/server/validators/ajv',
  ) as Validators
  // strictSchema finds misspelt keywords; the other strict checks refuse schemas that are merely unusual.
  const ajv = new Ajv({
    allErrors: true,
    strictSchema: true,
    strictTypes: false,
    strictTuples: false,
    strictRequired: false,
  })
  addFormats(ajv)
  ajv.addVocabulary(['example', 'xml', 'externalDocs'])
  return ajv
}

function pointerKeys(pointer: string): readonly string[] {
  const parts = pointer.split('/').slice(1)
  return parts.map((part) => part.replaceAll('~1', '/').replaceAll('~0', '~'))
}
