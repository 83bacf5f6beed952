import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { substitute } from './substitute.ts'

const dollar = '$'
const env = { HOST: 'example.com', EMPTY: '', NESTED: `${dollar}{HOST}` }

describe('substitute', () => {
  it.each([
    [`http://${dollar}{HOST}/v1`, 'http://example.com/v1'],
    [`${dollar}{HOST}${dollar}{HOST}`, 'example.comexample.com'],
    [`${dollar}{PORT:-8082}`, '8082'],
    [`${dollar}{HOST:-other}`, 'example.com'],
    [`${dollar}{EMPTY:-filled}`, 'filled'],
    [`[${dollar}{EMPTY}]`, '[]'],
    [`${dollar}{PORT:-}`, ''],
    [`${dollar}${dollar}{HOST}`, `${dollar}{HOST}`],
    [`${dollar}5 and ${dollar}HOST`, `${dollar}5 and ${dollar}HOST`],
    [`${dollar}{NESTED}`, `${dollar}{HOST}`],
  ])('%s becomes %s', (text, expected) => {
    expect(substitute(text, env)).toEqual({ ok: true, text: expected })
  })

  it('names a variable that is not set, and how to give a default', () => {
    const result = substitute(`hush ${dollar}{PORT}`, env)
    expect(result).toMatchObject({ ok: false, message: expect.stringContaining('PORT') })
    expect(result).toMatchObject({ message: expect.stringContaining(`${dollar}{PORT:-default}`) })
    expect(JSON.stringify(result)).not.toContain('hush')
  })

  it.each([`${dollar}{`, `${dollar}{not closed`, `${dollar}{1ST}`, `${dollar}{}`, `${dollar}{HOST-x}`])(
    'refuses %s without quoting it',
    (text) => {
      const result = substitute(`${text} hush`, env)
      expect(result.ok).toBe(false)
      expect(JSON.stringify(result)).not.toContain('hush')
    },
  )

  it('does not use inherited properties as variables', () => {
    expect(substitute(`${dollar}{constructor}`, env).ok).toBe(false)
  })

  it('does not change text without a dollar sign', () => {
    fc.assert(
      fc.property(
        fc.string().filter((text) => !text.includes(dollar)),
        (text) => {
          expect(substitute(text, env)).toEqual({ ok: true, text })
        },
      ),
    )
  })
})
