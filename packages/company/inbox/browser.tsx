import './styles.css'
import type { InboxView, InboxWordTexts } from '../src/inbox/view.ts'
import { listenToKeys } from './browser/keyboard.ts'
import { followChanges } from './browser/live.ts'
import { type Loading, makeLoading, ownAddress } from './browser/loading.ts'
import { makePage, showFound } from './browser/page.tsx'
import { sendForms } from './browser/sending.ts'
import { askToNotify, notificationsNow, remember, remembered, tellNews } from './browser/telling.ts'
import { insertReply, makeTyped } from './browser/typed.ts'

/** Makes live what the server drew: the same view, from the page itself. Without it everything works, by links and forms. */

const root = document.getElementById('inbox')
const state = document.getElementById('inbox-view')
const texts = document.getElementById('inbox-words')
if (root !== null && state?.textContent && texts?.textContent) {
  const view = JSON.parse(state.textContent) as InboxView
  // What it has of an account would stay in the page, however dark the account goes.
  state.remove()
  start(root, view, JSON.parse(texts.textContent) as InboxWordTexts)
}

function start(root: HTMLElement, view: InboxView, words: InboxWordTexts): void {
  const shortcuts = 'poppyseed-inbox-shortcuts'
  const page = makePage(
    root,
    {
      view,
      words,
      ahead: view.now - Date.now(),
      connection: 'live',
      isFollowing: false,
      isUnsure: false,
      isGone: false,
      sending: null,
      loading: null,
      problem: null,
      isHushed: false,
      news: '',
      notifications: notificationsNow(),
      hasKeys: remembered(shortcuts) !== 'off',
    },
    {
      insert: (text, draft) => insertReply(root, text, draft),
      askToNotify: () => void askToNotify(page),
      toggleKeys() {
        const { hasKeys } = page.state()
        remember(shortcuts, hasKeys ? 'off' : 'on')
        page.set({ hasKeys: !hasKeys })
      },
      dismiss: () => page.set({ view: { ...page.state().view, notice: null }, problem: null, isHushed: true }),
    },
  )
  // What was told once isn’t told again by going back to it.
  if (ownAddress() !== location.pathname + location.search) history.replaceState(null, '', ownAddress() + location.hash)
  // A page that is loaded anew stays where it was read, and not where its address leads.
  showFound(root)
  const loading = makeLoading(page)
  const typed = makeTyped(page)
  sendForms(page, loading, typed, tellOtherTabs(loading))
  followLinks(root, page.state().view.path, loading)
  listenToKeys(page, loading)
  tellNews(page)
  hideDone(page)
  followChanges(page, loading)
}

/** Two tabs agree at once, not only when the server says so. */
function tellOtherTabs(loading: Loading): () => void {
  if (!('BroadcastChannel' in globalThis)) return () => {}
  const channel = new BroadcastChannel('poppyseed-inbox')
  channel.addEventListener('message', () => void loading.refresh())
  return () => channel.postMessage('changed')
}

/** A link within the inbox doesn’t leave the page. */
function followLinks(root: HTMLElement, path: string, loading: Loading): void {
  root.addEventListener('click', (event) => {
    if (
      event.defaultPrevented ||
      event.button !== 0 ||
      event.metaKey ||
      event.ctrlKey ||
      event.shiftKey ||
      event.altKey
    )
      return
    const link = event.target instanceof Element ? event.target.closest('a') : null
    if (
      link === null ||
      link.target !== '' ||
      link.origin !== location.origin ||
      link.getAttribute('href')?.startsWith('#')
    )
      return
    const isOurs = link.pathname === path || /^\/(?:conversations|operations)\//.test(link.pathname.slice(path.length))
    if (!link.pathname.startsWith(path) || !isOurs) return
    event.preventDefault()
    void loading.go(link.pathname + link.search, link.hash)
  })
}

/** That something is done needs no answer: it goes by itself. What was refused stays. */
function hideDone(page: ReturnType<typeof makePage>): void {
  let timer: ReturnType<typeof setTimeout> | undefined
  const look = () => {
    const { notice } = page.state().view
    clearTimeout(timer)
    if (notice?.kind !== 'done') return
    timer = setTimeout(() => {
      const { view } = page.state()
      if (view.notice === notice) page.set({ view: { ...view, notice: null } })
    }, 6000)
  }
  page.drawn(({ view }, before) => {
    if (view.notice !== before.view.notice) look()
  })
  look()
}
