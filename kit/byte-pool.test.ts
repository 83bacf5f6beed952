import { expect, test } from 'vitest'
import { BytePool } from './byte-pool.ts'

/** A holder that gives back `share` of its bytes at a time, and notes that it did. */
function holders(pool: BytePool, share = 1) {
  const gave: string[] = []
  const add = (name: string, bytes: number) => {
    const holder = {
      bytes,
      giveWay: () => {
        gave.push(name)
        const given = Math.ceil(holder.bytes * share)
        holder.bytes -= given
        pool.count(-given)
      },
    }
    pool.add(holder)
    pool.count(bytes)
    return holder
  }
  return { gave, add }
}

test('nothing gives way within the bound', () => {
  const pool = new BytePool(100)
  const { gave, add } = holders(pool)
  add('a', 60)
  add('b', 40)
  pool.shrink()
  expect([gave, pool.used]).toEqual([[], 100])
})

test('beyond it the largest gives way, again and again until the rest fits', () => {
  const pool = new BytePool(100)
  const { gave, add } = holders(pool, 0.5)
  add('a', 30)
  add('b', 100)
  add('c', 60)
  pool.shrink()
  // 190: b gives 50, then c 30, then b 25.
  expect([gave, pool.used]).toEqual([['b', 'c', 'b'], 85])
})

test('of holders alike the one that takes gives way', () => {
  const pool = new BytePool(100)
  const { gave, add } = holders(pool)
  add('first', 60)
  const taker = add('second', 60)
  pool.shrink(taker)
  expect(gave).toEqual(['second'])
})

test('a holder that has left keeps its bytes, and gives way to no other', () => {
  const pool = new BytePool(100)
  const { gave, add } = holders(pool)
  const large = add('large', 90)
  pool.remove(large)
  const small = add('small', 20)
  pool.shrink(small)
  expect([gave, pool.used]).toEqual([['small'], 90])
  pool.count(50)
  pool.shrink()
  expect([gave, pool.used]).toEqual([['small'], 140])
  pool.shrink(large)
  expect([gave, pool.used]).toEqual([['small', 'large'], 50])
})
