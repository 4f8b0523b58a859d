import { renderToString } from 'preact-render-to-string'
import type { InboxView } from '../src/inbox/view.ts'
import { App, titleOf } from './app.tsx'
import { NowProvider } from './times.tsx'

/** Draws what stands inside `<div id="inbox">`. */
export function render(view: InboxView): string {
  return renderToString(
    <NowProvider value={view.now}>
      <App view={view} />
    </NowProvider>,
  )
}

/** What stands in `<title>`: with how many are waiting. */
export function title(view: InboxView): string {
  return titleOf(view)
}
