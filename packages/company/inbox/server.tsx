import { renderToString } from 'preact-render-to-string'
import type { InboxView, InboxWordTexts } from '../src/inbox/view.ts'
import { App, titleOf } from './app.tsx'
import { NowProvider } from './times.tsx'

/** Draws what stands inside `<div id="inbox">`. */
export function render(view: InboxView, words: InboxWordTexts): string {
  return renderToString(
    <NowProvider value={view.now}>
      <App view={view} words={words} />
    </NowProvider>,
  )
}

/** What stands in `<title>`: with how many are waiting. */
export function title(view: InboxView, words: InboxWordTexts): string {
  return titleOf(view, words)
}
