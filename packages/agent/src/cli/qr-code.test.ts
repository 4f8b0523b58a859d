import { describe, expect, it } from 'vitest'
import { readQrCode } from '../../test/qr-reader.ts'
import { drawQrCode } from './qr-code.ts'
import type { Terminal } from './terminal.ts'

const link = 'https://auth.example.com/device?user_code=WDJB-MJHT'
const colours = '\u001b[38;5;16;48;5;231m'

function terminal(more: Partial<Terminal> = {}): Terminal {
  return { stdout: () => {}, stderr: () => {}, isTerminal: true, columns: 80, env: {}, ...more }
}

/** What stands on the screen, as a camera sees it: true where it is dark. `ink` is what a drawn half is. */
function seen(lines: readonly string[] | undefined, ink: 'dark' | 'light'): readonly (readonly boolean[])[] {
  return (lines ?? []).flatMap((line) => {
    const characters = [...line.replace(/^ {2}/, '').replace(colours, '').replace('\u001b[0m', '')]
    for (const one of characters) expect(' ▀▄█').toContain(one)
    const isDark = (isInk: boolean) => isInk === (ink === 'dark')
    return ['▀█', '▄█'].map((drawn) => characters.map((one) => isDark(drawn.includes(one))))
  })
}

/** Takes the light margin off. */
function cropped(screen: readonly (readonly boolean[])[]): readonly (readonly boolean[])[] {
  const size = screen[0]?.length ?? 0
  const inner = screen.slice(4, size - 4).map((row) => row.slice(4, -4))
  const margin = screen
    .slice(0, size)
    .flatMap((row, at) => (at < 4 || at >= size - 4 ? row : [...row.slice(0, 4), ...row.slice(-4)]))
  expect(margin.filter(Boolean)).toHaveLength(0)
  return inner
}

describe('the QR code in the terminal', () => {
  it('is read as the link, dark on light whatever colours the terminal has', async () => {
    for (const text of [
      link,
      'https://a.example/d?c=1',
      `https://example.com/${'a'.repeat(120)}`,
      `https://example.com/${'x'.repeat(251)}`,
    ]) {
      const lines = await drawQrCode(text, terminal())
      for (const line of lines ?? []) {
        expect(line.startsWith(`  ${colours}`) && line.endsWith('\u001b[0m')).toBe(true)
      }
      expect(readQrCode(cropped(seen(lines, 'dark')))).toBe(text)
    }
  })

  it('stands without colours as light text on a dark ground, and turned over where the terminal says that it is light', async () => {
    const onDark = await drawQrCode(link, terminal({ env: { NO_COLOR: '1' } }))
    expect(onDark?.join('')).not.toContain('\u001b')
    expect(readQrCode(cropped(seen(onDark, 'light')))).toBe(link)
    const onLight = await drawQrCode(link, terminal({ env: { NO_COLOR: '1', COLORFGBG: '0;15' } }))
    expect(readQrCode(cropped(seen(onLight, 'dark')))).toBe(link)
  })

  it('is not drawn where nobody could read it', async () => {
    for (const more of [{ isTerminal: false }, { columns: undefined }, { columns: 30 }, { env: { TERM: 'dumb' } }])
      expect(await drawQrCode(link, terminal(more))).toBeUndefined()
    const width = 2 + 8 + 29
    expect(await drawQrCode(link, terminal({ columns: width - 1 }))).toBeUndefined()
    expect((await drawQrCode(link, terminal({ columns: width })))?.length).toBe(Math.ceil((width - 2) / 2))
  })

  it('holds no link that is huge, or that has other than plain characters in it', async () => {
    for (const text of [
      '',
      `https://example.com/${'x'.repeat(252)}`,
      `https://example.com/${'x'.repeat(100_000)}`,
      'https://example.com/\u001b[2J',
      'https://example.com/ a',
      'https://ex\u00e4mple.com/',
      'https://example.com/\u202e',
    ])
      expect(await drawQrCode(text, terminal({ columns: 500 }))).toBeUndefined()
  })
})
