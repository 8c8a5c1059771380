// All tools, in the order in which agents see them. Add a line for a new one.
import type { AnyTool } from './tool.ts'
import { describeTool } from './tools/describe-tool.ts'
import { explainTool } from './tools/explain-tool.ts'
import { checkTool, migrationTool, policyTestsTool } from './tools/owner-tools.ts'
import { readTool } from './tools/read-tool.ts'
import { confirmTool, previewTool } from './tools/write-tools.ts'

export const allTools: readonly AnyTool[] = [
  describeTool,
  readTool,
  explainTool,
  checkTool,
  policyTestsTool,
  previewTool,
  confirmTool,
  migrationTool,
]
