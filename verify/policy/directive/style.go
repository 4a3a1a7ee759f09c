package directive

import (
	"slices"
	"strings"

	"agent/sandbox/workspace/lazyregexp"
)

// styles match, by family, the codes that are about how a program reads: its names, length, order, spaces and comments.
// Whoever hides one hides no fault. Of a tool that a gate always runs it is measured what it reports without the comment. Linters of
// Go are those that golangci-lint's documentation has as style, format or complexity; faults among what they report, go vet
// and staticcheck find too, which do not read the comment. Of pylint they are the conventions and refactorings (C and R of
// its list of messages). Of ESLint, whose rules oxlint has by the same names, they are those on layout, and of the suggestions those
// on names, size, order and which of two equal forms to write (eslint.org/docs/latest/rules); no-console is about where text goes.
var styles = map[string]*lazyregexp.Regexp{
	"nolint": lazyregexp.New(`^(?:asciicheck|containedctx|cyclop|decorder|dogsled|dupl|dupword|err113|errname|exhaustruct|funcorder|funlen|gci|gochecknoglobals|gochecknoinits|` +
		`gocognit|goconst|gocyclo|godot|godox|goerr113|gofmt|gofumpt|goheader|goimports|golines|golint|gomnd|grouper|importas|inamedparam|interfacebloat|intrange|ireturn|` +
		`lll|maintidx|misspell|mnd|nakedret|nestif|nlreturn|nolintlint|nonamedreturns|paralleltest|perfsprint|prealloc|revive|stylecheck|tagalign|tagliatelle|testpackage|` +
		`thelper|unconvert|usestdlibvars|usetesting|varnamelen|whitespace|wrapcheck|wsl|wsl_v5)$`),
	"pylint": lazyregexp.New(`^(?:[cr]\d{4}|too-(?:many|few)-[a-z-]+|missing-(?:module-|class-|function-)?docstring|invalid-name|line-too-long|disallowed-name|consider-(?:using|merging|iterating|swap)-[a-z-]+|` +
		`no-else-[a-z]+|duplicate-code|wrong-import-(?:order|position)|ungrouped-imports|import-outside-toplevel|no-self-use|superfluous-parens|trailing-(?:whitespace|newlines)|` +
		`unnecessary-(?:comprehension|lambda-assignment)|chained-comparison|simplifiable-[a-z-]+|useless-(?:return|object-inheritance))$`),
	"eslint": lazyregexp.New(`^(?:@typescript-eslint/(?:array-type|consistent-(?:indexed-object-style|type-(?:definitions|exports|imports))|member-ordering|naming-convention)|arrow-(?:body-style|parens|spacing)|` +
		`brace-style|camelcase|capitalized-comments|comma-(?:dangle|spacing|style)|complexity|curly|dot-(?:location|notation)|eol-last|func-(?:names|style)|id-(?:denylist|length|match)|` +
		`import/(?:first|newline-after-import|order)|indent|key-spacing|keyword-spacing|line-comment-position|lines-(?:around|between)-[a-z-]+|linebreak-style|logical-assignment-operators|` +
		`max-(?:classes-per-file|depth|len|lines|lines-per-function|nested-callbacks|params|statements|statements-per-line)|multiline-[a-z-]+|new-cap|newline-[a-z-]+|` +
		`no-(?:console|continue|else-return|extra-(?:parens|semi)|inline-comments|lonely-if|magic-numbers|mixed-spaces-and-tabs|multi-spaces|multiple-empty-lines|negated-condition|` +
		`nested-ternary|plusplus|tabs|ternary|trailing-spaces|underscore-dangle|var|warning-comments)|object-(?:curly-[a-z-]+|shorthand)|one-var|operator-(?:assignment|linebreak)|` +
		`padded-blocks|prefer-(?:arrow-callback|const|destructuring|exponentiation-operator|numeric-literals|object-spread|rest-params|spread|template)|quote-props|quotes|semi|` +
		`semi-(?:spacing|style)|sort-(?:imports|keys|vars)|space-[a-z-]+|spaced-comment|vars-on-top|yoda)$`),
}

// OfStyle reports whether a suppression of a family hides only how a program reads, by its codes as In gives them.
func OfStyle(family, codes string) bool {
	form := styles[family]
	return form != nil && codes != "" && !slices.ContainsFunc(strings.Fields(codes), func(c string) bool { return !form.MatchString(c) })
}
