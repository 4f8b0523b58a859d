import type { ConversationView, ToolOutcomeView, ToolView } from '../src/inbox/view.ts'
import { Data } from './data.tsx'
import { Icon } from './icons.tsx'
import { Act, Send, useEntered } from './pieces.tsx'
import { ToolInput } from './tool-input.tsx'
import { useUi } from './ui.ts'

/** The company's tools, with the rights that the customer gave. What isn't allowed is seen, and says what is missing. */

/** See above. */
export function Tools({ conversation }: { readonly conversation: ConversationView }) {
  const { say } = useUi()
  const { tools, outcome, allowed } = conversation
  return (
    <>
      {outcome !== null && <Outcome outcome={outcome} />}
      {allowed.callTools !== null && (
        <p class="quiet">
          <Icon name="lock" /> {allowed.callTools}
        </p>
      )}
      {tools.length === 0 && <p class="quiet">{say('tools.none')}</p>}
      <ul class="tools">
        {tools.map((tool) => (
          <Tool key={tool.name} tool={tool} conversation={conversation} />
        ))}
      </ul>
    </>
  )
}

function Outcome({ outcome }: { readonly outcome: ToolOutcomeView }) {
  const { say } = useUi()
  return (
    <section
      class={outcome.isOk ? 'outcome' : 'outcome is-refused'}
      aria-labelledby="outcome-title"
      tabIndex={-1}
      id="outcome"
    >
      <p class="label" id="outcome-title">
        {say(headingOf(outcome), { tool: outcome.title })}
      </p>
      {outcome.text !== null && (
        <p class="text" dir="auto">
          {outcome.text}
        </p>
      )}
      {outcome.value !== null && <Data data={outcome.value} label={say('outcome')} />}
      {outcome.isOk && !outcome.isProposed && outcome.text === null && outcome.value === null && (
        <p class="quiet">{say('outcome.nothing')}</p>
      )}
    </section>
  )
}

function headingOf({ isOk, isProposed }: ToolOutcomeView) {
  if (!isOk) return 'outcome.refused'
  return isProposed ? 'outcome.proposed' : 'outcome.done'
}

function Tool({ tool, conversation }: { readonly tool: ToolView; readonly conversation: ConversationView }) {
  const { view, say } = useUi()
  const entered = useEntered('call-tool')
  const isEntered = view.entered.act === 'call-tool' && view.entered.tool === tool.name
  return (
    <li>
      <details class="tool" name="tools" open={isEntered}>
        <summary>
          <span>{tool.title}</span>
          {tool.missing !== null && (
            <span class="locked">
              <Icon name="lock" />
              {say('tool.locked')}
            </span>
          )}
        </summary>
        <div class="tool-body">
          {tool.description !== '' && (
            <p class="quiet" dir="auto">
              {tool.description}
            </p>
          )}
          {tool.missing === null && conversation.allowed.callTools === null && (
            <Act to={`conversations/${conversation.id}/call-tool`} act="call-tool" label={tool.title}>
              <input type="hidden" name="tool" value={tool.name} />
              <ToolInput
                id={`tool-${tool.name}`}
                fields={tool.fields}
                value={(name) => (isEntered ? entered(name) : undefined)}
              />
              {tool.proposes && <p class="quiet">{say('tool.proposeHint')}</p>}
              <Send>{say(tool.proposes ? 'tool.propose' : 'tool.run')}</Send>
            </Act>
          )}
          {tool.missing !== null && (
            <>
              <p>
                <Icon name="lock" /> {tool.missing}
              </p>
              {tool.asks.length > 0 && conversation.allowed.askForSignIn === null && (
                <Act to={`conversations/${conversation.id}/ask-for-sign-in`} act="ask-for-sign-in">
                  {tool.asks.map((scope) => (
                    <input key={scope} type="hidden" name="scope" value={scope} />
                  ))}
                  <Send>{say('tool.ask')}</Send>
                </Act>
              )}
            </>
          )}
        </div>
      </details>
    </li>
  )
}
