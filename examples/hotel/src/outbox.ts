import { all, type HotelDatabase, run } from './sql.ts'

/** A mail as the hotel would send it. Sending is not what this example is about: it lies in the outbox, to be looked at. */
export type Mail = {
  readonly to: string
  readonly subject: string
  readonly paragraphs: readonly string[]
  /** A one-time code, which the page shows large. */
  readonly code?: string
}

/** A mail that was sent, at a time in milliseconds. */
export type SentMail = Mail & { readonly sentAt: number }

/** The hotel's mails: those since it was started, and for good those about operations. */
export type Outbox = {
  readonly send: (mail: Mail) => void
  /** Sends a mail once for its key, however often it is told to, and by whichever process. */
  readonly sendOnce: (key: string, mail: Mail) => void
  /** Newest first. */
  readonly list: () => readonly SentMail[]
}

const MOST = 50

/** Makes an outbox, which shows the last fifty. What has a code in it, and all that has no key, is in memory alone. */
export function createOutbox(database: HotelDatabase, now: () => number): Outbox {
  let mails: readonly SentMail[] = []
  const stored = (): readonly SentMail[] =>
    all<{ readonly mail: string; readonly sentAt: number }>(
      database,
      'select mail, sent_at as sentAt from mails order by sent_at desc, rowid desc limit ?',
      MOST,
    ).map(({ mail, sentAt }) => ({ ...(JSON.parse(mail) as Mail), sentAt }))
  return {
    send: (mail) => {
      mails = [{ ...mail, sentAt: now() }, ...mails].slice(0, MOST)
    },
    sendOnce: (key, mail) => {
      run(
        database,
        'insert into mails (key, mail, sent_at) values (?, ?, ?) on conflict (key) do nothing',
        key,
        JSON.stringify(mail),
        now(),
      )
    },
    list: () => [...mails, ...stored()].sort((one, other) => other.sentAt - one.sentAt).slice(0, MOST),
  }
}
