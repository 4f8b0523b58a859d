import { DatabaseSync } from 'node:sqlite'

/** The floor's rows: the product's tables, keys, indexes and pragmas, in the product's two files. */

const tables = `
pragma main.journal_mode = wal; pragma main.synchronous = full; pragma foreign_keys = on;
pragma replay.journal_mode = wal; pragma replay.synchronous = normal;
create table sessions (company text, id text, client_id text, user_id text, account text, grant_id text, epoch integer,
  created_at integer, last_used_at integer, expires_at integer, ended_at integer, primary key (company, id))
  strict, without rowid;
create index sessions_by_grant on sessions (company, grant_id) where grant_id is not null;
create index sessions_by_expiry on sessions (company, expires_at);
create index sessions_by_end on sessions (company, ended_at) where ended_at is not null;
create table grants (company text, id text, client_id text, user_id text, account text, scopes text, expires_at integer,
  revoked_at integer, primary key (company, id)) strict, without rowid;
create table used_ids (company text, kind text, owner text, id_hash text, expires_at integer,
  primary key (company, kind, owner, id_hash)) strict, without rowid;
create index used_ids_by_expiry on used_ids (company, expires_at);
create table replay.proofs (company text, thumbprint text, id_hash text, expires_at integer,
  primary key (company, thumbprint, id_hash)) strict, without rowid;
create index replay.proofs_by_expiry on proofs (company, expires_at);`

/** Opens both files and prepares what runs at each request. */
export function openStore(path: string) {
  const db = new DatabaseSync(path, { timeout: 5000 })
  db.exec(`attach '${path}-proofs' as replay; ${tables}`)
  return {
    begin: db.prepare('begin immediate'),
    commit: db.prepare('commit'),
    addSession: db.prepare('insert into sessions values (?, ?, ?, ?, ?, ?, 0, ?, ?, ?, null)'),
    addGrant: db.prepare('insert into grants values (?, ?, ?, ?, ?, ?, null, null)'),
    claimId: db.prepare('insert into used_ids values (?, ?, ?, ?, ?) on conflict do nothing'),
    claimProof: db.prepare('insert into replay.proofs values (?, ?, ?, ?) on conflict do nothing'),
    readSession: db.prepare(`select s.*, g.scopes, g.revoked_at, g.expires_at as grant_expires_at from sessions s
      left join grants g on g.company = s.company and g.id = s.grant_id where s.company = ? and s.id = ?`),
  }
}
