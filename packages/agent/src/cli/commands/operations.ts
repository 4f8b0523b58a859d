import { AgentError } from '../../errors.ts'
import type { AgentUser } from '../../index.ts'
import type { ApprovalRequest, ConfirmOptions } from '../../operations/approval.ts'
import type { Operation } from '../../operations/operation.ts'
import type { KnownOperation } from '../../operations/records.ts'
import type { Session } from '../../session.ts'
import { type CommandContext, openAgent, withAgent } from '../command.ts'
import { nextFor, showOperation, showResult, stateWords } from '../operation-lines.ts'
import { clean, shellWord, table } from '../terminal.ts'

/** `poppy operations`: what Companies proposed, and confirming it. */

/** The options of `poppy operations`. */
export interface OperationsOptions {
  readonly at?: string
  readonly account?: string
  readonly yes?: boolean
  readonly revision?: string
  readonly seconds?: string
}

const actions = ['list', 'show', 'confirm', 'cancel', 'wait'] as const

/** How long `confirm` follows it, and `wait` where nothing else is said, in seconds. */
const [afterConfirming, waiting] = [20, 600]

/**
 * `poppy operations list|show|confirm|cancel|wait`.
 * @param found told of the Company's address, for hints
 * @returns the exit code's reason: whether it ended well, didn't, or goes on
 */
export async function operations(
  context: CommandContext,
  action: string | undefined,
  id: string | undefined,
  options: OperationsOptions,
  found: (address: string) => void,
): Promise<'done' | 'failed' | 'later'> {
  const chosen = actions.find((one) => one === (action ?? 'list'))
  if (!chosen) throw new AgentError('invalid_input', `poppy operations takes ${actions.join(', ')}.`)
  if (chosen === 'list') return list(context)
  if (id === undefined) throw new AgentError('invalid_input', `Say which one: poppy operations ${chosen} <id>.`)
  return withAgent(context, async ({ user }) => {
    const { session, address } = await sessionFor(user, id, options)
    found(address)
    switch (chosen) {
      case 'show':
        return told(context, await session.operations.read(id), 'done')
      case 'cancel':
        return told(context, await session.operations.cancel(id), 'done')
      case 'wait':
        return told(context, await session.operations.wait(id, { seconds: secondsIn(options) }))
      case 'confirm':
        return confirm(context, session, id, options)
    }
  })
}

async function list(context: CommandContext): Promise<'done'> {
  const { output } = context
  const { user } = await openAgent(context)
  const known = await user.operations()
  output.value(known)
  if (known.length === 0) {
    output.line('Nothing was proposed yet.')
    return 'done'
  }
  const rows = known.map((one) => [
    clean(one.id, 60),
    clean(one.company.name, 40),
    one.isUnknown ? 'not known there' : one.state.replace('_', ' '),
    clean(one.summary, 70),
  ])
  for (const row of table(rows)) output.line(row)
  output.line()
  output.line('Next: poppy operations show <id>')
  return 'done'
}

/** The Session of the account that an operation belongs to, as it was proposed, or where the person says. */
async function sessionFor(
  user: AgentUser,
  id: string,
  { at, account }: OperationsOptions,
): Promise<{ readonly session: Session; readonly address: string }> {
  const fits = (one: KnownOperation) =>
    one.id === id &&
    (at === undefined || one.address === at || one.company.domain === at) &&
    (account === undefined || one.account === account)
  const known = (await user.operations()).filter(fits)
  const [first] = known
  if (new Set(known.map((one) => `${one.address} ${one.account}`)).size > 1) {
    throw new AgentError('invalid_input', 'Several Companies or accounts have one of this id: add --at and --account.')
  }
  const address = at ?? first?.address
  if (address === undefined) {
    throw new AgentError('invalid_input', 'No operation of this id is known here. Say where it is: add --at <domain>.')
  }
  const company = await user.company(address)
  const session = company.session({
    ...(first ? { name: first.session } : {}),
    account: first?.account ?? account ?? 'default',
  })
  return { session, address }
}

function secondsIn({ seconds }: OperationsOptions): number {
  if (seconds === undefined) return waiting
  if (/^\d{1,6}$/.test(seconds)) return Number(seconds)
  throw new AgentError('invalid_input', '--seconds takes a whole number.')
}

function told({ output, around }: CommandContext, operation: Operation, as?: 'done'): 'done' | 'failed' | 'later' {
  output.value(operation)
  showOperation(output, operation, around.columns)
  const next = nextFor(operation)
  if (next !== undefined) {
    output.line()
    output.line(next)
  }
  if (as !== undefined || operation.state === 'succeeded') return 'done'
  return operation.isFinal ? 'failed' : 'later'
}

async function confirm(
  context: CommandContext,
  session: Session,
  id: string,
  options: OperationsOptions,
): Promise<'done' | 'failed' | 'later'> {
  const { output, around } = context
  const result = await session.operations.confirm(id, {
    approve: options.yes ? byFlag(context, options) : byHand(context),
    openPage: (url) => {
      output.value({ open: url })
      output.line('This is confirmed on the Company’s own page. Open it in your browser:')
      output.line()
      output.line(`  ${clean(url, 8000)}`)
      output.line()
      output.note(output.dim('Waiting for you to finish there. It ends by itself after 15 minutes.'))
    },
  })
  if (result.outcome === 'declined') {
    output.value({ outcome: result.outcome, operation: result.operation })
    output.line('Not confirmed. Nothing was done.')
    return 'failed'
  }
  const { operation } = result
  const last =
    operation.state === 'in_progress' ? await session.operations.wait(id, { seconds: afterConfirming }) : operation
  output.value({ outcome: result.outcome, operation: last })
  output.line(
    result.outcome === 'confirmed'
      ? `Confirmed at ${output.bold(clean(last.company.name))}, revision ${last.confirmation?.revision ?? last.revision}. State: ${stateWords[last.state]}.`
      : `Not confirmed. State: ${stateWords[last.state]}.`,
  )
  showResult(output, last, around.columns)
  if (last.objection !== undefined) output.line(`${output.bold('Beware:')} ${clean(last.objection, 400)}`)
  const next = nextFor(last)
  if (next !== undefined) output.line(next)
  if (result.outcome === 'confirmed' && last.state === 'succeeded' && last.objection === undefined) return 'done'
  return last.isFinal ? 'failed' : 'later'
}

type Approve = NonNullable<ConfirmOptions['approve']>

/** A yes that was given with the command holds for what was known then, and not for terms that are new. */
function byFlag({ output, around }: CommandContext, { revision }: OperationsOptions): Approve {
  return async ({ operation, reason }) => {
    showOperation(output, operation, around.columns)
    output.line()
    const isMeant = revision === undefined ? reason !== 'changed' : revision === String(operation.revision)
    if (!isMeant) output.line('These terms are not the ones that --yes was said to. Look at them and try again.')
    return { approved: isMeant }
  }
}

/** Asks whoever sits at the terminal. */
function byHand(context: CommandContext): Approve {
  const { output, around } = context
  return async (request) => {
    if (!around.hasPerson || output.json || !around.prompt) {
      throw new AgentError(
        'approval_required',
        'There is nobody at a terminal who could approve this. Look at it and add --yes, with --revision for just that one.',
        { operation: request.operation },
      )
    }
    showWhy(output, request)
    showOperation(output, request.operation, around.columns)
    output.line()
    const prompt = around.prompt()
    try {
      const answer = await prompt.ask(`Confirm this at ${clean(request.operation.company.name, 80)}? [y/N]`, {
        secret: false,
      })
      return { approved: /^y(?:es)?$/i.test(answer?.trim() ?? '') }
    } finally {
      prompt.close()
    }
  }
}

function showWhy(output: CommandContext['output'], { reason, previous }: ApprovalRequest): void {
  if (reason === 'changed') {
    output.line(
      `${output.bold('The terms have changed.')}${previous ? ` You were asked about revision ${previous.revision}.` : ''}`,
    )
  }
}

/** What `poppy call` says of something that was proposed instead of being done. */
export function proposal({ output, around }: CommandContext, operation: Operation): void {
  output.line('Proposed, and not done yet:')
  output.line()
  showOperation(output, operation, around.columns)
  output.line()
  output.line(`Next: poppy operations confirm ${shellWord(operation.id)}`)
}
