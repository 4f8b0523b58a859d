import type { Pool } from 'pg'
import type { Store } from './database.ts'

/** `poppyseed/postgres`: the query builder is loaded when the store opens, so that importing this costs nothing. */

/** Settings of {@link postgres}. */
export interface PostgresOptions {
  /**
   * Whether statements are prepared once per connection, which is twice as fast. Default true. Set it to false behind a
   * pooler in transaction mode that can't carry them (PgBouncer before 1.21).
   */
  readonly namedStatements?: boolean
  /** How many connections our own pool opens at most. Default 10. Not for the company's pool, which has its own. */
  readonly connections?: number
}

/**
 * A store in PostgreSQL, in tables whose names begin with `poppy_`: by its URL, or through the company's own `pg` pool,
 * which stays the company's to close.
 *
 * @example
 * createCompany({ store: postgres(process.env.DATABASE_URL), … })
 * @example
 * createCompany({ store: postgres({ pool }), … })
 */
export function postgres(source: string | { readonly pool: Pool }, options: PostgresOptions = {}): Store {
  return {
    name: 'postgres',
    async open(context) {
      const { openPostgres } = await import('./postgres-database.ts')
      return openPostgres(source, options, context)
    },
  }
}
