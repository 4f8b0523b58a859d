/** Something in the company's configuration is wrong. The message says what to write instead; found at start, never later. */
export class ConfigurationError extends TypeError {
  override readonly name = 'ConfigurationError'
}

/** Makes one. */
export function wrong(sentence: string): ConfigurationError {
  return new ConfigurationError(sentence)
}
