import type { Readable } from '../src/inbox/view.ts'

/** Data as a person reads it: a value, named values, a table. */

/** Data as a person reads it. What strangers wrote stays text. */
export function Data({ data, label }: { readonly data: Readable; readonly label: string }) {
  if (data.kind === 'value')
    return (
      <span class="text" dir="auto">
        {data.text}
      </span>
    )
  if (data.kind === 'list')
    return (
      <ul class="data-list">
        {data.items.map((item, index) => (
          <li key={index}>
            <Data data={item} label={label} />
          </li>
        ))}
      </ul>
    )
  if (data.kind === 'fields')
    return (
      <table class="data data-fields" aria-label={label}>
        <tbody>
          {data.fields.map(({ name, value }, index) =>
            isLarge(value) ? (
              // Beside its name it would have half the width, and what is in it half of that.
              <tr key={index}>
                <td colSpan={2} class="large">
                  <p class="quiet">
                    <bdi>{name}</bdi>
                  </p>
                  <Data data={value} label={`${label}: ${name}`} />
                </td>
              </tr>
            ) : (
              <tr key={index}>
                <th scope="row">
                  <bdi>{name}</bdi>
                </th>
                <td>
                  <Data data={value} label={`${label}: ${name}`} />
                </td>
              </tr>
            ),
          )}
        </tbody>
      </table>
    )
  return <Grid title={label} columns={data.columns} rows={data.rows} />
}

/** Whether it has parts of its own, which want all of the width. */
const isLarge = (value: Readable) =>
  value.kind === 'table' || value.kind === 'fields' || (value.kind === 'list' && value.items.some(isLarge))

/** Characters of a number or a code that stays on one line, so that it can be read off. */
const mostOfCode = 12
const isCode = (cell: string) => cell.length <= mostOfCode && !/\s/.test(cell)

/** Characters up to which a column grows with what is in it, and those that a table may have side by side. */
const mostOfColumn = 24
const mostOfRow = 70

/** Whether the table is too wide to be read: its columns would stand outside, or be a word wide and very high. */
function isWide(columns: readonly string[], rows: readonly (readonly string[])[]): boolean {
  const widths = columns.map((column, place) =>
    Math.min(mostOfColumn, Math.max(column.length, ...rows.map((row) => row[place]?.length ?? 0))),
  )
  return widths.reduce((sum, width) => sum + width + 2, 0) > mostOfRow
}

type GridOf = {
  readonly title: string
  readonly columns: readonly string[]
  readonly rows: readonly (readonly string[])[]
}

/** A table that scrolls by itself where it is wider than its place. One with many columns stands row below row instead. */
export function Grid({ title, columns, rows }: GridOf) {
  if (isWide(columns, rows)) return <Records title={title} columns={columns} rows={rows} />
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls has to be reached by the keyboard
    <section class="scrolls" aria-label={title} tabIndex={0}>
      <table class="data">
        <thead>
          <tr>
            {columns.map((column, index) => (
              <th key={index} scope="col">
                <bdi>{column}</bdi>
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {rows.map((row, index) => (
            <tr key={index}>
              {row.map((cell, place) => (
                <td key={place} class={isCode(cell) ? 'code-cell' : undefined}>
                  <bdi>{cell}</bdi>
                </td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </section>
  )
}

/** Each row as named values, one below the other; what is empty in a row isn't there. */
function Records({ title, columns, rows }: GridOf) {
  return (
    <ol class="records" aria-label={title}>
      {rows.map((row, index) => (
        <li key={index}>
          <table class="data data-fields" aria-label={`${title} ${index + 1}`}>
            <tbody>
              {columns.map((column, place) =>
                row[place] === undefined || row[place] === '' ? null : (
                  <tr key={place}>
                    <th scope="row">
                      <bdi>{column}</bdi>
                    </th>
                    <td>
                      <bdi>{row[place]}</bdi>
                    </td>
                  </tr>
                ),
              )}
            </tbody>
          </table>
        </li>
      ))}
    </ol>
  )
}
