import { generateProof } from 'dpop'
import type { CompanyAgent } from 'poppyseed'
import { describe, expect, it } from 'vitest'
import { converse, said, standingOf } from './setup/converse.ts'
import { patiently, rita } from './setup/front-desk.ts'
import { openTalkingSite } from './setup/talking-site.ts'
import { makeWorld, type Tokens } from './setup/world.ts'

/**
 * DPoP nonces where events are streamed (4.3, 7.6): a stream is asked for with a proof like anything else, and may be asked for
 * again long after the last nonce was learned.
 */

const echo: CompanyAgent = async function* (turn) {
  yield { type: 'text', text: `You asked: ${turn.asked.at(-1)?.text}` }
}

/** A nonce is good for 10 to 20 seconds here, and a proof for a minute. */
const lifetime = 10
const stale = 21_000

describe('a stream of events, where proofs need a nonce', { timeout: 60_000 }, () => {
  it('is refused with a new one where it has none or an old one, and opened with that [6.use-dpop-nonce]', async () => {
    const world = await makeWorld({ agent: echo, conversations: {}, nonces: { lifetime } })
    const { agent, clock, send, origin } = world
    // The reference implementation of DPoP reads the machine's clock.
    clock.now = Date.now()
    const publicKey = await crypto.subtle.importKey(
      'jwk',
      agent.dpop.publicJwk,
      { name: 'ECDSA', namedCurve: 'P-256' },
      true,
      ['verify'],
    )
    const keys = { privateKey: agent.dpop.privateKey, publicKey }
    const withNonce = (nonce: string | null) => ({ claims: { nonce } })
    const learned = (await agent.startSession()).headers.get('dpop-nonce')
    const started = await agent.startSession(
      {},
      { proof: await agent.proof('POST', agent.tokenUrl, undefined, withNonce(learned)) },
    )
    const { access_token: token } = (await started.json()) as Tokens
    const startUrl = `${origin}/poppy/conversations`
    const begun = await agent.call('/poppy/conversations', token, {
      body: { message: said('Hello.') },
      proof: await agent.proof('POST', startUrl, token, withNonce(learned)),
    })
    const { conversation_id: id } = await standingOf(begun)
    const url = `${startUrl}/${id}/events`
    /** A stream, asked for with a proof of that implementation's. */
    const ask = async (nonce: string | undefined) =>
      send(
        new Request(url, {
          headers: {
            accept: 'text/event-stream',
            authorization: `DPoP ${token}`,
            dpop: await generateProof(keys, url, 'GET', nonce, token),
          },
        }),
      )
    clock.now += stale
    let current: string | null = null
    for (const nonce of [undefined, learned ?? '', 'made-up']) {
      const refused = await ask(nonce)
      expect(refused.status).toBe(401)
      expect(refused.headers.get('content-type')).toContain('application/json')
      expect(refused.headers.get('www-authenticate')).toContain('error="use_dpop_nonce"')
      current = refused.headers.get('dpop-nonce')
    }
    const opened = await ask(current ?? '')
    expect(opened.status).toBe(200)
    expect(opened.headers.get('content-type')).toContain('text/event-stream')
    expect(opened.headers.get('dpop-nonce')).toBe(current)
    await opened.body?.cancel()
    expect(await converse(agent, token).read(id)).toHaveProperty('status', 401)
  })

  it('is opened by our Personal Agent after a refusal, and once more when it was cut, with nothing missed [4.3.nonce-agent]', async () => {
    const clock = { ahead: 0 }
    const { company, session, log } = await openTalkingSite(echo, {
      nonces: { lifetime },
      now: () => Date.now() + clock.ahead,
      conversations: { streams: { longest: 15 } },
    })
    /** How the requests for events ended, in their order. */
    const asked = () =>
      log.filter((line) => line.includes('/events"')).map((line) => /"outcome":"(\w+)"/.exec(line)?.[1])
    const conversation = await session.conversations.start('Hello.')
    clock.ahead += stale
    const texts: string[] = []
    for await (const event of conversation.follow()) {
      if (event.type !== 'message' || event.message.role === 'user') continue
      texts.push(event.message.text ?? '')
      await conversation.handled(event)
      if (texts.length === 2) break
      // The stream ends at its time, and what it is asked for with again is old by then.
      clock.ahead += stale
      await expect.poll(asked, patiently).toEqual(['use_dpop_nonce', 'ok'])
      await company.conversations.take(conversation.id, rita)
      await company.conversations.reply(conversation.id, rita, { text: 'Here is Rita.' })
    }
    expect(texts).toEqual(['You asked: Hello.', 'Here is Rita.'])
    expect(asked().slice(0, 3)).toEqual(['use_dpop_nonce', 'ok', 'use_dpop_nonce'])
  })
})
