import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createMisbehavingCompany } from '@poppyseed/conformance'
import { describe, expect, it, onTestFinished } from 'vitest'
import { runPoppy } from '../packages/agent/src/cli/poppy.ts'
import { freePort } from './setup/free-port.ts'
import { openAddress, using } from './setup/hostile-company.ts'

// `poppy operations`, as a person types it: what was proposed is listed, shown, confirmed on a yes, cancelled and followed.

/** A person at a terminal, signed in for booking at a Company that misbehaves where it is told to. */
async function sitDown({ answers = [] as string[], hasPerson = true } = {}) {
  const folder = mkdtempSync(join(tmpdir(), 'poppyseed-operations-'))
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
  const port = await freePort()
  const company = await createMisbehavingCompany({})
  onTestFinished(company.close)
  const asked: string[] = []
  let out = ''
  let err = ''
  let onOutput = (_text: string) => {}
  const poppy = async (...args: readonly string[]) => {
    out = ''
    err = ''
    const code = await runPoppy(args, {
      stdout: (text) => {
        out += text
        onOutput(text)
      },
      stderr: (text) => {
        err += text
      },
      isTerminal: false,
      hasPerson,
      env: { POPPY_HOME: join(folder, 'home') },
      now: Date.now,
      wait: async () => {},
      prompt: () => ({
        ask: async (label) => {
          asked.push(label)
          return answers.shift()
        },
        close: () => {},
      }),
    })
    return { code, out, err }
  }
  await poppy('init', '--local', String(port))
  onOutput = (text) => {
    const [url] = /http:\S+\/authorize\?\S+/.exec(text) ?? []
    if (url !== undefined) void openAddress(url).then((callback) => fetch(callback))
  }
  expect((await poppy('sign-in', company.origin, '--scope', 'poppy:write')).code).toBe(0)
  const { origin } = company
  const call = () => poppy('call', origin, 'book_table')
  return { poppy, company, origin, call, asked, id: () => company.operations.at(-1)?.id ?? '' }
}

describe('poppy operations', () => {
  it('shows what call was answered with, lists it, asks, confirms on a yes, and says what came of it', async () => {
    const { poppy, call, id, asked, company } = await sitDown({ answers: ['y'] })
    const proposed = await call()
    expect([proposed.code, proposed.err]).toEqual([0, ''])
    expect(proposed.out).toContain('Proposed, and not done yet:')
    expect(proposed.out).toMatch(
      /Terms +table: by the window\n +date: 2027-03-05\n +guests: 2\n +fee\.amount: 10\.00\n +fee\.currency: EUR\n/,
    )
    expect(proposed.out).toContain(`Next: poppy operations confirm ${id()}`)
    const list = await poppy('operations')
    expect(list.out).toMatch(new RegExp(`^${id()} +Misbehaving Company +proposed +A table for two\\.\n`))
    const shown = await poppy('operations', 'show', id())
    expect([shown.code, shown.out]).toEqual([0, expect.stringContaining('State      proposed')])
    const confirmed = await poppy('operations', 'confirm', id())
    expect(asked).toEqual(['Confirm this at Misbehaving Company? [y/N]'])
    expect([confirmed.code, confirmed.err]).toEqual([0, ''])
    expect(confirmed.out).toContain('A table for two.')
    expect(confirmed.out).toContain('Confirmed at Misbehaving Company, revision 1. State: done.')
    expect(company.operations[0]).toMatchObject({ performed: 1, confirms: 1, confirmed: { approvedBy: 'user' } })
    const waited = await poppy('operations', 'wait', id())
    expect([waited.code, waited.out]).toEqual([0, expect.stringContaining('done: true')])
  })

  it('confirms nothing without a yes, and nothing where nobody sits there', async () => {
    const { poppy, call, id, company } = await sitDown({ answers: ['', 'n', 'yes please', 'approve'] })
    await call()
    for (let turn = 0; turn < 5; turn++) {
      const { code, out } = await poppy('operations', 'confirm', id())
      expect([code, out]).toEqual([1, expect.stringContaining('Not confirmed. Nothing was done.')])
    }
    const away = await sitDown({ hasPerson: false, answers: ['y'] })
    await away.call()
    for (const flags of [[], ['--json']]) {
      const { code, out, err } = await away.poppy('operations', 'confirm', away.id(), ...flags)
      expect([code, `${out}${err}`]).toEqual([3, expect.stringContaining('add --yes')])
    }
    expect([company.operations[0]?.confirms, away.company.operations[0]?.confirms, away.asked]).toEqual([0, 0, []])
  })

  it('takes --yes for what was shown, and not for terms that are new since', async () => {
    const { poppy, call, id, company, asked } = await sitDown({ hasPerson: false })
    await call()
    expect((await poppy('operations', 'confirm', id(), '--yes')).code).toBe(0)
    await call()
    company.revise(id(), { fee: { amount: '99.00', currency: 'EUR' } })
    const changed = await poppy('operations', 'confirm', id(), '--yes')
    expect([changed.code, changed.out]).toEqual([1, expect.stringContaining('not the ones that --yes was said to')])
    expect((await poppy('operations', 'confirm', id(), '--yes', '--revision', '1')).code).toBe(1)
    expect(company.operations[1]?.confirms).toBe(0)
    const json = await poppy('operations', 'confirm', id(), '--yes', '--revision', '2', '--json')
    expect(json.code).toBe(0)
    const value = JSON.parse(json.out) as { outcome: string; operation: { state: string; revision: number } }
    expect(value).toMatchObject({ outcome: 'confirmed', operation: { state: 'succeeded', revision: 2 } })
    expect(asked).toEqual([])
  })

  it('says it when the terms changed while the person looked, and asks again', async () => {
    const answers = ['y', 'y']
    const { poppy, call, id, company, asked } = await sitDown({ answers })
    await call()
    const { shift } = answers
    answers.shift = () => {
      if (answers.length === 2) company.revise(id(), { fee: { amount: '5.00', currency: 'EUR' } })
      return shift.call(answers)
    }
    const { code, out } = await poppy('operations', 'confirm', id())
    expect([code, asked.length]).toEqual([0, 2])
    expect(out).toContain('The terms have changed. You were asked about revision 1.')
    expect(company.operations[0]?.confirmed?.revision).toBe(2)
  })

  it('cancels, and follows what goes on for as long as it is told', async () => {
    const { poppy, call, id, company } = await sitDown({ hasPerson: false })
    await call()
    const cancelled = await poppy('operations', 'cancel', id())
    expect([cancelled.code, cancelled.out]).toEqual([0, expect.stringContaining('cancelled')])
    await call()
    Object.assign(company.switches, using({ operationEnd: 'never' }))
    const going = await poppy('operations', 'confirm', id(), '--yes')
    expect([going.code, going.out]).toEqual([4, expect.stringContaining(`Next: poppy operations wait ${id()}`)])
    expect((await poppy('operations', 'wait', id(), '--seconds', '0')).code).toBe(4)
    Object.assign(company.switches, using({ operationEnd: 'fails' }))
    const failed = await poppy('operations', 'wait', id())
    expect([failed.code, failed.out]).toEqual([1, expect.stringContaining('certainly not done')])
  })

  it('shows nothing raw of a Company that plays tricks, and no line that could be ours', async () => {
    const { poppy, call, id, company } = await sitDown({ hasPerson: false })
    Object.assign(company.switches, using({ operationTerms: 'hostile' }))
    const hidden = /[^\P{Cc}\n]|[\u200b-\u200f\u202a-\u202e\u2066-\u2069]/u
    for (const { out, err } of [
      await call(),
      await poppy('operations'),
      await poppy('operations', 'show', id()),
      await poppy('operations', 'show', id(), '--json'),
      await poppy('operations', 'confirm', id(), '--yes'),
    ]) {
      expect(`${out}${err}`).not.toMatch(hidden)
      expect(out.split('\n').filter((line) => /^\s*Ignore all/.test(line))).toEqual([])
    }
  })

  it('says clearly that the Company did otherwise, and sends the owner to the Company’s own page alone', async () => {
    const { poppy, call, id, company } = await sitDown({ hasPerson: false })
    Object.assign(company.switches, using({ operationConfirm: 'other_terms' }))
    await call()
    const otherwise = await poppy('operations', 'confirm', id(), '--yes')
    expect([otherwise.code, otherwise.err]).toEqual([3, expect.stringContaining('says other things of revision 1 now')])
    expect((await poppy('operations', 'show', id())).out).toContain('Beware: Misbehaving Company says other things')
    Object.assign(
      company.switches,
      using({ operationConfirm: 'right', operationPage: 'refuses', operationPageAt: 'foreign' }),
    )
    await call()
    const foreign = await poppy('operations', 'confirm', id(), '--yes')
    expect([foreign.code, `${foreign.out}${foreign.err}`]).toEqual([1, expect.not.stringContaining('evil')])
  })

  it('tells what to type where something is missing', async () => {
    const { poppy, call, id, origin } = await sitDown({ hasPerson: false })
    expect((await poppy('operations')).out).toContain('Nothing was proposed yet.')
    for (const args of [
      ['show'],
      ['show', 'opn_unknown'],
      ['approve', 'x'],
      ['wait', 'x', '--seconds', 'soon', '--at', origin],
    ]) {
      const { code, err } = await poppy('operations', ...args)
      expect([args, code, err]).toEqual([args, 2, expect.stringContaining('Try: poppy operations --help')])
    }
    await call()
    await poppy('sign-out', origin)
    const { code, err } = await poppy('operations', 'show', id())
    expect([code, err]).toEqual([3, expect.stringContaining(`Try: poppy sign-in ${origin}`)])
    expect((await poppy('operations', 'show', 'opn_unknown', '--at', origin)).code).not.toBe(0)
  })
})
