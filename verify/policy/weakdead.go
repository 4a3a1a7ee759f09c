package policy

import (
	"strings"

	"agent/sandbox/workspace/lang"
	"agent/sandbox/workspace/lazyregexp"
	"agent/verify/policy/testform"
)

// A deadForm describes how a language keeps code from running.
type deadForm struct {
	// A condition that never holds, or a loop over nothing.
	never *lazyregexp.Regexp
	// A statement that leaves a function unconditionally.
	leave *lazyregexp.Regexp
	// A handler that catches a failed assertion, and one where only what follows tells whether it goes on as if nothing had happened.
	swallow, handler *lazyregexp.Regexp
}

// deadForms lists the known forms.
var deadForms = map[lang.Family]deadForm{
	lang.Python: {
		never:   lazyregexp.New(`^(?:if|elif|while)\s*\(?\s*(?:False|0|None|""|not\s+True|not\s+1|\[\]|\(\)|False\s+and\b.*|0\s+and\b.*|1\s*==\s*2)\s*\)?\s*:|^(?:async\s+)?for\s.*\sin\s+(?:\[\]|\(\)|\{\}|""|range\(0\))\s*:`),
		leave:   lazyregexp.New(`^(?:return(?:\s+None)?|raise\s+(?:\w+\.)?SkipTest\b.*)$`),
		swallow: lazyregexp.New(`\bsuppress\([^)]*\b(?:AssertionError|Exception)\b`),
		handler: lazyregexp.New(`^except\s*(?:\(?[\w., ]*\b(?:AssertionError|Exception|BaseException)\b[^:]*)?:\s*(.*)$`),
	},
	lang.Script: {
		never: lazyregexp.New(`\b(?:if|while)\s*\(\s*(?:false|0|null|undefined|!true|!1|false\s*&&.*|""\s*)\s*\)|\bfor\s*\(.*\sof\s+\[\]\s*\)`),
		leave: lazyregexp.New(`^return(?:\s+(?:null|undefined))?\s*;?$`),
	},
	lang.Go: {
		never: lazyregexp.New(`^(?:if|for)\s+(?:false|!true|false\s*&&.*)\s*\{|^for\s.*\srange\s+(?:0|\[\]\w+\{\})\s*\{`),
		leave: lazyregexp.New(`^return$`),
	},
}

// passes matches the body of a handler that goes on.
var passes = lazyregexp.New(`^(?:pass|\.\.\.|continue|return(?:\s+None|\s+True)?)$`)

// deadIn returns the lines of a file that keep the assertions after or inside them from running, and the handlers
// that catch failed assertions.
func deadIn(f sourceFile) (list []mark) {
	form, forms := deadForms[f.lang], testform.Of(f.lang)
	// The line that leaves the function, -1 if there is none, and its indentation.
	left, indent := -1, 0
	for i, line := range f.lines {
		code := strings.TrimSpace(line.Code)
		if code == "" || line.Inside {
			continue
		}
		if form.never.MatchString(code) || form.swallow != nil && form.swallow.MatchString(code) {
			list = append(list, f.mark(i, "dead", "", false))
		}
		if form.handler != nil {
			if m := form.handler.FindStringSubmatch(code); m != nil && (passes.MatchString(m[1]) || m[1] == "" && passes.MatchString(f.codeAfter(i))) {
				list = append(list, f.mark(i, "dead", "", false))
			}
		}
		in := lang.Indent(line.Code)
		if left >= 0 && in < indent {
			left = -1
		}
		switch {
		case form.leave.MatchString(code) && left < 0:
			left, indent = i, in
		case left >= 0 && in >= indent && forms.Assertion.MatchString(code):
			list = append(list, f.mark(left, "dead", "", false))
			left = -1
		}
	}
	return list
}
