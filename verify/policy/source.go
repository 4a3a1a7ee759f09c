package policy

import "agent/sandbox/workspace/lang"

// A language is what the rules for a text are shared by; the zero value is text in which
// nothing is looked for.
type language = lang.Family

// The languages in which weakenings are known.
const (
	python = lang.Python
	script = lang.Script
	golang = lang.Go
	shell  = lang.Shell
	css    = lang.CSS
	markup = lang.Markup
	rust   = lang.Rust
	java   = lang.JVM
)
