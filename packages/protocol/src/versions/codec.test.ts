import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { DocumentError } from '../errors.ts'
import { checkEdition, codecFor, currentCodec } from './codec.ts'

const fault = (work: () => unknown): string => {
  try {
    work()
    return 'accepted'
  } catch (error) {
    if (!(error instanceof DocumentError)) throw error
    return error.kind
  }
}
const faultOf = (protocol_version: unknown) => fault(() => codecFor({ protocol_version }))

describe('the version of a document', () => {
  it('is 0.1, or a later one that is 0.1 with extras', () => {
    for (const version of ['0.1', '0.2', '0.3']) expect(codecFor({ protocol_version: version })).toBe(currentCodec)
  })

  it('is refused in plain words when it is one that we do not speak [3.1.protocol-version-agent]', () => {
    for (const version of ['1.0', '1.1', '2.0', '0.4', '0.0', '00.1', '0.10', '9999.9999']) {
      expect(faultOf(version)).toBe('unsupported_version')
    }
    expect(() => codecFor({ protocol_version: '1.0' })).toThrow('This Company speaks version 1.0')
  })

  it('is no version in any other shape [3.1.required-fields-agent]', () => {
    for (const version of [
      undefined,
      null,
      0.1,
      '',
      '0',
      '0.1.0',
      'v0.1',
      ' 0.1',
      '0.1\n',
      '0.1-draft',
      ['0.1'],
      {},
      '٠.١',
    ]) {
      expect(faultOf(version)).toBe('invalid')
    }
    for (const document of [null, undefined, [], '0.1', 7]) expect(fault(() => codecFor(document))).toBe('invalid')
    fc.assert(
      fc.property(fc.jsonValue(), (value) => {
        expect([faultOf(value), fault(() => codecFor(value))]).not.toContain('untrusted')
      }),
    )
  })

  it('is told apart by the grants where one number names two editions', () => {
    const bearer = 'urn:ietf:params:oauth:grant-type:jwt-bearer'
    expect(fault(() => checkEdition('0.3', ['refresh_token']))).toBe('unsupported_version')
    expect(fault(() => checkEdition('0.3', []))).toBe('unsupported_version')
    expect(fault(() => checkEdition('0.3', ['refresh_token', bearer]))).toBe('accepted')
    expect(fault(() => checkEdition('0.3', undefined))).toBe('accepted')
    expect(fault(() => checkEdition('0.1', ['refresh_token']))).toBe('accepted')
  })
})

describe('draft 0.1', () => {
  it('starts a Session by the JWT bearer grant, and renews it with its id', () => {
    const grant_type = 'urn:ietf:params:oauth:grant-type:jwt-bearer'
    expect(currentCodec.sessionParameters({ assertion: 'a' })).toEqual({ grant_type, assertion: 'a' })
    expect(
      currentCodec.sessionParameters({ assertion: 'a', sessionId: 'ses_1', resource: 'https://mcp.example.com/mcp' }),
    ).toEqual({ grant_type, assertion: 'a', session_id: 'ses_1', resource: 'https://mcp.example.com/mcp' })
    expect([currentCodec.version, currentCodec.operationsVersion]).toEqual(['0.1', '1'])
  })
})
