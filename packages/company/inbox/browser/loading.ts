import type { ConversationView, InboxView } from '../../src/inbox/view.ts'
import { listQuery } from '../ui.ts'
import { type Answer, ask, askedUntilNow } from './asking.ts'
import { focusTitle, type Page, showFound, withoutAccount } from './page.tsx'

/** Gets views: of another address of the inbox, or of this one anew. */

/** See above. */
export interface Loading {
  /** Goes to an address of the inbox, and to a part of it: `#entry-…`. */
  readonly go: (address: string, part?: string) => Promise<void>
  /**
   * Asks for this address anew, once at a time; once more where it was asked for meanwhile. Gives whether the server
   * answered.
   */
  readonly refresh: () => Promise<boolean>
  /**
   * What came of a form, and where it led, as that is now: an answer that something newer overtook is of before, when an account
   * may have been open that is dark by now.
   */
  readonly newest: (answer: Answer) => Promise<Answer>
  /** Shows what an answer has; false where it has nothing to show, or something newer is shown already. */
  readonly show: (answer: Answer, how?: { readonly isSamePage?: boolean; readonly isOfForm?: boolean }) => boolean
  /** From now on nobody tells this page what changes: nothing of an account is shown until it has asked anew. */
  readonly lose: (connection?: 'offline' | 'signed-out') => void
}

/** The address of what a view shows. */
export function addressOf(view: InboxView): string {
  if (view.conversation !== null) return `${view.path}/conversations/${view.conversation.id}${listQuery(view)}`
  if (view.operation !== null) return `${view.path}/operations/${view.operation.id}${listQuery(view)}`
  return `${view.path}${listQuery(view)}`
}

/** This page's own address, without what is only told once. */
export function ownAddress(): string {
  const { pathname, search } = location
  const query = new URLSearchParams(search)
  for (const name of ['done', 'saved', 'draft']) query.delete(name)
  return query.size === 0 ? pathname : `${pathname}?${query}`
}

/** How often something is asked for anew, where its answer is of before what is shown each time. */
const mostTries = 5

/** Makes it. */
export function makeLoading(page: Page): Loading {
  let shown = 0
  let going: AbortController | null = null
  let refreshing: Promise<boolean> | null = null
  let isWantedAgain = false
  /** The address that is shown, without its fragment. */
  let here = ownAddress()

  const isOld = (answer: Answer) => answer.kind === 'view' && answer.order < shown

  function lose(connection?: 'offline' | 'signed-out'): void {
    // What was asked until now may be answered with what was so before.
    shown = Math.max(shown, askedUntilNow() + 1)
    page.set({ isUnsure: true, ...(connection === undefined ? {} : { connection }) })
  }

  async function newest(answer: Answer): Promise<Answer> {
    if (answer.kind !== 'view') return answer
    let told = answer
    for (let tries = 0; tries < mostTries && isOld(told); tries++) {
      const again = await ask(addressOf(answer.view))
      if (again.kind === 'signed-out') return again
      if (again.kind !== 'view') break
      told = { ...again, isDone: answer.isDone, view: withWhatWasTold(again.view, answer.view) }
    }
    return isOld(told) ? { ...told, view: withoutAccount(told.view) } : told
  }

  function show(answer: Answer, { isSamePage = false, isOfForm = false } = {}): boolean {
    if (answer.kind === 'signed-out') lose('signed-out')
    const isLate = isOld(answer)
    if (answer.kind !== 'view' || (isLate && !isOfForm)) return false
    const before = page.state()
    // Another member of staff signed in in this browser: nothing of the one before stays.
    if (answer.view.me.id !== before.view.me.id) {
      location.assign(answer.view.path)
      return false
    }
    // In another language: a page has the words of one, and what was typed is kept for the next.
    if (answer.view.language !== before.view.language) {
      location.assign(isSamePage ? ownAddress() : addressOf(answer.view))
      return false
    }
    shown = Math.max(shown, answer.order)
    page.set({
      view: isSamePage ? withWhatWasTold(answer.view, before.view) : answer.view,
      ahead: answer.view.now - Date.now(),
      ...(isLate ? {} : { isUnsure: false }),
      ...(before.connection === 'signed-out' && !isLate ? { connection: 'live' as const } : {}),
    })
    return true
  }

  async function load(address: string): Promise<boolean> {
    going?.abort()
    const controller = new AbortController()
    going = controller
    page.set({ loading: address, problem: null, isGone: false })
    const { signal } = controller
    let answer = await ask(address, { signal })
    // What was asked before something newer was shown, or before the stream was lost, is asked for again.
    for (let tries = 0; tries < mostTries && isOld(answer) && !signal.aborted; tries++)
      answer = await ask(address, { signal })
    if (signal.aborted) return false
    going = null
    const isShown = show(answer)
    page.set({ loading: null, ...(isShown || answer.kind === 'signed-out' ? {} : { problem: 'not-loaded' as const }) })
    if (isShown) showFound(page.root)
    return isShown
  }

  async function refreshNow(): Promise<boolean> {
    let isAnswered = false
    do {
      isWantedAgain = false
      const asked = ownAddress()
      const answer = await ask(asked)
      isAnswered = answer.kind === 'view'
      // Meanwhile they went on: what came back is of another page.
      if (asked === ownAddress() && going === null) show(answer, { isSamePage: true })
    } while (isWantedAgain)
    return isAnswered
  }

  addEventListener('popstate', () => {
    if (ownAddress() === here) return
    here = ownAddress()
    void load(here)
  })

  return {
    newest,
    show,
    lose,
    async go(address, part = '') {
      if (!(await load(address))) return
      // The details of the one before are not those of this one.
      if (location.hash !== '') location.replace('#thread')
      history.pushState(null, '', address + part)
      here = ownAddress()
      focusTitle(page.root)
    },
    refresh() {
      if (refreshing !== null) {
        isWantedAgain = true
        return refreshing
      }
      refreshing = refreshNow().finally(() => {
        refreshing = null
      })
      return refreshing
    },
  }
}

/**
 * What was told of the last act stays until the next one: the page is the same, only newer. What a tool answered stays no longer
 * than the rights that it ran with.
 */
function withWhatWasTold(fresh: InboxView, before: InboxView): InboxView {
  const { notice, entered, conversation } = before
  if (fresh.conversation?.id !== conversation?.id || fresh.operation?.id !== before.operation?.id) return fresh
  return {
    ...fresh,
    notice: fresh.notice ?? notice,
    entered,
    conversation:
      fresh.conversation === null
        ? null
        : { ...fresh.conversation, outcome: fresh.conversation.outcome ?? outcomeOf(conversation, fresh.conversation) },
  }
}

function outcomeOf(before: ConversationView | null, now: ConversationView): ConversationView['outcome'] {
  if (before === null || now.account.state === 'dark') return null
  const left = new Set(now.rights.granted.map(({ scope }) => scope))
  const isSame =
    before.heldBy?.id === now.heldBy?.id &&
    before.rights.signIn === now.rights.signIn &&
    before.rights.granted.every(({ scope }) => left.has(scope)) &&
    before.agent.isBlocked === now.agent.isBlocked
  return isSame ? before.outcome : null
}
