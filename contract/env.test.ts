import { describe, expect, it } from 'vitest'
import { EnvironmentError, environment, readEnvironment, redactedEnvironment } from './env.ts'

const TOKEN = 'a-token-of-more-than-16'

describe('environment', () => {
  it('has defaults for all settings but addresses, files, names and the token', () => {
    const { env, unknown } = readEnvironment({})
    expect(unknown).toEqual([])
    expect(env).toMatchObject({
      SLUICE_PORT: 8080,
      SLUICE_ADMIN_PORT: 8081,
      SLUICE_TRUSTED_PROXIES: [],
      SLUICE_MAX_BODY_BYTES: 64 * 1024 * 1024,
      SLUICE_HEADERS_TIMEOUT: 10_000,
      SLUICE_DRAIN_TIMEOUT: 620_000,
      SLUICE_LOG_LEVEL: 'info',
    })
    const unset = Object.keys(environment.shape).filter((name) => !(name in env))
    expect(unset).toEqual([
      'SLUICE_HOST',
      'SLUICE_CONFIG_DIR',
      'SLUICE_STATE_DIR',
      'SLUICE_REDIS_URL',
      'SLUICE_STATE_REDIS_URL',
      'SLUICE_SEALING_KEYS_FILE',
      'SLUICE_INSTANCE',
      'SLUICE_ADMIN_TOKEN',
      'SLUICE_HTTP_PROXY',
      'SLUICE_HTTPS_PROXY',
      'SLUICE_UPSTREAM_CA_FILE',
      'SLUICE_REDIS_CA_FILE',
      'SLUICE_REDIS_CERT_FILE',
      'SLUICE_REDIS_KEY_FILE',
      'SLUICE_RELAY_PROXY',
      'SLUICE_BODY_MEMORY_BYTES',
    ])
  })

  it('reads what is set', () => {
    const { env } = readEnvironment({
      SLUICE_PORT: '0',
      SLUICE_TRUSTED_PROXIES: '10.0.0.0/8, 2001:db8::1 ,',
      SLUICE_LOG_LEVEL: 'debug',
      SLUICE_STREAM_KEEPALIVE: '1m30s',
      SLUICE_ADMIN_TOKEN: TOKEN,
    })
    expect(env).toMatchObject({
      SLUICE_PORT: 0,
      SLUICE_TRUSTED_PROXIES: ['10.0.0.0/8', '2001:db8::1'],
      SLUICE_LOG_LEVEL: 'debug',
      SLUICE_STREAM_KEEPALIVE: 90_000,
      SLUICE_ADMIN_TOKEN: TOKEN,
    })
  })

  it('treats an empty value as unset and ignores other names', () => {
    const { env, unknown } = readEnvironment({ SLUICE_PORT: '', HOME: '/root', toString: 'x' })
    expect(env.SLUICE_PORT).toBe(8080)
    expect(unknown).toEqual([])
  })

  it('lists unknown names, including those that Kubernetes injects for Services, without failing', () => {
    const { env, unknown } = readEnvironment({
      SLUICE_SERVICE_HOST: '10.0.0.1',
      SLUICE_PORT: 'tcp://10.0.0.1:8080',
      SLUICE_PROT: '9090',
      SLUICE_ADMIN_PORT: '9091',
    })
    expect(unknown).toEqual(['SLUICE_SERVICE_HOST', 'SLUICE_PORT', 'SLUICE_PROT'])
    expect(env.SLUICE_PORT).toBe(8080)
    expect(env.SLUICE_ADMIN_PORT).toBe(9091)
  })

  it.each([
    ['SLUICE_PORT', '65536'],
    ['SLUICE_PORT', '80.5'],
    ['SLUICE_ADMIN_PORT', 'http'],
    ['SLUICE_ADMIN_TOKEN', 'too-short'],
    ['SLUICE_TRUSTED_PROXIES', '10.0.0.0/33'],
    ['SLUICE_RELAY_REQUIRE_API_KEY', 'yes'],
    ['SLUICE_MAX_BODY_BYTES', '1'],
    ['SLUICE_MAX_JSON_DEPTH', '0'],
    ['SLUICE_HEADERS_TIMEOUT', '10'],
    ['SLUICE_DRAIN_TIMEOUT', '0s'],
    ['SLUICE_LOG_LEVEL', 'loud'],
  ])('refuses %s=%s and names the setting', (name, value) => {
    expect(() => readEnvironment({ [name]: value })).toThrow(EnvironmentError)
    expect(() => readEnvironment({ [name]: value })).toThrow(new RegExp(`^${name}: [^\\n]+$`))
  })

  it.each(['http', '65536', '-1', '80.5'])('refuses the port %s and says what a port is', (text) => {
    expect(() => readEnvironment({ SLUICE_PORT: text })).toThrow(/^SLUICE_PORT: must be a port, 0 to 65535$/)
  })

  it('names every bad setting at once and never quotes a secret', () => {
    const read = () =>
      readEnvironment({ SLUICE_PORT: 'x', SLUICE_LOG_LEVEL: 'x', SLUICE_ADMIN_TOKEN: 'hunter2' })
    expect(read).toThrow(/^SLUICE_PORT: .+\nSLUICE_ADMIN_TOKEN: .+\nSLUICE_LOG_LEVEL: .+$/)
    expect(read).not.toThrow(/hunter2/)
  })

  it('shows only that a secret is set', () => {
    const { env } = readEnvironment({ SLUICE_ADMIN_TOKEN: TOKEN, SLUICE_PORT: '1' })
    const shown = redactedEnvironment(env)
    expect(shown).toMatchObject({ SLUICE_ADMIN_TOKEN: '(set)', SLUICE_PORT: 1 })
    expect(JSON.stringify(shown)).not.toContain(TOKEN)
    expect(redactedEnvironment(readEnvironment({}).env)).not.toHaveProperty('SLUICE_ADMIN_TOKEN')
  })

  it.each([
    ['HTTP_PROXY', 'http://one.test:1'],
    ['https_proxy', 'two.test:2'],
  ])('reads %s=%s unless the SLUICE_ setting is set', (name, value) => {
    const setting = name === 'HTTP_PROXY' ? 'SLUICE_HTTP_PROXY' : 'SLUICE_HTTPS_PROXY'
    const borrowed = readEnvironment({ [name]: value })
    expect(borrowed.unusable).toEqual([])
    expect(borrowed.env[setting]).toMatch(/^http:\/\/(one.test:1|two.test:2)$/)
    const own = readEnvironment({ [name]: value, [setting]: 'https://three.test' })
    expect(own.env[setting]).toBe('https://three.test')
  })

  it('ignores a borrowed value that is not an HTTP proxy, and refuses it in its own setting', () => {
    const socks = 'socks5://user:secret-word@proxy.test:1080'
    const { env, unusable } = readEnvironment({
      HTTP_PROXY: socks,
      https_proxy: 'http://%',
      NO_PROXY: '%,a b',
    })
    expect(unusable).toEqual(['HTTP_PROXY', 'HTTPS_PROXY'])
    expect(env).not.toHaveProperty('SLUICE_HTTP_PROXY')
    expect(env).not.toHaveProperty('SLUICE_HTTPS_PROXY')
    expect(env.SLUICE_NO_PROXY).toEqual(['%', 'a b'])
    for (const wrong of [
      socks,
      'http://proxy.test/path',
      'http://proxy.test?q',
      'http://u:50%@proxy.test',
      ':',
    ])
      expect(() => readEnvironment({ SLUICE_HTTP_PROXY: wrong })).toThrow(
        /^SLUICE_HTTP_PROXY: must be an http:\/\/ or https:\/\/ address$/,
      )
  })

  it('never shows the address of a proxy, which may contain a password', () => {
    const { env } = readEnvironment({
      HTTP_PROXY: 'http://u:secret-word@a',
      SLUICE_HTTPS_PROXY: 'secret-word@b',
    })
    expect(redactedEnvironment(env)).toMatchObject({
      SLUICE_HTTP_PROXY: '(set)',
      SLUICE_HTTPS_PROXY: '(set)',
    })
    expect(JSON.stringify(redactedEnvironment(env))).not.toContain('secret-word')
  })

  it('accepts one Redis, or the nodes of a Cluster, and never shows them', () => {
    const nodes = 'redis://:secret-word@a:6379,rediss://b:6380'
    const { env } = readEnvironment({ SLUICE_REDIS_URL: nodes })
    expect(env.SLUICE_REDIS_URL).toBe(nodes)
    expect(JSON.stringify(redactedEnvironment(env))).not.toContain('secret-word')
    for (const wrong of ['localhost:6379', 'http://a', 'redis://a,b', 'redis://:50%@a', 'redis://a/cache'])
      expect(() => readEnvironment({ SLUICE_REDIS_URL: wrong })).toThrow('SLUICE_REDIS_URL: must be redis://')
  })
})
