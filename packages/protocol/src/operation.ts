import { z } from 'zod'

/**
 * The Operations extension, version 1: something with consequences is proposed, confirmed for exactly its terms, and done
 * at most once. Objects as they travel, the same for both sides.
 */

/** Where an operation stands. `in_progress` also while its outcome isn't known. */
export const operationStates = ['proposed', 'in_progress', 'succeeded', 'failed', 'cancelled', 'expired'] as const

/** A state of {@link operationStates}. */
export type OperationState = (typeof operationStates)[number]

/** Whether nothing will change any more. */
export function isFinalState(state: OperationState): boolean {
  return state !== 'proposed' && state !== 'in_progress'
}

/** On whose word a revision was confirmed: the User approved this revision, or a rule of theirs covers it. */
export const approvals = ['user', 'standing_permission'] as const

/** A word of {@link approvals}. */
export type Approval = (typeof approvals)[number]

const id = z.string().regex(/^[A-Za-z0-9_-]{1,256}$/)
const revision = z.int().min(1).max(1_000_000)
const time = z.iso.datetime({ offset: true }).max(64)

/** What was confirmed, on whose word and when. */
export const confirmationSchema = z.object({ revision, approved_by: z.string().min(1).max(64), confirmed_at: time })

/** An operation. Unknown members are ignored. */
export const operationSchema = z.object({
  operation_id: id,
  revision,
  state: z.enum(operationStates),
  /** Plain words for the User: all of it. */
  summary: z.string().min(1).max(4000),
  /** The same as data, with every effect and cost. The keys are the Company's. */
  terms: z.record(z.string().max(200), z.unknown()).optional(),
  expires_at: time.optional(),
  user_approval_required: z.boolean().optional(),
  confirmation: confirmationSchema.optional(),
  result: z.unknown().optional(),
  /** The Company's own page on which alone it can be confirmed. */
  confirmation_url: z.string().max(2000).optional(),
  created_at: time.optional(),
  updated_at: time.optional(),
})

/** An operation, as it travels. */
export type WireOperation = z.infer<typeof operationSchema>

/**
 * Reads an operation from the body of an answer: under `operation`, or bare, also with `id` and `status` for
 * `operation_id` and `state`. Null where there is none, or none that can be understood.
 */
export function readOperation(body: unknown): WireOperation | null {
  if (!isObject(body)) return null
  const found = isObject(body.operation) ? body.operation : body
  const parsed = operationSchema.safeParse({
    ...found,
    operation_id: found.operation_id ?? found.id,
    state: found.state ?? found.status,
  })
  return parsed.success ? parsed.data : null
}

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/** The body of a confirmation. */
export const confirmRequestSchema = z.object({ revision, approved_by: z.enum(approvals) })

/** The body of a confirmation, as it travels. */
export type ConfirmRequest = z.infer<typeof confirmRequestSchema>
