/** The product's rows, keys and indexes, in the product's two files (`replay` is the attached one). */
export const tables = `
create table sessions (company text, id text, client_id text, user_id text, account text, grant_id text, epoch integer,
  created_at integer, last_used_at integer, expires_at integer, ended_at integer, primary key (company, id))
  strict, without rowid;
create index sessions_by_grant on sessions (company, grant_id);
create index sessions_by_expiry on sessions (company, expires_at);
create index sessions_by_end on sessions (company, ended_at);
create table grants (company text, id text, client_id text, user_id text, account text, scopes text, expires_at integer,
  revoked_at integer, primary key (company, id)) strict, without rowid;
create table used_ids (company text, kind text, owner text, id_hash text, expires_at integer,
  primary key (company, kind, owner, id_hash)) strict, without rowid;
create index used_ids_by_expiry on used_ids (company, expires_at);
create table replay.proofs (company text, thumbprint text, id_hash text, expires_at integer,
  primary key (company, thumbprint, id_hash)) strict, without rowid;
create index replay.proofs_by_expiry on proofs (company, expires_at);`
