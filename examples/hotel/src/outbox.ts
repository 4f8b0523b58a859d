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

/** The hotel's mails since it was started. */
export type Outbox = {
  readonly send: (mail: Mail) => void
  /** Newest first. */
  readonly list: () => readonly SentMail[]
}

const MOST = 50

/** Makes an outbox. It is in memory alone, for codes are among the mails, and keeps the last fifty. */
export function createOutbox(now: () => number): Outbox {
  let mails: readonly SentMail[] = []
  return {
    send: (mail) => {
      mails = [{ ...mail, sentAt: now() }, ...mails].slice(0, MOST)
    },
    list: () => mails,
  }
}
