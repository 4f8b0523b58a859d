import { type ESTree, parseSync } from 'vite'

/** What a run makes of a test: it should pass, it is not run (skip, todo), or it is expected to fail. */
export type Fate = 'passes' | 'skipped' | 'fails'

/** A test file as text. */
export interface TestFile {
  readonly path: string
  readonly source: string
}

/** The title of a test or of a suite, as far as it is written down; `…` stands for what is computed. */
export interface TestTitle {
  readonly title: string
  readonly file: string
  /** Counted from 1. */
  readonly line: number
  readonly fate: Fate
}

/** Stands in a title for what only a run would know. */
const COMPUTED = '…'

/** What a callee such as `it.skipIf(slow)` comes to. A factory must be called once more before it takes a title. */
interface Runner {
  readonly kind: 'test' | 'suite'
  readonly fate: Fate
  readonly factory: boolean
}

const ROOTS: Readonly<Record<string, Runner['kind']>> = { it: 'test', test: 'test', describe: 'suite', suite: 'suite' }
const FACTORIES: readonly string[] = ['each', 'for', 'skipIf', 'runIf', 'extend']
const FATES: Readonly<Record<string, Fate>> = { skip: 'skipped', todo: 'skipped', fails: 'fails' }

/**
 * Finds the titles of the tests and suites of a file, without running it.
 *
 * A suite counts as passing when it has a passing test in it, or when its tests come from elsewhere.
 * Throws when the file can't be parsed.
 */
export function findTitles(file: TestFile): readonly TestTitle[] {
  const parsed = parseSync(file.path, file.source)
  const broken = parsed.errors[0]
  if (broken) throw new Error(`${file.path} can't be parsed: ${broken.message}`)
  const aliases = new Map<string, Runner>()

  function visit(node: ESTree.Node, inherited: Fate): readonly TestTitle[] {
    if (node.type === 'VariableDeclarator' && node.id.type === 'Identifier' && node.init) {
      const runner = resolve(node.init, aliases)
      if (runner) aliases.set(node.id.name, runner)
    }
    if (node.type !== 'CallExpression') return children(node).flatMap((child) => visit(child, inherited))
    const runner = resolve(node.callee, aliases)
    const written = runner && !runner.factory ? titleOf(node.arguments[0]) : undefined
    if (!runner || written === undefined) return children(node).flatMap((child) => visit(child, inherited))

    const own = worse(worse(inherited, runner.fate), fateOfArguments(node.arguments, runner.kind))
    const inside = node.arguments.flatMap((argument) => visit(argument, own))
    const passes = inside.length === 0 || inside.some((title) => title.fate === 'passes')
    const fate = passes ? own : worse(own, inside[0]?.fate ?? own)
    const line = file.source.slice(0, node.start).split('\n').length
    return [{ title: written, file: file.path, line, fate }, ...inside]
  }

  return visit(parsed.program, 'passes')
}

function resolve(node: ESTree.Node, aliases: ReadonlyMap<string, Runner>): Runner | undefined {
  switch (node.type) {
    case 'Identifier': {
      const kind = Object.hasOwn(ROOTS, node.name) ? ROOTS[node.name] : undefined
      return kind ? { kind, fate: 'passes', factory: false } : aliases.get(node.name)
    }
    case 'MemberExpression': {
      const base = resolve(node.object, aliases)
      if (!base || node.property.type !== 'Identifier') return undefined
      const name = node.property.name
      const fate = Object.hasOwn(FATES, name) ? FATES[name] : undefined
      return { ...base, fate: worse(base.fate, fate ?? 'passes'), factory: FACTORIES.includes(name) }
    }
    case 'CallExpression': {
      const base = resolve(node.callee, aliases)
      return base?.factory ? { ...base, factory: false } : undefined
    }
    case 'TaggedTemplateExpression': {
      const base = resolve(node.tag, aliases)
      return base?.factory ? { ...base, factory: false } : undefined
    }
    case 'ConditionalExpression': {
      // `hasPostgres ? it : it.skip` runs somewhere, and so counts as run.
      const ways = [resolve(node.consequent, aliases), resolve(node.alternate, aliases)]
      return ways.find((way) => way?.fate === 'passes') ?? ways.find((way) => way)
    }
    case 'ParenthesizedExpression':
      return resolve(node.expression, aliases)
    default:
      return undefined
  }
}

function titleOf(node: ESTree.Node | undefined): string | undefined {
  if (node?.type === 'Literal' && typeof node.value === 'string') return node.value
  if (node?.type === 'TemplateLiteral') return node.quasis.map((part) => part.value.cooked ?? '').join(COMPUTED)
  if (node?.type === 'BinaryExpression' && node.operator === '+') {
    return `${titleOf(node.left) ?? COMPUTED}${titleOf(node.right) ?? COMPUTED}`
  }
  if (node?.type === 'ParenthesizedExpression') return titleOf(node.expression)
  return undefined
}

/** A test with no function is a todo; options such as `{ skip: true }` count as the modifier of that name. */
function fateOfArguments(list: readonly ESTree.Node[], kind: Runner['kind']): Fate {
  if (kind === 'test' && list.length === 1) return 'skipped'
  const options = list.find((node) => node.type === 'ObjectExpression')
  if (options?.type !== 'ObjectExpression') return 'passes'
  return options.properties.reduce<Fate>((fate, property) => {
    if (property.type !== 'Property' || property.key.type !== 'Identifier') return fate
    const on = property.value.type === 'Literal' && property.value.value === true
    return on && Object.hasOwn(FATES, property.key.name) ? worse(fate, FATES[property.key.name] ?? fate) : fate
  }, 'passes')
}

function worse(a: Fate, b: Fate): Fate {
  if (a === 'skipped' || b === 'skipped') return 'skipped'
  return a === 'fails' ? a : b
}

function children(node: ESTree.Node): readonly ESTree.Node[] {
  return Object.values(node).flat().filter(isNode)
}

function isNode(value: unknown): value is ESTree.Node {
  return typeof value === 'object' && value !== null && 'type' in value && typeof value.type === 'string'
}
