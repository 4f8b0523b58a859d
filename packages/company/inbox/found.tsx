import type { ConversationView, FoundView } from '../src/inbox/view.ts'
import { Icon } from './icons.tsx'
import { Moment } from './times.tsx'
import { entryId, useUi } from './ui.ts'
import { Speaker } from './who.tsx'

/** What a search found: the words where they were said, or the name that it was found by. */

type Pieces = NonNullable<ConversationView['found']>['pieces']

/** A text with the words marked in it. */
export function Marked({ pieces }: { readonly pieces: Pieces }) {
  return <>{pieces.map(({ text, isFound }, index) => (isFound ? <mark key={index}>{text}</mark> : text))}</>
}

/** What an address has behind it that leads to the entry where the words were said. */
export function foundLink(found: FoundView | undefined): string {
  return found?.kind === 'words' ? `&${new URLSearchParams({ at: found.entry })}#${entryId(found.entry)}` : ''
}

/** By what a conversation was found, in its row. */
export function FoundBy({ found, host }: { readonly found: FoundView; readonly host: string }) {
  const { say } = useUi()
  switch (found.kind) {
    case 'words': {
      const { who, excerpt, at } = found
      return (
        <>
          <span class="row-by quiet">
            {who.kind === 'message' ? (
              <Speaker by={who.by} sender={who.sender} />
            ) : (
              <>
                <Icon name="note" />
                {say(`note.${who.note}`)}
                {who.by !== null && <span> · {who.by}</span>}
              </>
            )}{' '}
            · <Moment at={at} />
          </span>
          <span class="row-text row-found" dir="auto">
            <Marked pieces={excerpt} />
          </span>
        </>
      )
    }
    case 'operation':
      return <By text={say('found.operation', { id: found.id })} />
    case 'agent':
      return <By text={say('found.agent', { host })} />
    default:
      return <By text={say(`found.${found.kind}`)} />
  }
}

function By({ text }: { readonly text: string }) {
  return (
    <span class="row-by">
      <Icon name="search" />
      {text}
    </span>
  )
}
