import { describe, expect, it } from 'vitest'
import { inboxFixtures } from '../../../../test/setup/inbox-fixtures.ts'
import { inboxDe } from '../words/inbox-de.ts'
import { inboxEn } from '../words/inbox-en.ts'
import { inboxWordsOf } from '../words/inbox-words.ts'
import { loadInboxApp } from './app.ts'
import type { InboxView } from './view.ts'

const words = { en: inboxWordsOf(inboxEn), de: inboxWordsOf(inboxDe) }

describe('the inbox that is shipped', () => {
  it('is one script and one stylesheet, which ask nobody for anything and change their names with what is in them', async () => {
    const { script, styles } = await loadInboxApp()
    expect(script.name).toMatch(/^inbox-[0-9a-f]{12}\.js$/)
    expect(styles.name).toMatch(/^inbox-[0-9a-f]{12}\.css$/)
    for (const { text } of [script, styles]) {
      expect(text.length).toBeGreaterThan(20)
      expect(text).not.toMatch(/\bimport\s*\(|@import|url\(["']?(?!data:)|sourceMappingURL/)
    }
    expect(script.text).not.toMatch(/fileName:|packages\/company/)
    expect(script.text).not.toMatch(/\beval\s*\(|new Function\b/)
  })

  /** A view whose every moment, but its own, is so many milliseconds away. */
  function awayBy(view: InboxView, milliseconds: number): InboxView {
    const at = new Set([
      'at',
      'since',
      'unknownSince',
      'waitingSince',
      'queuedAt',
      'lastSeenAt',
      'expiresAt',
      'createdAt',
    ])
    return JSON.parse(
      JSON.stringify(view, (name, value: unknown) =>
        at.has(name) && typeof value === 'number' ? view.now + milliseconds : value,
      ),
    ) as InboxView
  }

  it('says of no moment that it is 0 seconds away', async () => {
    const { render } = await loadInboxApp()
    for (const language of ['en', 'de'] as const) {
      for (const [name, view] of Object.entries(inboxFixtures[language])) {
        for (const milliseconds of [0, -1, -9_999, 1, 9_999, 500]) {
          const text = render(awayBy(view, milliseconds), words[language])
          expect([name, milliseconds, /[^\d.,]0 (?:sec|Sek|min|Min)[^<]*/.exec(text)?.[0]]).toEqual([
            name,
            milliseconds,
            undefined,
          ])
        }
      }
    }
    const settle = Object.values(inboxFixtures.en).find(({ operation }) => operation?.unknownSince != null)
    if (settle === undefined) throw new Error('no fixture has an operation whose outcome is unknown')
    expect(render(awayBy(settle, -9_999), words.en)).toContain('Unknown for a moment')
    expect(render(awayBy(settle, -10_000), words.en)).toContain('Unknown for 10 sec')
  })

  it.each([
    [99, '99'],
    [100, '100'],
  ])('says %d where there are as many, and a plus where there are more', async (number, shown) => {
    const { render } = await loadInboxApp()
    const view = inboxFixtures.en.waiting
    if (view === undefined) throw new Error('there is no such fixture')
    const counted = (isMore: boolean) => {
      const waiting = { number, isMore }
      const html = render({ ...view, counts: { ...view.counts, waiting } }, words.en)
      return [...html.matchAll(/class="count urgent">([^<]*)</g)].map(([, text]) => text)[0]
    }
    expect(counted(false)).toBe(shown)
    expect(counted(true)).toBe(`${shown}+`)
  })
})
