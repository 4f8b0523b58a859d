import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, expect, it } from 'vitest'
import { startHotel } from './server.ts'

const directory = mkdtempSync(join(tmpdir(), 'hotel-server-'))
afterAll(() => rmSync(directory, { recursive: true }))
const log = () => {}

it('opens on a free port, closes, and opens again on the same data', async () => {
  const response = globalThis.Response
  const hotel = await startHotel({ port: 0, directory, log })
  expect(globalThis.Response).toBe(response)
  expect(hotel.origin).toMatch(/^http:\/\/localhost:\d+$/)
  const page = await fetch(hotel.origin)
  expect(page.status).toBe(200)
  expect(await page.text()).toContain('Six rooms above the harbour')
  for (const sheet of ['hotel.css', 'pages.css'])
    expect((await fetch(`${hotel.origin}/${sheet}`)).headers.get('content-type')).toContain('text/css')
  await hotel.close()
  await expect(fetch(hotel.origin)).rejects.toThrow()

  const again = await startHotel({ port: 0, directory, log })
  expect((await fetch(`${again.origin}/rooms/faro`)).status).toBe(200)
  await again.close()
})

it('says that the port is taken and leaves the first hotel alone', async () => {
  const hotel = await startHotel({ port: 0, directory, log })
  const port = Number(new URL(hotel.origin).port)
  await expect(startHotel({ port, directory, log })).rejects.toMatchObject({ code: 'EADDRINUSE' })
  expect((await fetch(hotel.origin)).status).toBe(200)
  await hotel.close()
})
