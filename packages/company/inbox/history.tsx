import type { ComponentChildren } from 'preact'
import { useEffect, useRef, useState } from 'preact/hooks'
import type { ConversationView, Entry } from '../src/inbox/view.ts'
import { Data } from './data.tsx'
import { Marked } from './found.tsx'
import { Icon } from './icons.tsx'
import { OperationInThread, OutcomeInThread } from './operation.tsx'
import { Rights } from './pieces.tsx'
import { Moment } from './times.tsx'
import { entryId, listQuery, useUi } from './ui.ts'
import { Who } from './who.tsx'

/** What was said and what happened, oldest first. It begins at its end: the newest is seen first, with or without script. */

/** See above. */
export function History({ conversation }: { readonly conversation: ConversationView }) {
  const { view, say } = useUi()
  const { parent } = conversation
  const { ref, isNew, toEnd } = useNews(conversation.entries.at(-1)?.id)
  return (
    <div class="history-place">
      <div
        ref={ref}
        class="history"
        role="log"
        aria-label={say('history')}
        // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls has to be reached by the keyboard
        tabIndex={0}
        data-history=""
      >
        <div class="history-inner">
          {parent !== null && (
            <details class="parent">
              <summary>{say('parent')}</summary>
              <p>
                <a href={`${view.path}/conversations/${parent.id}${listQuery(view)}`}>{say('parentLink')}</a>
              </p>
              <ol class="entries">
                {parent.entries.map((entry) => (
                  <EntryItem key={entry.id} entry={entry} />
                ))}
              </ol>
            </details>
          )}
          {conversation.before !== null && (
            <p class="earlier">
              <a href={conversation.before}>{say('earlier')}</a>
            </p>
          )}
          <ol class="entries">
            {conversation.entries.map((entry) => (
              <EntryItem key={entry.id} entry={entry} conversation={conversation} />
            ))}
          </ol>
          {conversation.newest !== null && (
            <p class="earlier">
              <a href={conversation.newest}>{say('newest')}</a>
            </p>
          )}
        </div>
      </div>
      {isNew && (
        <button type="button" class="button jump" onClick={toEnd}>
          {say('newMessages')}
        </button>
      )}
    </div>
  )
}

/** Whoever reads further up is told that something new came below. */
function useNews(last: string | undefined) {
  const ref = useRef<HTMLDivElement>(null)
  const [isAway, setAway] = useState(false)
  const [seen, setSeen] = useState(last)
  useEffect(() => {
    const place = ref.current
    if (place === null) return
    // Laid out from below, it is at its end at 0.
    const look = () => setAway(place.scrollTop < -40)
    place.addEventListener('scroll', look, { passive: true })
    return () => place.removeEventListener('scroll', look)
  }, [])
  useEffect(() => {
    if (!isAway) setSeen(last)
  }, [isAway, last])
  return {
    ref,
    isNew: isAway && last !== seen,
    toEnd() {
      ref.current?.scrollTo({ top: 0 })
      ref.current?.focus({ preventScroll: true })
    },
  }
}

function EntryItem({ entry, conversation }: { readonly entry: Entry; readonly conversation?: ConversationView }) {
  switch (entry.kind) {
    case 'message':
      return <Message entry={entry} {...(conversation === undefined ? {} : { conversation })} />
    case 'note':
      return <Note entry={entry} {...(conversation === undefined ? {} : { conversation })} />
    default:
      return <Happened entry={entry} />
  }
}

/** What an entry has where a link leads to it, and where it is what a search found. */
function useFound(entry: Entry, conversation: ConversationView | undefined) {
  const found = conversation?.found?.entry === entry.id ? conversation.found : null
  return {
    place: {
      // What stands behind a conversation is shown in it, and isn't part of it: no name comes twice.
      ...(conversation === undefined ? {} : { id: entryId(entry.id) }),
      ...(found === null ? {} : { 'data-found': '' }),
    },
    className: found === null ? '' : ' is-found',
    pieces: found === null || found.pieces.length === 0 ? null : found.pieces,
    isFound: found !== null,
  }
}

function FoundHere() {
  const { say } = useUi()
  return (
    <p class="found-here">
      <Icon name="search" /> {say('found.here')}
    </p>
  )
}

function Message({
  entry,
  conversation,
}: {
  readonly entry: Extract<Entry, { readonly kind: 'message' }>
  readonly conversation?: ConversationView
}) {
  const { say } = useUi()
  const { place, className, pieces, isFound } = useFound(entry, conversation)
  const isOurs = entry.by === 'company-agent' || entry.by === 'staff'
  const { operation } = entry
  // What the card says already isn't said twice, unless it is what was looked for.
  const isSaid = operation !== null && entry.text !== null && isNewsOf(operation.summary, entry.text)
  return (
    <li
      {...place}
      class={`entry message ${isOurs ? 'is-ours' : 'is-theirs'} ${entry.isPerson ? 'of-person' : 'of-ai'}${className}`}
    >
      {isFound && <FoundHere />}
      <p class="entry-head">
        <Who by={entry.by} isPerson={entry.isPerson} /> <Moment at={entry.at} />
      </p>
      {entry.text !== null && (!isSaid || pieces !== null) && (
        <p class="text" dir="auto">
          {pieces === null ? entry.text : <Marked pieces={pieces} />}
        </p>
      )}
      {entry.text === null && entry.data === null && entry.operation === null && <p class="quiet">{say('noText')}</p>}
      {entry.data !== null && (
        <div class="entry-data">
          <Data data={entry.data} label={say('data')} />
        </div>
      )}
      {operation !== null &&
        (entry.isOutcome ? (
          <OutcomeInThread operation={operation} proposed={proposalOf(entry, conversation)} />
        ) : (
          <OperationInThread operation={operation} isToldBelow={hasOutcome(operation.id, conversation)} />
        ))}
    </li>
  )
}

/** Characters that the company's own words around a summary may have: `This is done: …`. */
const mostAround = 100

/** Whether a text is the summary of an operation, or the company's own news of it, which is little more. */
function isNewsOf(summary: string, text: string): boolean {
  return text.includes(summary) && text.length - summary.length <= mostAround
}

const messagesOf = (conversation: ConversationView | undefined) =>
  (conversation?.entries ?? []).filter((entry) => entry.kind === 'message')

/** The entry in which the operation was proposed last, before what came of it. */
function proposalOf({ operation, at }: Extract<Entry, { readonly kind: 'message' }>, conversation?: ConversationView) {
  const proposed = messagesOf(conversation).findLast(
    (one) => one.operation?.id === operation?.id && !one.isOutcome && one.at <= at,
  )
  return proposed?.id ?? null
}

/** Whether what came of it stands on this page by itself. */
function hasOutcome(id: string, conversation?: ConversationView): boolean {
  return messagesOf(conversation).some((one) => one.isOutcome && one.operation?.id === id)
}

function Note({
  entry,
  conversation,
}: {
  readonly entry: Extract<Entry, { readonly kind: 'note' }>
  readonly conversation?: ConversationView
}) {
  const { view, say, live } = useUi()
  const { place, className, pieces, isFound } = useFound(entry, conversation)
  return (
    <li {...place} class={`entry note note-${entry.note}${className}`}>
      {isFound && <FoundHere />}
      <p class="entry-head">
        <span class="label">
          <Icon name="note" /> {say(`note.${entry.note}`)}
        </span>
        {entry.by !== null && <span> {entry.by}</span>} <Moment at={entry.at} />
        <span class="internal">
          <Icon name="lock" /> {say(entry.note === 'handback' ? 'note.forAgent' : 'note.internal')}
        </span>
      </p>
      {entry.text !== '' && (
        <p class="text" dir="auto">
          {pieces === null ? entry.text : <Marked pieces={pieces} />}
        </p>
      )}
      {entry.data !== null && (
        <div class="entry-data">
          <Data data={entry.data} label={say('data')} />
        </div>
      )}
      {entry.note === 'draft' && (entry.text !== '' || entry.data !== null) && conversation?.allowed.reply === null && (
        <p>
          <a
            class="button"
            href={`${view.path}/conversations/${conversation.id}${listQuery(view)}&${new URLSearchParams({ draft: entry.id })}`}
            data-insert=""
            onClick={(event) => {
              if (live === null) return
              event.preventDefault()
              live.insert(entry.text, entry.id)
            }}
          >
            {say('draft.use')}
          </a>
        </p>
      )}
    </li>
  )
}

function Happened({ entry }: { readonly entry: Exclude<Entry, { readonly kind: 'message' | 'note' }> }) {
  const { view, say } = useUi()
  switch (entry.kind) {
    case 'state':
      return (
        <Line at={entry.at}>
          {say(entry.status === 'idle' && entry.responder === 'human' ? 'state.taken' : `state.${entry.status}`)}
        </Line>
      )
    case 'authorization':
      return (
        <Line at={entry.at} more={entry.scopes.length > 0 ? <Rights rights={entry.scopes} /> : null}>
          {say(`authorization.${entry.needs}`)}
        </Line>
      )
    case 'user-requested':
      return <Line at={entry.at}>{say('userRequested', { reason: entry.reason })}</Line>
    case 'direct':
      return (
        <Line at={entry.at}>
          <a href={`${view.path}/conversations/${entry.conversationId}${listQuery(view)}`}>
            {say(entry.isOpen ? 'direct.opened' : 'direct.closed')}
          </a>
        </Line>
      )
  }
}

function Line({
  at,
  children,
  more = null,
}: {
  readonly at: number
  readonly children: ComponentChildren
  readonly more?: ComponentChildren
}) {
  return (
    <li class="entry happened">
      <p>
        <span dir="auto">{children}</span> <Moment at={at} />
      </p>
      {more}
    </li>
  )
}
