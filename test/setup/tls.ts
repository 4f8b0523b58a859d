import { execFileSync } from 'node:child_process'
import { createHash, createPrivateKey, createPublicKey } from 'node:crypto'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

/** A certificate authority for tests. Nothing outside the test's own options trusts it. */
export type TestTls = {
  /** The authority's certificate, PEM: the `ca` of a TLS client. */
  readonly ca: string
  /** Base64 of the SHA-256 of the leaf key's SPKI, for Chromium. Every leaf has the same key. */
  readonly spki: string
  /** Key and certificate, PEM, for a server that is called `name`. */
  readonly certFor: (name: string) => { readonly key: string; readonly cert: string }
}

const config = `[req]
distinguished_name = name
prompt = no
[name]
CN = Poppyseed test authority
[authority]
basicConstraints = critical, CA:TRUE
keyUsage = critical, keyCertSign
subjectKeyIdentifier = hash
`

let made: TestTls | undefined

/** The test file's certificate authority, made with openssl at the first call (Node has no maker of certificates). */
export function testTls(): TestTls {
  made ??= inFolder((openssl, write, read) => {
    write('config', config)
    newKey(openssl, 'ca.key')
    newKey(openssl, 'leaf.key')
    openssl('req -x509 -new -sha256 -days 30 -key ca.key -out ca.pem -config config -extensions authority')
    const [ca, caKey, key] = [read('ca.pem'), read('ca.key'), read('leaf.key')]
    const spki = createPublicKey(createPrivateKey(key)).export({ type: 'spki', format: 'der' })
    const issued = new Map<string, { key: string; cert: string }>()
    return {
      ca,
      spki: createHash('sha256').update(spki).digest('base64'),
      certFor(name) {
        const leaf = issued.get(name) ?? { key, cert: issue(name, ca, caKey, key) }
        issued.set(name, leaf)
        return leaf
      },
    }
  })
  return made
}

function issue(name: string, ca: string, caKey: string, key: string): string {
  return inFolder((openssl, write, read) => {
    write('config', config)
    write('ca.pem', ca)
    write('ca.key', caKey)
    write('leaf.key', key)
    const san = /^[\d.]+$/.test(name) ? `IP:${name}` : `DNS:${name}`
    write('leaf.ext', `subjectAltName = ${san}\nbasicConstraints = CA:FALSE\nextendedKeyUsage = serverAuth\n`)
    openssl('req -new -key leaf.key -out leaf.csr -config config')
    openssl(`x509 -req -sha256 -days 7 -in leaf.csr -CA ca.pem -CAkey ca.key -set_serial ${serial(name)} \
-extfile leaf.ext -out leaf.pem`)
    return read('leaf.pem')
  })
}

/** Browsers refuse two certificates of one issuer with one serial number. */
function serial(name: string): string {
  return `0x${createHash('sha256').update(name).digest('hex').slice(0, 16)}`
}

type Openssl = (args: string) => void

function newKey(openssl: Openssl, file: string): void {
  openssl(`genpkey -algorithm EC -pkeyopt ec_paramgen_curve:P-256 -out ${file}`)
}

/** Runs openssl in a folder that is gone afterwards: private keys stay in memory only. */
function inFolder<T>(
  work: (openssl: Openssl, write: (file: string, text: string) => void, read: (file: string) => string) => T,
): T {
  const cwd = mkdtempSync(join(tmpdir(), 'poppyseed-tls-'))
  try {
    return work(
      (args) => void execFileSync('openssl', args.split(/\s+/), { cwd, stdio: 'pipe' }),
      (file, text) => writeFileSync(join(cwd, file), text, { mode: 0o600 }),
      (file) => readFileSync(join(cwd, file), 'utf8'),
    )
  } finally {
    rmSync(cwd, { recursive: true, force: true })
  }
}
