import type { SentMail } from '../outbox.ts'
import { Layout, type Visit } from './layout.tsx'

/** The mails that the hotel would have sent, newest first. On the machine of whoever tries the example, and nowhere else. */
export function OutboxPage({ visit, mails }: { readonly visit: Visit; readonly mails: readonly SentMail[] }) {
  return (
    <Layout visit={visit} title="Outbox · Hotel Miramar">
      <section class="column">
        <h1>Outbox</h1>
        <p class="lead">
          This hotel is made up and sends no mail. What it would have sent is here, for you who try it out.
        </p>
        {mails.length === 0 ? (
          <p>
            Nothing yet. An agent that signs in with a guest’s email address and password makes the hotel send a code.
          </p>
        ) : (
          <ul class="bookings">
            {mails.map((mail) => (
              <MailItem visit={visit} mail={mail} />
            ))}
          </ul>
        )}
      </section>
    </Layout>
  )
}

function MailItem({ visit, mail }: { readonly visit: Visit; readonly mail: SentMail }) {
  return (
    <li class="booking mail">
      <div class="booking-head">
        <h2>{mail.subject}</h2>
        <p class="quiet">
          <time datetime={new Date(mail.sentAt).toISOString()}>{visit.format.time(mail.sentAt)}</time>
        </p>
      </div>
      <p class="quiet">To {mail.to}</p>
      {mail.code !== undefined && <p class="code">{mail.code}</p>}
      {mail.paragraphs.map((paragraph) => (
        <p>{paragraph}</p>
      ))}
    </li>
  )
}
