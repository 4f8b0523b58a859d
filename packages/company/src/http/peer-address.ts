/** Who is at the other end of the connection: a Web `Request` doesn't say, so the listener's adapter notes it beside it. */

/** What stands for the address of a connection that was closed before anybody had asked for it. */
export const goneAddress = 'gone'

const peers = new WeakMap<Request, string>()

/**
 * Notes the address that a request's connection comes from. For adapters, before they hand the request over.
 * @param address as the socket has it
 */
export function notePeerAddress(request: Request, address: string): void {
  peers.set(request, address)
}

/** The address that an adapter noted, or undefined where none did. */
export function peerAddressOf(request: Request): string | undefined {
  return peers.get(request)
}
