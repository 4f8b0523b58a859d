import type { ConversationView } from '../src/inbox/view.ts'
import { Actions } from './actions.tsx'
import { Composer } from './composer.tsx'
import { History } from './history.tsx'
import { Icon } from './icons.tsx'
import { Host } from './pieces.tsx'
import { Facts } from './rows.tsx'
import { Moment, Waits } from './times.tsx'
import { listQuery, useUi } from './ui.ts'
import { Who } from './who.tsx'

/** The second column: a conversation. What is asked stands on top, the box for the reply below, and neither scrolls away. */

/** See above. */
export function Thread({ conversation }: { readonly conversation: ConversationView }) {
  const { view, say } = useUi()
  return (
    <section class="thread" aria-labelledby="thread-title" id="thread" tabIndex={-1}>
      <header class="thread-head">
        <a class="back" href={`${view.path}${listQuery(view)}`} data-back="">
          <Icon name="back" />
          <span class="hidden">{say('back')}</span>
        </a>
        <div class="who">
          <h1 id="thread-title" tabIndex={-1}>
            <Host host={conversation.host} isVerified />
          </h1>
          {conversation.claimedName !== null && (
            <p class="quiet claimed" dir="auto">
              {say('calls', { name: conversation.claimedName })}
            </p>
          )}
        </div>
        <div class="thread-tools">
          <a class="to-details button" href="#details">
            {say('details')}
          </a>
          <Actions conversation={conversation} />
        </div>
        <p class="thread-facts">
          {conversation.waitingSince !== null && <Waits since={conversation.waitingSince} />}
          <Facts row={conversation} />
        </p>
      </header>
      <Asked conversation={conversation} />
      <History conversation={conversation} />
      <Composer conversation={conversation} />
    </section>
  )
}

function Asked({ conversation }: { readonly conversation: ConversationView }) {
  const { view, say } = useUi()
  const { asked, direct, status } = conversation
  // Once it is answered, the reason for which a person was asked is past too.
  const decision = asked === null && status !== 'queued' ? null : conversation.decision
  if (asked === null && decision === null && direct === null) return null
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: a long question scrolls, and has to be reached by the keyboard
    <section class="asked" aria-label={say('asked')} tabIndex={0}>
      {asked !== null && (
        <div>
          <p class="label">
            {say('asked')} <Who by={asked.by} isPerson={asked.isPerson} /> <Moment at={asked.at} />
          </p>
          <p class="text" dir="auto">
            {asked.text}
          </p>
        </div>
      )}
      {decision !== null && (
        <div class="decision">
          <p class="label">{say('decision')}</p>
          <p class="text" dir="auto">
            {decision}
          </p>
        </div>
      )}
      {direct !== null && (
        <p>
          <a href={`${view.path}/conversations/${direct}${listQuery(view)}`}>{say('directLink')}</a>
        </p>
      )}
    </section>
  )
}
