import { Icon } from './icons.tsx'
import { Act } from './pieces.tsx'
import { useUi } from './ui.ts'

/** Around everything: the bar on top, what came of what was done, and the help for the keyboard. */

/** The bar on top. */
export function Bar() {
  const { view, say, live } = useUi()
  return (
    <header class="bar">
      <p class="brand">
        <a href={view.path}>
          <span>{view.organization}</span> <span class="quiet">{say('heading')}</span>
        </a>
      </p>
      {live !== null && (
        <p class={`connection is-${live.connection}`} role="status">
          {(live.connection !== 'live' || live.isFollowing) && (
            <span>{say(live.connection === 'live' ? 'connection.live' : 'connection.offline')}</span>
          )}
        </p>
      )}
      <details class="menu">
        <summary class="button">
          <span class="hidden">{say('menu')}: </span>
          <span class="my-name">{view.me.name}</span>
        </summary>
        <div class="menu-box">
          <p class="label">{say('here')}</p>
          {view.colleagues.length === 0 ? (
            <p class="quiet">{say('hereAlone')}</p>
          ) : (
            <ul class="plain-list">
              {view.colleagues.map(({ id, name }) => (
                <li key={id}>{name}</li>
              ))}
            </ul>
          )}
          {live !== null && live.notifications !== 'unknown' && (
            <button type="button" class="menu-item" onClick={live.askToNotify} disabled={live.notifications !== 'off'}>
              {say(live.notifications === 'off' ? 'notify' : `notify.${live.notifications}`)}
            </button>
          )}
          {live !== null && (
            <button
              type="button"
              class="menu-item"
              onClick={() => document.querySelector<HTMLDialogElement>('#keys')?.showModal()}
            >
              {say('keys')} <kbd>?</kbd>
            </button>
          )}
          <Act to="leave" act="leave" className="plain">
            <button type="submit" class="menu-item" aria-describedby="leave-hint">
              {say('leave')}
            </button>
            <p class="quiet" id="leave-hint">
              {say('leaveHint')}
            </p>
          </Act>
          {view.signOutPage !== null && (
            <a class="menu-item" href={view.signOutPage}>
              {say('signOut')}
            </a>
          )}
        </div>
      </details>
    </header>
  )
}

/** What came of what was just done, and what is wrong now. */
export function Notices() {
  const { view, say, live } = useUi()
  const trouble = troubleOf()
  return (
    <div class="notices">
      <div role="alert">
        {trouble !== null && (
          <p class="notice is-refused">
            <Icon name="alert" />
            <span>
              {trouble} {live?.connection === 'signed-out' && <a href={view.path}>{say('signInAgain')}</a>}
            </span>
            {live?.connection !== 'signed-out' && <Dismiss />}
          </p>
        )}
        {view.notice?.kind === 'refused' && (
          <p class="notice is-refused">
            <Icon name="alert" />
            <span>{view.notice.text}</span>
            <Dismiss />
          </p>
        )}
      </div>
      <div role="status">
        {view.notice?.kind === 'done' && (
          <p class="notice is-done">
            <Icon name="verified" />
            <span>{view.notice.text}</span>
            <Dismiss />
          </p>
        )}
        {live !== null && <p class="hidden">{live.news}</p>}
      </div>
    </div>
  )

  function troubleOf(): string | null {
    if (live === null) return null
    if (live.connection === 'signed-out') return say('signedOut')
    if (live.problem !== null) return say(live.problem === 'not-sent' ? 'notSent' : 'notLoaded')
    return live.connection === 'offline' && !live.isHushed ? say('offline') : null
  }
}

function Dismiss() {
  const { say, live } = useUi()
  if (live === null) return null
  return (
    <button type="button" class="button icon-button" aria-label={say('close')} onClick={live.dismiss}>
      <Icon name="close" />
    </button>
  )
}

/** The help for the keyboard. It needs the script, as the shortcuts do. */
export function Keys() {
  const { say, live } = useUi()
  if (live === null) return null
  const keys: readonly (readonly [keys: readonly string[], what: string])[] = [
    [['j', '↓'], say('keys.down')],
    [['k', '↑'], say('keys.up')],
    [[say('key.enter')], say('keys.open')],
    [['t'], say('take')],
    [['r'], say('reply')],
    [['n'], say('note')],
    [['e'], say('handBack')],
    [['/'], say('search')],
    [['?'], say('keys.help')],
    [[say('key.escape')], say('keys.escape')],
    [[say('key.control'), say('key.enter')], say('keys.send')],
  ]
  return (
    <dialog id="keys" aria-labelledby="keys-title">
      <form method="dialog" class="keys-head">
        <h2 id="keys-title">{say('keys')}</h2>
        <button type="submit" class="button icon-button" aria-label={say('close')}>
          <Icon name="close" />
        </button>
      </form>
      <table class="data data-fields">
        <tbody>
          {keys.map(([names, what]) => (
            <tr key={what}>
              <th scope="row">
                {names.map((name) => (
                  <kbd key={name}>{name}</kbd>
                ))}
              </th>
              <td>{what}</td>
            </tr>
          ))}
        </tbody>
      </table>
      <label class="choice">
        <input type="checkbox" checked={live.hasKeys} onChange={live.toggleKeys} />
        <span>{say('keys.use')}</span>
      </label>
    </dialog>
  )
}
