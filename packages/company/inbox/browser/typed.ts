import type { Page } from './page.tsx'

/**
 * What is being typed is kept for as long as the tab is open, for each conversation: also when it is left, the network is
 * lost or somebody has to sign in again. Only texts for people: no input of tools, nothing of an account.
 */

const prefix = 'poppyseed-inbox'

/** See above. */
export interface Typed {
  /** Forgets what was sent, in the page and where it was kept, but for what was typed meanwhile. */
  readonly sent: (form: HTMLFormElement, body: URLSearchParams) => void
}

/** Fields of a form that are kept. */
const kept = 'form[data-keeps] :is(textarea, input[type="text"])'

/** Fields of a tool's form that are no texts. */
const chosen = 'select, input:is([type="date"], [type="datetime-local"], [type="number"])'

type TextField = HTMLTextAreaElement | HTMLInputElement

/** Makes it. */
export function makeTyped(page: Page): Typed {
  const keyOf = (field: TextField) => {
    const { me } = page.state().view
    return [prefix, me.id, field.form?.getAttribute('action'), field.name].join(' ')
  }
  const fields = (within: ParentNode = page.root) => within.querySelectorAll<TextField>(kept)

  function restore(): void {
    for (const field of fields()) {
      const text = read(keyOf(field))
      if (text === null || field.value !== '') continue
      field.value = text
      // A value that nobody sees would be sent all the same.
      field.closest('details')?.setAttribute('open', '')
    }
  }

  page.root.addEventListener('input', (event) => {
    const field = event.target
    if (field instanceof Element && field.matches(kept)) write(keyOf(field as TextField), (field as TextField).value)
  })
  page.drawn(({ view }, before) => {
    const isOther = view.conversation?.id !== before.view.conversation?.id
    const hasChanged =
      isOther ||
      view.conversation?.allowed.reply !== before.view.conversation?.allowed.reply ||
      view.conversation?.allowed.handBack !== before.view.conversation?.allowed.handBack
    if (hasChanged) restore()
    // What stood open is gone: nothing is chosen then.
    const { root } = page
    if (root.querySelector('.modes') !== null && root.querySelector('.modes :checked') === null)
      chooseMode(root, 'reply')
  })
  restore()

  return {
    sent(form, body) {
      for (const field of form.querySelectorAll<TextField>('textarea, input[type="text"], input:not([type])')) {
        if (!form.contains(field) || !sameText(field.value, body.get(field.name))) continue
        field.value = ''
        if (field.matches(kept)) write(keyOf(field), '')
      }
      // What a tool was given isn't kept, and half of it isn't either.
      if (form.dataset.act !== 'call-tool') return
      for (const field of form.querySelectorAll<HTMLInputElement | HTMLSelectElement>(chosen))
        if (sameText(field.value, body.get(field.name))) field.value = ''
    },
  }
}

/** A form ends its lines with CRLF where a field has LF. */
const sameText = (one: string, other: string | null) => one.replaceAll('\r\n', '\n') === other?.replaceAll('\r\n', '\n')

/** Chooses what is written: a reply, a note, or the words of handing back. */
export function chooseMode(root: HTMLElement, mode: 'reply' | 'note' | 'hand-back'): boolean {
  const radio = root.querySelector<HTMLInputElement>(`#mode-${mode}`)
  if (radio === null) return false
  radio.checked = true
  return true
}

/**
 * Puts a text into the box for the reply: at the cursor where there is something already.
 * @param draft whose data is sent with it, where it has some
 */
export function insertReply(root: HTMLElement, text: string, draft?: string): void {
  const box = root.querySelector<HTMLTextAreaElement>('#reply-text')
  if (box === null) return
  chooseMode(root, 'reply')
  for (const choice of root.querySelectorAll<HTMLInputElement>('.draft-choice input'))
    if (draft !== undefined) choice.checked = choice.value === draft
  box.focus()
  box.setRangeText(text, box.selectionStart, box.selectionEnd, 'end')
  box.dispatchEvent(new Event('input', { bubbles: true }))
}

function read(key: string): string | null {
  try {
    return sessionStorage.getItem(key)
  } catch {
    // A browser that keeps nothing: then nothing is kept.
    return null
  }
}

function write(key: string, text: string): void {
  try {
    if (text === '') sessionStorage.removeItem(key)
    else sessionStorage.setItem(key, text)
  } catch {
    // As above, or it is full.
  }
}
