import { isJsonObject, JsonError, parseStrictJson } from '@poppyseed/protocol'
import { inPlainSight, nameInWords } from '../operations/terms.ts'
import type { JsonSchema } from '../tools/schema.ts'
import type { ToolField } from './view.ts'

/**
 * A tool's input as a form, made of its JSON Schema, and a form that was sent as input again. What is too deep for a form is
 * written as JSON. Nothing is checked here that the tool checks itself when it is called.
 */

/** More fields than that are no form. */
const mostFields = 30
const mostChoices = 200
/** Characters from which on a text gets room. */
const longText = 300

type Kind = ToolField['kind']

interface Read {
  readonly kind: Kind
  /** For `choice`: what each choice stands for. */
  readonly values?: readonly unknown[]
  /** For `list`: whether its items are numbers. */
  readonly ofNumbers?: boolean
}

/** The fields of a tool's form; null where its input is too deep for one. */
export function toolFields(schema: JsonSchema): readonly ToolField[] | null {
  const members = membersOf(schema)
  if (members === null) return null
  const fields: ToolField[] = []
  for (const { name, member, isNeeded } of members) {
    const read = readMember(member)
    if (read === null) return null
    const standard = member.default
    const description = typeof member.description === 'string' ? inPlainSight(member.description).slice(0, 1000) : null
    fields.push({
      name,
      label: inPlainSight(typeof member.title === 'string' ? member.title : nameInWords(name)),
      hint: read.kind === 'date-time' ? [description, 'UTC'].filter((one) => one !== null).join(' · ') : description,
      isNeeded: isNeeded && standard === undefined,
      kind: read.kind,
      choices: (read.values ?? []).map(String),
      standard: standard === undefined || standard === null ? null : asText(standard),
    })
  }
  return fields
}

/** What a form is refused for: a field by its label, or that it is no JSON. */
export interface NotRead {
  readonly field: string | null
}

/**
 * Makes input of what was sent: of `json` where that is there, else of the fields, by name.
 * @param valuesOf the values that were sent for a field
 */
export function readInput(
  schema: JsonSchema,
  sent: { readonly json: string | undefined; readonly valuesOf: (name: string) => readonly string[] },
): { readonly input: Readonly<Record<string, unknown>> } | NotRead {
  const members = membersOf(schema)
  if (sent.json !== undefined && sent.json.trim() !== '') return readJson(sent.json)
  if (members === null) return { input: {} }
  const input: (readonly [string, unknown])[] = []
  for (const { name, member } of members) {
    const read = readMember(member)
    if (read === null) return { field: null }
    const value = readValue(read, sent.valuesOf(name))
    if (value === 'wrong') return { field: toolFields(schema)?.find((field) => field.name === name)?.label ?? name }
    if (value !== null) input.push([name, value.value])
  }
  return { input: Object.fromEntries(input) }
}

/** Input as the form has it, by field; as `json` where there is no form, or one that it doesn't fit. */
export function enteredInput(schema: JsonSchema, input: unknown): Readonly<Record<string, string>> {
  const fields = toolFields(schema)
  if (fields === null || !isJsonObject(input)) return { json: JSON.stringify(input ?? {}, null, 2) }
  return Object.fromEntries(
    fields.flatMap(({ name }) => {
      const value = Object.hasOwn(input, name) ? input[name] : undefined
      return value === undefined || value === null ? [] : [[name, asText(value)] as const]
    }),
  )
}

/** What of an input its form has no field for: it stays when the form is sent. */
export function besideForm(schema: JsonSchema, input: unknown): Readonly<Record<string, unknown>> {
  const fields = toolFields(schema)
  if (fields === null || !isJsonObject(input)) return {}
  return Object.fromEntries(Object.entries(input).filter(([name]) => !fields.some((field) => field.name === name)))
}

interface Member {
  readonly name: string
  readonly member: JsonSchema
  readonly isNeeded: boolean
}

/** The members of an input; null for one that is no flat object. */
function membersOf(schema: JsonSchema): readonly Member[] | null {
  const { properties = {}, required, type } = schema
  if (type !== 'object' || !isJsonObject(properties)) return null
  for (const word of ['anyOf', 'oneOf', 'allOf', 'if', 'patternProperties', '$ref', 'propertyNames'])
    if (schema[word] !== undefined) return null
  // Any member at all: that can't be a form.
  if (isJsonObject(schema.additionalProperties)) return null
  const names = Object.keys(properties)
  if (names.length > mostFields) return null
  const needed: readonly unknown[] = Array.isArray(required) ? required : []
  return names.map((name) => {
    const member: unknown = properties[name]
    return { name, member: isJsonObject(member) ? member : {}, isNeeded: needed.includes(name) }
  })
}

/** What kind of field a member is; null for what is too deep. */
function readMember(member: JsonSchema): Read | null {
  const alternatives = Array.isArray(member.anyOf) ? member.anyOf : Array.isArray(member.oneOf) ? member.oneOf : null
  if (alternatives !== null) {
    // A member that may be null is left empty then.
    const others = alternatives.filter((one: unknown) => isJsonObject(one) && one.type !== 'null')
    const [only] = others
    if (others.length === 1 && isJsonObject(only)) return readMember(only)
    const constants = others.map((one: unknown) => (isJsonObject(one) ? one.const : undefined))
    return isChoice(constants) ? { kind: 'choice', values: constants } : null
  }
  if (member.const !== undefined) return isChoice([member.const]) ? { kind: 'choice', values: [member.const] } : null
  if (Array.isArray(member.enum)) {
    const values = member.enum.filter((one: unknown) => one !== null)
    return isChoice(values) ? { kind: 'choice', values } : null
  }
  const types = [member.type].flat().filter((type) => type !== 'null')
  if (types.length !== 1) return null
  switch (types[0]) {
    case 'string':
      if (member.format === 'date') return { kind: 'date' }
      if (member.format === 'date-time') return { kind: 'date-time' }
      return { kind: typeof member.maxLength === 'number' && member.maxLength >= longText ? 'long-text' : 'text' }
    case 'number':
    case 'integer':
      return { kind: 'number' }
    case 'boolean':
      return { kind: 'yes-no' }
    case 'array': {
      const items = member.items
      if (!isJsonObject(items)) return null
      const item = readMember(items)
      if (item?.kind === 'number') return { kind: 'list', ofNumbers: true }
      const isText = item?.kind === 'text' || item?.kind === 'long-text' || item?.kind === 'date'
      const isWord = item?.kind === 'choice' && item.values?.every((one) => typeof one === 'string') === true
      return isText || isWord ? { kind: 'list' } : null
    }
    default:
      return null
  }
}

function isChoice(values: readonly unknown[]): boolean {
  return (
    values.length > 0 &&
    values.length <= mostChoices &&
    values.every((value) => ['string', 'number', 'boolean'].includes(typeof value))
  )
}

/** Null for a field that was left empty. */
function readValue(read: Read, sent: readonly string[]): { readonly value: unknown } | null | 'wrong' {
  if (read.kind === 'list') {
    const items = sent
      .flatMap((one) => one.split(/\r?\n/))
      .map((one) => one.trim())
      .filter((one) => one !== '')
    if (items.length === 0) return null
    if (read.ofNumbers !== true) return { value: items }
    const numbers = items.map(numberOf)
    return numbers.includes(null) ? 'wrong' : { value: numbers }
  }
  const [text = ''] = sent
  // Which of two is meant nobody can say.
  if (sent.length > 1) return 'wrong'
  if (text.trim() === '') return null
  switch (read.kind) {
    case 'number': {
      const number = numberOf(text)
      return number === null ? 'wrong' : { value: number }
    }
    case 'yes-no':
      if (/^(?:true|on|yes)$/.test(text)) return { value: true }
      return /^(?:false|no)$/.test(text) ? { value: false } : 'wrong'
    case 'choice': {
      const index = (read.values ?? []).findIndex((value) => String(value) === text)
      return index < 0 ? 'wrong' : { value: read.values?.[index] }
    }
    case 'date-time': {
      // As a browser's field has it, without seconds and zone: its label says that it is UTC.
      const [, day, time, seconds = ':00'] = /^(\d{4}-\d{2}-\d{2})T(\d{2}:\d{2})(:\d{2}(?:\.\d+)?)?$/.exec(text) ?? []
      return { value: day === undefined ? text.trim() : `${day}T${time}${seconds}Z` }
    }
    case 'date':
      return { value: text.trim() }
    default:
      return { value: text.replaceAll('\r\n', '\n') }
  }
}

function numberOf(text: string): number | null {
  const trimmed = text.trim()
  return /^-?\d+(?:\.\d+)?(?:e[+-]?\d{1,3})?$/i.test(trimmed) && Number.isFinite(Number(trimmed))
    ? Number(trimmed)
    : null
}

function readJson(text: string): { readonly input: Readonly<Record<string, unknown>> } | NotRead {
  try {
    const input = parseStrictJson(text, 32)
    return isJsonObject(input) ? { input } : { field: null }
  } catch (error) {
    if (error instanceof JsonError) return { field: null }
    throw error
  }
}

function asText(value: unknown): string {
  if (typeof value === 'string') return value
  if (Array.isArray(value) && value.every((one) => typeof one === 'string' || typeof one === 'number'))
    return value.join('\n')
  return JSON.stringify(value)
}
