import type { WireOperation } from '@poppyseed/protocol'
import type { JsonSchema } from '../tools/schema.ts'
import type { StoredOperation } from './agreement.ts'
import { stateOf } from './view.ts'

/** An operation as it travels, and as documents describe it (Operations 3). */

/**
 * Writes an operation for the wire.
 * @param context.now milliseconds since 1970
 * @param context.pageOf the address of the company's own page for an operation
 */
export function toWire(
  stored: StoredOperation,
  { now, pageOf }: { readonly now: number; readonly pageOf: (id: string) => string },
): WireOperation {
  const { operation, revision } = stored
  const state = stateOf(operation, now)
  const { confirmed_revision, approved_by, confirmed_at } = operation
  return {
    operation_id: operation.id,
    revision: operation.revision,
    state,
    summary: revision.summary,
    ...(revision.terms === null ? {} : { terms: JSON.parse(revision.terms) as Record<string, unknown> }),
    ...(revision.expires_at === null ? {} : { expires_at: timeOf(revision.expires_at) }),
    user_approval_required: revision.approval !== 'standing_permission',
    ...(confirmed_revision === null || approved_by === null || confirmed_at === null
      ? {}
      : {
          confirmation: {
            revision: confirmed_revision,
            // On the company's page it is the User as well who approved this revision.
            approved_by: approved_by === 'page' ? 'user' : approved_by,
            confirmed_at: timeOf(confirmed_at),
          },
        }),
    ...(operation.result === null ? {} : { result: JSON.parse(operation.result) as unknown }),
    ...(revision.approval === 'page' && state === 'proposed' ? { confirmation_url: pageOf(operation.id) } : {}),
    created_at: timeOf(operation.created_at),
    updated_at: timeOf(operation.updated_at),
  }
}

const timeOf = (milliseconds: number): string => new Date(milliseconds).toISOString()

const time: JsonSchema = { type: 'string', format: 'date-time' }

/** What a call of an operation answers with, as JSON Schema for documents. */
export const operationAnswerSchema: JsonSchema = {
  type: 'object',
  required: ['operation'],
  properties: {
    operation: {
      type: 'object',
      required: ['operation_id', 'revision', 'state', 'summary'],
      properties: {
        operation_id: { type: 'string', description: 'Its id, the same whatever becomes of it.' },
        revision: { type: 'integer', minimum: 1, description: 'Counts the terms: other terms are another revision.' },
        state: {
          type: 'string',
          enum: ['proposed', 'in_progress', 'succeeded', 'failed', 'cancelled', 'expired'],
          description:
            'proposed: nothing is changed before it is confirmed. in_progress: confirmed, and the outcome not known yet. failed: certainly nothing happened.',
        },
        summary: { type: 'string', description: 'All of it in plain words, to be shown to the User.' },
        terms: { type: 'object', description: 'The same as data, with every effect and cost.' },
        expires_at: { ...time, description: 'Until when it can be confirmed.' },
        user_approval_required: {
          type: 'boolean',
          description: 'Whether the User has to approve this revision: a standing permission is not enough.',
        },
        confirmation: {
          type: 'object',
          required: ['revision', 'approved_by', 'confirmed_at'],
          properties: { revision: { type: 'integer' }, approved_by: { type: 'string' }, confirmed_at: time },
          description: 'Which revision was confirmed, on whose word, and when.',
        },
        result: { description: 'What came of it.' },
        confirmation_url: { type: 'string', description: 'The page on which alone the User can confirm it.' },
        created_at: time,
        updated_at: time,
      },
    },
  },
}
