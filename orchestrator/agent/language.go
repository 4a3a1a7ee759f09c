package agent

import "agent/sandbox/workspace/lang"

// Language names the language of a file by its extension: "text" for one that
// is not known.
func Language(name string) string {
	if l := lang.ByExtension(name); l != nil {
		return l.Prompt
	}
	return "text"
}
