import type { InboxView } from '../src/inbox/view.ts'

/** The whole of a page of the inbox: drawn on the server, and by the same code in the browser. */
export function App({ view }: { readonly view: InboxView }) {
  return (
    <main>
      <h1>{view.organization}</h1>
      <ul>
        {view.list.conversations.map((row) => (
          <li key={row.id}>
            <a href={`${view.path}/conversations/${row.id}`}>{row.last?.text ?? row.host}</a>
          </li>
        ))}
      </ul>
    </main>
  )
}
