/** Loaded before a server, as `--import`. */
import { hasten } from './hasten.ts'

hasten()
