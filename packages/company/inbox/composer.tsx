import { useState } from 'preact/hooks'
import type { ConversationView } from '../src/inbox/view.ts'
import { Icon } from './icons.tsx'
import { Act, Field, Send, useEntered } from './pieces.tsx'
import { listQuery, useUi } from './ui.ts'

/** Below a conversation, always at hand: reply, note, hand back. Whoever doesn't have it takes it here first. */

const modes = ['reply', 'note', 'hand-back'] as const
type Mode = (typeof modes)[number]

/** See above. */
export function Composer({ conversation }: { readonly conversation: ConversationView }) {
  const { view, say } = useUi()
  const entered = modes.find((mode) => mode === view.entered.act)
  const isThere: Readonly<Record<Mode, boolean>> = {
    reply: true,
    note: true,
    'hand-back': conversation.allowed.handBack === null,
  }
  const names: Readonly<Record<Mode, string>> = {
    reply: say('reply'),
    note: say('note'),
    'hand-back': say('handBack'),
  }
  return (
    <div class="composer" key={conversation.id}>
      <fieldset class="modes">
        <legend class="hidden">{say('compose')}</legend>
        {modes
          .filter((mode) => isThere[mode])
          .map((mode) => (
            <span key={mode} class="mode">
              <input
                type="radio"
                name="mode"
                id={`mode-${mode}`}
                defaultChecked={mode === (entered ?? 'reply')}
                class="hidden"
              />
              <label for={`mode-${mode}`}>
                {mode === 'note' && <Icon name="lock" />}
                {names[mode]}
              </label>
            </span>
          ))}
      </fieldset>
      <div class="panel panel-reply">
        {conversation.allowed.reply === null ? (
          <Reply conversation={conversation} />
        ) : (
          <>
            <Typed />
            <TakeFirst conversation={conversation} />
          </>
        )}
      </div>
      <div class="panel panel-note">
        <Note conversation={conversation} />
      </div>
      {isThere['hand-back'] && (
        <div class="panel panel-hand-back">
          <HandBack conversation={conversation} />
        </div>
      )}
    </div>
  )
}

/** What somebody typed who lost the conversation meanwhile: it is theirs, to be copied or sent after all. */
function Typed() {
  const { view, say } = useUi()
  const { act, text, note } = view.entered
  const typed = [note, text].filter((one) => one !== undefined && one !== '').join('\n\n')
  if (typed === '' || (act !== 'reply' && act !== 'hand-back')) return null
  return (
    <Field id="typed" label={say('typed')}>
      <textarea id="typed" rows={2} dir="auto" readOnly defaultValue={typed} />
    </Field>
  )
}

function TakeFirst({ conversation }: { readonly conversation: ConversationView }) {
  const { say } = useUi()
  const { allowed, heldBy, status } = conversation
  if (status === 'closed') return <p class="quiet take">{say('closedText')}</p>
  if (allowed.take !== null)
    return <p class="take">{heldBy === null ? allowed.take : say('heldByOther', { name: heldBy.name })}</p>
  const isFromAgent = status !== 'queued'
  return (
    <Act to={`conversations/${conversation.id}/take`} act="take" className="take">
      <p class="quiet">{say(isFromAgent ? 'takeOverHint' : 'takeHint')}</p>
      <Send isPrimary>{say(isFromAgent ? 'takeOver' : 'take')}</Send>
    </Act>
  )
}

function Reply({ conversation }: { readonly conversation: ConversationView }) {
  const { say } = useUi()
  const entered = useEntered('reply')
  return (
    <Act to={`conversations/${conversation.id}/reply`} act="reply" keeps label={say('reply')}>
      <label class="hidden" for="reply-text">
        {say('reply.label')}
      </label>
      <textarea
        id="reply-text"
        name="text"
        rows={2}
        class="grows"
        dir="auto"
        maxLength={32_000}
        placeholder={say('reply.label')}
        aria-describedby="reply-reader"
        defaultValue={entered('text')}
      />
      <Drafted conversation={conversation} />
      <div class="composer-foot">
        <Saved conversation={conversation} />
        {conversation.writesFor === 'agent' && <DataFields />}
        <p class="quiet" id="reply-reader">
          {say(conversation.writesFor === 'agent' ? 'reply.toAgent' : 'reply.toPerson')}
        </p>
        <Send isPrimary>{say('reply.send')}</Send>
      </div>
    </Act>
  )
}

/** The data of drafts, one of which may go with the reply: it stands readable in its note. */
function Drafted({ conversation }: { readonly conversation: ConversationView }) {
  const { say } = useUi()
  const entered = useEntered('reply')
  const chosen = entered('draft')
  const drafts = conversation.entries.filter(
    (entry) => entry.kind === 'note' && entry.note === 'draft' && entry.data !== null,
  )
  const shown = drafts.find(({ id }) => id === chosen) ?? drafts.at(-1)
  if (shown === undefined) return null
  return (
    <p class="draft-choice">
      <label>
        <input type="checkbox" name="draft" value={shown.id} key={shown.id} defaultChecked={shown.id === chosen} />{' '}
        {say('draft.data')}
      </label>
    </p>
  )
}

/** Replies that the company keeps ready. Without script each is a page with it in the box. */
function Saved({ conversation }: { readonly conversation: ConversationView }) {
  const { view, say, live } = useUi()
  if (conversation.savedReplies.length === 0) return null
  return (
    <details class="menu menu-up" name="reply-extras">
      <summary class="button quiet-button">{say('saved')}</summary>
      <ul class="menu-box">
        {conversation.savedReplies.map(({ title, text }, index) => (
          <li key={index}>
            <a
              href={`${view.path}/conversations/${conversation.id}${listQuery(view)}&saved=${index}`}
              data-insert=""
              onClick={(event) => {
                if (live === null) return
                event.preventDefault()
                event.currentTarget.closest('details')?.removeAttribute('open')
                live.insert(text)
              }}
            >
              <span>{title}</span>
              <span class="quiet cut">{text}</span>
            </a>
          </li>
        ))}
      </ul>
    </details>
  )
}

/** Named values for an agent on the other side, in a form as simple as can be. */
function DataFields() {
  const { say, live } = useUi()
  const entered = useEntered('reply')
  const filled = Array.from({ length: 20 }, (_, index) => index).findLast(
    (index) => entered(`data.${index}.name`) || entered(`data.${index}.value`),
  )
  const [more, setMore] = useState(0)
  const count = Math.min(20, Math.max(3, (filled ?? 0) + 1) + more)
  return (
    <details class="data-entry" name="reply-extras" open={filled !== undefined}>
      <summary class="button quiet-button">{say('fields')}</summary>
      <div class="data-rows">
        <p class="quiet">{say('fields.hint')}</p>
        {Array.from({ length: count }, (_, index) => (
          <div key={index} class="data-row">
            {(['name', 'value'] as const).map((part) => (
              <input
                key={part}
                type="text"
                name={`data.${index}.${part}`}
                aria-label={say(`fields.${part}`, { number: String(index + 1) })}
                placeholder={say(`fields.${part}`, { number: String(index + 1) })}
                autocomplete="off"
                dir="auto"
                defaultValue={entered(`data.${index}.${part}`)}
              />
            ))}
          </div>
        ))}
        {live !== null && count < 20 && (
          <button type="button" class="button quiet-button" onClick={() => setMore(more + 1)}>
            {say('fields.more')}
          </button>
        )}
      </div>
    </details>
  )
}

function Note({ conversation }: { readonly conversation: ConversationView }) {
  const { say } = useUi()
  const entered = useEntered('note')
  return (
    <Act to={`conversations/${conversation.id}/note`} act="note" keeps label={say('note')}>
      <label class="hidden" for="note-text">
        {say('note.label')}
      </label>
      <textarea
        id="note-text"
        name="text"
        rows={2}
        class="grows"
        dir="auto"
        required
        maxLength={32_000}
        placeholder={say('note.label')}
        aria-describedby="note-reader"
        defaultValue={entered('text')}
      />
      <div class="composer-foot">
        <p class="internal" id="note-reader">
          <Icon name="lock" /> {say('note.internal')}
        </p>
        <Send>{say('note.save')}</Send>
      </div>
    </Act>
  )
}

function HandBack({ conversation }: { readonly conversation: ConversationView }) {
  const { say } = useUi()
  const entered = useEntered('hand-back')
  return (
    <Act to={`conversations/${conversation.id}/hand-back`} act="hand-back" keeps label={say('handBack')}>
      <Field id="hand-back-note" label={say('handBack.note')} hint={say('handBack.noteHint')} isOptional>
        <textarea
          id="hand-back-note"
          name="note"
          rows={2}
          dir="auto"
          maxLength={32_000}
          aria-describedby="hand-back-note-hint"
          defaultValue={entered('note')}
        />
      </Field>
      <Field id="hand-back-text" label={say('handBack.text')} isOptional>
        <textarea
          id="hand-back-text"
          name="text"
          rows={2}
          dir="auto"
          maxLength={32_000}
          defaultValue={entered('text')}
        />
      </Field>
      <div class="composer-foot">
        <Send>{say('handBack.send')}</Send>
      </div>
    </Act>
  )
}
