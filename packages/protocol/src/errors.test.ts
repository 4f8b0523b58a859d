import { describe, expect, it } from 'vitest'
import { DocumentError, errorRow, errorTable, isErrorCode, PoppyError } from './errors.ts'

describe('the error table', () => {
  it.each([
    ['invalid_client', 401, 401],
    ['invalid_grant', 400, 400],
    ['invalid_session', 400, 400],
    ['account_mismatch', 400, 400],
    ['invalid_scope', 400, 400],
    ['invalid_target', 400, 400],
    ['invalid_request', 400, 400],
    ['unsupported_grant_type', 400, 400],
    ['authorization_pending', 400, 400],
    ['slow_down', 400, 400],
    ['access_denied', 400, 400],
    ['expired_token', 400, 400],
    ['invalid_token', 401, 401],
    ['invalid_dpop_proof', 401, 400],
    ['use_dpop_nonce', 401, 400],
    ['sign_in_required', 403, 403],
    ['insufficient_scope', 403, 403],
    ['extension_required', 403, 403],
    ['rate_limited', 429, 429],
    ['user_approval_required', 403, 403],
    ['company_confirmation_required', 403, 403],
    ['revision_conflict', 409, 409],
    ['operation_not_found', 404, 404],
    ['conversation_not_found', 404, 404],
    ['conversation_closed', 409, 409],
    ['direct_conversation_open', 409, 409],
    ['message_id_conflict', 409, 409],
    ['invalid_cursor', 400, 400],
    ['cursor_expired', 410, 410],
    ['staff_conflict', 409, 409],
  ] as const)('gives %s status %d at an API and %d at the token endpoint', (code, status, atTokenEndpoint) => {
    const row = errorRow(code)
    expect(row.status).toBe(status)
    expect(row.statusAtTokenEndpoint ?? row.status).toBe(atTokenEndpoint)
  })

  it('puts the errors of a request with a token into the challenge, and those alone', () => {
    const challenged = Object.keys(errorTable).filter((code) => isErrorCode(code) && errorRow(code).challenge)
    expect(challenged.sort()).toEqual([
      'insufficient_scope',
      'invalid_dpop_proof',
      'invalid_token',
      'sign_in_required',
      'use_dpop_nonce',
    ])
  })

  it('holds codes as OAuth spells them, with an error status and a section', () => {
    for (const [code, row] of Object.entries(errorTable)) {
      expect(code).toMatch(/^[a-z]+(_[a-z]+)*$/)
      expect(row.status).toBeGreaterThanOrEqual(400)
      expect(row.section).toMatch(/^(?:Operations )?\d(\.\d{1,2})?$/)
    }
  })

  it('knows its codes from the members of every object', () => {
    expect(isErrorCode('invalid_token')).toBe(true)
    for (const value of ['', 'toString', '__proto__', 'constructor', 'INVALID_TOKEN'])
      expect(isErrorCode(value)).toBe(false)
  })
})

describe('an error of the protocol', () => {
  it('tells its code and what it was given to tell', () => {
    const error = new PoppyError('insufficient_scope', {
      description: 'More is needed.',
      scope: 'poppy:read addresses',
      extra: { issues: [] },
    })
    expect(error.body()).toEqual({
      error: 'insufficient_scope',
      error_description: 'More is needed.',
      scope: 'poppy:read addresses',
      issues: [],
    })
    expect(new PoppyError('extension_required', { extension: 'operations' }).body()).toEqual({
      error: 'extension_required',
      extension: 'operations',
    })
    expect(new PoppyError('slow_down').body()).toEqual({ error: 'slow_down' })
  })

  it('keeps its reason and its cause on this side', () => {
    const error = new PoppyError('invalid_grant', { reason: 'canary', cause: new Error('canary') })
    expect(JSON.stringify(error.body())).not.toMatch('canary')
    expect(error.message).toBe('invalid grant')
    expect(error.cause).toBeInstanceOf(Error)
    expect('cause' in new PoppyError('invalid_grant')).toBe(false)
  })

  it('is never another error because of a further member', () => {
    const error = new PoppyError('tool_failed', {
      description: 'No.',
      extra: { error: 'none', error_description: 'Yes.' },
    })
    expect(error.body()).toEqual({ error: 'tool_failed', error_description: 'No.' })
  })
})

describe('an error of a document', () => {
  it('tells its kind', () => {
    expect(new DocumentError('untrusted', 'x')).toMatchObject({
      kind: 'untrusted',
      message: 'x',
      name: 'DocumentError',
    })
  })
})
