import type { ToolField } from '../src/inbox/view.ts'
import { Field } from './pieces.tsx'
import { useUi } from './ui.ts'

/** The form for the input of a tool: fields where it is simple enough, else JSON. */

/** See above. `value` gives what a field begins with. */
export function ToolInput({
  id,
  fields,
  value,
}: {
  readonly id: string
  readonly fields: readonly ToolField[] | null
  readonly value: (name: string) => string | undefined
}) {
  const { say } = useUi()
  if (fields === null)
    return (
      <Field id={`${id}-json`} label={say('tool.json')}>
        <textarea
          id={`${id}-json`}
          name="json"
          class="code"
          rows={6}
          spellcheck={false}
          defaultValue={value('json') ?? '{}'}
        />
      </Field>
    )
  return (
    <>
      {fields.map((field) => (
        <Input key={field.name} id={`${id}-${field.name}`} field={field} value={value(`arg.${field.name}`)} />
      ))}
    </>
  )
}

function Input({
  id,
  field,
  value,
}: {
  readonly id: string
  readonly field: ToolField
  readonly value: string | undefined
}) {
  const { say } = useUi()
  const begin = value ?? field.standard ?? undefined
  const hint = [field.hint, field.kind === 'list' ? say('tool.listHint') : null].filter((one) => one).join(' ')
  const all = {
    id,
    name: `arg.${field.name}`,
    required: field.isNeeded,
    'aria-describedby': hint === '' ? undefined : `${id}-hint`,
  }
  return (
    <Field id={id} label={field.label} hint={hint} isOptional={!field.isNeeded}>
      {inner()}
    </Field>
  )

  function inner() {
    switch (field.kind) {
      case 'long-text':
      case 'list':
        return <textarea {...all} rows={3} defaultValue={begin} />
      case 'yes-no':
        return (
          <select {...all}>
            <option value="" selected={begin === undefined}>
              {say('tool.choose')}
            </option>
            <option value="true" selected={begin === 'true'}>
              {say('yes')}
            </option>
            <option value="false" selected={begin === 'false'}>
              {say('no')}
            </option>
          </select>
        )
      case 'choice':
        return (
          <select {...all}>
            <option value="" selected={begin === undefined}>
              {say('tool.choose')}
            </option>
            {field.choices.map((choice) => (
              <option key={choice} value={choice} selected={begin === choice}>
                {choice}
              </option>
            ))}
          </select>
        )
      case 'number':
        return <input {...all} type="number" step="any" defaultValue={begin} />
      case 'date':
        return <input {...all} type="date" defaultValue={begin} />
      case 'date-time':
        return <input {...all} type="datetime-local" defaultValue={begin} />
      case 'text':
        return <input {...all} type="text" autocomplete="off" defaultValue={begin} />
    }
  }
}
