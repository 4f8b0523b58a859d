import type { ComponentChildren } from 'preact'
import type { AccountView, ConversationView } from '../src/inbox/view.ts'
import { AuditLines } from './audit-lines.tsx'
import { Data, Grid } from './data.tsx'
import { Icon } from './icons.tsx'
import { Act, Host, Rights, Send } from './pieces.tsx'
import { Tools } from './tools.tsx'
import { useUi } from './ui.ts'

/** The third column: the customer's account, their agent, what is allowed, the tools, and who did what. */

/** See above. */
export function Details({ conversation }: { readonly conversation: ConversationView }) {
  const { say } = useUi()
  const { context, rights, audit } = conversation
  return (
    <section class="details" id="details" aria-label={say('details')} tabIndex={-1} key={conversation.id}>
      <div class="details-back">
        <h1>{say('details')}</h1>
        <a href="#thread" class="button" data-to-thread="">
          {say('details.back')}
        </a>
      </div>
      {conversation.account.state !== 'none' && (
        <Panel title={say('account')} isOpen>
          <Account account={conversation.account} conversation={conversation} />
        </Panel>
      )}
      <Panel title={say('rights')} isOpen>
        {rights.isSignedIn ? (
          <>
            <p>{say(rights.granted.length > 0 ? 'rights.signedIn' : 'rights.none')}</p>
            {rights.granted.length > 0 && <Rights rights={rights.granted} />}
          </>
        ) : (
          <p>{say('rights.notSignedIn')}</p>
        )}
        {rights.missing.length > 0 && conversation.status !== 'closed' && (
          <>
            <p class="quiet">{say('rights.missing')}</p>
            <Rights rights={rights.missing} />
          </>
        )}
      </Panel>
      <Panel title={say('tools')} isOpen>
        <Tools conversation={conversation} />
      </Panel>
      {context !== null && (
        <Panel title={say('context')} isOpen>
          <Data data={context} label={say('context')} />
        </Panel>
      )}
      <Panel title={say('agent')} isOpen>
        <Agent conversation={conversation} />
      </Panel>
      <Panel title={say('audit')} isOpen={false}>
        <AuditLines audit={audit} />
      </Panel>
    </section>
  )
}

function Panel({
  title,
  isOpen,
  children,
}: {
  readonly title: string
  readonly isOpen: boolean
  readonly children: ComponentChildren
}) {
  return (
    <details class="panel-fold" open={isOpen}>
      <summary>
        <h2>{title}</h2>
      </summary>
      <div class="panel-body">{children}</div>
    </details>
  )
}

function Account({
  account,
  conversation,
}: {
  readonly account: AccountView
  readonly conversation: ConversationView
}) {
  const { say } = useUi()
  const { allowed, id } = conversation
  if (account.state === 'open')
    return (
      <div class="account">
        {account.title !== null && (
          <p class="account-title" dir="auto">
            {account.title}
          </p>
        )}
        {account.facts.length > 0 && (
          <Data
            data={{
              kind: 'fields',
              fields: account.facts.map(({ name, value }) => ({ name, value: { kind: 'value', text: value } })),
            }}
            label={say('account')}
          />
        )}
        {account.tables.map((table, index) => (
          <div key={index}>
            <h3>{table.title}</h3>
            <Grid title={table.title} columns={table.columns} rows={table.rows} />
          </div>
        ))}
        {account.links.length > 0 && (
          <ul class="plain-list">
            {account.links.map(({ text, href }) => (
              <li key={href}>
                <a href={href} target="_blank" rel="noreferrer noopener">
                  {text}
                </a>
              </li>
            ))}
          </ul>
        )}
        {account.title === null && account.facts.length + account.tables.length + account.links.length === 0 && (
          <p class="quiet">{say('account.empty')}</p>
        )}
        <Act to={`conversations/${id}/close-account`} act="close-account">
          <Send>{say('account.close')}</Send>
        </Act>
      </div>
    )
  if (account.state === 'failed')
    return (
      <p class="dark">
        <Icon name="alert" /> {say('panelFailed')}
      </p>
    )
  return (
    <>
      {account.state === 'dark' && (
        <p class="dark">
          <Icon name="alert" /> {say('account.dark')}
        </p>
      )}
      {allowed.openAccount === null ? (
        <Act to={`conversations/${id}/open-account`} act="open-account">
          <p class="quiet" id="account-recorded">
            {say('account.recorded')}
          </p>
          <Send describedBy="account-recorded">{say('account.open')}</Send>
        </Act>
      ) : (
        <p class="quiet">
          <Icon name="lock" /> {allowed.openAccount}
        </p>
      )}
    </>
  )
}

function Agent({ conversation }: { readonly conversation: ConversationView }) {
  const { say } = useUi()
  const { agent } = conversation
  return (
    <>
      {agent.isBlocked && (
        <p class="dark">
          <Icon name="alert" /> {say('agent.blocked')}
        </p>
      )}
      <p>
        {say('agent.verified')}{' '}
        <strong>
          <Host host={agent.host} isVerified />
        </strong>
      </p>
      <p class="quiet">
        {say('agent.address')}: <bdi class="breaks">{agent.clientId}</bdi>
      </p>
      {agent.claims.length > 0 && (
        <div class="claims">
          <p class="label">
            {say('agent.claims')} <span class="quiet">{say('agent.unchecked')}</span>
          </p>
          <Data
            data={{
              kind: 'fields',
              fields: agent.claims.map(({ name, value }) => ({ name, value: { kind: 'value', text: value } })),
            }}
            label={say('agent.claims')}
          />
        </div>
      )}
    </>
  )
}
