import { makeSay } from '../ui.ts'
import type { Page, PageState } from './page.tsx'

/** Tells of what is new: to whoever hears the page, and, where they asked for it, to whoever looks at something else. */

const setting = 'poppyseed-inbox-notifications'

/** Where notifications stand in this browser. */
export function notificationsNow(): PageState['notifications'] {
  if (!('Notification' in globalThis)) return 'unknown'
  if (Notification.permission === 'denied') return 'blocked'
  return Notification.permission === 'granted' && remembered(setting) === 'on' ? 'on' : 'off'
}

/** Asks the person, who clicked on a button for it. */
export async function askToNotify(page: Page): Promise<void> {
  const permission = await Notification.requestPermission()
  if (permission === 'granted') remember(setting, 'on')
  page.set({ notifications: notificationsNow() })
}

/** Begins. */
export function tellNews(page: Page): void {
  page.drawn((state, before) => {
    if (state.view === before.view) return
    const { view } = state
    const say = makeSay(state.words)
    // One may have been taken at the same moment, and from a hundred on nobody counts.
    const isMoreWaiting =
      view.counts.waiting.number > before.view.counts.waiting.number ||
      (view.newestWaiting ?? 0) > (before.view.newestWaiting ?? 0)
    const isSame = view.conversation !== null && view.conversation.id === before.view.conversation?.id
    const wasMine = before.view.conversation?.heldBy?.id === view.me.id
    const news = [
      ...(isMoreWaiting ? [say('news.waiting')] : []),
      ...(isSame && wasMine && view.notice === null && view.conversation?.heldBy?.id !== view.me.id
        ? [say('news.lost')]
        : []),
      ...(isSame && before.view.conversation?.account.state === 'open' && view.conversation?.account.state === 'dark'
        ? [say('news.accountDark')]
        : []),
    ]
    if (news.length > 0) queueMicrotask(() => page.set({ news: news.join(' ') }))
    if (isMoreWaiting && state.notifications === 'on' && !document.hasFocus()) notify(state)
  })
}

/** How many wait, and nothing of what anybody said: it is shown where others may look. */
function notify({ view, words }: PageState): void {
  const say = makeSay(words)
  const { number, isMore } = view.counts.waiting
  try {
    const options: NotificationOptions & { readonly renotify: boolean } = {
      body: say('notify.text', { number: isMore ? say('more', { number: String(number) }) : String(number) }),
      // One takes the place of the one before, and is told all the same.
      tag: 'poppyseed-inbox',
      renotify: true,
    }
    const shown = new Notification(say('notify.title', { organization: view.organization }), options)
    shown.addEventListener('click', () => {
      window.focus()
      shown.close()
    })
  } catch {
    // Some phones have notifications only for installed applications.
  }
}

/** What this browser remembers from one visit to the next. */
export function remembered(name: string): string | null {
  try {
    return localStorage.getItem(name)
  } catch {
    // It keeps nothing: then it is as at first.
    return null
  }
}

/** See {@link remembered}. */
export function remember(name: string, value: string): void {
  try {
    localStorage.setItem(name, value)
  } catch {
    // As above.
  }
}
