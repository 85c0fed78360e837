import assert from 'node:assert'
import cp from 'node:child_process'
import { fileURLToPath } from 'node:url'

const me = fileURLToPath(import.meta.url)
const tests = {}

const output = (...how) => new Promise((resolve, reject) =>
  cp.execFile(...how, (error, out) => error ? reject(error) : resolve(out)))

tests.execFile = async () => assert.equal(await output('/bin/echo', ['good']), 'good\n')
tests.execFileSync = async () => assert.equal(String(cp.execFileSync('/bin/echo', ['good'])), 'good\n')
tests.exec = () => new Promise((resolve, reject) =>
  cp.exec('/bin/echo good', (error, out) => error || out !== 'good\n' ? reject(error) : resolve()))
tests.spawn = () => new Promise(resolve =>
  cp.spawn('/usr/bin/seq', ['1', '3']).on('close', code => resolve(assert.equal(code, 0))))
tests.fork = () => new Promise((resolve, reject) => {
  const child = cp.fork(me, ['child'])
  child.on('error', reject)
  child.on('message', m => { assert.equal(m, 42); child.disconnect() })
  child.on('exit', code => code === 0 ? resolve() : reject(new Error('exit ' + code)))
  child.send(21)
})
tests.parallel = async () => {
  const all = await Promise.all([...Array(40)].map(() => output('/bin/echo', ['good'])))
  assert.ok(all.every(out => out === 'good\n'))
}
tests.refused = async () => {
  const more = [['/bin/echo', ['evil']], [process.execPath, ['-e', '1']], ['/bin/sh', ['-c', 'echo good']],
    [process.execPath, ['-r', '/tmp/x', me, 'child']], ['/bin/echo', ['good'], { env: { NODE_OPTIONS: '-r /tmp/x' } }]]
  for (const cmd of more) assert.equal(cp.spawnSync(...cmd).error?.code, 'EACCES', cmd.join(' '))
  assert.throws(() => cp.execFileSync('/usr/bin/env'))
}

if (process.argv[2] === 'child') {
  process.on('message', m => process.send(m * 2))
} else {
  if (process.argv[2] === 'bare') delete tests.refused
  for (const [name, test] of Object.entries(tests)) {
    await test()
    console.log('passed', name)
  }
}
