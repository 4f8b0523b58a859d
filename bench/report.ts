import { median } from './figures.ts'

/** What the bench prints, and whether the product is fast enough. */

export const contenders = ['peer', 'floor', 'mcp', 'product'] as const
export type Contender = (typeof contenders)[number]

/** One run: requests a second, and the microseconds of processor time that the server spent on each. */
export interface Sample {
  readonly perSecond: number
  readonly processor: number
}

/** The samples of one scenario, and what the product must reach as a ratio to the others' requests a second. */
export interface Outcome {
  readonly title: string
  readonly over: Readonly<Partial<Record<Contender, number>>>
  readonly samples: Readonly<Record<Contender, readonly Sample[]>>
}

/** How far apart the figures are, of their median. */
function width(figures: readonly number[]): number {
  return figures.length === 0 ? 0 : (Math.max(...figures) - Math.min(...figures)) / median(figures)
}

/** Lines for people, and whether every ratio that could be measured is high enough. */
export function report(outcomes: readonly Outcome[]): { readonly text: string; readonly good: boolean } {
  const lines = [row('', contenders, 'spread')]
  const verdicts: string[] = []
  let good = true
  for (const { title, samples, over } of outcomes) {
    const of = (name: Contender, kind: keyof Sample) => samples[name].map((sample) => sample[kind])
    const rate = (name: Contender) => median(of(name, 'perSecond'))
    const widest = Math.max(...contenders.map((name) => width(of(name, 'perSecond'))))
    lines.push(
      row(
        `${title}, per second`,
        contenders.map((name) => whole(rate(name))),
        `${whole(widest * 100)} %`,
      ),
    )
    lines.push(
      row(
        '  processor, µs each',
        contenders.map((name) => whole(median(of(name, 'processor')))),
      ),
    )
    const compare = (one: Contender, other: Contender, least?: number) => {
      const ratio = rate(one) / rate(other)
      if (Number.isNaN(ratio)) return
      const enough = least === undefined || ratio >= least
      good &&= enough
      const verdict = least === undefined ? '' : `, at least ${least.toFixed(1)}: ${enough ? 'met' : 'MISSED'}`
      verdicts.push(`${title}: ${one}/${other} ${ratio.toFixed(2)}${verdict}`)
    }
    compare('floor', 'peer')
    for (const other of contenders) if (other in over) compare('product', other, over[other])
  }
  return { text: [...lines, '', ...verdicts].join('\n'), good }
}

function row(title: string, cells: readonly string[], last = ''): string {
  return `${title.padEnd(32)}${cells.map((cell) => cell.padStart(9)).join('')}${last.padStart(9)}`
}

function whole(figure: number): string {
  return Number.isNaN(figure) ? '-' : figure.toFixed(0)
}
