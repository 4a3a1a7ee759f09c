package compare

import (
	"path"

	"agent/verify/check"
)

// annotating names the rules of type checkers that ask for annotations, or for more exact ones: what breaks them need not be a
// fault. Those of mypy are of its page of optional checks, those of pyright are off but in its strict mode.
var annotating = map[string]bool{
	"no-untyped-def": true, "no-untyped-call": true, "untyped-decorator": true, "type-arg": true, "no-any-return": true, "no-any-unimported": true,
	"no-any-expr": true, "no-any-decorated": true, "no-any-explicit": true, "no-any-generics": true,
	"reportMissingParameterType": true, "reportMissingTypeArgument": true, "reportUntypedFunctionDecorator": true, "reportUnknownParameterType": true,
	"reportUnknownVariableType": true, "reportUnknownMemberType": true, "reportUnknownArgumentType": true, "reportUnknownLambdaType": true,
}

// habit reports which findings ask for annotations where the project keeps to no such rule, whatever its configuration says: the
// same file breaks it without the patch, or one beside a file that the patch brings.
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
