import { describe, expect, it } from 'vitest'
import { localPath } from './next-path.ts'

describe('localPath', () => {
  it('takes paths of this site as they are', () => {
    for (const path of ['/', '/bookings', '/a?b=c%26d#e', '/poppy/authorize?redirect_uri=https%3A%2F%2Fa.example%2F']) {
      expect(localPath(path, '/bookings')).toBe(path)
    }
  })

  it('refuses whatever a browser could read as another site', () => {
    const attacks = [
      'https://evil.example',
      'HTTPS:/evil.example',
      'javascript:alert(1)',
      '//evil.example',
      '///evil.example',
      '/\\evil.example',
      '\\/evil.example',
      '\\\\evil.example',
      '/a\\..\\evil',
      '/\t/evil.example',
      '/\n/evil.example',
      '\t//evil.example',
      ' /bookings',
      '/\r\nset-cookie: a=b',
      '/\u0000',
      '/\u2028/evil',
      '/｡evil',
      'bookings',
      '',
      `/${'a'.repeat(5000)}`,
    ]
    for (const attack of attacks) expect([attack, localPath(attack, '/bookings')]).toEqual([attack, '/bookings'])
    expect(localPath(null, '/bookings')).toBe('/bookings')
  })
})
