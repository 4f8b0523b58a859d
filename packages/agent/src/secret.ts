import { inspect } from 'node:util'

/**
 * A token in a wrapper that prints as `[secret]`, whatever prints it: `JSON.stringify`, `util.inspect`, a template
 * string. What is written to a store or a header asks for it by name.
 */
export class Secret {
  readonly #value: string

  constructor(value: string) {
    this.#value = value
  }

  /** The value itself: for a header, a request body or the store, and nowhere else. */
  reveal(): string {
    return this.#value
  }

  toString(): string {
    return '[secret]'
  }

  toJSON(): string {
    return '[secret]'
  }

  [inspect.custom](): string {
    return '[secret]'
  }
}
