import { CompactEncrypt, compactDecrypt } from 'jose'
import { describe, expect, it } from 'vitest'
import { deriveKeyring } from './keyring.ts'
import { createSealer } from './seal.ts'

const newer = 'the-newer-secret-of-more-than-32-characters'
const older = 'the-older-secret-of-more-than-32-characters'
const keyring = deriveKeyring([newer], 'session-token')
const sealer = createSealer(keyring)
const content = { s: 'ses_1', p: 'poppy:read', text: 'ümläut ✓' }

describe('a sealed text [4.2.token-encrypted]', () => {
  it('is a JWE that jose opens, and what jose seals is opened here', async () => {
    const { plaintext, protectedHeader } = await compactDecrypt(sealer.seal(content), keyring.newest.bytes)
    expect(protectedHeader).toEqual({ alg: 'dir', enc: 'A256GCM', kid: keyring.newest.id })
    expect(JSON.parse(new TextDecoder().decode(plaintext))).toEqual(content)
    const foreign = await new CompactEncrypt(new TextEncoder().encode(JSON.stringify(content)))
      .setProtectedHeader({ alg: 'dir', enc: 'A256GCM', kid: keyring.newest.id })
      .encrypt(keyring.newest.bytes)
    expect(sealer.open(foreign)).toEqual(content)
  })

  it('shows nothing of its content, and is another one each time', () => {
    const [one, other] = [sealer.seal(content), sealer.seal(content)]
    expect(one).not.toBe(other)
    const bytes = one.split('.').map((part) => Buffer.from(part, 'base64url').toString('latin1'))
    expect(bytes.join()).not.toContain('ses_1')
  })

  it('opens under an older secret, under no other, and for no other purpose', () => {
    const sealed = createSealer(deriveKeyring([older], 'session-token')).seal(content)
    expect(createSealer(deriveKeyring([newer, older], 'session-token')).open(sealed)).toEqual(content)
    expect(sealer.open(sealed)).toBeNull()
    expect(createSealer(deriveKeyring([older], 'form')).open(sealed)).toBeNull()
  })

  it('does not open once anything of it is changed, cut or put in other words', () => {
    const sealed = sealer.seal(content)
    const parts = sealed.split('.')
    const other = sealer.seal({ s: 'ses_2' }).split('.')
    for (let at = 0; at < sealed.length; at++) {
      const letter = sealed[at] === 'A' ? 'B' : 'A'
      expect(sealer.open(sealed.slice(0, at) + letter + sealed.slice(at + 1))).toBeNull()
    }
    for (let part = 2; part < 5; part++) {
      expect(sealer.open(parts.map((text, n) => (n === part ? (other[n] ?? '') : text)).join('.'))).toBeNull()
      expect(sealer.open(parts.map((text, n) => (n === part ? text.slice(0, -4) : text)).join('.'))).toBeNull()
      expect(sealer.open(parts.map((text, n) => (n === part ? `${text}=` : text)).join('.'))).toBeNull()
    }
    const header = Buffer.from(JSON.stringify({ kid: keyring.newest.id, alg: 'dir', enc: 'A256GCM' })).toString(
      'base64url',
    )
    for (const text of [
      '',
      '.',
      '....',
      sealed.slice(1),
      `${sealed}.`,
      `${sealed} `,
      [header, ...parts.slice(1)].join('.'),
      [parts[0], 'AA', ...parts.slice(2)].join('.'),
      'a'.repeat(100_000),
    ]) {
      expect(sealer.open(text)).toBeNull()
    }
  })
})
