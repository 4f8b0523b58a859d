import type { LockedTool, ToolOutcome, TurnTool } from '../company-agent/turn.ts'
import { inPlainSight, nameInWords } from '../operations/terms.ts'
import type { Wording } from '../words/wording.ts'
import type { Called } from './make-conversation.ts'
import type { Reader } from './parts.ts'
import { readable } from './readable.ts'
import { toolFields } from './tool-form.ts'
import type { ToolOutcomeView, ToolView } from './view.ts'

/** The company's tools and operations as forms, and what came of a call. What isn't allowed is there, and says what is missing. */

/** What a conversation offers at this moment. */
export interface Offered {
  readonly tools: readonly TurnTool[]
  readonly locked: readonly LockedTool[]
}

/** Makes the tools, those that may be called first. */
export function toolViews({ tools, locked }: Offered, { wording }: Pick<Reader, 'wording'>): readonly ToolView[] {
  const missingOf = ({ needs, scope }: LockedTool): string => {
    if (needs === 'extension') return wording.say('inbox.tool.needsExtension')
    return needs === 'sign_in' ? wording.say('inbox.tool.needsSignIn') : needsScope(scope, wording)
  }
  return [
    ...tools.map((tool) => toolView(tool, null, [])),
    ...locked.map((tool) => toolView(tool, missingOf(tool), tool.needs === 'extension' ? [] : scopesOf(tool.scope))),
  ]
}

/** What a tool is called where a person reads it. */
export const toolTitle = ({ title, name }: Pick<TurnTool, 'title' | 'name'>) => inPlainSight(title ?? nameInWords(name))

function toolView(tool: TurnTool, missing: string | null, asks: readonly string[]): ToolView {
  return {
    name: tool.name,
    title: toolTitle(tool),
    description: inPlainSight(tool.description),
    proposes: tool.proposes,
    missing,
    asks,
    fields: toolFields(tool.input),
  }
}

const needsScope = (scope: string, wording: Wording): string =>
  wording.say('inbox.tool.needsScope', {
    rights: scopesOf(scope)
      .map((one) => wording.scope(one).text)
      .join(', '),
  })

const scopesOf = (scope: string) => scope.split(' ').filter((one) => one !== '')

/**
 * A call under the rights of this moment: what a tool answered under one that was taken away while it ran isn't shown any more,
 * but what is missing (4.9).
 */
export function underRights(called: Called, { tools, locked }: Offered): Called {
  const { tool, outcome } = called
  // A proposal is in no answer: it stands in the conversation.
  if (!outcome.ok || 'operation' in outcome || tools.some(({ name }) => name === tool)) return called
  const { needs, scope } = locked.find(({ name }) => name === tool) ?? { needs: null, scope: '' }
  const missing = { sign_in: 'sign_in_required', scope: 'insufficient_scope', extension: 'extension_required' } as const
  const error = needs === null ? 'invalid_token' : missing[needs]
  return { ...called, outcome: { ok: false, error, description: '', scope } }
}

/** What came of a call, for whoever made it. */
export function outcomeView(
  { tool, title, outcome }: Called,
  { style, wording }: Pick<Reader, 'style' | 'wording'>,
): ToolOutcomeView {
  if (!outcome.ok)
    return {
      tool,
      title,
      isOk: false,
      isProposed: false,
      text: inPlainSight(refusedText(outcome, wording)),
      value: outcome.issues === undefined ? null : readable(outcome.issues, style),
    }
  // What was proposed stands in the conversation, as a message of its own.
  const isProposed = 'operation' in outcome
  return {
    tool,
    title,
    isOk: true,
    isProposed,
    text: null,
    value: isProposed || outcome.value === null ? null : readable(outcome.value, style),
  }
}

/** Why a call was refused, in the reader's words; what the company's own tool said stays as it is. */
function refusedText(
  { error, scope, issues, description }: Extract<ToolOutcome, { readonly ok: false }>,
  wording: Wording,
): string {
  switch (error) {
    case 'sign_in_required':
      return wording.say('inbox.outcome.needsSignIn')
    case 'insufficient_scope':
      return scope === undefined ? description : needsScope(scope, wording)
    case 'extension_required':
      return wording.say('inbox.tool.needsExtension')
    case 'invalid_token':
      return wording.say('inbox.why.blocked')
    case 'invalid_request':
      return issues === undefined ? description : wording.say('inbox.outcome.badInput')
    case 'tool_timeout':
      return wording.say('inbox.outcome.tooLong')
    case 'rate_limited':
    case 'temporarily_unavailable':
      return wording.say('inbox.outcome.notNow')
    default:
      return description
  }
}
