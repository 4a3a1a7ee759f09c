package agent

import "agent/sandbox/workspace/lang"

// Language names the language of a file by its extension, or "text" if the extension is unknown.
func Language(name string) string {
	if l := lang.ByExtension(name); l != nil {
		return l.Prompt
	}
	return "text"
}
