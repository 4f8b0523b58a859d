import { describe, expect, it } from 'vitest'
import { cleanAgentName } from './name.ts'

const host = 'agent.example'

describe('the name that an agent gives itself', () => {
  it('is shown as it is when it is honest', () => {
    for (const name of ['Example Agent', 'Agente Ñandú', '小助手', 'مساعد', 'Zoë 2', 'C++ <b>Agent</b> & Co.']) {
      expect(cleanAgentName(name, host)).toBe(name)
    }
  })

  it.each([
    ['a bidi override', 'Goo\u202Egle\u202C Agent', 'Google Agent'],
    ['bidi isolates', '\u2066Agent\u2069', 'Agent'],
    ['zero-width characters', 'Ex\u200Bam\u200Dple\uFEFF', 'Example'],
    ['soft hyphens and joiners', 'Ex\u00ADam\u034Fple', 'Example'],
    ['tag characters', 'Agent\u{E0041}\u{E007F}', 'Agent'],
    ['Hangul fillers', '\u3164Agent\u115F', 'Agent'],
    ['line breaks and tabs', 'Example\n\n\tAgent\r\u2028x', 'Example Agent x'],
    ['controls', 'A\u0000g\u001Be\u009Fnt', 'Agent'],
    ['all kinds of space', '\u00A0Example\u3000\u2003 Agent  ', 'Example Agent'],
    ['space around what is gone', 'A \u200B B', 'A B'],
    ['lone surrogates', 'A\uD800B', 'AB'],
  ])('loses %s', (_kind, name, shown) => {
    expect(cleanAgentName(name, host)).toBe(shown)
  })

  it('is cut at 60 characters, never inside one', () => {
    expect(cleanAgentName('x'.repeat(60), host)).toBe('x'.repeat(60))
    expect(cleanAgentName('x'.repeat(5000), host)).toBe(`${'x'.repeat(59)}…`)
    expect(cleanAgentName('𝔸'.repeat(100), host)).toBe(`${'𝔸'.repeat(59)}…`)
  })

  it('is read to its thousandth character: more would be work for whoever shows it, and accents the square of it', () => {
    expect(cleanAgentName(`A${'\u0300\u0323'.repeat(5000)}B`, host)).toBe('\u1EA0\u0323\u0323')
    expect(cleanAgentName(`A${'\u200B'.repeat(1000)}B`, host)).toBe('A')
  })

  it('cannot cover the lines around it with accents', () => {
    expect(cleanAgentName(`Z${'\u0335'.repeat(200)}algo`, host)).toBe('Z\u0335\u0335algo')
  })

  it('gives way to the host when nothing readable is left', () => {
    for (const name of [undefined, '', '   ', '\u200B\u202E', '\u2800\u2800', '...', '\u3164']) {
      expect(cleanAgentName(name, host)).toBe(host)
    }
  })
})
