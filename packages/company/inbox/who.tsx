import type { ConversationRowView, Side } from '../src/inbox/view.ts'
import { Icon } from './icons.tsx'
import { useUi } from './ui.ts'

/** Who says something, and whether a person or an AI: by a word, a sign and a shape, never by colour alone. */
export function Who({ by, isPerson }: { readonly by: Side; readonly isPerson: boolean }) {
  const { view, say } = useUi()
  // Where a company has no agent, what is answered at once is a text of the company's own.
  if (by === 'company-agent' && !view.hasAgent) return <span class={`by by-${by}`}>{say('side.automatic')}</span>
  return (
    <span class={`by by-${by}`}>
      {say(`side.${by}`)}
      <span class={isPerson ? 'kind is-person' : 'kind is-ai'}>
        <Icon name={isPerson ? 'person' : 'ai'} />
        {say(isPerson ? 'person' : 'ai')}
      </span>
    </span>
  )
}

/** The same in a row, on one line. */
export function Speaker({ by, sender }: Pick<NonNullable<ConversationRowView['last']>, 'by' | 'sender'>) {
  const { view, say } = useUi()
  return (
    <>
      <Icon name={sender === 'human' ? 'person' : 'ai'} />
      {by === 'company-agent' && !view.hasAgent
        ? say('side.automatic')
        : `${say(`side.${by}`)} (${say(sender === 'human' ? 'person' : 'ai')})`}
    </>
  )
}
