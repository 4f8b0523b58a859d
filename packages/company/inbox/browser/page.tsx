import type { ComponentChildren } from 'preact'
import { hydrate, render } from 'preact'
import { useEffect, useState } from 'preact/hooks'
import type { InboxView, InboxWordTexts } from '../../src/inbox/view.ts'
import { App, titleOf } from '../app.tsx'
import { NowProvider } from '../times.tsx'
import type { Live } from '../ui.ts'

/** The page as it is drawn, and what it is drawn of. Drawing it anew keeps the focus, and the place in what is read. */

/** What the page is drawn of. */
export interface PageState
  extends Pick<
    Live,
    'connection' | 'isFollowing' | 'sending' | 'loading' | 'problem' | 'isHushed' | 'news' | 'notifications' | 'hasKeys'
  > {
  readonly view: InboxView
  /** They came with the page, as its script did. */
  readonly words: InboxWordTexts
  /** By how much the server's clock is ahead of this one, in milliseconds. */
  readonly ahead: number
  /** Whether what it has may be of before: nothing of an account is shown then. */
  readonly isUnsure: boolean
  /** Whether they said that they go, and did nothing since. */
  readonly isGone: boolean
}

/** See above. */
export interface Page {
  readonly root: HTMLElement
  readonly state: () => PageState
  /** Draws it with something changed, at once. */
  readonly set: (change: Partial<PageState>) => void
  /** Is called after each time that it is drawn. */
  readonly drawn: (then: (state: PageState, before: PageState) => void) => void
}

/** Has the focus where somebody begins to read: at the title of what is open, else of the list, which comes first on a page. */
export function focusTitle(root: HTMLElement): void {
  const title = root.querySelector<HTMLElement>('#thread-title') ?? root.querySelector<HTMLElement>('#list-title')
  title?.focus({ preventScroll: true })
}

/** Has in sight what a search found, where one came from there. */
export function showFound(root: HTMLElement): void {
  root.querySelector<HTMLElement>('[data-found]')?.scrollIntoView({ block: 'center' })
}

/** Takes over what the server drew. */
export function makePage(
  root: HTMLElement,
  first: PageState,
  does: Pick<Live, 'insert' | 'askToNotify' | 'toggleKeys' | 'dismiss'>,
): Page {
  let state = first
  const listeners: ((state: PageState, before: PageState) => void)[] = []
  // First as the server drew it, then with what only a script can do.
  hydrate(
    <Clock ahead={state.ahead} start={state.view.now}>
      <App view={state.view} words={state.words} />
    </Clock>,
    root,
  )
  draw()
  return {
    root,
    state: () => state,
    set(change) {
      const before = state
      state = afterSignOut({ ...state, ...change })
      const keep = [keepFocus(root), keepPlace(root)]
      draw()
      for (const back of keep) back()
      for (const then of listeners) then(state, before)
    },
    drawn(then) {
      listeners.push(then)
    },
  }

  function draw(): void {
    const { view: known, words, ahead, isUnsure, isGone: _, ...live } = state
    const view = isUnsure ? withoutAccount(known) : known
    render(
      <Clock ahead={ahead} start={view.now}>
        <App view={view} words={words} live={{ ...live, ...does }} />
      </Clock>,
      root,
    )
    document.title = titleOf(view, words)
  }
}

/** Nothing of the customer's account stays on a screen whose member of staff is signed out; what they typed does. */
function afterSignOut(state: PageState): PageState {
  return state.connection === 'signed-out' ? { ...state, view: withoutAccount(state.view) } : state
}

/** The same, with nothing of the customer's account, nor of what a tool answered under its rights. */
export function withoutAccount(view: InboxView): InboxView {
  const { conversation } = view
  if (conversation === null) return view
  const account = conversation.account.state === 'open' ? ({ state: 'closed' } as const) : conversation.account
  return { ...view, conversation: { ...conversation, account, outcome: null } }
}

/** Tells the time below it. Only what shows a running time is drawn anew. */
function Clock({
  ahead,
  start,
  children,
}: {
  readonly ahead: number
  readonly start: number
  readonly children: ComponentChildren
}) {
  const [tick, setTick] = useState(0)
  useEffect(() => {
    const timer = setInterval(() => setTick(Date.now()), 10_000)
    return () => clearInterval(timer)
  }, [])
  return <NowProvider value={Math.max(start, tick === 0 ? start : tick + ahead)}>{children}</NowProvider>
}

/** A row that is moved in its list loses the focus; one that is gone gives it to the list. */
function keepFocus(root: HTMLElement): () => void {
  const active = document.activeElement
  if (!(active instanceof HTMLElement) || !root.contains(active)) return () => {}
  const wasRow = active.matches('[data-row]')
  return () => {
    if (active === document.activeElement) return
    if (active.isConnected) active.focus({ preventScroll: true })
    else if (wasRow) root.querySelector<HTMLElement>('#list-title')?.focus({ preventScroll: true })
  }
}

/** Whoever reads further up stays there when something new comes below. */
function keepPlace(root: HTMLElement): () => void {
  const history = root.querySelector<HTMLElement>('[data-history]')
  if (history === null || history.scrollTop > -40) return () => {}
  const { scrollTop, scrollHeight } = history
  return () => {
    if (history.isConnected) history.scrollTop = scrollTop - (history.scrollHeight - scrollHeight)
  }
}
