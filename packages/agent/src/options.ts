import { AgentError } from './errors.ts'
import type { PersonalAgentOptions } from './personal-agent.ts'

/** What a Personal Agent is made of, looked at once: for whoever writes JavaScript, or misspells a name. */

const known: ReadonlySet<string> = new Set<keyof PersonalAgentOptions>([
  'clientId',
  'name',
  'logoUri',
  'redirectUri',
  'keys',
  'extensions',
  'store',
  'fetch',
  'now',
  'random',
  'wait',
  'maxWaitSeconds',
  'timeouts',
  'allowHttp',
])

/** @throws AgentError `misconfigured`, with a sentence that says what to write */
export function checkOptions(options: PersonalAgentOptions): void {
  const given: unknown = options
  if (typeof given !== 'object' || given === null)
    throw misconfigured('createPersonalAgent takes one object: createPersonalAgent({ clientId, name, keys, store }).')
  for (const name of Object.keys(given)) {
    if (!known.has(name))
      throw misconfigured(`There is no setting "${name}". The settings are: ${[...known].join(', ')}.`)
  }
  const { name, keys, store }: { name?: unknown; keys?: unknown; store?: unknown } = given
  if (typeof name !== 'string' || name.trim() === '')
    throw misconfigured("name is what Companies call the agent to its User, such as 'Example Agent'.")
  if (!Array.isArray(keys)) throw misconfigured('keys is a list: keys: [await generateKey()].')
  const parts: { readonly [name in 'get' | 'update' | 'keys']?: unknown } =
    typeof store === 'object' && store !== null ? store : {}
  if (![parts.get, parts.update, parts.keys].every((part) => typeof part === 'function'))
    throw misconfigured("store is what fileStore('agent-state/state.json') gives, or one of your own.")
}

function misconfigured(message: string): AgentError {
  return new AgentError('misconfigured', message)
}
