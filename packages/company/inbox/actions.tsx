import type { ComponentChildren } from 'preact'
import type { ConversationView } from '../src/inbox/view.ts'
import { Icon } from './icons.tsx'
import { Act, Cannot, Field, Send, useEntered } from './pieces.tsx'
import { useUi } from './ui.ts'

/** What can be done with a conversation besides writing. What can't be done now is there too, and says why. */

/** See above. */
export function Actions({ conversation }: { readonly conversation: ConversationView }) {
  const { view, say } = useUi()
  const { allowed, rights, id } = conversation
  const entered = ['give', 'ask-for-user', 'ask-for-sign-in', 'close'].includes(view.entered.act ?? '')
  // On one that is closed nothing of it will ever be possible again.
  if (conversation.status === 'closed') return null
  return (
    <details class="menu" open={entered} key={id}>
      <summary class="button" aria-label={say('actions')} title={say('actions')}>
        <Icon name="more" />
      </summary>
      <div class="menu-box actions">
        <Action what={say('give')} why={allowed.give} act="give">
          <Give conversation={conversation} />
        </Action>
        {allowed.release === null ? (
          <Act to={`conversations/${id}/release`} act="release" className="plain">
            <button type="submit" class="menu-item">
              {say('release')}
            </button>
          </Act>
        ) : (
          <Cannot what={say('release')} why={allowed.release} />
        )}
        <Action what={say('askForUser')} why={allowed.askForUser} act="ask-for-user">
          <AskForUser conversation={conversation} />
        </Action>
        <Action
          what={say(rights.isSignedIn ? 'askForScope' : 'askForSignIn')}
          why={allowed.askForSignIn}
          act="ask-for-sign-in"
        >
          <AskForSignIn conversation={conversation} />
        </Action>
        <Action what={say('end')} why={allowed.close} act="close">
          <Close conversation={conversation} />
        </Action>
      </div>
    </details>
  )
}

function Action({
  what,
  why,
  act,
  children,
}: {
  readonly what: string
  readonly why: string | null
  readonly act: string
  readonly children: ComponentChildren
}) {
  const { view } = useUi()
  if (why !== null) return <Cannot what={what} why={why} />
  return (
    <details class="action" name="actions" open={view.entered.act === act}>
      <summary class="menu-item">{what}</summary>
      <div class="action-form">{children}</div>
    </details>
  )
}

function Give({ conversation }: { readonly conversation: ConversationView }) {
  const { view, say } = useUi()
  return (
    <Act to={`conversations/${conversation.id}/give`} act="give" label={say('give')}>
      <Field id="give-to" label={say('give.to')}>
        <select id="give-to" name="to" required>
          {view.colleagues.map(({ id, name }) => (
            <option key={id} value={id}>
              {name}
            </option>
          ))}
        </select>
      </Field>
      <Send>{say('give.send')}</Send>
    </Act>
  )
}

function AskForUser({ conversation }: { readonly conversation: ConversationView }) {
  const { say } = useUi()
  const entered = useEntered('ask-for-user')
  return (
    <Act to={`conversations/${conversation.id}/ask-for-user`} act="ask-for-user" keeps label={say('askForUser')}>
      <Field id="ask-reason" label={say('askForUser.reason')}>
        <textarea
          id="ask-reason"
          name="reason"
          rows={2}
          dir="auto"
          required
          maxLength={1000}
          defaultValue={entered('reason')}
        />
      </Field>
      <Send>{say('askForUser.send')}</Send>
    </Act>
  )
}

function AskForSignIn({ conversation }: { readonly conversation: ConversationView }) {
  const { say } = useUi()
  const entered = useEntered('ask-for-sign-in')
  const { missing, isSignedIn } = conversation.rights
  const chosen = entered('scope')?.split(' ')
  return (
    <Act
      to={`conversations/${conversation.id}/ask-for-sign-in`}
      act="ask-for-sign-in"
      keeps
      label={say(isSignedIn ? 'askForScope' : 'askForSignIn')}
    >
      {missing.length > 0 && (
        <fieldset>
          <legend>{say('askForSignIn.scopes')}</legend>
          {missing.map(({ scope, text }) => (
            <label key={scope} class="choice">
              <input type="checkbox" name="scope" value={scope} defaultChecked={chosen?.includes(scope) ?? false} />
              <span>{text}</span>
            </label>
          ))}
        </fieldset>
      )}
      <Field id="ask-text" label={say('askForSignIn.text')} isOptional>
        <textarea id="ask-text" name="text" rows={2} dir="auto" maxLength={32_000} defaultValue={entered('text')} />
      </Field>
      <Send>{say('askForSignIn.send')}</Send>
    </Act>
  )
}

function Close({ conversation }: { readonly conversation: ConversationView }) {
  const { say } = useUi()
  const entered = useEntered('close')
  return (
    <Act to={`conversations/${conversation.id}/close`} act="close" label={say('end')}>
      <Field id="close-reason" label={say('end.reason')} isOptional>
        <input
          id="close-reason"
          name="reason"
          type="text"
          dir="auto"
          autocomplete="off"
          maxLength={1000}
          defaultValue={entered('reason')}
        />
      </Field>
      <Send>{say('end.send')}</Send>
    </Act>
  )
}
