import { createEmbedded } from './embedded.ts'
import { storeConformance } from './suite.ts'

storeConformance('embedded store', createEmbedded)
