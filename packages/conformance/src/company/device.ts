import { PoppyError, parseScope } from '@poppyseed/protocol'
import { type Reply, reply } from '../delivery.ts'
import { authenticateClient } from './assertions.ts'
import { offeredScopes } from './authorization.ts'
import { hadHeard } from './conduct.ts'
import type { Exchange } from './exchange.ts'
import { type DeviceRecord, random } from './ledger.ts'
import type { TokenParts } from './token-endpoint.ts'
import { hostileText } from './words.ts'

/** Device Sign-In (4.6): the device authorization endpoint, and what polls are told. */

/** Seconds that a device code lives. */
const lifetime = 600
/** RFC 8628, 3.5. */
const slowDownBy = 5

/** `POST` to the device authorization endpoint. */
export async function answerDeviceRequest(exchange: Exchange, parts: TokenParts): Promise<Reply> {
  const { ledger, findings, tokenEndpoint, issuer } = parts
  const endpoint = `${issuer}${exchange.path}`
  const client = await authenticateClient(exchange, [tokenEndpoint, endpoint, issuer], parts)
  if (exchange.switches.refuse !== null) throw new PoppyError(exchange.switches.refuse)
  const asked = parseScope(exchange.form.get('scope') ?? '') ?? []
  if (asked.length === 0) {
    findings.report('4.6.start-agent', 'no scope in a device request', exchange)
    throw new PoppyError('invalid_scope')
  }
  if (!asked.every((scope) => offeredScopes.some((offered) => offered === scope))) throw new PoppyError('invalid_scope')
  const { switches, now } = exchange
  const deviceCode = random('device-')
  const userCode = `WDJB-${String(ledger.devices.size).padStart(4, '0')}`
  const granted = asked.filter((scope) => !switches.neverGrants.includes(scope))
  ledger.devices.set(deviceCode, {
    clientId: client.clientId,
    granted: switches.grantsFewer ? granted.slice(0, 1) : granted,
    account: switches.account,
    expiresAt: now + lifetime * 1000,
    interval: switches.deviceInterval ?? 5,
    polls: [],
    slowedBy: null,
    endedBy: null,
    used: false,
  })
  return reply(
    200,
    {
      device_code: deviceCode,
      user_code: switches.words === 'escapes' ? `${userCode}\u001b[2J` : userCode,
      ...pageOf(switches.devicePage, `${issuer}/device`, userCode, deviceCode),
      expires_in: lifetime,
      ...(switches.deviceInterval === null ? {} : { interval: switches.deviceInterval }),
    },
    { 'cache-control': 'no-store' },
  )
}

function pageOf(how: Exchange['switches']['devicePage'], own: string, userCode: string, deviceCode: string) {
  const both = (page: string) => ({
    verification_uri: page,
    verification_uri_complete: `${page}?user_code=${userCode}`,
  })
  switch (how) {
    case 'own':
      return both(own)
    case 'other_host':
      return both('https://bank.example/device')
    case 'link_elsewhere':
      return { ...both(own), verification_uri_complete: 'https://bank.example/device?user_code=ABCD' }
    case 'plain_http':
      return both('http://misbehaving.example/device')
    case 'script':
      return both('javascript:alert(1)//')
    case 'escapes':
      return { verification_uri: own, verification_uri_complete: own + hostileText }
    case 'huge':
      return { verification_uri: own, verification_uri_complete: `${own}?${'a'.repeat(40_000)}` }
    case 'device_code':
      return { verification_uri: own, verification_uri_complete: `${own}?code=${deviceCode}` }
  }
}

/** One poll at the token endpoint. @throws PoppyError until the person has approved */
export function pollDevice(
  exchange: Exchange,
  clientId: string,
  { ledger, findings: { report } }: Pick<TokenParts, 'ledger' | 'findings'>,
): DeviceRecord {
  const { switches, now, form } = exchange
  const device = ledger.devices.get(form.get('device_code') ?? '')
  if (!device || device.clientId !== clientId || device.used) throw new PoppyError('invalid_grant')
  const last = device.polls.at(-1)
  const isTooSoon = last !== undefined && now - last.now < device.interval * 1000
  if (isTooSoon) {
    const wasTold = device.slowedBy !== null && hadHeard(device.slowedBy, exchange)
    report(
      wasTold ? '4.6.slow-down-agent' : '4.6.interval-agent',
      `${(now - last.now) / 1000} s after the poll before`,
      exchange,
    )
  }
  if (device.endedBy && hadHeard(device.endedBy, exchange))
    report('4.6.stop-agent', 'asked again after it was told that it is over', exchange)
  device.polls.push(exchange)
  const end = (error: 'access_denied' | 'expired_token') => {
    device.endedBy = exchange
    return new PoppyError(error)
  }
  if (switches.poll === 'expired' || now >= device.expiresAt) throw end('expired_token')
  if (switches.poll === 'slow_down') {
    device.interval += slowDownBy
    device.slowedBy = exchange
    throw new PoppyError('slow_down')
  }
  if (switches.poll === 'pending') throw new PoppyError('authorization_pending')
  if (switches.consent === 'decline') throw end('access_denied')
  return device
}
