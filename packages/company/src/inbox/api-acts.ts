import { errorRow, isErrorCode, PoppyError } from '@poppyseed/protocol'
import type { ToolOutcome } from '../company-agent/turn.ts'
import type { ConversationRecord } from '../conversations/staff-view.ts'
import { failed, succeeded } from '../operations/outcome.ts'
import type { ApiAsked } from './api-asked.ts'
import {
  type ApiCall,
  type ApiOperation,
  apiOperation,
  conversationsOf,
  operationsOf,
  webhooksOf,
} from './api-operation.ts'
import { accountToWire, colleaguesOf } from './api-reads.ts'
import { calledToWire, conversationToWire, operationToWire } from './api-writing.ts'
import type { InboxParts } from './parts.ts'

/**
 * What is done by the JSON API of the inbox: by the company's own functions, which look at holder, state and rights. Here it is
 * handed on, and nothing more.
 */

/** An act that leaves the conversation as it is then. */
function act<Asked extends ApiAsked>(
  name: string,
  summary: string,
  asked: Asked,
  run: (
    call: ApiCall<Asked> & { readonly conversations: NonNullable<InboxParts['conversations']> },
  ) => Promise<ConversationRecord>,
): ApiOperation {
  return apiOperation({
    name,
    summary,
    needs: 'conversations',
    asked,
    answer: 'ConversationChanged',
    takesKey: true,
    async run(call) {
      const conversation = await run({ ...call, conversations: conversationsOf(call.parts) })
      return { conversation: await conversationToWire(call.parts, conversation) }
    },
  })
}

export const apiActs = {
  'POST /present': apiOperation({
    name: 'present',
    summary: 'A sign of life',
    description:
      'Whoever gives none for two minutes is gone: what they have goes back to the queue. Every act is one too.',
    needs: 'conversations',
    asked: 'Nothing',
    answer: 'Done',
    async run({ parts, staff }) {
      await conversationsOf(parts).present(staff)
      return { staff }
    },
  }),

  'POST /leave': apiOperation({
    name: 'leave',
    summary: 'Goes: what you have goes back to the queue at once',
    needs: 'conversations',
    asked: 'Nothing',
    answer: 'Done',
    takesKey: true,
    async run({ parts, staff, options }) {
      await conversationsOf(parts).withdraw(staff, options)
      return { staff }
    },
  }),

  'POST /take-next': apiOperation({
    name: 'takeNext',
    summary: 'Takes the conversation that waits longest',
    needs: 'conversations',
    asked: 'Nothing',
    answer: 'ConversationTaken',
    takesKey: true,
    async run({ parts, staff, options }) {
      const taken = await conversationsOf(parts).takeNext(staff, options)
      return { conversation: taken === null ? null : await conversationToWire(parts, taken) }
    },
  }),

  'POST /conversations/*/take': act(
    'take',
    'Takes a conversation, out of the queue or from the Company Agent',
    'Nothing',
    ({ conversations, id, staff, options }) => conversations.take(id, staff, options),
  ),

  'POST /conversations/*/release': act(
    'release',
    'Puts it back into the queue',
    'Nothing',
    ({ conversations, id, staff, options }) => conversations.release(id, staff, options),
  ),

  'POST /conversations/*/give': act(
    'give',
    'Gives it to a colleague who is here',
    'Give',
    async ({ parts, conversations, id, staff, asked: { to }, options }) => {
      const colleague = (await colleaguesOf(parts)).find((one) => one.id === to && one.id !== staff.id)
      if (colleague === undefined)
        throw new PoppyError('staff_conflict', {
          description: 'There is no such colleague here.',
          extra: { because: 'not_here' },
        })
      return conversations.give(id, staff, colleague, options)
    },
  ),

  'POST /conversations/*/reply': act(
    'reply',
    'Answers, as a person',
    'Reply',
    ({ conversations, id, staff, asked: { text, data }, options }) =>
      conversations.reply(
        id,
        staff,
        { ...(text === undefined ? {} : { text }), ...(data === undefined ? {} : { data }) },
        options,
      ),
  ),

  'POST /conversations/*/note': act(
    'note',
    'Writes a note that never leaves the company',
    'WriteNote',
    ({ conversations, id, staff, asked: { text }, options }) => conversations.note(id, staff, text, options),
  ),

  'POST /conversations/*/hand-back': act(
    'handBack',
    'Hands it back to the Company Agent, which answers what is still unanswered',
    'HandBack',
    ({ conversations, id, staff, asked: { note, text }, options }) =>
      conversations.handBack(
        id,
        staff,
        { ...(note === undefined ? {} : { note }), ...(text === undefined ? {} : { text }) },
        options,
      ),
  ),

  'POST /conversations/*/ask-for-user': act(
    'askForUser',
    'Asks to talk with the User themselves (7.10)',
    'AskForUser',
    ({ conversations, id, staff, asked: { reason }, options }) => conversations.askForUser(id, staff, reason, options),
  ),

  'POST /conversations/*/ask-for-sign-in': act(
    'askForSignIn',
    'Asks for a sign-in, or for more scope (7.11)',
    'AskForSignIn',
    ({ parts, conversations, id, staff, asked: { scope = '', text }, options }) => {
      const scopes = scope.split(' ').filter((one) => one !== '')
      if (!scopes.every((one) => parts.grantableScopes.includes(one)))
        throw new PoppyError('invalid_request', { description: 'No sign-in can grant one of these scopes.' })
      return conversations.askForSignIn(
        id,
        staff,
        { ...(scopes.length === 0 ? {} : { scope: scopes.join(' ') }), ...(text === undefined ? {} : { text }) },
        options,
      )
    },
  ),

  'POST /conversations/*/open-account': apiOperation({
    name: 'openAccount',
    summary: 'Opens the account of the customer, on purpose: from then on the conversation belongs to it (7.2)',
    description:
      '`sign_in_required` with status 403 where the customer is signed out. It stays open until you close it, lose the conversation, or the sign-in or its rights are others.',
    needs: 'conversations',
    asked: 'Nothing',
    answer: 'Account',
    takesKey: true,
    async run({ parts, request, me, staff, id, options }) {
      await conversationsOf(parts).openAccount(id, staff, options)
      return accountToWire(parts, request, me, id)
    },
  }),

  'POST /conversations/*/close-account': act(
    'closeAccount',
    'Closes the account again',
    'Nothing',
    ({ conversations, id, staff, options }) => conversations.closeAccount(id, staff, options),
  ),

  'POST /conversations/*/call-tool': apiOperation({
    name: 'callTool',
    summary: 'Runs a tool, or proposes an operation, with the rights that the conversation has at this moment',
    description: 'Nobody at the company can confirm an operation. What a tool refuses is an error with its code.',
    needs: 'conversations',
    asked: 'CallTool',
    answer: 'Called',
    takesKey: true,
    run: async ({ parts, id, staff, asked: { tool, input }, options }) =>
      called(await conversationsOf(parts).callTool(id, staff, tool, input, options)),
  }),

  'POST /conversations/*/revise': apiOperation({
    name: 'reviseOperation',
    summary: 'Gives a proposal other terms, with the rights that the conversation has at this moment',
    needs: 'conversations',
    asked: 'Revise',
    answer: 'Called',
    takesKey: true,
    run: async ({ parts, id, staff, asked: { operation_id: operation, revision, input }, options }) =>
      called(await conversationsOf(parts).reviseOperation(id, staff, { operation, revision, input }, options)),
  }),

  'POST /conversations/*/close': act(
    'close',
    'Closes it (7.12)',
    'Close',
    ({ conversations, id, staff, asked: { reason }, options }) => conversations.close(id, staff, reason, options),
  ),

  'POST /operations/*/settle': apiOperation({
    name: 'settleOperation',
    summary: 'Writes what came of an operation whose outcome nobody knows',
    needs: 'operations',
    asked: 'Settle',
    answer: 'OperationChanged',
    takesKey: true,
    async run({ parts, id, staff, asked, options }) {
      const outcome = asked.outcome === 'failed' ? failed(asked.reason) : succeeded(asked.result ?? null)
      const settled = await operationsOf(parts).settle(id, outcome, { by: staff, why: asked.why }, options)
      return { operation: operationToWire(settled) }
    },
  }),

  'POST /deliveries/*/send-again': apiOperation({
    name: 'sendDeliveryAgain',
    summary: 'Sends a delivery again that was given up: at once, with the same `webhook-id`, signed anew',
    needs: 'webhooks',
    asked: 'Nothing',
    answer: 'SentAgain',
    takesKey: true,
    run: ({ parts, id, staff, options }) => webhooksOf(parts).sendAgain({ delivery: id }, { by: staff }, options),
  }),

  'POST /deliveries/send-all-again': apiOperation({
    name: 'sendDeliveriesAgain',
    summary: 'The same for all that were given up since a time; 10,000 at most, then call it again until it is 0',
    needs: 'webhooks',
    asked: 'SendAllAgain',
    answer: 'SentAgain',
    takesKey: true,
    run: ({ parts, staff, asked: { since }, options }) =>
      webhooksOf(parts).sendAgain({ since: Math.max(0, Date.parse(since)) }, { by: staff }, options),
  }),
} as const

/** What was refused is an error here like all others: with its code, and the status that goes with it. */
function called(outcome: ToolOutcome) {
  if (outcome.ok) return calledToWire(outcome)
  const { error, description, scope, issues } = outcome
  throw new PoppyError(isErrorCode(error) && errorRow(error).status < 500 ? error : 'tool_failed', {
    description,
    ...(scope === undefined ? {} : { scope }),
    ...(issues === undefined ? {} : { extra: { issues } }),
  })
}
