import { Layout, type Visit } from './layout.tsx'

type MessageProps = { readonly visit: Visit; readonly title: string; readonly text: string }

/** A page that says one thing: what happened, and where to go on. */
export function MessagePage({ visit, title, text }: MessageProps) {
  return (
    <Layout visit={visit} title={`${title} · Hotel Miramar`}>
      <section class="column narrow">
        <h1>{title}</h1>
        <p class="lead">{text}</p>
        <p>
          <a class="button" href="/">
            To the front door
          </a>
        </p>
      </section>
    </Layout>
  )
}
