import { type RawBuilder, sql } from 'kysely'

/** How many rows of a page are asked for. */

const sizes = [1, 11, 26, 51, 101, 201]

/**
 * A limit that stands in the statement itself, and not among its values: with one that it doesn't know PostgreSQL plans a list
 * for a tenth of the table, finds that worse than to plan each call anew, and does so. There are few, so that each is a
 * statement that is prepared once: it may be more than was asked for, and whoever asks leaves out the rest.
 */
export function pageSize(limit: number): RawBuilder<number> {
  return sql.lit(sizes.find((size) => size >= limit) ?? limit)
}
