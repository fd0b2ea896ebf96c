// recollect: written by `recollect init`, removed by `recollect init --remove`.
// It tells recollect what happens and puts what recollect answers in front of the model.
import { spawn } from "node:child_process"

const COMMAND = "@COMMAND@"
const PATIENCE_MS = 5000

// One event in, one answer out. No answer, a slow one or a broken one means: nothing to say.
const tell = (payload) =>
  new Promise((resolve) => {
    const child = spawn(COMMAND, { shell: true, stdio: ["pipe", "pipe", "ignore"] })
    const timer = setTimeout(() => child.kill(), PATIENCE_MS)
    let out = ""
    child.stdout.on("data", (chunk) => (out += chunk))
    child.on("error", () => resolve({}))
    child.on("close", () => {
      clearTimeout(timer)
      try {
        resolve(JSON.parse(out || "{}"))
      } catch {
        resolve({})
      }
    })
    child.stdin.on("error", () => {})
    child.stdin.end(JSON.stringify({ host: "opencode", ...payload }))
  })

export const Recollect = async ({ client, directory, worktree }) => {
  const cwd = worktree && worktree !== "/" ? worktree : directory
  const started = new Map() // session -> why its next prompt starts with a briefing ("" if not)
  const subagents = new Set()
  const open = new Set() // sessions that got a prompt from this process
  const about = (name, session, more = {}) => ({
    hook_event_name: name,
    session_id: session,
    cwd,
    ...more,
  })

  // What was noted of the user's words is shown to them, never to the model alone.
  const show = (message) =>
    client?.tui
      ?.showToast({ body: { title: "Recollect", message, variant: "info", duration: 10000 } })
      ?.catch?.(() => {})

  return {
    event: async ({ event }) => {
      const found = event.properties?.info ?? {}
      const session = event.properties?.sessionID ?? found.id
      if (event.type === "session.created" && found.parentID) subagents.add(session)
      if (!session || subagents.has(session)) return
      if (event.type === "session.compacted") started.set(session, "compact")
      if (event.type === "session.idle") await tell(about("stop", session))
      if (event.type === "session.deleted") {
        open.delete(session)
        await tell(about("session_end", session))
      }
    },

    // OpenCode has no event for the end of a session: it is over with the process.
    dispose: async () => {
      const over = [...open]
      open.clear()
      await Promise.all(over.map((session) => tell(about("session_end", session))))
    },

    // What a command stands for was written by its author: the person typed its name.
    "command.execute.before": async (input, output) => {
      const typed = `/${input.command} ${input.arguments ?? ""}`.trim()
      for (const part of output.parts ?? [])
        if (part.type === "text") part.metadata = { ...part.metadata, recollect: typed }
    },

    "chat.message": async (input, output) => {
      const session = input.sessionID
      if (subagents.has(session)) return
      const typed = output.parts.filter((part) => part.type === "text" && !part.synthetic)
      const words = typed.map((part) => part.metadata?.recollect ?? part.text)
      const prompt = [...new Set(words)].join("\n")
      // A session that this process has not seen may be an old one, which has its briefing.
      const source = started.get(session) ?? "resume"
      started.set(session, "")
      const answers = []
      const turn = { turn_id: output.message.id } // tells a resumed session from the same event twice
      if (source) answers.push(await tell(about("session_start", session, { source, ...turn })))
      open.add(session)
      answers.push(await tell(about("user_prompt", session, { prompt, ...turn })))
      // A toast takes the place of the one before it.
      const notice = answers.map((answer) => answer.notice).filter(Boolean).join("\n")
      if (notice) show(notice)
      const text = answers.map((answer) => answer.context).filter(Boolean).join("\n\n")
      if (!text) return
      output.parts.unshift({
        id: `prt_recollect_${output.message.id}`,
        sessionID: session,
        messageID: output.message.id,
        type: "text",
        text,
        synthetic: true,
      })
    },

    // Nothing can be said before a tool runs: a file's first read is the place for its rules.
    "tool.execute.after": async (input, output) => {
      const failed = input.tool === "bash" && output.metadata?.exit > 0
      if (!failed && !["read", "edit", "write", "patch", "multiedit"].includes(input.tool)) return
      const answer = await tell(
        about("tool_use", input.sessionID, {
          tool_name: input.tool,
          tool_input: input.args,
          tool_use_id: input.callID,
          ...(failed ? { error: output.output } : { tool_response: output.output }),
        }),
      )
      if (answer.context) output.output += `\n\n${answer.context}`
    },

    "experimental.session.compacting": async (input, output) => {
      const answer = await tell(about("before_compact", input.sessionID, { trigger: "auto" }))
      if (answer.context) output.context.push(answer.context)
    },
  }
}
