import { PoppyError } from '@poppyseed/protocol'
import { z } from 'zod'
import { agentNames } from '../agents/store.ts'
import { problemPage } from '../pages/failure.ts'
import { formLifetime } from '../sign-in/form-lifetime.ts'
import {
  type Account,
  accountOf,
  accountShown,
  isFromOurPage,
  openForm,
  type PersonPage,
  readFields,
  single,
  toSignIn,
} from '../sign-in/person.ts'
import type { Wording } from '../words/wording.ts'
import type { Problem } from '../words/words.ts'
import type { StoredOperation } from './agreement.ts'
import { cancel } from './cancelling.ts'
import { confirm, definitionOf } from './confirming.ts'
import { operationPage, othersPage } from './operation-page.tsx'
import { currentOperation, type OperationParts } from './parts.ts'
import { inPlainSight, termLines } from './terms.ts'
import { stateOf } from './view.ts'

/**
 * The company's own page for an operation: evidence of the person themselves, where the agent's word isn't enough. Bound to
 * operation and revision, and to the account that is signed in to the site. An extension of the Company's own.
 */

/** What the page needs. */
export interface OperationPageSettings extends PersonPage {
  readonly operations: OperationParts
  /** The page's own path. */
  readonly pathOf: (id: string) => string
}

const formSchema = z.object({
  issuer: z.string(),
  /** Another form than those of the sign-in pages: none passes for the other. */
  page: z.literal('operation'),
  account: z.string(),
  operation: z.string(),
  revision: z.number(),
  expiresAt: z.number(),
})

/** What is found for a person, or the page that says why nothing is. */
type Found = { readonly account: Account; readonly stored: StoredOperation } | Response

/** `GET`: what was proposed, or what became of it. */
export async function showOperation(request: Request, id: string, settings: OperationPageSettings): Promise<Response> {
  settings.requestLimits.countConsent(request)
  const found = await find(request, id, settings)
  if (found instanceof Response) return found
  return draw(settings.wordings.of(request), found, settings)
}

/** `POST`: confirms the revision that the person saw, or turns the operation down. */
export async function decideOperation(
  request: Request,
  id: string,
  settings: OperationPageSettings,
): Promise<Response> {
  const wording = settings.wordings.of(request)
  const refused = (status: number, problem: Problem) => refuse(wording, status, problem, id, settings)
  if (!isFromOurPage(request, settings.origin)) return refused(403, 'foreignForm')
  settings.requestLimits.countConsent(request)
  const fields = await readFields(request)
  const found = await find(request, id, settings)
  if (found instanceof Response) return found
  const { account, stored } = found
  const form = openForm(formSchema, fields, settings)
  const decision = single(fields, 'decision')
  if (form?.operation !== id || (decision !== 'confirm' && decision !== 'decline'))
    return refused(400, 'incompleteForm')
  if (form.account !== account.id) return refused(403, 'otherAccount')
  if (form.expiresAt <= settings.now()) return refused(400, 'oldPage')

  const parts = settings.operations
  const by = { channel: 'page', who: { account: account.id } } as const
  if (decision === 'decline') await cancel(parts, stored, by)
  else {
    try {
      await confirm(parts, stored, {
        ...by,
        revision: form.revision,
        approvedBy: 'page',
        // The person themselves has every right in their account that the action needs.
        scopes: definitionOf(parts, stored).scopes,
        check: () => {},
        signIn: async () => null,
      })
    } catch (error) {
      if (!(error instanceof PoppyError) || error.code !== 'revision_conflict') throw error
      const newest = await find(request, id, settings)
      return newest instanceof Response ? newest : draw(wording, newest, settings, 'changed')
    }
  }
  // A page that is loaded again asks again, and decides nothing.
  return new Response(null, {
    status: 303,
    headers: { location: settings.origin + settings.pathOf(id), 'cache-control': 'no-store' },
  })
}

async function find(request: Request, id: string, settings: OperationPageSettings): Promise<Found> {
  const wording = settings.wordings.of(request)
  const isId = /^[A-Za-z0-9_-]{1,64}$/.test(id)
  if (!isId) return nothingHere(wording)
  const account = await accountOf(request, settings)
  if (account === null) return toSignIn(settings, settings.pathOf(id))
  const stored = await currentOperation(settings.operations, id)
  // What was proposed signed out is no account's, and nobody's to confirm here.
  if (stored === null || stored.operation.account === null) return nothingHere(wording)
  if (stored.operation.account === account.id) return { account, stored }
  return othersPage(wording, {
    organization: settings.organization,
    ...accountShown(settings, account, settings.pathOf(id)),
  })
}

function nothingHere(wording: Wording): Response {
  return problemPage(wording, { status: 404, problem: 'noOperation', outcome: wording.say('outcome.unchanged') })
}

function refuse(wording: Wording, status: number, problem: Problem, id: string, settings: OperationPageSettings) {
  const path = /^[A-Za-z0-9_-]{1,64}$/.test(id) ? settings.pathOf(id) : '/'
  return problemPage(wording, { status, problem, outcome: wording.say('outcome.goBack', { path }) })
}

const notes = {
  in_progress: 'operation.inProgress',
  succeeded: 'operation.succeeded',
  failed: 'operation.failed',
  cancelled: 'operation.cancelled',
  expired: 'operation.expired',
} as const

async function draw(
  wording: Wording,
  { account, stored }: Exclude<Found, Response>,
  settings: OperationPageSettings,
  why?: 'changed',
): Promise<Response> {
  const { operation, revision } = stored
  const now = settings.now()
  const state = stateOf(operation, now)
  const names = await agentNames(await settings.operations.scope(), [operation.client_id])
  const { host } = new URL(operation.client_id)
  const isOpen = state === 'proposed'
  const reason = isOpen ? undefined : reasonOf(operation.result)
  const note = isOpen ? (why === undefined ? undefined : wording.say('operation.changed')) : wording.say(notes[state])
  return operationPage(wording, {
    status: why === undefined ? 200 : 409,
    organization: settings.organization,
    agentName: names.get(operation.client_id) ?? host,
    agentHost: host,
    ...accountShown(settings, account, settings.pathOf(operation.id)),
    summary: inPlainSight(revision.summary),
    terms:
      revision.terms === null
        ? []
        : termLines(JSON.parse(revision.terms) as Record<string, unknown>, {
            locale: wording.locale,
            yes: wording.say('operation.yes'),
            no: wording.say('operation.no'),
          }),
    ...(isOpen
      ? {
          open: {
            left: (revision.expires_at ?? now + formLifetime) - now,
            form: settings.forms.seal({
              issuer: settings.issuer,
              page: 'operation',
              account: account.id,
              operation: operation.id,
              revision: operation.revision,
              expiresAt: now + formLifetime,
            } satisfies z.infer<typeof formSchema>),
            action: settings.pathOf(operation.id),
          },
        }
      : {}),
    ...(note === undefined ? {} : { note }),
    ...(reason === undefined ? {} : { reason: inPlainSight(reason) }),
  })
}

/** The company's sentence on what came of it, where it is one. */
function reasonOf(result: string | null): string | undefined {
  const parsed: unknown = result === null ? null : JSON.parse(result)
  if (typeof parsed !== 'object' || parsed === null || !('reason' in parsed)) return undefined
  return typeof parsed.reason === 'string' ? parsed.reason : undefined
}
