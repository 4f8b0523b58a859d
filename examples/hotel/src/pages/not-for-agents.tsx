import { inWords } from '../scopes.ts'
import type { NotForThisAgent } from '../visitor.ts'
import { Layout, type Visit } from './layout.tsx'

/** What an agent's browser sees where it may not go: which agent, for whom, and what it would need. */
export function NotForAgentsPage({ visit, refusal }: { readonly visit: Visit; readonly refusal: NotForThisAgent }) {
  const { need, visitor } = refusal
  const { title, text } = wordsFor(refusal)
  return (
    <Layout visit={visit} title={`${title} · Hotel Miramar`}>
      <section class="column">
        <h1>{title}</h1>
        <p class="lead">{text}</p>
        {visitor.kind === 'agent' && (
          <dl class="details">
            <div>
              <dt>The agent</dt>
              <dd>{visitor.host}</dd>
            </div>
            <div>
              <dt>Acts for</dt>
              <dd>{visitor.guest?.name ?? 'nobody yet: it is not signed in'}</dd>
            </div>
            {visitor.may.length > 0 && (
              <div>
                <dt>It may</dt>
                <dd>{inWords(visitor.may)}</dd>
              </div>
            )}
            {need !== 'in person' && (
              <div>
                <dt>It lacks</dt>
                <dd>
                  {inWords([need])} (<code>{need}</code>)
                </dd>
              </div>
            )}
          </dl>
        )}
        <p>
          <a class="button" href="/">
            To the front door
          </a>
        </p>
      </section>
    </Layout>
  )
}

function wordsFor({ visitor, need }: NotForThisAgent): { readonly title: string; readonly text: string } {
  if (visitor.kind === 'ended') {
    return {
      title: 'The agent’s access has ended',
      text: 'This browser was an agent’s, and what it could see here is over. The agent can let its browser join again. If the browser is your own, remove the cookies of this site.',
    }
  }
  if (need === 'in person') {
    return {
      title: 'Only for guests themselves',
      text: 'No right opens this page to an agent. Open it in your own browser.',
    }
  }
  return visitor.guest === null
    ? {
        title: 'The agent is not signed in',
        text: 'This page belongs to a guest. The agent can ask its guest to let it in; then it opens.',
      }
    : {
        title: 'The agent may not do this',
        text: 'Its guest has not given it the right. The agent can ask for it, and the guest decides.',
      }
}
