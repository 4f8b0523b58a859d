import { DatabaseSync } from 'node:sqlite'
import type { Staff } from 'poppyseed'

/** What the adapter has to remember, whatever becomes of its process: which ticket is which conversation, and what was handed on. */

/** A conversation and its ticket. */
export interface Link {
  readonly conversation: string
  readonly ticket: number
  /** Who of the help desk has it; null for nobody. */
  readonly holder: Staff | null
}

/** What somebody of the help desk did, to be told to the Company. */
export interface Act {
  /** The help desk's own id of it: the key by which the Company knows it again. */
  readonly id: string
  readonly ticket: number
  readonly kind: 'reply' | 'note' | 'close' | 'hand-back'
  readonly text: string
  readonly by: Staff | null
}

/** See {@link openLinks}. */
export type Links = ReturnType<typeof openLinks>

const week = 7 * 86_400_000

/** Opens them. @param path a file, or `:memory:` */
export function openLinks(path: string, now: () => number = Date.now) {
  const db = new DatabaseSync(path)
  db.exec(`
    pragma journal_mode = wal;
    create table if not exists handled (id text primary key, at integer not null) without rowid;
    create table if not exists links (conversation text primary key, ticket integer not null unique, holder text);
    create table if not exists told (event text primary key, ticket integer not null, is_done integer not null);
    create table if not exists acts (id text primary key, ticket integer not null, kind text not null, text text not null,
      by text, state text not null, number integer not null);`)
  const linkOf = (row: unknown): Link | null => {
    if (row === undefined) return null
    const { conversation, ticket, holder } = row as { conversation: string; ticket: number; holder: string | null }
    return { conversation, ticket, holder: holder === null ? null : (JSON.parse(holder) as Staff) }
  }
  const actOf = (row: unknown): Act => {
    const { by, ...act } = row as Omit<Act, 'by'> & { readonly by: string | null }
    return { ...act, by: by === null ? null : (JSON.parse(by) as Staff) }
  }

  return {
    /** Whether a webhook of the Company was handled: each comes at least once. */
    isHandled: (id: string) => db.prepare('select 1 from handled where id = ?').get(id) !== undefined,
    noteHandled(id: string) {
      db.prepare('insert into handled values (?, ?) on conflict do nothing').run(id, now())
      // A delivery is tried for three days.
      db.prepare('delete from handled where at < ?').run(now() - week)
    },

    ofConversation: (id: string) => linkOf(db.prepare('select * from links where conversation = ?').get(id)),
    ofTicket: (ticket: number) => linkOf(db.prepare('select * from links where ticket = ?').get(ticket)),
    link: (conversation: string, ticket: number) =>
      void db.prepare('insert into links values (?, ?, null) on conflict do nothing').run(conversation, ticket),
    hold: (conversation: string, holder: Staff | null) =>
      void db
        .prepare('update links set holder = ? where conversation = ?')
        .run(holder === null ? null : JSON.stringify(holder), conversation),
    /** Who has something: they are here as long as the adapter is. */
    holders: (): readonly Staff[] =>
      db
        .prepare('select distinct holder from links where holder is not null')
        .all()
        .map(({ holder }) => JSON.parse(String(holder)) as Staff),

    /** How far an event of a conversation has come into the ticket; `begun`: it may be there. */
    told(event: string): 'not' | 'begun' | 'done' {
      const row = db.prepare('select is_done from told where event = ?').get(event)
      return row === undefined ? 'not' : row.is_done === 1 ? 'done' : 'begun'
    },
    noteTold: (event: string, ticket: number, isDone: boolean) =>
      void db
        .prepare('insert into told values (?, ?, ?) on conflict (event) do update set is_done = excluded.is_done')
        .run(event, ticket, isDone ? 1 : 0),

    /** Keeps what was done. False for what is known. */
    keepAct: ({ id, ticket, kind, text, by }: Act): boolean =>
      db
        .prepare(
          `insert into acts select ?, ?, ?, ?, ?, 'waiting', coalesce(max(number), 0) + 1 from acts where true on conflict do nothing`,
        )
        .run(id, ticket, kind, text, by === null ? null : JSON.stringify(by)).changes > 0,
    /** What the Company wasn't told yet, in its order. */
    waitingActs: (): readonly Act[] =>
      db
        .prepare(`select id, ticket, kind, text, by from acts where state = 'waiting' order by number`)
        .all()
        .map(actOf),
    noteAct: (id: string, state: 'told' | 'seen' | 'refused') =>
      void db.prepare('update acts set state = ? where id = ?').run(state, id),
    /** Whether a reply in a conversation is one that came from here: then it stands in the ticket already. Asked once for each. */
    isOwnReply(ticket: number, text: string): boolean {
      const row = db
        .prepare(
          `select id from acts where ticket = ? and kind = 'reply' and state in ('waiting', 'told') and text = ? order by number`,
        )
        .get(ticket, text)
      if (row === undefined) return false
      // One that waits is being told at this moment: its answer may be on its way still.
      db.prepare(`update acts set state = 'seen' where id = ? and state = 'told'`).run(String(row.id))
      return true
    },
    close: () => db.close(),
  }
}
