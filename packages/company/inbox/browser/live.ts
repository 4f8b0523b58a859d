import type { Loading } from './loading.ts'
import type { Page } from './page.tsx'

/** Follows what changes: the server says only that something did, and the page asks for itself anew. */

/** How long a connection may be gone before it is said. Milliseconds. */
const patience = 3000
/** How long to wait before a connection that ended for good is tried again. Milliseconds. */
const again = 5000
/**
 * After how long without a word a connection counts as lost, though the browser says nothing: the server sends one each 15 s.
 * Milliseconds.
 */
const silence = 35_000

/** Begins. */
export function followChanges(page: Page, loading: Loading): void {
  let source: EventSource | null = null
  let followed: string | null = null
  let doubt: ReturnType<typeof setTimeout> | undefined
  let retry: ReturnType<typeof setTimeout> | undefined
  let silent: ReturnType<typeof setTimeout> | undefined
  let letGo: (() => void) | null = null

  const wanted = () => page.state().view.conversation?.id ?? ''

  function open(): void {
    close()
    followed = wanted()
    const { view, isGone } = page.state()
    const query = new URLSearchParams({
      ...(followed === '' ? {} : { conversation: followed }),
      ...(isGone ? { stays: '1' } : {}),
    })
    const opened = new EventSource(`${view.path}/live${query.size === 0 ? '' : `?${query}`}`)
    source = opened
    heard()
    opened.addEventListener('here', heard)
    opened.addEventListener('open', () => {
      heard()
      clearTimeout(doubt)
      doubt = undefined
      const { connection, isFollowing } = page.state()
      if (connection === 'live' && isFollowing) return
      page.set({ isFollowing: true, ...(connection === 'offline' ? { connection: 'live', isHushed: false } : {}) })
    })
    opened.addEventListener('changed', () => {
      heard()
      void loading.refresh()
    })
    opened.addEventListener('signed-out', () => {
      close()
      loading.lose('signed-out')
    })
    opened.addEventListener('error', () => {
      // It ends by itself each minute and comes back at once: only what lasts is told.
      doubt ??= setTimeout(() => void check(), patience)
      if (opened.readyState !== EventSource.CLOSED) return
      // Whether it is the network, the sign-in or too many pages: asking tells, and shows what there is meanwhile.
      clearTimeout(retry)
      retry = setTimeout(() => {
        void check().then(() => {
          if (source === opened && page.state().connection !== 'signed-out') open()
        })
      }, again)
    })
  }

  /** The connection is one: it is waited for the next word. */
  function heard(): void {
    clearTimeout(silent)
    silent = setTimeout(() => {
      if (page.state().connection === 'signed-out') {
        close()
        return
      }
      // Whoever changed something meanwhile told nobody.
      loading.lose()
      open()
      void check()
    }, silence)
  }

  /** Asks whether the server is there, however it is with what it tells by itself. */
  async function check(): Promise<void> {
    doubt = undefined
    const isThere = await loading.refresh()
    if (source?.readyState !== EventSource.OPEN && page.state().isFollowing) page.set({ isFollowing: false })
    const { connection } = page.state()
    if (isThere && connection === 'offline') page.set({ connection: 'live', isHushed: false })
    if (!isThere && connection === 'live') loading.lose('offline')
  }

  function close(): void {
    clearTimeout(retry)
    clearTimeout(silent)
    source?.close()
    source = null
  }

  /** What is seen has a connection of its own; of all that are hidden one has, so that a browser’s few are not used up. */
  function follow(): void {
    letGo?.()
    letGo = null
    if (page.state().connection === 'signed-out') return
    if (document.visibilityState === 'visible' || navigator.locks === undefined) {
      open()
      return
    }
    const controller = new AbortController()
    close()
    // Until it has one: what it shows when it is seen again it has asked for then.
    loading.lose()
    navigator.locks
      .request('poppyseed-inbox-hidden', { signal: controller.signal }, () => {
        open()
        return new Promise<void>((resolve) => {
          letGo = resolve
        })
      })
      .catch(() => {
        // Given up because the page is seen again.
      })
    letGo = () => controller.abort()
  }

  page.drawn(({ connection }, before) => {
    if (connection === 'live' && before.connection === 'signed-out') follow()
    else if (source !== null && wanted() !== followed) open()
  })
  document.addEventListener('visibilitychange', () => {
    follow()
    if (document.visibilityState === 'visible') void loading.refresh()
  })
  addEventListener('online', () => {
    void check()
    follow()
  })
  addEventListener('offline', () => {
    if (page.state().connection === 'live') loading.lose('offline')
  })
  addEventListener('pagehide', () => {
    close()
    // A browser may keep the page as it is, and show it again later.
    loading.lose()
  })
  addEventListener('pageshow', (event) => {
    if (!event.persisted) return
    follow()
    void loading.refresh()
  })
  follow()
}
