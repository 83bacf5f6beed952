import { describe, expect, it } from 'vitest'
import { type Arguments, type CommandFacts, helpOf, readArguments, UsageError } from './arguments.ts'

const COMMAND: CommandFacts = {
  name: 'try',
  summary: 'tries',
  usage: '[options]',
  about: 'About it.',
  options: {
    status: { type: 'string', value: 'STATUS', help: 'a status' },
    file: { type: 'string', short: 'f', multiple: true, value: 'PATH', help: 'a file' },
    strict: { type: 'boolean', help: 'strictly' },
  },
}

function read(...argv: string[]): Arguments {
  const args = readArguments(COMMAND, argv)
  if (args === undefined) throw new Error('help was asked for')
  return args
}

const problem = (...argv: string[]) => {
  try {
    read(...argv)
  } catch (error) {
    if (error instanceof UsageError) return error.message
    throw error
  }
  return undefined
}

describe('arguments', () => {
  it('are read in every spelling', () => {
    const args = read('--status=5xx', '-f', 'a', '--file', 'b', '-fc', '--strict')
    expect([args.text('status'), args.texts('file'), args.flag('strict')]).toEqual([
      '5xx',
      ['a', 'b', 'c'],
      true,
    ])
    expect([read().text('status'), read().texts('file'), read().flag('strict')]).toEqual([
      undefined,
      [],
      false,
    ])
    expect(read('-f', '-').texts('file')).toEqual(['-'])
  })

  it.each([
    [['--stauts', '5xx'], 'unknown option --stauts; did you mean --status?'],
    [['--nothing-like-it'], 'unknown option --nothing-like-it'],
    [['-x'], 'unknown option -x'],
    [['--constructor'], 'unknown option --constructor'],
    [['more'], "'more' is not expected here; options begin with --"],
    [['--status'], '--status needs a value: STATUS'],
    [['--status', '--strict'], '--status needs a value: STATUS'],
    [['--strict=yes'], '--strict takes no value'],
  ])('%j: says what is wrong', (argv, message) => {
    expect(problem(...argv)).toBe(message)
  })

  it('help wins, and names every option', () => {
    expect(readArguments(COMMAND, ['--help'])).toBeUndefined()
    expect(readArguments(COMMAND, ['--strict', '-h'])).toBeUndefined()
    const help = helpOf(COMMAND)
    for (const text of [
      'Usage: sluice try [options]',
      '--status STATUS',
      '-f, --file PATH',
      '--strict',
      '-h, --help',
    ])
      expect(help).toContain(text)
  })

  it('numbers and words are bounded', () => {
    expect(read('--status', '7').count('status', 1, 9)).toBe(7)
    for (const bad of ['0', '10', '1.5', '-1', '1e1', ''])
      expect(() => read(`--status=${bad}`).count('status', 1, 9)).toThrow(
        '--status must be a whole number from 1 to 9',
      )
    expect(read('--status=chat').choice('status', ['chat', 'images'])).toBe('chat')
    expect(() => read('--status=imges').choice('status', ['chat', 'images'])).toThrow(
      '--status must be one of chat, images; did you mean images?',
    )
  })
})
