import type { AuditView } from '../src/inbox/view.ts'
import { Moment } from './times.tsx'
import { sayNamed, useUi } from './ui.ts'

/** Who did what: beside a conversation, and beside an operation. */
export function AuditLines({ audit }: { readonly audit: readonly AuditView[] }) {
  const { words, say } = useUi()
  if (audit.length === 0) return <p class="quiet">{say('audit.none')}</p>
  return (
    <ol class="trail">
      {audit.map(({ at, by, act, detail }, index) => (
        <li key={index}>
          <Moment at={at} /> <strong>{by}</strong> {sayNamed(words, 'did', act)}
          {detail !== null && (
            <span class="quiet" dir="auto">
              {' '}
              · {detail}
            </span>
          )}
        </li>
      ))}
    </ol>
  )
}
