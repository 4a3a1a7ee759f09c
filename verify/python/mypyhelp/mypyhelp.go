// Package mypyhelp links mypy's error codes to mypy's documentation, since mypy itself prints no addresses.
package mypyhelp

import (
	"slices"
	"strings"
)

// docs is where mypy's documentation lists its codes, one anchor each, on two pages: the codes that it checks by default,
// and those that must be switched on.
const docs = "https://mypy.readthedocs.io/en/stable/error_code_list"

// onFirst lists the codes with an anchor on the first page.
var onFirst = strings.Fields(`
	abstract annotation-unchecked arg-type assert-type assignment attr-defined await-not-async call-arg call-overload
	dict-item empty-body exit-return func-returns-value has-type import import-not-found import-untyped index list-item
	literal-required method-assign misc name-defined name-match no-overload-impl no-redef operator overload-cannot-match
	overload-overlap override prop-decorator return return-value safe-super str-bytes-safe str-format syntax
	top-level-await truthy-function type-abstract type-var typeddict-item typeddict-readonly-mutated
	typeddict-unknown-key union-attr unused-coroutine used-before-def valid-newtype valid-type var-annotated`)

// onSecond lists those on the second.
var onSecond = strings.Fields(`
	comparison-overlap explicit-override ignore-without-code mutable-override narrowed-type-not-subtype no-any-return
	no-any-unimported no-untyped-call no-untyped-def possibly-undefined redundant-cast redundant-expr redundant-self
	truthy-bool truthy-iterable type-arg unimported-reveal unreachable unused-awaitable unused-ignore`)

// Of returns the address of the documentation for a code, or "" for a code that mypy's documentation does not list.
func Of(code string) string {
	switch {
	case slices.Contains(onFirst, code):
		return docs + ".html#code-" + code
	case slices.Contains(onSecond, code):
		return docs + "2.html#code-" + code
	}
	return ""
}
