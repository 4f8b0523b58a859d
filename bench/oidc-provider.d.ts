// The package brings no types. This is what bench/peer.ts uses of it.
declare module 'oidc-provider' {
  import type { IncomingMessage, ServerResponse } from 'node:http'

  interface Issued {
    setThumbprint(kind: 'jkt', thumbprint: string): void
    save(): Promise<string>
  }

  export class Provider {
    constructor(issuer: string, configuration: object)
    callback(): (request: IncomingMessage, response: ServerResponse) => void
    readonly Client: { find(id: string): Promise<object | undefined> }
    readonly Grant: new (
      properties: object,
    ) => { addOIDCScope(scope: string): void; save(): Promise<string> }
    readonly AccessToken: new (
      properties: object,
    ) => Issued
  }

  export default Provider
}
