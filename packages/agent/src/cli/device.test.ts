import { describe, expect, it } from 'vitest'
import { readQrCode } from '../../test/qr-reader.ts'
import { emptyFolder, openCompany, sitDown } from '../../test/sit-down.ts'

/** A person before a wide terminal without colours, who declines whatever is asked. */
async function sitBefore(columns = 80) {
  const fake = await openCompany()
  const { poppy, init } = await sitDown({
    isTerminal: true,
    columns,
    env: { POPPY_HOME: await emptyFolder(), NO_COLOR: '1' },
    wait: async () => fake.decideDevice(fake.lastUserCode(), { decline: true }),
  })
  await init()
  return { fake, signIn: (...more: readonly string[]) => poppy('sign-in', fake.origin, '--device', ...more) }
}

/** Reads the code that stands between the lines: light blocks on a dark ground. */
function codeIn(out: string): string | undefined {
  const lines = out.split('\n').filter((line) => /^ {2}[ ▀▄█]{20,}$/.test(line.padEnd(30)) && /[▀▄█]/.test(line))
  if (lines.length === 0) return undefined
  const dark = lines.flatMap((line) =>
    ['▀█', '▄█'].map((light) => [...line.slice(2)].map((character) => !light.includes(character))),
  )
  const size = Math.max(...dark.map((row) => row.length))
  return readQrCode(dark.slice(4, size - 4).map((row) => row.slice(4, size - 4)))
}

describe('the QR code of poppy sign-in --device', () => {
  it('is the link that has the code in it, beside the link and the code as text [4.6.shows-user-code-agent]', async () => {
    const { fake, signIn } = await sitBefore()
    const { out } = await signIn()
    const link = `${fake.origin}/device?user_code=WDJB-0000`
    expect(codeIn(out)).toBe(link)
    expect(out).toContain('Or point a phone at this, or open the link below it:')
    expect(out).toContain(`\n  ${link}\n`)
    expect(out).toContain('\n  WDJB-0000\n')
  })

  it('is left out with --no-qr, for a program, and where the terminal is too narrow', async () => {
    const { signIn } = await sitBefore()
    for (const more of ['--no-qr', '--json']) expect((await signIn(more)).out).not.toMatch(/[▀▄█]/)
    const narrow = await sitBefore(38)
    const { out } = await narrow.signIn()
    expect(out).not.toMatch(/[▀▄█]/)
    expect(out).toContain('Or open this link, which has the code in it:')
  })

  it('is never another host’s: a Company may hand on a code that it got elsewhere, and where to is said', async () => {
    const { fake, signIn } = await sitBefore()
    const evil = 'https://bank.example/device'
    for (const [device, says] of [
      [{ verification_uri: evil, verification_uri_complete: `${evil}?user_code=A` }, 'That page is at bank.example,'],
      [{ verification_uri_complete: `${evil}?user_code=A` }, 'enter the code:'],
      [{ verification_uri_complete: 'http://localhost:1/device' }, 'enter the code:'],
      [{ verification_uri_complete: `https://localhost@bank.example/` }, 'enter the code:'],
      [{ verification_uri: 'https://localhost.bank.example/d' }, 'That page is at localhost.bank.example,'],
      [{ verification_uri: 'https://ban\u043a.example/d' }, 'That page is at xn--ban-eed.example,'],
    ] as const) {
      fake.switches.device = (answer) => ({ ...answer, ...device })
      const { out } = await signIn()
      expect(out).toContain(says)
      expect(out).not.toMatch(/[▀▄█]/)
      if (!('verification_uri' in device)) expect(out).not.toContain('bank.example')
    }
  })

  it('is never made of what is huge or has control characters in it, and nothing of that is printed', async () => {
    const { fake, signIn } = await sitBefore(1000)
    const page = `${fake.origin}/device?user_code=`
    for (const link of [
      `${page}${'x'.repeat(10_000)}`,
      `${page}\u001b[2J\u001b]0;title\u0007`,
      `${page}a\nb`,
      `${page}\u202e`,
      'javascript:alert(1)',
      '',
    ]) {
      fake.switches.device = (answer) => ({ ...answer, verification_uri_complete: link })
      const { out, err } = await signIn()
      expect(out).not.toMatch(/[▀▄█]/)
      // biome-ignore lint/suspicious/noControlCharactersInRegex: that there are none is what is tested
      expect(out + err).not.toMatch(/[\u0000-\u0009\u000b-\u001f\u007f-\u009f\u2028\u202e]/)
      expect(out).not.toContain('xxxxx')
      expect(out).toContain('WDJB-')
    }
    // One that a person can still click is printed, but is too much for a code.
    const long = `${page}${'y'.repeat(300)}`
    fake.switches.device = (answer) => ({ ...answer, verification_uri_complete: long })
    const { out } = await signIn()
    expect(out).toContain(`\n  ${long}\n`)
    expect(out).not.toMatch(/[▀▄█]/)
  })

  it('says in plain words what a Company answers that can’t be used', async () => {
    const { fake, signIn } = await sitBefore()
    for (const device of [
      { verification_uri: 'javascript:alert(1)' },
      { verification_uri: '\u001b[2J' },
      { user_code: 'A\u001b[31mB' },
      { user_code: 'A'.repeat(1000) },
      { expires_in: -1 },
    ]) {
      fake.switches.device = (answer) => ({ ...answer, ...device })
      const { code, out, err } = await signIn()
      expect([code, out]).toEqual([1, ''])
      expect(err).toBe("Error: Fake Company began a sign-in with a link or a code that can't be used.\n")
    }
  })
})
