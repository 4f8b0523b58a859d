import type { InboxView, InboxWordTexts } from '../src/inbox/view.ts'
import { Details } from './details.tsx'
import { Bar, Keys, Notices } from './frame.tsx'
import { OperationPage } from './operation.tsx'
import { Lists } from './rows.tsx'
import { Thread } from './thread.tsx'
import { type Live, makeSay, UiProvider, useUi } from './ui.ts'

/** The whole of a page of the inbox: drawn on the server, and by the same code in the browser. */
export function App({
  view,
  words,
  live = null,
}: {
  readonly view: InboxView
  readonly words: InboxWordTexts
  readonly live?: Live | null
}) {
  const { conversation, operation } = view
  const isOpen = conversation !== null || operation !== null
  return (
    <UiProvider value={{ view, words, say: makeSay(words), live }}>
      <div class={['app', isOpen ? 'is-open' : 'is-list', live === null ? '' : 'is-live'].join(' ').trim()}>
        <Skip isOpen={isOpen} />
        <Bar />
        <Notices />
        <main class={conversation === null ? 'two' : 'three'}>
          <Lists isPage={!isOpen} />
          {conversation !== null && (
            <>
              <Thread key={conversation.id} conversation={conversation} />
              <Details conversation={conversation} />
            </>
          )}
          {conversation === null && operation !== null && <OperationPage key={operation.id} operation={operation} />}
          {!isOpen && <NothingOpen />}
        </main>
        <Keys />
      </div>
    </UiProvider>
  )
}

function Skip({ isOpen }: { readonly isOpen: boolean }) {
  const { say } = useUi()
  if (!isOpen) return null
  return (
    <a class="skip" href="#thread">
      {say('skip')}
    </a>
  )
}

function NothingOpen() {
  const { say } = useUi()
  return (
    <section class="thread nothing-open" aria-label={say('conversation')}>
      <p class="quiet">{say('nothingOpen')}</p>
    </section>
  )
}

/** What the window is called: with how many are waiting. */
export function titleOf(view: Pick<InboxView, 'counts' | 'organization'>, words: InboxWordTexts): string {
  const { number, isMore } = view.counts.waiting
  const title = makeSay(words)('title', { organization: view.organization })
  return number === 0 ? title : `(${number}${isMore ? '+' : ''}) ${title}`
}
