import type { Store } from 'poppyseed'

/** A store that a test can look into while a Company uses it. */
export interface WatchedStore extends Store {
  /** The statements that went to the database, without their values. Emptied by the test. */
  readonly statements: string[]
  /** Everything that a refused request must leave as it was: Sessions, grants, codes, device codes and joined browsers. */
  readonly dump: () => Promise<unknown>
  /** How many ids of assertions and forms, and of proofs, are remembered. */
  readonly spent: () => Promise<{ readonly ids: number; readonly proofs: number }>
}

type Database = Awaited<ReturnType<Store['open']>>

/** Watches a store from the moment the Company opens it. */
export function watch(store: Store): WatchedStore {
  const statements: string[] = []
  let opened: Database | undefined
  const query = () => {
    if (!opened) throw new Error('the store is not open')
    return opened.query
  }
  return {
    name: store.name,
    statements,
    async open(context) {
      opened = await store.open({ ...context, onQuery: (sql) => void statements.push(sql) })
      return opened
    },
    dump: async () => ({
      sessions: await query().selectFrom('poppy_sessions').selectAll().orderBy('id').execute(),
      grants: await query().selectFrom('poppy_grants').selectAll().orderBy('id').execute(),
      codes: await query().selectFrom('poppy_codes').selectAll().orderBy('code_hash').execute(),
      devices: await query()
        .selectFrom('poppy_device_codes')
        // When it was last asked about is for the next question's pace alone.
        .select(['code_hash', 'client_id', 'scopes', 'status', 'account', 'approved_scopes', 'expires_at'])
        .orderBy('code_hash')
        .execute(),
      browsers: await query().selectFrom('poppy_browsers').selectAll().orderBy('cookie_hash').execute(),
      // What is said in one goes on by itself; that there is one, and what was accepted, doesn't.
      conversations: await query().selectFrom('poppy_conversations').select('id').orderBy('id').execute(),
      receipts: await query().selectFrom('poppy_receipts').selectAll().orderBy('message_id').execute(),
    }),
    spent: async () => ({
      ids: (await query().selectFrom('poppy_used_ids').select('id_hash').execute()).length,
      proofs: (await query().selectFrom('poppy_proofs').select('mark').execute()).length,
    }),
  }
}
