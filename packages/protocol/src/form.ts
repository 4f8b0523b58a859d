import { PoppyError } from './errors.ts'

/**
 * Reads `application/x-www-form-urlencoded` parameters, each at most once (4.2, RFC 6749: a parameter sent
 * twice is `invalid_request`; `resource` alone may repeat, RFC 8707).
 * @throws PoppyError `invalid_request`
 */
export function readParameters(text: string): FormParameters {
  const values = new Map<string, string>()
  const resources: string[] = []
  for (const [name, value] of new URLSearchParams(text)) {
    if (name === 'resource') {
      resources.push(value)
      continue
    }
    if (values.has(name)) throw new PoppyError('invalid_request', { description: 'A parameter was sent twice.' })
    values.set(name, value)
  }
  // RFC 6749, 3.1: a parameter without a value counts as left out
  return {
    get: (name) => values.get(name) || undefined,
    has: (name) => values.has(name) || (name === 'resource' && resources.length > 0),
    resources: resources.filter(Boolean),
  }
}

/** Parameters of a request, each present at most once. */
export interface FormParameters {
  /** The value, or undefined when the parameter is absent or empty. */
  get(name: string): string | undefined
  /** Whether the parameter was sent at all, with or without a value. */
  has(name: string): boolean
  /** The values of `resource`, in the order sent, empty ones left out; `get` doesn't give it. */
  readonly resources: readonly string[]
}
