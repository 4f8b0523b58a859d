import type { Loading } from './loading.ts'
import { focusTitle, type Page } from './page.tsx'
import { closeMenus } from './sending.ts'
import { chooseMode } from './typed.ts'

/** The keyboard, all the way. Single keys do nothing while somebody types, and can be turned off (WCAG 2.1.4). */
export function listenToKeys(page: Page, loading: Loading): void {
  const { root } = page
  const find = <T extends HTMLElement>(selector: string) => root.querySelector<T>(selector)

  document.addEventListener('keydown', (event) => {
    if (event.isComposing || event.defaultPrevented) return
    if (event.key === 'Escape') {
      leave(event)
      return
    }
    const target = event.target instanceof HTMLElement ? event.target : null
    if (event.key === 'Enter' && (event.ctrlKey || event.metaKey) && target instanceof HTMLTextAreaElement) {
      event.preventDefault()
      target.form?.requestSubmit()
      return
    }
    if (event.ctrlKey || event.metaKey || event.altKey || !page.state().hasKeys || isTyping(target)) return
    if (find<HTMLDialogElement>('#keys')?.open) return
    const isInList = target === null || target === document.body || target.matches('[data-row], #list-title')
    if (event.key.startsWith('Arrow') && !isInList) return
    const act = acts[event.key]
    if (act?.() === true) event.preventDefault()
  })

  const acts: Readonly<Record<string, (() => boolean) | undefined>> = {
    j: () => move(1),
    ArrowDown: () => move(1),
    k: () => move(-1),
    ArrowUp: () => move(-1),
    r: () => write('reply', '#reply-text'),
    n: () => write('note', '#note-text'),
    e: () => write('hand-back', '#hand-back-note'),
    t() {
      const form = find<HTMLFormElement>('form[data-act="take"]') ?? find<HTMLFormElement>('form[data-act="take-next"]')
      form?.requestSubmit()
      return form !== null
    },
    '/'() {
      const box = find<HTMLInputElement>('#search')
      box?.focus()
      box?.select()
      return box !== null
    },
    '?'() {
      find<HTMLDialogElement>('#keys')?.showModal()
      return true
    },
  }

  function move(by: 1 | -1): boolean {
    const rows = [...root.querySelectorAll<HTMLElement>('[data-row]')]
    const focused = rows.indexOf(document.activeElement as HTMLElement)
    const current = focused >= 0 ? focused : rows.findIndex((row) => row.hasAttribute('aria-current'))
    const next = rows[current < 0 ? (by === 1 ? 0 : rows.length - 1) : current + by]
    next?.focus()
    return rows.length > 0
  }

  function write(mode: 'reply' | 'note' | 'hand-back', field: string): boolean {
    if (!chooseMode(root, mode)) return false
    const box = find<HTMLElement>(field) ?? find<HTMLElement>('.take button')
    box?.focus()
    return true
  }

  /** Out of what is open, one step at a time. */
  function leave(event: KeyboardEvent): void {
    if (find<HTMLDialogElement>('#keys')?.open) return
    const active = document.activeElement
    const menu = active?.closest('details.menu')
    const { view } = page.state()
    const row = find<HTMLElement>('[data-row][aria-current]')
    const back = find<HTMLAnchorElement>('[data-back]')
    if (closeMenus(root)) {
      menu?.querySelector('summary')?.focus()
      event.preventDefault()
    } else if (isTyping(active)) {
      focusTitle(root)
    } else if (location.hash === '#details') {
      location.replace('#thread')
    } else if (view.notice !== null) {
      page.set({ view: { ...view, notice: null } })
    } else if (row !== null && row.offsetParent !== null) {
      row.focus()
    } else if (back !== null) {
      void loading.go(back.pathname + back.search)
    }
  }

  document.addEventListener('click', (event) => {
    closeMenus(root, event.target as Node)
  })
}

function isTyping(target: Element | null): boolean {
  return (
    target instanceof HTMLElement && target.matches('textarea, select, input:not([type="radio"], [type="checkbox"])')
  )
}
