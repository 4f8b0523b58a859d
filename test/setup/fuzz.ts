import fc from 'fast-check'

/** What the fuzzers have in common: how many inputs, and odd ones. */

/** How many inputs each group gets: a few, or under LONG=1 a hundred thousand together. */
export const budgets = {
  tokens: { normal: 100, long: 20_000 },
  authorization: { normal: 60, long: 8_000 },
  decisions: { normal: 60, long: 8_000 },
  device: { normal: 60, long: 6_000 },
  browsers: { normal: 40, long: 4_000 },
  mediated: { normal: 40, long: 3_000 },
  tools: { normal: 80, long: 10_000 },
  mcp: { normal: 80, long: 8_000 },
  conversations: { normal: 80, long: 8_000 },
  anywhere: { normal: 80, long: 8_000 },
  inbox: { normal: 80, long: 8_000 },
  /** Of each parser. */
  parser: { normal: 60, long: 1_500 },
} as const

/** Inputs of a group in this run. */
export function inputs(group: keyof typeof budgets): number {
  return budgets[group][process.env.LONG ? 'long' : 'normal']
}

/** How long a group may take, and one input of it, in milliseconds: whatever hangs is found. */
export const patience = { group: process.env.LONG ? 3_600_000 : 60_000, input: 30_000 }

const origin = 'https://miramar.example'

/** Texts that have broken something somewhere. */
export const oddText = fc.oneof(
  fc.constantFrom('', ' ', '\0', '\ud800', '\u202e', '💥', '__proto__', 'constructor', 'null', '[]', '{"a":1}'),
  fc.constantFrom("'; drop table poppy_sessions; --", '%', '%00', '../../x', '\r\nset-cookie: a=b', 'a'.repeat(5000)),
  fc.constantFrom('poppy:read', 'poppy:read poppy:write', 'loyalty', 'poppy:admin', 'S256', 'plain', 'code', 'token'),
  fc.constantFrom(`${origin}/poppy/mcp`, `${origin}/poppy/openapi.json`, 'https://evil.test', 'javascript:alert(1)'),
  fc.constantFrom('eyJhbGciOiJub25lIn0.e30.', 'eyJhbGciOiJub25lIn0.e30.x', '..', '....', 'a.b.c', 'a.b.c.d.e'),
  fc.string({ unit: 'binary', maxLength: 40 }),
)

const names = [
  ...['grant_type', 'assertion', 'client_id', 'client_assertion', 'client_assertion_type', 'session_id', 'scope'],
  ...['resource', 'code', 'redirect_uri', 'code_verifier', 'refresh_token', 'token', 'token_type_hint', 'x'],
  ...['response_type', 'state', 'code_challenge', 'code_challenge_method', 'request', 'decision', 'client_secret'],
  ...['device_code', 'user_code'],
]

/** One thing done to a list of parameters. */
export const change = fc.oneof(
  fc.record({ do: fc.constant('set' as const), name: fc.constantFrom(...names), value: oddText }),
  fc.record({ do: fc.constant('add' as const), name: fc.oneof(fc.constantFrom(...names), oddText), value: oddText }),
  fc.record({ do: fc.constant('drop' as const), name: fc.constantFrom(...names) }),
  fc.record({ do: fc.constant('double' as const), name: fc.constantFrom(...names) }),
  fc.record({ do: fc.constant('swap' as const), name: fc.constantFrom(...names), other: fc.constantFrom(...names) }),
  fc.record({ do: fc.constant('cut' as const), name: fc.constantFrom(...names), at: fc.nat(400) }),
)
/** See {@link change}. */
export type Change = typeof change extends fc.Arbitrary<infer T> ? T : never

/** Does all of it. */
export function apply(parameters: URLSearchParams, changes: readonly Change[]): URLSearchParams {
  for (const one of changes) {
    const value = parameters.get(one.name) ?? ''
    switch (one.do) {
      case 'set':
        parameters.set(one.name, one.value)
        break
      case 'add':
        parameters.append(one.name, one.value)
        break
      case 'drop':
        parameters.delete(one.name)
        break
      case 'double':
        parameters.append(one.name, value)
        break
      case 'swap':
        parameters.set(one.name, parameters.get(one.other) ?? '')
        parameters.set(one.other, value)
        break
      case 'cut':
        parameters.set(one.name, value.slice(0, one.at) + value.slice(one.at + 1))
        break
    }
  }
  return parameters
}

/** A header: left as it is, taken away, or something that a header may hold. */
export const header = fc.oneof(
  { weight: 8, arbitrary: fc.constant(undefined) },
  { weight: 1, arbitrary: fc.constant(null) },
  { weight: 1, arbitrary: fc.string({ unit: 'grapheme-ascii', maxLength: 60 }).map((text) => text.trim()) },
)

/** A content type, mostly the right one for forms. */
export const contentType = fc.oneof(
  { weight: 9, arbitrary: fc.constant('application/x-www-form-urlencoded') },
  {
    weight: 1,
    arbitrary: fc.constantFrom('', 'application/json', 'text/plain', 'multipart/form-data; boundary=x', ';', 'x'),
  },
)

/** Any JSON value, with names that have broken something somewhere. */
export const json = fc.oneof(
  fc.jsonValue({ maxDepth: 3 }) as fc.Arbitrary<unknown>,
  fc.constantFrom<unknown>(null, [], {}, '', 0, -1, 1e300, Number.MAX_SAFE_INTEGER, true, '\u0000', 'a'.repeat(3000)),
)

/** A right JSON object with one or two of its members replaced, dropped or added, at any depth. */
export function bentJson(right: unknown): fc.Arbitrary<unknown> {
  const paths = [...pathsIn(right)]
  const bend = fc.record({
    path: fc.constantFrom(...paths),
    do: fc.constantFrom('set' as const, 'drop' as const, 'add' as const),
    value: fc.oneof(json, oddText),
    name: fc.oneof(oddText, fc.constantFrom('constructor', 'toString', 'x')),
  })
  return fc.array(bend, { minLength: 1, maxLength: 3 }).map((bends) => {
    let value = structuredClone(right)
    for (const one of bends) value = bendAt(value, one.path, one)
    return value
  })
}

function* pathsIn(value: unknown, path: readonly (string | number)[] = []): Generator<readonly (string | number)[]> {
  yield path
  if (typeof value !== 'object' || value === null) return
  for (const [name, member] of Object.entries(value)) yield* pathsIn(member, [...path, name])
}

function bendAt(
  value: unknown,
  path: readonly (string | number)[],
  bend: { readonly do: 'set' | 'drop' | 'add'; readonly value: unknown; readonly name: string },
): unknown {
  const [name, ...rest] = path
  if (name === undefined) {
    if (bend.do !== 'add' || typeof value !== 'object' || value === null) return bend.value
    return Array.isArray(value) ? [...value, bend.value] : { ...value, [bend.name]: bend.value }
  }
  if (typeof value !== 'object' || value === null) return value
  const copy: Record<string, unknown> = Array.isArray(value) ? (Object.assign([], value) as never) : { ...value }
  if (rest.length === 0 && bend.do === 'drop') delete copy[name]
  else copy[name] = bendAt(copy[name], rest, bend)
  return copy
}
