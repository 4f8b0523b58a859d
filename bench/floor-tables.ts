/** The product's rows, in the product's two files (`replay` is the attached one). */
export const tables = `
create table sessions (company text, id text, client_id text, user_id text, account text, grant_id text, epoch integer,
  created_at integer, last_used_at integer, expires_at integer, ended_at integer, primary key (company, id)) strict;
create table grants (company text, id text, client_id text, user_id text, account text, scopes text, expires_at integer,
  revoked_at integer, primary key (company, id)) strict;
create table used_ids (company text, kind text, owner text, id_hash text, expires_at integer,
  primary key (company, kind, owner, id_hash)) strict, without rowid;
create table replay.proofs (company text, thumbprint text, id_hash text, expires_at integer,
  primary key (company, thumbprint, id_hash)) strict, without rowid`
