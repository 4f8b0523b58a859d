import { describe, expect, it } from 'vitest'
import { loadInboxApp } from './app.ts'

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
})
