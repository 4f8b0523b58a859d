import type { ConfirmOptions } from '@poppyseed/agent'
import { type AiToolResult, aiTools } from '@poppyseed/agent/ai'
import { describe, expect, it } from 'vitest'
import { proposedTable } from './setup/proposals.ts'

// A model works with a Company that proposes: it sees what is proposed, and only the owner confirms.

async function booking(faults: Parameters<typeof proposedTable>[0] = {}) {
  const table = await proposedTable(faults)
  const errors: unknown[] = []
  const book = async (operations?: Omit<ConfirmOptions, 'signal'>, abortSignal?: AbortSignal) => {
    const tools = await aiTools(table.here, {
      onError: (error) => errors.push(error),
      ...(operations ? { operations } : {}),
    })
    const tool = tools.localhost__book_table
    if (!tool?.execute) throw new Error('no such tool')
    const options = { toolCallId: 'call', messages: [], context: {}, ...(abortSignal ? { abortSignal } : {}) }
    return { tools, result: (await tool.execute({}, options as never)) as AiToolResult }
  }
  const last = () => table.company.operations.at(-1)
  return { ...table, book, last, errors }
}

describe('what a Company proposes to a model', () => {
  it('is data: no tool confirms it, and it is told that only the owner can [ops.company-text-agent]', async () => {
    const { book, last } = await booking()
    const { tools, result } = await book()
    expect(result).toMatchObject({
      ok: true,
      data: { operation: { id: last()?.id, revision: 1, state: 'proposed', summary: 'A table for two.' } },
      operation: expect.stringContaining('Only the owner can confirm'),
    })
    expect(Object.keys(tools).filter((name) => /confirm|approve/i.test(name))).toEqual([])
    expect(last()?.confirms).toBe(0)
  })

  it('is taken to the owner, and the model learns how it ended', async () => {
    const { book, last, yes, no, asked } = await booking()
    const done = (await book({ approve: yes })).result
    expect(done).toMatchObject({
      ok: true,
      data: { operation: { state: 'succeeded' } },
      operation: expect.stringContaining('done'),
    })
    expect([asked.length, last()?.confirmed?.approvedBy]).toEqual([1, 'user'])
    const declined = (await book({ approve: no })).result
    expect(declined).toMatchObject({ ok: true, operation: expect.stringContaining('said no') })
    expect(last()?.confirms).toBe(0)
  })

  it('and isn’t known to have ended: it isn’t told to try again', async () => {
    const { book, yes, errors, company } = await booking({ operationEnd: 'never' })
    const going = (await book({ approve: yes })).result
    expect(going).toMatchObject({ ok: true, operation: expect.stringContaining('Do not do it again') })
    const approve: typeof yes = async (request) => {
      company.next(100, { gateway: 'empty_503' }, 'operations')
      return yes(request)
    }
    const lost = (await book({ approve })).result
    expect(lost).toMatchObject({ ok: false, error: 'company_error', action: 'ask_owner' })
    expect(lost).not.toHaveProperty('ask')
    expect(errors).toHaveLength(1)
  })

  it('and does otherwise: it is told, and an address for the owner is none of its business', async () => {
    const otherwise = await booking({ operationConfirm: 'other_terms' })
    expect((await otherwise.book({ approve: otherwise.yes })).result).toMatchObject({
      ok: false,
      error: 'confirmed_otherwise',
      action: 'ask_owner',
      message: expect.stringContaining('says other things'),
    })
    const page = await booking({ operationPage: 'told' })
    const { result } = await page.book({ approve: page.yes })
    expect(result).toMatchObject({ ok: false, error: 'company_confirmation_required', action: 'ask_owner' })
    expect(JSON.stringify(result)).not.toContain('operations-page')
    expect(page.errors[0]).toMatchObject({ confirmationUrl: expect.stringContaining('/operations-page/') })
  })
})
