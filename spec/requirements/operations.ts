import { section } from './section.ts'

/** The Operations extension, version 1: approve the terms, confirm them, and do it at most once. */
export const operations = section('ops', {
  built: {
    'version-agent': 'table: agent MUST list operations version 1 in its metadata document',
    'other-version-agent': 'table: agent MUST treat another version as the extension being absent',
    'envelope-agent': 'table: agent MUST also read a bare operation, and id and status for operation_id and state',
    'approve-revision-agent':
      'table: agent MUST show the User the summary and confirm exactly the revision that was approved',
    'standing-permission-agent':
      'table: agent MUST use a standing permission only if it covers Company, account, action and every term',
    'company-text-agent': "table: agent MUST NOT take the Company's words as the User's approval",
    'newest-copy-agent': 'table: agent MUST take the operation in an error answer as the current one',
    discovery: 'table: company MUST state version 1 and an HTTPS endpoint in extensions.operations',
    'other-version': 'table: company MUST treat another version as the extension being absent',
    'extension-required': 'table: company MUST answer extension_required for what it offers only as an operation',
    'extension-required-mcp': 'table: company MUST report extension_required inside MCP as a tool error',
    envelope: 'table: company MUST send an operation under the member operation',
    fields: 'table: company MUST state operation_id, revision, state and summary of an operation',
    read: 'table: company MUST answer a read with 200 and the operation',
    confirm:
      'table: company MUST take a confirmation of a revision and of who approved it, and answer 200 with the operation',
    'confirmation-recorded': 'table: company MUST record which revision was confirmed, on whose word and when',
    'sign-in-required':
      'table: company MUST answer sign_in_required to a signed-out token for an operation of an account',
    'operation-not-found':
      'table: company MUST answer 404 operation_not_found for an unknown operation or one of another owner',
    'other-agent': 'table: company MUST refuse the operation to another Personal Agent',
    'dpop-only': 'table: company MUST take DPoP Session Tokens only at the operations endpoint',
    'revision-immutable': 'table: company MUST NOT change a revision: other terms make a new one',
    'revision-counts': 'table: company MUST count revisions up from 1',
    'same-operation': 'table: company MUST return the existing operation rather than open a second for the same thing',
    'latest-revision': 'table: company MUST refuse a confirmation of any revision but the latest',
    'revision-conflict':
      'table: company MUST answer an old revision with 409 revision_conflict and the current operation',
    'at-most-once': 'table: company MUST perform an operation at most once, however often it is confirmed',
    'confirm-again': 'table: company MUST answer a repeated confirmation with 200 and the operation as it is',
    'no-longer-proposed':
      'table: company MUST do nothing and answer 200 for an operation that is expired, cancelled or final',
    'user-approval-required':
      'table: company MUST answer 403 user_approval_required to a standing permission where the User must approve',
    'insufficient-scope':
      'table: company MUST answer 403 insufficient_scope with the operation when scopes are missing',
    'invalid-request': 'table: company MUST answer 400 invalid_request for a malformed confirmation',
    'account-owns':
      'table: company MUST let each Session signed in to the account through the same Personal Agent read, confirm and cancel',
    'signed-out-owner': 'table: company MUST give an operation proposed signed out to its client_id and User ID',
    expires: 'table: company MUST let a proposed operation expire after expires_at',
    cancel: 'table: company MUST cancel a proposed operation on request and answer 200 with it',
    'cancel-final': 'table: company MUST return a final operation unchanged when it is cancelled',
    'after-confirm': 'table: company MUST carry on a confirmed operation through token expiry, sign-out and disconnect',
    'one-record':
      'table: company MUST perform an operation once when the website and the Personal Agent both confirm it',
    'company-page':
      'table: company MUST refuse a confirmation that belongs on its own page with company_confirmation_required and the URL',
    'company-page-only': 'table: company MUST let only its own page confirm such an operation',
    'cancel-certain': 'table: company MUST say cancelled only when that is certain',
    'unknown-outcome': 'table: company MUST keep an operation in_progress while its outcome is unknown',
    'failed-certain': 'table: company MUST say failed only when certainly nothing happened',
    'terms-complete': 'table: company MUST have each effect and cost in terms when it states them',
    'summary-complete': 'table: company MUST state the whole of the operation in plain words in its summary',
    'partial-effects':
      'table: company MUST end partial effects as succeeded with a truthful result, or leave them in_progress',
    'message-never-confirms': 'table: company MUST NOT take a message as a confirmation',
    'close-keeps': 'table: company MUST NOT cancel operations because their conversation closes',
  },
})
