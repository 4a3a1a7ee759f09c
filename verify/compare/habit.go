package compare

import (
	"path"

	"agent/verify/check"
)

// annotating has the rules of type checkers that ask for annotations, or for more exact ones: code that breaks them need not be
// faulty. Those of mypy are on its page of optional checks; those of pyright are on only in its strict mode.
var annotating = map[string]bool{
	"no-untyped-def": true, "no-untyped-call": true, "untyped-decorator": true, "type-arg": true, "no-any-return": true, "no-any-unimported": true,
	"no-any-expr": true, "no-any-decorated": true, "no-any-explicit": true, "no-any-generics": true,
	"reportMissingParameterType": true, "reportMissingTypeArgument": true, "reportUntypedFunctionDecorator": true, "reportUnknownParameterType": true,
	"reportUnknownVariableType": true, "reportUnknownMemberType": true, "reportUnknownArgumentType": true, "reportUnknownLambdaType": true,
}

// habit reports which findings ask for annotations although the project does not follow that rule, whatever its configuration
// says: the same file breaks it without the patch or, for a file that the patch adds, another file in its directory does.
func habit(base []check.Finding, d check.Diff) func(f check.Finding) bool {
	type place struct{ rule, at string }
	broken, known := map[place]bool{}, map[string]bool{}
	for _, f := range base {
		known[d.NewID(f.File)] = true
		broken[place{f.Rule, d.NewID(f.File)}], broken[place{f.Rule, path.Dir(f.File) + "/"}] = true, true
	}
	return func(f check.Finding) bool {
		hunks := d.Hunks[f.File]
		brought := !known[f.File] && len(hunks) == 1 && hunks[0].OldFrom == 1 && hunks[0].OldTo == 1
		return annotating[f.Rule] && (broken[place{f.Rule, f.File}] || brought && broken[place{f.Rule, path.Dir(f.File) + "/"}])
	}
}
