// Signatures of OAuth 1.0a.
import t from 'tap'
import { signedAuthorization } from '../../../server/services/auth/oauth/oauth1-signature.ts'

t.test('the example of the documentation of X', (t) => {
  // https://docs.x.com/resources/fundamentals/authentication/oauth-1-0a/creating-a-signature
  const header = signedAuthorization({
    method: 'POST',
    url: new URL('https://api.twitter.com/1.1/statuses/update.json?include_entities=true'),
    parameters: {
      oauth_consumer_key: 'xvz1evFS4wEEPTGEFPHBog',
      oauth_nonce: 'kYjzVBB8Y0ZFabxSWbWovY3uYSQ2pTgmZeNu2VS4cg',
      oauth_signature_method: 'HMAC-SHA1',
      oauth_timestamp: '1318622958',
      oauth_token: '370773112-GmHxMAgYyLbNEtIKZeRNFsMKPR9EyMZeS9weJAEb',
      oauth_version: '1.0',
    },
    consumerSecret: 'kAcSOqF21Fu85e7zjz7ZN2U4ZRhfV3WpwPAoE3Z7kBw',
    tokenSecret: 'LswwdoUaIvS8ltyTt5jkRh4J50vUPVVHtR2YPi5kE',
    form: new URLSearchParams({ status: 'Hello Ladies + Gentlemen, a signed OAuth request!' }),
  })
  t.match(header, /^OAuth oauth_consumer_key="xvz1evFS4wEEPTGEFPHBog", /)
  t.match(header, 'oauth_signature="hCtSmYh%2BiHYCEqBWrE7C7hYmtUk%3D"')
  t.end()
})

t.test('names and values are sorted once they are encoded', (t) => {
  const signed = (form: [string, string][]): string =>
    signedAuthorization({
      method: 'GET',
      url: new URL('https://example.org/a'),
      parameters: { oauth_nonce: 'n' },
      consumerSecret: "a secret's*",
      tokenSecret: '',
      form: new URLSearchParams(form),
    })
  t.equal(
    signed([
      ['b', '2'],
      ['a', '2'],
      ['a', '1'],
    ]),
    signed([
      ['a', '1'],
      ['a', '2'],
      ['b', '2'],
    ]),
  )
  t.not(signed([['a', '1']]), signed([['a', '2']]))
  t.end()
})
