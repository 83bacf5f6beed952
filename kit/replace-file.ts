import { open, rename } from 'node:fs/promises'
import { dirname } from 'node:path'

/** Writes a file by way of `draft`, a path beside it. A crash of the machine leaves the old content or the new. */
export async function replaceFile(path: string, draft: string, text: string): Promise<void> {
  const file = await open(draft, 'w', 0o600)
  try {
    await file.writeFile(text)
    await file.sync()
  } finally {
    await file.close()
  }
  await rename(draft, path)
  const folder = await open(dirname(path), 'r')
  try {
    await folder.sync()
  } finally {
    await folder.close()
  }
}
