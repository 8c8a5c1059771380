// Which addresses outgoing requests may reach, in all their notations.
import t from 'tap'
import { allowedHosts } from '../../../server/services/outgoing/allowed-hosts.ts'
import { isPublicAddress } from '../../../server/services/outgoing/special-addresses.ts'
import { isHostOrNetwork } from '../../../server/text/host-text.ts'

t.test('addresses of the public internet', (t) => {
  const addresses = ['1.1.1.1', '8.8.8.8', '100.63.255.255', '100.128.0.1', '172.15.0.1', '172.32.0.1', '169.253.0.1']
  for (const address of [...addresses, '9.255.255.255', '11.0.0.1', '192.167.0.1', '198.17.0.1', '223.255.255.255']) {
    t.equal(isPublicAddress(address), true, address)
  }
  for (const address of ['2606:4700:4700::1111', '2a00:1450:4001:830::200e', '64:ff9b::808:808', '64:ff9b::8.8.8.8']) {
    t.equal(isPublicAddress(address), true, address)
  }
  t.end()
})

t.test('addresses of special purpose', (t) => {
  const ipv4 = `0.0.0.0 0.1.2.3 10.0.0.1 10.255.255.255 100.64.0.1 100.127.255.255 127.0.0.1 127.1.2.3 169.254.169.254
    169.254.170.2 172.16.0.1 172.31.255.255 192.0.0.192 192.0.2.1 192.88.99.1 192.168.1.1 198.18.0.1 198.19.255.255
    198.51.100.1 203.0.113.1 224.0.0.1 239.255.255.250 240.0.0.1 255.255.255.255`
  for (const address of ipv4.split(/\s+/)) {
    t.equal(isPublicAddress(address), false, address)
    t.equal(isPublicAddress(`::ffff:${address}`), false, `mapped ${address}`)
    t.equal(isPublicAddress(`::${address}`), false, `compatible ${address}`)
    t.equal(isPublicAddress(`64:ff9b::${address}`), false, `NAT64 ${address}`)
    const [a = 0, b = 0, c = 0, d = 0] = address.split('.').map(Number)
    const sixToFour = `2002:${((a << 8) | b).toString(16)}:${((c << 8) | d).toString(16)}::1`
    t.equal(isPublicAddress(sixToFour), false, sixToFour)
  }
  const ipv6 = `:: ::1 ::2 fe80::1 fe80::1%eth0 febf::1 fec0::1 fc00::1 fd00:ec2::254 fdff::1 ff02::1 ff0e::1 100::1
    2001::1 2001:0:4136:e378:8000:63bf:3fff:fdd2 2001:db8::1 2001:10::1 2001:20::1 3fff::1 4000::1 64:ff9b:1::a00:1
    ::ffff:0:127.0.0.1 ::ffff:8.8.8.8 0:0:0:0:0:ffff:7f00:1 5f00::1`
  for (const address of ipv6.split(/\s+/)) t.equal(isPublicAddress(address), false, address)
  for (const text of ['', 'localhost', '127.1', '2130706433', '0x7f.0.0.1', '[::1]']) {
    t.equal(isPublicAddress(text), false, text)
  }
  t.end()
})

t.test('hosts that a setting allows', (t) => {
  const allowed = allowedHosts(['Hooks.internal', 'api.lan.', '127.0.0.1', '10.1.0.0/16', 'fd00::/8', '::1'])
  for (const host of ['hooks.internal', 'HOOKS.INTERNAL.', 'api.lan']) t.equal(allowed.hasName(host), true, host)
  for (const host of ['internal', 'x.hooks.internal', 'hooks.internal.evil.example', '127.0.0.1']) {
    t.equal(allowed.hasName(host), false, host)
  }
  for (const address of ['127.0.0.1', '::ffff:127.0.0.1', '10.1.255.255', 'fd12::1', '::1']) {
    t.equal(allowed.hasAddress(address), true, address)
  }
  for (const address of ['127.0.0.2', '10.2.0.1', 'fe80::1', '::', 'hooks.internal', '']) {
    t.equal(allowed.hasAddress(address), false, address)
  }
  const all = allowedHosts(['0.0.0.0/0', '::/0'])
  t.ok(all.hasAddress('169.254.169.254') && all.hasAddress('fe80::1'))
  t.end()
})

t.test('entries of the setting', (t) => {
  for (const entry of [
    'localhost',
    'a_b.internal',
    'hooks.example.org.',
    '10.0.0.0/8',
    '::/0',
    'fd00::1',
    '0.0.0.0/0',
  ]) {
    t.equal(isHostOrNetwork(entry), true, entry)
  }
  for (const entry of [
    '10.0.0.0/33',
    'fd00::/129',
    '10.0.0.0/',
    'hooks/8',
    '10.0.0.0/8/8',
    '10.0.0.0/-1',
    'fe80::1%eth0',
  ]) {
    t.equal(isHostOrNetwork(entry), false, entry)
  }
  for (const entry of [
    '',
    '*',
    '*.lan',
    'http://localhost',
    'localhost:3000',
    '127.1',
    '2130706433',
    '0x7f.1',
    'a b',
  ]) {
    t.equal(isHostOrNetwork(entry), false, entry)
  }
  t.end()
})
