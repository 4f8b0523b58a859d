import { isPlain } from '../config-shapes.ts'
import { inPlainSight, type TermStyle } from '../operations/terms.ts'
import type { AccountView } from './view.ts'

/** What the company shows of a customer's account, looked at where it comes in: text alone, and links that lead somewhere safe. */

/** More than that of anything is no card. */
const most = {
  title: 200,
  facts: 100,
  tables: 20,
  columns: 20,
  rows: 500,
  links: 50,
  text: 4_000,
  href: 2_000,
} as const

/** How a card is written. */
export interface CardStyle extends Pick<TermStyle, 'yes' | 'no'> {
  /** The site's, for links that are paths. */
  readonly origin: string
}

/**
 * Makes the panel of what `customer` gave; an empty one of null.
 * @throws TypeError with what is wrong of it, for the log
 */
export function readCard(card: unknown, style: CardStyle): Extract<AccountView, { readonly state: 'open' }> {
  if (card === null || card === undefined) return { state: 'open', title: null, facts: [], tables: [], links: [] }
  if (!isPlain(card)) throw wrongCard('gives { title, facts, tables, links }, or null')
  const { title, facts = {}, tables = [], links = [], ...more } = card
  const [unknown] = Object.keys(more)
  if (unknown !== undefined) throw wrongCard(`gives title, facts, tables and links, and nothing named ${unknown}`)
  if (!isPlain(facts) || Object.keys(facts).length > most.facts) throw wrongCard('gives facts as { name: value }')
  return {
    state: 'open',
    title: title === undefined || title === null ? null : textOf(title, most.title, 'title'),
    facts: Object.entries(facts).map(([name, value]) => ({
      name: textOf(name, most.title, 'facts'),
      value: cellOf(value, style, 'facts'),
    })),
    tables: listOf(tables, most.tables, 'tables').map((table) => tableOf(table, style)),
    links: listOf(links, most.links, 'links').map((link) => linkOf(link, style)),
  }
}

function tableOf(table: unknown, style: CardStyle) {
  if (!isPlain(table)) throw wrongCard('gives tables as [{ title, columns, rows }]')
  const columns = listOf(table.columns, most.columns, 'columns').map((name) => textOf(name, most.title, 'columns'))
  const rows = listOf(table.rows, most.rows, 'rows').map((row) => {
    const cells = listOf(row, most.columns, 'rows')
    if (cells.length !== columns.length) throw wrongCard('gives each row of a table as many cells as it has columns')
    return cells.map((cell) => cellOf(cell, style, 'rows'))
  })
  return { title: textOf(table.title, most.title, 'tables'), columns, rows }
}

function linkOf(link: unknown, { origin }: CardStyle) {
  if (!isPlain(link)) throw wrongCard('gives links as [{ text, href }]')
  const { text, href } = link
  if (typeof href !== 'string' || href.length > most.href) throw wrongCard('gives a link an href')
  const url = URL.parse(href, origin)
  const isPath = /^\/(?![/\\])/.test(href) && url?.origin === origin
  if (url === null || !(isPath || (/^https:\/\//i.test(href) && url.protocol === 'https:')))
    throw wrongCard('gives links to https: addresses, or to paths of the site')
  return { text: textOf(text, most.title, 'links'), href: url.href }
}

function listOf(value: unknown, longest: number, what: string): readonly unknown[] {
  if (Array.isArray(value) && value.length <= longest) return value
  throw wrongCard(`gives ${what} as a list of at most ${longest}`)
}

function textOf(value: unknown, longest: number, what: string): string {
  if (typeof value === 'string' && value.length <= longest) return inPlainSight(value.toWellFormed())
  throw wrongCard(`gives texts of at most ${longest} characters as ${what}`)
}

function cellOf(value: unknown, { yes, no }: CardStyle, what: string): string {
  if (value === null || value === '') return '–'
  if (typeof value === 'boolean') return value ? yes : no
  if (typeof value === 'number') return String(value)
  return textOf(value, most.text, what)
}

// What was given isn't told: it is of a customer's account, and this goes to a log.
function wrongCard(what: string): TypeError {
  return new TypeError(`\`customer\` has to be a function that ${what}.`)
}
