import type { OperationCard, OperationDetails } from '../src/inbox/view.ts'
import { AuditLines } from './audit-lines.tsx'
import { Data } from './data.tsx'
import { Icon } from './icons.tsx'
import { Act, Field, Host, Send, useEntered } from './pieces.tsx'
import { ConfirmableUntil, Moment, UnknownSince } from './times.tsx'
import { ToolInput } from './tool-input.tsx'
import { entryId, listQuery, sayNamed, useUi } from './ui.ts'

/** Operations: what was proposed, where it stands, and who decides about it. Nobody of the company confirms one. */

/** The state in words. */
export function StateOf({ operation }: { readonly operation: OperationCard }) {
  const { say } = useUi()
  const name = operation.unknownSince === null ? operation.state : 'unknown'
  return <span class={`state state-${name}`}>{say(`operation.${name}`)}</span>
}

/** What came of an operation, where it was told: the proposal itself stands above, and isn't said again. */
export function OutcomeInThread({
  operation,
  proposed,
}: {
  readonly operation: OperationCard
  /** The entry that it was proposed in; null where that isn't on the page. */
  readonly proposed: string | null
}) {
  const { view, say } = useUi()
  const name = view.conversation?.tools.find((tool) => tool.name === operation.name)?.title ?? operation.name
  return (
    <article class="operation" aria-label={`${say('operation.result')}: ${operation.summary}`}>
      <p class="operation-head">
        <StateOf operation={operation} />
        <span dir="auto">
          {proposed === null ? (
            name
          ) : (
            <a href={`#${entryId(proposed)}`} title={operation.summary}>
              {name}
            </a>
          )}
        </span>
      </p>
      {operation.result !== null && <Data data={operation.result} label={say('operation.result')} />}
    </article>
  )
}

/** An operation within a conversation. */
export function OperationInThread({
  operation,
  isToldBelow = false,
}: {
  readonly operation: OperationCard
  /** Whether what came of it stands below, where it was told. */
  readonly isToldBelow?: boolean
}) {
  const { view, say } = useUi()
  const isOpen = operation.state === 'proposed'
  return (
    // No landmark: the same operation may stand in several messages.
    <article class="operation" aria-label={`${say('operation')}: ${operation.summary}`}>
      <p class="operation-head">
        <span class="label">{say('operation')}</span>
        <StateOf operation={operation} />
        {operation.revision > 1 && (
          <span class="quiet">{say('operation.revision', { number: String(operation.revision) })}</span>
        )}
      </p>
      <p class="text" dir="auto">
        {operation.summary}
      </p>
      {operation.terms !== null && (
        <details open={isOpen}>
          <summary>{say('operation.terms')}</summary>
          <Data data={operation.terms} label={say('operation.terms')} />
        </details>
      )}
      {operation.result !== null && !isToldBelow && (
        <div class="operation-result">
          <p class="label">{say('operation.result')}</p>
          <Data data={operation.result} label={say('operation.result')} />
        </div>
      )}
      {isOpen && (
        <p class="quiet">
          {say('operation.whoConfirms')} {operation.expiresAt !== null && <ConfirmableUntil at={operation.expiresAt} />}
        </p>
      )}
      {isOpen && operation.input !== null && view.conversation !== null && (
        <Revise operation={operation} conversation={view.conversation.id} />
      )}
      {operation.unknownSince !== null && (
        <p>
          <a href={`${view.path}/operations/${operation.id}?list=settle`}>{say('operation.open')}</a>
        </p>
      )}
    </article>
  )
}

function Revise({ operation, conversation }: { readonly operation: OperationCard; readonly conversation: string }) {
  const { view, say } = useUi()
  const isEntered = view.entered.act === 'revise' && view.entered.operation === operation.id
  const tool = view.conversation?.tools.find(({ name }) => name === operation.name)
  return (
    <details open={isEntered}>
      <summary>{say('operation.revise')}</summary>
      <Act
        key={operation.revision}
        to={`conversations/${conversation}/revise`}
        act="revise"
        label={say('operation.revise')}
      >
        <input type="hidden" name="operation" value={operation.id} />
        <input type="hidden" name="revision" value={operation.revision} />
        <ToolInput
          id={`revise-${operation.id}`}
          fields={tool?.fields ?? null}
          value={(name) =>
            isEntered ? view.entered[name] : operation.input?.[name === 'json' ? name : name.slice('arg.'.length)]
          }
        />
        <p class="quiet">{say('tool.proposeHint')}</p>
        <Send>{say('operation.reviseSend')}</Send>
      </Act>
    </details>
  )
}

/** The page of an operation whose outcome nobody knows, with the form that settles it. */
export function OperationPage({ operation }: { readonly operation: OperationDetails }) {
  const { view, words, say } = useUi()
  return (
    <section class="thread" aria-labelledby="thread-title" id="thread" tabIndex={-1}>
      <header class="thread-head">
        <a class="back" href={`${view.path}${listQuery(view)}`} data-back="">
          <Icon name="back" />
          <span class="hidden">{say('back')}</span>
        </a>
        <div class="who">
          <h1 id="thread-title" tabIndex={-1}>
            {say('operation.heading')}
          </h1>
          <p class="quiet">
            <Host host={operation.host} isVerified /> · {operation.name} · {say('operation.number')} {operation.id}
          </p>
        </div>
      </header>
      <div class="operation-page">
        <p class="operation-head">
          <StateOf operation={operation} />
          {operation.unknownSince !== null && <UnknownSince since={operation.unknownSince} />}
        </p>
        <p class="summary text" dir="auto">
          {operation.summary}
        </p>
        {operation.conversationId !== null && (
          <p>
            <a href={`${view.path}/conversations/${operation.conversationId}${listQuery(view)}`}>
              {say('operation.toConversation')}
            </a>
          </p>
        )}
        {operation.unknownSince !== null && <Settle operation={operation} />}
        {operation.result !== null && (
          <>
            <h2>{say('operation.result')}</h2>
            <Data data={operation.result} label={say('operation.result')} />
          </>
        )}
        {operation.terms !== null && (
          <>
            <h2>{say('operation.terms')}</h2>
            <Data data={operation.terms} label={say('operation.terms')} />
          </>
        )}
        {operation.trail.length > 0 && (
          <>
            <h2>{say('operation.trail')}</h2>
            <ol class="trail">
              {operation.trail.map(({ at, what, by, why }, index) => (
                <li key={index}>
                  <Moment at={at} /> {sayNamed(words, 'trail', what)}
                  {by !== null && (
                    <>
                      {' '}
                      · <strong dir="auto">{by}</strong>
                    </>
                  )}
                  {why !== null && (
                    <span class="text" dir="auto">
                      {' '}
                      · {why}
                    </span>
                  )}
                </li>
              ))}
            </ol>
          </>
        )}
        <h2>{say('audit')}</h2>
        <AuditLines audit={operation.audit} />
      </div>
    </section>
  )
}

function Settle({ operation }: { readonly operation: OperationCard }) {
  const { say } = useUi()
  const entered = useEntered('settle')
  return (
    <Act to={`operations/${operation.id}/settle`} act="settle" label={say('settle')} className="settle">
      <h2>{say('settle')}</h2>
      <p>{say('settle.text')}</p>
      <fieldset>
        <legend>{say('settle.outcome')}</legend>
        {(['succeeded', 'failed'] as const).map((outcome) => (
          <label key={outcome} class="choice">
            <input
              type="radio"
              name="outcome"
              value={outcome}
              required
              defaultChecked={entered('outcome') === outcome}
              class={`settle-${outcome}`}
            />
            <span>{say(`settle.${outcome}`)}</span>
          </label>
        ))}
      </fieldset>
      <div class="if-succeeded">
        <Field id="settle-result" label={say('settle.result')} hint={say('settle.outward')} isOptional>
          <textarea
            id="settle-result"
            name="result"
            rows={2}
            defaultValue={entered('result')}
            aria-describedby="settle-result-hint"
          />
        </Field>
      </div>
      <div class="if-failed">
        <Field id="settle-reason" label={say('settle.reason')} hint={say('settle.outward')}>
          <textarea
            id="settle-reason"
            name="reason"
            rows={2}
            defaultValue={entered('reason')}
            aria-describedby="settle-reason-hint"
          />
        </Field>
      </div>
      <Field id="settle-why" label={say('settle.why')} hint={say('settle.whyHint')}>
        <textarea
          id="settle-why"
          name="why"
          rows={2}
          required
          maxLength={1000}
          defaultValue={entered('why')}
          aria-describedby="settle-why-hint"
        />
      </Field>
      <Send isPrimary>{say('settle.send')}</Send>
    </Act>
  )
}
