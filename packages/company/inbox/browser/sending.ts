import { ask } from './asking.ts'
import { addressOf, type Loading } from './loading.ts'
import { focusTitle, type Page } from './page.tsx'
import type { Typed } from './typed.ts'

/**
 * Sends forms without leaving the page. A click that comes twice sends once; what got lost is sent again under the same
 * `once`, so that it is done once; what was typed stays until it is known to have arrived.
 */
export function sendForms(page: Page, loading: Loading, typed: Typed, changed: () => void): void {
  const { root } = page
  /** What nobody knows the fate of: the same form with the same content is the same act. */
  const unsettled = new WeakMap<HTMLFormElement, { readonly content: string; readonly once: string }>()
  const underWay = new WeakSet<HTMLFormElement>()

  root.addEventListener('submit', (event) => {
    const form = event.target
    if (!(form instanceof HTMLFormElement) || event.defaultPrevented) return
    if (form.method === 'post') {
      event.preventDefault()
      // A key that takes, such as `t`, has no button.
      void send(form, event.submitter === null)
    } else if (form.method === 'get') {
      event.preventDefault()
      const query = new URLSearchParams(textsOf(form))
      void loading.go(`${form.getAttribute('action')}?${query}`)
    }
  })

  async function send(form: HTMLFormElement, isByKey: boolean): Promise<void> {
    if (underWay.has(form)) return
    underWay.add(form)
    const action = form.getAttribute('action') ?? ''
    const body = new URLSearchParams(textsOf(form))
    const content = contentOf(body)
    const lost = unsettled.get(form)
    if (lost?.content === content) body.set('once', lost.once)
    page.set({ sending: action, problem: null })
    // Where something newer is shown by now, it is told of the place where it led as that is now.
    const answer = await loading.newest(await ask(action, { method: 'POST', body }))
    underWay.delete(form)
    page.set({ sending: null })
    if (answer.kind === 'lost') unsettled.set(form, { content, once: body.get('once') ?? '' })
    else unsettled.delete(form)
    if (answer.kind !== 'view') {
      if (answer.kind === 'signed-out') loading.show(answer)
      else page.set({ problem: 'not-sent' })
      return
    }
    if (answer.isDone) {
      typed.sent(form, body)
      closeMenus(root)
    }
    const hadFocus = form.contains(document.activeElement)
    const act = form.dataset.act ?? ''
    // Who goes isn't here again because their page has something else open then.
    if (answer.isDone) page.set({ isGone: act === 'leave' })
    if (!loading.show(answer, { isOfForm: true })) return
    follow()
    if (answer.isDone) focusAfter(act, hadFocus, isByKey)
    changed()
  }

  /** The address follows what is shown now, such as the conversation that was next. */
  function follow(): void {
    const address = addressOf(page.state().view)
    const [path] = address.split('?')
    if (location.pathname !== path) history.pushState(null, '', address)
    else if (/[?&](?:at|before|done)=/.test(location.search)) history.replaceState(null, '', address)
  }

  function focusAfter(act: string, hadFocus: boolean, isByKey: boolean): void {
    const find = (selector: string) => root.querySelector<HTMLElement>(selector)
    if (act === 'call-tool') {
      const outcome = find('#outcome')
      outcome?.scrollIntoView({ block: 'nearest' })
      outcome?.focus({ preventScroll: true })
    } else if (act === 'take' || act === 'take-next') {
      // On a touch screen a focus opens the keyboard, over what is to be read first. Whoever works by single keys goes on by
      // them: in the box, `n` for a note that stays in the team would be the first letter of a reply.
      const box = !isByKey && matchMedia('(pointer: fine)').matches ? find('#reply-text') : null
      ;(box ?? find('#thread-title') ?? find('#list-title'))?.focus({ preventScroll: true })
    } else if (hadFocus) {
      // Out of a box whose words are sent, so that `n` is a note and no letter of the next reply; a button keeps it.
      const active = document.activeElement
      if (active === null || active === document.body || active instanceof HTMLTextAreaElement) focusTitle(root)
    }
  }
}

/** The fields of a form that are texts. */
function textsOf(form: HTMLFormElement): [string, string][] {
  return [...new FormData(form)].filter((field): field is [string, string] => typeof field[1] === 'string')
}

/** What a form says, without what is new with each view. */
function contentOf(body: URLSearchParams): string {
  const content = new URLSearchParams(body)
  for (const name of ['token', 'once', 'list', 'q']) content.delete(name)
  return content.toString()
}

/** Closes the menus that are open, but for the one that has this in it. */
export function closeMenus(root: HTMLElement, except: Node | null = null): boolean {
  const open = [...root.querySelectorAll<HTMLDetailsElement>('details.menu[open]')].filter(
    (menu) => except === null || !menu.contains(except),
  )
  for (const menu of open) menu.open = false
  return open.length > 0
}
