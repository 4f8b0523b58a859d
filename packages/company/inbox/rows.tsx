import type { ConversationRowView, Count, OperationCard } from '../src/inbox/view.ts'
import { inboxLists } from '../src/inbox/view.ts'
import { numberFormat } from '../src/words/formats.ts'
import { FoundBy, foundLink } from './found.tsx'
import { Icon } from './icons.tsx'
import { Act, Host, Send } from './pieces.tsx'
import { dayOf, isJustNow, languageName, lengthOf, Moment, UnknownSince, Waits } from './times.tsx'
import { listQuery, useUi } from './ui.ts'
import { Speaker } from './who.tsx'

/** The first column: the lists, the search, and the rows of the list that is open. */

/** See above. */
export function Lists({ isPage }: { readonly isPage: boolean }) {
  const { view, say, live } = useUi()
  const { list } = view
  const Title = isPage ? 'h1' : 'h2'
  return (
    <section class="lists" aria-label={say('lists')}>
      <nav class="tabs" aria-label={say('lists')}>
        <ul>
          {inboxLists.map((name) => (
            <li key={name}>
              <a href={`${view.path}?list=${name}`} aria-current={list.name === name ? 'page' : undefined}>
                <span>{say(`list.${name}`)}</span>
                {name !== 'open' && name !== 'closed' && (
                  <Amount count={view.counts[name]} isUrgent={name !== 'mine'} />
                )}
              </a>
            </li>
          ))}
        </ul>
      </nav>
      <search>
        <form class="search" method="get" action={view.path}>
          <label class="hidden" for="search">
            {say('search')}
          </label>
          <Icon name="search" />
          <input
            id="search"
            type="search"
            name="q"
            placeholder={say('searchHint')}
            defaultValue={list.query}
            autocomplete="off"
            maxLength={300}
            key={list.query}
          />
          <button type="submit" class="hidden">
            {say('search')}
          </button>
        </form>
      </search>
      <div class="list-head">
        <Title id="list-title" tabIndex={-1}>
          {say(`list.${list.name}`)}
        </Title>
        {list.name === 'search' && <a href={view.path}>{say('searchClear')}</a>}
        {list.name === 'waiting' && list.conversations.length > 0 && (
          <Act to="take-next" act="take-next">
            <Send isPrimary={view.conversation === null}>{say('takeNext')}</Send>
          </Act>
        )}
      </div>
      <div class="rows" aria-busy={live?.loading ? 'true' : undefined}>
        {list.conversations.length + list.operations.length === 0 && <Nothing />}
        {list.conversations.length > 0 && (
          <ul aria-labelledby="list-title">
            {list.conversations.map((row) => (
              <Row key={row.id} row={row} />
            ))}
          </ul>
        )}
        {list.operations.length > 0 && (
          <ul aria-labelledby="list-title">
            {list.operations.map((operation) => (
              <OperationRow key={operation.id} operation={operation} />
            ))}
          </ul>
        )}
        {list.searchedSince !== null && (
          <p class="quiet list-foot">{say('searchedSince', { date: dayOf(list.searchedSince, view.locale) })}</p>
        )}
        {list.next !== null && (
          <p class="list-foot">
            <a class="button" href={list.next}>
              {say(list.searchedSince === null ? 'next' : 'searchFurther')}
            </a>
          </p>
        )}
      </div>
    </section>
  )
}

function Amount({ count, isUrgent }: { readonly count: Count; readonly isUrgent: boolean }) {
  const { say, view } = useUi()
  if (count.number === 0) return null
  const number = numberFormat(view.locale).format(count.number)
  return <span class={isUrgent ? 'count urgent' : 'count'}>{count.isMore ? say('more', { number }) : number}</span>
}

function Nothing() {
  const { view, say } = useUi()
  const { name } = view.list
  return (
    <div class="nothing">
      <p>{say(`empty.${name}`)}</p>
      <p class="quiet">{say(`empty.${name}Text`)}</p>
    </div>
  )
}

function Row({ row }: { readonly row: ConversationRowView }) {
  const { view, say } = useUi()
  const { last } = row
  const { [row.id]: found } = view.list.found
  return (
    <li>
      <a
        class="row"
        data-row=""
        href={`${view.path}/conversations/${row.id}${listQuery(view)}${foundLink(found)}`}
        aria-current={view.conversation?.id === row.id ? 'true' : undefined}
      >
        <span class="row-top">
          <strong>
            <Host host={row.host} />
          </strong>
          {row.waitingSince === null ? (
            <span class="quiet">
              <Moment at={row.closedAt ?? last?.at ?? row.updatedAt} />
            </span>
          ) : (
            <Waits since={row.waitingSince} />
          )}
        </span>
        {row.waitingFor !== null && (
          <span class="row-why" dir="auto">
            {row.waitingFor}
          </span>
        )}
        {found !== undefined && <FoundBy found={found} host={row.host} />}
        {found?.kind !== 'words' && (
          <span class="row-text">
            {last === null ? (
              <span class="quiet">{say('row.noMessage')}</span>
            ) : (
              <>
                <span class="quiet">
                  <Speaker by={last.by} sender={last.sender} />:
                </span>{' '}
                {last.text === '' ? (
                  <span class="quiet">{say('row.onlyDetails')}</span>
                ) : (
                  <span dir="auto">{last.text}</span>
                )}
              </>
            )}
          </span>
        )}
        <Facts row={row} isNamed />
      </a>
    </li>
  )
}

/** What is known of a conversation at a glance, in few words; `isNamed`: with what the agent calls itself. */
export function Facts({ row, isNamed }: { readonly row: ConversationRowView; readonly isNamed?: boolean }) {
  const { view, say } = useUi()
  const facts: (readonly [name: string, text: string])[] = []
  if (isNamed && row.claimedName !== null) facts.push(['claimed', say('calls', { name: row.claimedName })])
  if (row.status === 'closed') facts.push(['closed', say('row.closed')])
  if (row.heldBy !== null)
    facts.push(
      row.heldBy.id === view.me.id
        ? ['you', say('row.withYou')]
        : ['other', say('row.with', { name: row.heldBy.name })],
    )
  else if (row.status === 'working') facts.push(['company-agent', say('status.working')])
  else if (row.status === 'idle' && row.responder === 'agent')
    facts.push(['company-agent', say(view.hasAgent ? 'row.withAgent' : 'row.withNobody')])
  if (row.isDirect) facts.push(['direct', say('row.direct')])
  if (row.isUnanswered && row.status === 'idle') facts.push(['unanswered', say('row.unanswered')])
  facts.push(['sign-in', say(row.isSignedIn ? 'row.signedIn' : 'row.notSignedIn')])
  if (row.isUserAvailable !== null)
    facts.push(['available', say(row.isUserAvailable ? 'row.available' : 'row.notAvailable')])
  if (row.personLocale !== null) facts.push(['language', languageName(row.personLocale, view.locale)])
  const connection = connectionOf(row)
  if (connection !== null) facts.push(['connection', connection])
  return (
    <span class="facts">
      {facts.map(([name, text]) => (
        <span key={name} class={`fact fact-${name}`}>
          {text}
        </span>
      ))}
    </span>
  )

  function connectionOf({ isConnected, lastSeenAt, status }: ConversationRowView): string | null {
    if (isConnected === null || status === 'closed') return null
    if (isConnected) return say('row.connected')
    if (lastSeenAt === null) return say('row.notConnected')
    return isJustNow(view.now - lastSeenAt)
      ? say('row.lastSeenNow')
      : say('row.lastSeen', { time: lengthOf(view.now - lastSeenAt, view.locale) })
  }
}

function OperationRow({ operation }: { readonly operation: OperationCard }) {
  const { view, say } = useUi()
  return (
    <li>
      <a
        class="row"
        data-row=""
        href={`${view.path}/operations/${operation.id}${listQuery(view)}`}
        aria-current={view.operation?.id === operation.id ? 'true' : undefined}
      >
        <span class="row-top">
          <strong>
            <Host host={operation.host} />
          </strong>
          {operation.unknownSince === null ? (
            <span class="quiet">
              <Moment at={operation.createdAt} />
            </span>
          ) : (
            <UnknownSince since={operation.unknownSince} />
          )}
        </span>
        <span class="row-text" dir="auto">
          {operation.summary}
        </span>
        <span class="facts">
          <span class="fact">
            {say(operation.unknownSince === null ? `operation.${operation.state}` : 'operation.unknown')}
          </span>
          <span class="fact">{operation.name}</span>
        </span>
      </a>
    </li>
  )
}
