import { type ComponentChildren, Fragment } from 'preact'
import type { RightView } from '../src/inbox/view.ts'
import { Icon } from './icons.tsx'
import { useUi } from './ui.ts'

/** Small parts that others are made of. */

/**
 * A form of the inbox: it works without script, and is sent by it where there is one. `keeps` holds what is typed for as long
 * as the tab is open.
 */
export function Act({
  to,
  act,
  keeps = false,
  label,
  className,
  children,
}: {
  /** The address below the inbox's: `conversations/conv_1/reply`. */
  readonly to: string
  /** The name of the act: `reply`. */
  readonly act: string
  readonly keeps?: boolean
  readonly label?: string
  readonly className?: string
  readonly children: ComponentChildren
}) {
  const { view, live } = useUi()
  const action = `${view.path}/${to}`
  return (
    <form
      method="post"
      action={action}
      class={className}
      data-act={act}
      data-keeps={keeps ? '' : undefined}
      aria-label={label}
      aria-busy={live?.sending === action ? 'true' : undefined}
    >
      <input type="hidden" name="token" value={view.token} />
      <input type="hidden" name="once" value={view.once} />
      {view.list.name === 'search' ? (
        <input type="hidden" name="q" value={view.list.query} />
      ) : (
        <input type="hidden" name="list" value={view.list.name} />
      )}
      {children}
    </form>
  )
}

/** The button of a form. One on the page is the primary one. */
export function Send({
  children,
  isPrimary = false,
  describedBy,
}: {
  readonly children: ComponentChildren
  readonly isPrimary?: boolean
  readonly describedBy?: string
}) {
  return (
    <button type="submit" class={isPrimary ? 'button primary' : 'button'} aria-describedby={describedBy}>
      {children}
    </button>
  )
}

/** What was typed into a field of a form that was refused. */
export function useEntered(act: string): (field: string) => string | undefined {
  const { entered } = useUi().view
  return (field) => (entered.act === act && Object.hasOwn(entered, field) ? entered[field] : undefined)
}

/** A label with its field. The field's own id ties them together. */
export function Field({
  id,
  label,
  hint,
  isOptional = false,
  children,
}: {
  readonly id: string
  readonly label: string
  readonly hint?: string | null
  readonly isOptional?: boolean
  readonly children: ComponentChildren
}) {
  const { say } = useUi()
  return (
    <div class="field">
      <label for={id}>
        {label}
        {isOptional && <span class="quiet"> ({say('optional')})</span>}
      </label>
      {children}
      {hint != null && hint !== '' && (
        <p class="quiet hint" id={`${id}-hint`}>
          {hint}
        </p>
      )}
    </div>
  )
}

/** A host that was checked, with the sign and the word for it. Where it takes two lines it breaks behind a dot; all of it is shown. */
export function Host({ host, isVerified = false }: { readonly host: string; readonly isVerified?: boolean }) {
  const { say } = useUi()
  return (
    <span class="host">
      <bdi>
        {host.split('.').map((label, index) => (
          <Fragment key={index}>
            {index > 0 && (
              <>
                .<wbr />
              </>
            )}
            {label}
          </Fragment>
        ))}
      </bdi>
      {isVerified && (
        <span class="verified">
          <Icon name="verified" />
          <span>{say('verified')}</span>
        </span>
      )}
    </span>
  )
}

/** Scopes in words. */
export function Rights({ rights }: { readonly rights: readonly RightView[] }) {
  return (
    <ul class="rights">
      {rights.map(({ scope, text }) => (
        <li key={scope} title={scope}>
          {text}
        </li>
      ))}
    </ul>
  )
}

/** Something that isn't possible now, and why. */
export function Cannot({ what, why }: { readonly what: string; readonly why: string }) {
  return (
    <div class="cannot">
      <span>{what}</span>
      <span class="quiet">{why}</span>
    </div>
  )
}
