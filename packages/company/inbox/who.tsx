import type { Side } from '../src/inbox/view.ts'
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
