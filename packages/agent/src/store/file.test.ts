import { execFile } from 'node:child_process'
import { chmod, mkdir, mkdtemp, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { describe, expect, it, onTestFinished } from 'vitest'
import { errorOf } from '../../test/visit.ts'
import { fileStore } from './file.ts'
import { memoryStore } from './memory.ts'

async function place(): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'poppy-store-'))
  onTestFinished(() => rm(folder, { recursive: true, force: true }))
  return join(folder, 'home', 'state.json')
}

const add = (before: unknown) => (typeof before === 'number' ? before : 0) + 1

describe.each([
  ['memory', async () => memoryStore()],
  ['a file', async () => fileStore(await place())],
])('a store in %s', (_, make) => {
  it('keeps, changes, lists and removes records', async () => {
    const store = await make()
    expect(await store.get('a')).toBeUndefined()
    expect(await store.update('a', () => ({ secret: ['x', null, 1.5] }))).toEqual({ secret: ['x', null, 1.5] })
    await store.update('a/b', () => 'y')
    expect(await store.get('a')).toEqual({ secret: ['x', null, 1.5] })
    expect([...(await store.keys('a'))].toSorted()).toEqual(['a', 'a/b'])
    expect(await store.update('a', () => undefined)).toBeUndefined()
    expect(await store.keys('a')).toEqual(['a/b'])
    await store.update('__proto__', () => 'z')
    expect(await store.get('__proto__')).toBe('z')
  })

  it('loses no change of many at once', async () => {
    const store = await make()
    await Promise.all(Array.from({ length: 25 }, () => store.update('count', add)))
    expect(await store.get('count')).toBe(25)
  })

  it('keeps what was there when a change throws', async () => {
    const store = await make()
    await store.update('a', () => 1)
    const failing = store.update('a', () => {
      throw new Error('no')
    })
    await expect(failing).rejects.toThrow('no')
    expect(await store.get('a')).toBe(1)
    expect(await store.update('a', add)).toBe(2)
  })
})

describe('the file', () => {
  it('is for its owner alone: 0600 in a folder of 0700, and replaced as a whole [4.8.stored-as-secret-agent]', async () => {
    const path = await place()
    const store = fileStore(path)
    await store.update('a', () => 1)
    const { ino } = await stat(path)
    await store.update('a', () => 2)
    expect((await stat(path)).ino).not.toBe(ino)
    expect((await stat(path)).mode & 0o777).toBe(0o600)
    expect((await stat(join(path, '..'))).mode & 0o777).toBe(0o700)
    expect(await readdir(join(path, '..'))).toEqual(['state.json'])
  })

  it('is refused when others may read it, in a sentence that says what to do [4.8.stored-as-secret-agent]', async () => {
    const path = await place()
    const store = fileStore(path)
    await store.update('a', () => 1)
    for (const mode of [0o640, 0o604, 0o660]) {
      await chmod(path, mode)
      for (const work of [() => store.get('a'), () => store.update('a', () => 2), () => store.keys('')]) {
        const error = await errorOf(work())
        expect([error.code, error.message.includes(`chmod 600 '${path}'`)]).toEqual(['store_unsafe', true])
      }
    }
    await chmod(path, 0o600)
    expect(await store.get('a')).toBe(1)
  })

  it('is not put where others may change it, and nothing else is taken for it', async () => {
    const path = await place()
    await mkdir(join(path, '..'))
    await chmod(join(path, '..'), 0o777)
    expect((await errorOf(fileStore(path).update('a', () => 1))).message).toContain('chmod 700')
    await chmod(join(path, '..'), 0o700)
    for (const text of ['', '[]', '{"version":2,"records":{}}', '{"version":1}']) {
      await writeFile(path, text, { mode: 0o600 })
      expect((await errorOf(fileStore(path).update('a', () => 1))).code).toBe('store_unsafe')
      expect(await readFile(path, 'utf8')).toBe(text)
    }
  })

  it('is shared by processes without a change lost, also past a lock that a dead one left', async () => {
    const path = await place()
    await fileStore(path).update('count', () => 0)
    // No process has this number: it is above what Linux gives.
    await writeFile(`${path}.lock`, `4999999 ${(await import('node:os')).hostname()} mark`)
    const script = `
      import { fileStore } from ${JSON.stringify(fileURLToPath(new URL('./file.ts', import.meta.url)))}
      const store = fileStore(${JSON.stringify(path)})
      for (let turn = 0; turn < 20; turn++) await store.update('count', (before) => before + 1)`
    const run = () =>
      promisify(execFile)(process.execPath, ['-C', '@poppyseed/source', '--input-type=module', '--eval', script])
    await Promise.all([run(), run(), run()])
    expect(await fileStore(path).get('count')).toBe(60)
    expect(await readdir(join(path, '..'))).toEqual(['state.json'])
  })
})
