export function writeOpenApi(options: object): unknown {
  return options
}
