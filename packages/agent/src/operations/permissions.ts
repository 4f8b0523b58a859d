import { isJsonObject } from '@poppyseed/protocol'
import { AgentError } from '../errors.ts'
import type { OperationCopy } from './copy.ts'
import { matches, readMatcher, type TermMatcher } from './term-matchers.ts'

/**
 * Standing permissions (Operations 5.1): rules that the owner gave beforehand. One covers an operation only if it covers
 * Company, account, action and every term. Nothing that a Company says makes or widens one.
 */

/** A rule of the owner's. Whatever it doesn't cover is asked. */
export interface StandingPermission {
  /** Your own id for it: uses are counted by it, so another rule needs another. */
  readonly id: string
  /** The Company: its issuer, such as `https://miramar.example`, or its domain. */
  readonly company: string
  /** Which of the User's accounts there; `default` is the usual one. */
  readonly account: string
  /** The tool that the agent has to have called for it. */
  readonly action: string
  /** What each term may be. A term that stands in one of the two alone, rule or operation, isn't covered. */
  readonly terms: Readonly<Record<string, TermMatcher>>
  /** From when it holds no longer, Unix time in milliseconds. */
  readonly expiresAt?: number
  /** How many confirmations it is good for, all processes that share the store together. */
  readonly times?: number
}

/** What an operation is held against. */
export interface Occasion {
  readonly issuer: string
  readonly domain: string
  readonly account: string
  readonly action: string | undefined
  readonly copy: OperationCopy
  /** Unix time in milliseconds. */
  readonly now: number
}

/** The rules that cover an operation, in their order. Expired ones don't. */
export function covering(rules: readonly StandingPermission[], occasion: Occasion): readonly StandingPermission[] {
  const { copy, action, now } = occasion
  const { terms, user_approval_required } = copy.wire
  // 5.1: without terms there is nothing that a rule could cover; without a name there is no action.
  if (user_approval_required === true || terms === undefined || action === undefined) return []
  return rules.filter(
    (rule) =>
      rule.account === occasion.account &&
      rule.action === action &&
      isCompany(rule.company, occasion) &&
      (rule.expiresAt === undefined || now < rule.expiresAt) &&
      coversTerms(rule.terms, terms),
  )
}

/** An issuer says exactly who; a domain does, but for this machine's own, where the port tells Companies apart. */
function isCompany(company: string, { issuer, domain }: Occasion): boolean {
  return company === issuer || (company === domain && new URL(issuer).protocol === 'https:')
}

function coversTerms(
  matchers: Readonly<Record<string, TermMatcher>>,
  terms: Readonly<Record<string, unknown>>,
): boolean {
  const names = Object.keys(terms)
  return (
    names.length > 0 &&
    // A term that the owner had in mind and that isn't there is one more reason to ask.
    Object.keys(matchers).every((name) => Object.hasOwn(terms, name)) &&
    names.every((name) => {
      const matcher = Object.hasOwn(matchers, name) ? matchers[name] : undefined
      return matcher !== undefined && matches(matcher, terms[name])
    })
  )
}

const members: ReadonlySet<string> = new Set<keyof StandingPermission>([
  ...(['id', 'company', 'account', 'action', 'terms', 'expiresAt', 'times'] as const),
])

/**
 * Looks at rules before any is used: a misspelt limit must not be no limit.
 * @throws AgentError `misconfigured`
 */
export function checkPermissions(rules: readonly StandingPermission[]): void {
  const given: unknown = rules
  if (!Array.isArray(given)) throw misconfigured('permissions is a list of rules.')
  const ids = new Set<unknown>()
  for (const rule of given as readonly unknown[]) {
    if (!isJsonObject(rule)) throw misconfigured('each of the permissions is an object.')
    const unknown = Object.keys(rule).find((name) => !members.has(name))
    if (unknown !== undefined) throw misconfigured(`a permission has no "${unknown}", but ${[...members].join(', ')}.`)
    for (const name of ['id', 'company', 'account', 'action'] as const) {
      if (typeof rule[name] !== 'string' || rule[name] === '') throw misconfigured(`${name} of a permission is a text.`)
    }
    if (ids.has(rule.id)) throw misconfigured(`two permissions have the id "${String(rule.id)}".`)
    ids.add(rule.id)
    if (!isJsonObject(rule.terms) || Object.keys(rule.terms).length === 0)
      throw misconfigured('terms of a permission says what each term may be.')
    for (const [name, matcher] of Object.entries(rule.terms)) readMatcher(matcher, `terms.${name}`, misconfigured)
    if (rule.expiresAt !== undefined && !Number.isFinite(rule.expiresAt))
      throw misconfigured('expiresAt of a permission is a time in milliseconds.')
    if (rule.times !== undefined && !(Number.isSafeInteger(rule.times) && Number(rule.times) > 0))
      throw misconfigured('times of a permission is a whole number from 1 up.')
  }
}

function misconfigured(message: string): AgentError {
  return new AgentError('misconfigured', `permissions: ${message}`)
}
