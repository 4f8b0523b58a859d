/** Whom a requirement binds. */
export type Side = 'company' | 'agent' | 'both'

/** The key word of a requirement. */
export type Level = 'MUST' | 'MUST NOT' | 'SHOULD' | 'SHOULD NOT'

/** One obligation of the specification, in our own words. */
export interface Requirement {
  /** Section and slug, such as `4.3.jti-once`. Tests cite it in square brackets in their title. */
  readonly id: string
  /** The section it comes from: `3` to `7.13`, or `ops` for the Operations extension. */
  readonly section: string
  readonly side: Side
  readonly level: Level
  readonly text: string
  /** True once the code does it. Then some test must cite it, and until then none may. */
  readonly built: boolean
  /** It comes from one of the specification's tables, or, for Operations, from a reading of ours. */
  readonly table?: true
  /** The specification says it as plain fact, without a key word. */
  readonly plain?: true
}

/**
 * A requirement as it is written down: whom it binds, the key word, and what for.
 * `plain:` before it marks what the specification states without a key word, `table:` what stands in a table.
 */
export type Line = `${'' | 'plain: ' | 'table: '}${Side} ${Level} ${string}`

/** The lines of one section by slug: what the code does, and what it does not do yet. Move a line to flip it. */
export interface SectionLines {
  readonly built?: Readonly<Record<string, Line>>
  readonly later?: Readonly<Record<string, Line>>
}

const SHAPE =
  /^(?:(?<origin>plain|table): )?(?<side>company|agent|both) (?<level>(?:MUST|SHOULD)(?: NOT)?) (?<text>.+)$/u

/** Makes the entries of one section of the specification. */
export function section(name: string, lines: SectionLines): readonly Requirement[] {
  const entries = (group: Readonly<Record<string, Line>>, built: boolean) =>
    Object.entries(group).map(([slug, line]) => entry(name, slug, line, built))
  return [...entries(lines.built ?? {}, true), ...entries(lines.later ?? {}, false)]
}

function entry(name: string, slug: string, line: Line, built: boolean): Requirement {
  const parts = SHAPE.exec(line)?.groups
  if (!parts) throw new Error(`${name}.${slug} is not written as a requirement`)
  return {
    id: `${name}.${slug}`,
    section: name,
    side: parts.side as Side,
    level: parts.level as Level,
    text: parts.text ?? '',
    built,
    ...(parts.origin === 'table' && { table: true }),
    ...(parts.origin === 'plain' && { plain: true }),
  }
}
